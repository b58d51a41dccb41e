"""Writing a new lane from the template that comes with the command."""

from __future__ import annotations

import keyword
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

TEMPLATE = Path(__file__).with_name("lane_template")

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME = 40
RESERVED = ("holon", "host", "frozen")
# Packages that would stand beside a lane's own folders of these names.
_OF_A_LANE = frozenset({"conftest", "src", "test", "tests"})
_DEVICES = r"con|prn|aux|nul|(com|lpt)[0-9]"
SUFFIX = ".tmpl"
# Packaging tools leave hidden files out: in the template they are visible.
HIDDEN = {"github": ".github", "gitignore": ".gitignore"}


def name_problem(name: str) -> str | None:
    """Say why a lane cannot be called so; ``None`` where it can.

    Args:
        name: A distribution's name in its normal form, which the lane's ids will begin with.
    """
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        words = "a lane's name is words of a-z 0-9, joined by single -, from a letter on"
        return f"{words}; {MAX_NAME} characters at most"
    from holon_core.operations.offered import COMMAND_WORDS, CORE_NOUNS
    from holon_core.plugins.first_party import FIRST_PARTY, FIRST_PARTY_PLUGINS

    if name in FIRST_PARTY or name in RESERVED:
        return f"the name {name} is reserved"
    if name in FIRST_PARTY_PLUGINS:
        return f"a plugin of this project is called {name}, and two of one name do not load"
    if name in CORE_NOUNS or name in COMMAND_WORDS:
        return f"{name} is a word of the command, which the lane's operation cannot be called"
    if owner := _claimed_by(name):
        return f"a plugin of {owner} is called {name}, and two of one name do not load"
    package = name.replace("-", "_")
    if keyword.iskeyword(package):
        return f"{name} is a word of Python's own, which no package can be called"
    if package in sys.stdlib_module_names or package in _OF_A_LANE:
        return f"Python, or a lane's own tests, would find another {package} before this one"
    if re.fullmatch(_DEVICES, name):
        return f"{name} is a device on Windows, where no folder can be called so"
    if _is_anothers(name, package):
        return f"{package} is installed here and is no lane: the new one would take its place"
    return None


def _claimed_by(name: str) -> str:
    """Name the installed distribution of another name that has a plugin called so, if any."""
    from holon_core.plugins.metadata import installed

    others = (each for each in installed() if each.name != name)
    claims = (each.name for each in others for point in each.points if point.name == name)
    return next(claims, "")


def _is_anothers(name: str, package: str) -> bool:
    """Tell whether something is installed under this name that is not a lane called so."""
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    lanes = {point.dist.name for point in entry_points(group="holon") if point.dist is not None}
    return find_spec(package) is not None and name not in lanes


def lane_files(name: str, *, core_range: str) -> dict[str, str]:
    """Return the files of a new lane: path to text.

    Args:
        name: A usable name; see ``name_problem``.
        core_range: The versions of holon-core that it works with, e.g. ``>=0.1,<0.4``.
    """
    words = {"@NAME@": name, "@PACKAGE@": name.replace("-", "_"), "@RANGE@": core_range}
    made = {}
    for path, text in _templates():
        parts = [HIDDEN.get(part, part) for part in path.removesuffix(SUFFIX).split("/")]
        made[_filled("/".join(parts), words)] = _filled(text, words)
    return made


def write_lane(folder: Path, made: dict[str, str]) -> None:
    """Write the files of a lane into a folder that is not there yet: all of them, or none.

    Raises:
        FileExistsError: The folder is there.
    """
    folder.mkdir(parents=True)
    try:
        for name, text in made.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def core_range() -> str:
    """Return the range of versions of holon-core that a lane made now should name.

    What the next version deprecates still works in that one and the one after it.
    """
    from importlib.metadata import version

    major, minor, *_ = version("holon-core").split(".")
    return f">={major}.{minor},<{major}.{int(minor) + 3}"


def _templates() -> Iterator[tuple[str, str]]:
    for path in sorted(TEMPLATE.rglob(f"*{SUFFIX}")):
        yield path.relative_to(TEMPLATE).as_posix(), path.read_text(encoding="utf-8")


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text
