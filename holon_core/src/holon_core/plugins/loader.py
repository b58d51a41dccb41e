"""Loading installed plugins: what does not fit is refused before any of its code runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.plugins.faults import told
from holon_core.plugins.first_party import FIRST_PARTY
from holon_core.plugins.metadata import Installed, Point, installed, normal, version_of
from holon_core.records.base import Record
from holon_core.records.tool import Provenance

if TYPE_CHECKING:
    from holon_core.plugins.given import Given

CORE = "holon-core"
# Stands in a list of distributions for all of them.
ALL_FIRST_PARTY = "first-party"
PLUGIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VALUE = re.compile(
    r"(?P<module>\w+(?:\.\w+)*)\s*(?::\s*(?P<attribute>\w+(?:\.\w+)*))?\s*(?:\[.*\])?"
)
_SIMPLE = re.compile(r"(>=|<=|<|>)\s*([0-9]+(?:\.[0-9]+)*)")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*\(?([^()\[;@]*)\)?")


@frozen(kw_only=True, eq=False, repr=False)
class Found(Record):
    """One entry point: a plugin object that loaded, or the reason why it is not active."""

    name: str
    provenance: Provenance
    plugin: Any = None
    problem: str = ""


def find_installed(allowed: Sequence[str] | None, *, given: Collection[Given] = ()) -> list[Found]:
    """Load the installed plugins, by distribution and then name.

    Args:
        allowed: Normalised names of distributions that may load, ``first-party`` for all of
            this project's; ``None`` for all, empty for none. Of others no code is imported.
        given: Plugins that the host gives itself; a stranger that is installed under the name
            of one is refused. The same module is no stranger.

    Returns:
        Every plugin that was looked at. What was not allowed is not listed; a name that two
        distributions claim is refused for both, unless one of them is first-party.

    Raises:
        KeyboardInterrupt: The one exception that a plugin's import may let out.
    """
    if allowed is not None and not allowed:
        return []
    chosen = [each for each in installed() if may_load(each.name, allowed)]
    claims: dict[str, list[str]] = {}
    for each in chosen:
        for point in each.points:
            claims.setdefault(point.name, []).append(each.name)
    hosts = {each.name: each for each in given}

    def owners(each: Installed, point: Point) -> list[str]:
        mine = hosts.get(point.name)
        rival = mine is not None and not mine.is_loaded_by(point.value, each.name)
        return [*claims[point.name], *(["the host"] if rival else [])]

    misfit = _Misfit()
    return [
        _load(each, point, _clash(each.name, owners(each, point)) or misfit.of(each))
        for each in chosen
        for point in sorted(each.points, key=lambda point: point.name)
    ] + [_unreadable(each) for each in chosen if each.problem]


def core_version() -> str | None:
    """Return the version of this core, as its metadata states it; ``None`` where there is none."""
    return version_of(CORE)


def may_load(name: str, allowed: Sequence[str] | None) -> bool:
    """Tell whether plugins of a distribution may load; ``allowed`` is as for ``find_installed``."""
    if allowed is None or name in allowed:
        return True
    return ALL_FIRST_PARTY in allowed and name in FIRST_PARTY


def _unreadable(each: Installed) -> Found:
    origin = Provenance(distribution=each.name, plugin=each.name)
    return Found(name=each.name, provenance=origin, problem=each.problem)


def _load(each: Installed, point: Point, problem: str) -> Found:
    origin = Provenance(distribution=each.name, version=each.version, plugin=point.name)
    if not PLUGIN_NAME.fullmatch(point.name):
        problem = f"{point.name!r:.120} is no name for a plugin"
    plugin = None
    if not problem:
        try:
            plugin = _object(point.value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"importing {point.value!r:.200} raised {told(error)}"
    return Found(name=point.name, provenance=origin, plugin=plugin, problem=problem)


def _object(value: str) -> Any:
    match = _VALUE.fullmatch(value)
    if match is None:
        raise ImportError("an entry point is module or module:attribute")
    found: Any = import_module(match["module"])
    for name in filter(None, (match["attribute"] or "").split(".")):
        found = getattr(found, name)
    return found


def _clash(owner: str, owners: list[str]) -> str:
    if owners.count(owner) > 1:
        return "the name is claimed twice by this distribution"
    rivals = sorted({*owners} - {owner})
    if not rivals or owner in FIRST_PARTY:
        return ""
    return f"the name is also claimed by {', '.join(rivals)}"


class _Misfit:
    """Says why a distribution does not fit this core, from its metadata alone."""

    def __init__(self) -> None:
        self._here = core_version()
        self._known: dict[str, str | None] = {}

    def of(self, each: Installed) -> str:
        if each.name == CORE:
            return ""
        answers = [self._requirement(text) for text in each.requires]
        fitting = [answer for answer in answers if answer is not None]
        if not fitting:
            return f"it declares no requirement on {CORE}"
        return next(filter(None, fitting), "")

    def _requirement(self, text: str) -> str | None:
        """Return what speaks against one requirement; ``None`` if it is not on the core."""
        if text not in self._known:
            name = _REQUIREMENT.match(text)
            about = name is not None and normal(name[1]) == CORE
            self._known[text] = self._against(text) if about else None
        return self._known[text]

    def _against(self, text: str) -> str | None:
        if self._here is None:
            return f"it needs {CORE}, whose own version is unknown: {CORE} is not installed"
        fits = _plainly(text, self._here)
        if fits is None:
            fits = _thoroughly(text, self._here)
        if fits is None:
            return None
        return "" if fits else f"it needs {text}, and this is {self._here}"


def _plainly(text: str, here: str) -> bool | None:
    """Compare plain releases; ``None`` where that is not all there is to it.

    ``packaging`` knows all of it, and importing it costs more than loading many plugins.
    """
    match = _REQUIREMENT.fullmatch(text)
    if match is None or not re.fullmatch(r"[0-9]+(?:\.[0-9]+)*", here):
        return None
    version = _release(here)
    for clause in filter(None, map(str.strip, match[2].split(","))):
        one = _SIMPLE.fullmatch(clause)
        if one is None:
            return None
        wanted = _release(one[2])
        fits = {">=": version >= wanted, "<": version < wanted, "<=": version <= wanted}
        if not fits.get(one[1], version > wanted):
            return False
    return True


def _release(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _thoroughly(text: str, here: str) -> bool | None:
    """Judge any requirement; ``None`` for one that does not hold in this environment."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        need = Requirement(text)
    except InvalidRequirement:
        return False
    if need.marker is not None and not need.marker.evaluate({"extra": ""}):
        return None
    return need.specifier.contains(here, prereleases=True)
