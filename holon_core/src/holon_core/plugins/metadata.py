"""What installed distributions say of themselves: entry points, name, version, requirements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from holon_core.plugins.faults import told
from holon_core.records.base import Record

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "holon"
_SECTION = re.compile(rf"^\s*\[\s*{GROUP}\s*\]\s*$", re.MULTILINE)
_SEPARATORS = re.compile(r"[-_.]+")


@frozen(kw_only=True, eq=False, repr=False)
class Point(Record):
    """One entry point of the group: a plugin's name, and where its object is."""

    name: str
    value: str


@frozen(kw_only=True, eq=False, repr=False)
class Installed(Record):
    """One installed distribution that offers plugins; ``problem`` says why it can't be read."""

    name: str
    version: str = ""
    requires: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    problem: str = ""


def installed() -> list[Installed]:
    """Return the distributions that offer plugins, by name; no code of theirs is run.

    The first of a name on the import path counts, as it does for an import, but for what a build
    left beside its sources: an installed one of that name comes before it. Only the metadata of
    those that have the group is read: parsing all that is installed would cost more than loading
    the plugins.
    """
    from importlib.metadata import distributions

    first: dict[str, Distribution] = {}
    for distribution in distributions():
        known = first.setdefault(_stem(distribution), distribution)
        if known is not distribution and _is_egg(known) and not _is_egg(distribution):
            first[_stem(distribution)] = distribution
    found = [each for stem, one in first.items() for each in _read(one, stem)]
    return sorted(found, key=lambda each: each.name)


def version_of(name: str) -> str | None:
    """Return the version of an installed distribution, ``None`` where there is none."""
    from importlib.metadata import Distribution, PackageNotFoundError

    try:
        text = Distribution.from_name(name).read_text("METADATA")
    except PackageNotFoundError:
        return None
    return "".join(_fields(text or "").get("version", ())) or None


def normal(name: str) -> str:
    """Return a distribution's name in its normal form, as in PEP 503."""
    return _SEPARATORS.sub("-", name).lower()


def _stem(distribution: Distribution) -> str:
    """Return the name by which a distribution is told from others, which its folder bears."""
    # The public way parses the whole metadata of all that is installed.
    path = getattr(distribution, "_path", None)
    if path is None:
        return normal(str(distribution.metadata["Name"]))
    return normal(path.name.rpartition(".")[0].partition("-")[0])


def _is_egg(distribution: Distribution) -> bool:
    path = getattr(distribution, "_path", None)
    return path is not None and path.name.endswith(".egg-info")


def _read(distribution: Distribution, stem: str) -> Iterator[Installed]:
    try:
        text = _text(distribution, "entry_points.txt")
        if not _SECTION.search(text):
            return
        # The rest of it is the description, which may be long.
        name = "PKG-INFO" if _is_egg(distribution) else "METADATA"
        fields = _fields(_text(distribution, name))
        if not fields.get("name"):
            raise LookupError("it names no distribution")
        yield Installed(
            name=normal("".join(fields["name"])),
            version="".join(fields.get("version", ())),
            requires=tuple(fields.get("requires-dist") or _egg_requires(distribution)),
            points=tuple(_points(text)),
        )
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        yield Installed(name=stem, problem=f"its metadata cannot be read: {told(error)}")


def _text(distribution: Distribution, name: str) -> str:
    """Read a file of the metadata; empty where it is not there.

    As ``Distribution.read_text``, without the objects that it makes of a path: of all that is
    installed each is asked for one file, and a lane for two.
    """
    path = getattr(distribution, "_path", None)
    if not isinstance(path, Path):
        return distribution.read_text(name) or ""
    try:
        with open(f"{path}/{name}", "rb") as file:  # noqa: PTH123
            return file.read().decode()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
        return ""


def _egg_requires(distribution: Distribution) -> list[str]:
    """Return what older builds keep in a file of its own."""
    return distribution.requires or [] if _is_egg(distribution) else []


def _fields(metadata: str) -> dict[str, list[str]]:
    """Read the head of a METADATA file: fields by lower-case name, folded lines joined."""
    head = metadata.replace("\r\n", "\n").partition("\n\n")[0]
    fields: dict[str, list[str]] = {}
    if "\n " in head or "\n\t" in head:
        head = re.sub(r"\n[ \t]+", " ", head)
    for line in head.split("\n"):
        key, _, value = line.partition(":")
        fields.setdefault(key.strip().lower(), []).append(value.strip())
    return fields


def _points(text: str) -> Iterator[Point]:
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = _SECTION.match(line) is not None
        elif inside and line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield Point(name=name.strip(), value=value.strip())
