"""Finding installed plugins: read what they declare first, import only what fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.records.tool import Provenance

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP = "holon"
CORE = "holon-core"
# Those that the project itself publishes: reserved ids, kinds and names are theirs alone.
FIRST_PARTY = frozenset(
    {
        "holon-adapters",
        "holon-builtin-memory",
        "holon-builtin-workspace",
        "holon-cli",
        "holon-core",
        "holon-elegy",
        "holon-mcp",
        "holon-plugin-packages",
        "holon-rust-tools",
        "holon-script-tools",
        "holon-workflows",
    }
)


@frozen(kw_only=True)
class Found:
    """One entry point: a plugin object that loaded, or the reason why it is not active."""

    name: str
    provenance: Provenance
    plugin: Any = None
    problem: str = ""


def find_installed(allowed: Sequence[str] | None) -> list[Found]:
    """Load the installed plugins, by distribution and then name.

    Args:
        allowed: Normalised names of distributions that may load; ``None`` for all, empty for
            none, of which then no code is imported.

    Returns:
        Every plugin that was looked at. What was not allowed is not listed; a name that two
        distributions claim is refused for both, unless one of them is first-party.

    Raises:
        KeyboardInterrupt: The one exception that a plugin's import may let out.
    """
    if allowed is not None and not allowed:
        return []
    from importlib.metadata import entry_points

    # Reads the metadata of those distributions alone that have such an entry point.
    known = [
        (_normal(point.dist.metadata["Name"]), point.dist, point)
        for point in entry_points(group=GROUP)
        if point.dist is not None
    ]
    chosen = [each for each in known if allowed is None or each[0] in allowed]
    chosen.sort(key=lambda each: (each[0], each[2].name))
    claims: dict[str, list[str]] = {}
    for owner, _, point in chosen:
        claims.setdefault(point.name, []).append(owner)
    return [_load(owner, d, p, claims[p.name]) for owner, d, p in chosen]


def _load(owner: str, distribution: Distribution, point: EntryPoint, owners: list[str]) -> Found:
    origin = Provenance(distribution=owner, version=distribution.version, plugin=point.name)
    problem = _clash(owner, owners) or _misfit(distribution)
    plugin = None
    if not problem:
        try:
            plugin = point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"importing {point.value} raised {_told(error)}"
    return Found(name=point.name, provenance=origin, plugin=plugin, problem=problem)


def _clash(owner: str, owners: list[str]) -> str:
    rivals = sorted(set(owners) - {owner})
    if not rivals or owner in FIRST_PARTY:
        return ""
    return f"the name is also claimed by {', '.join(rivals)}"


def _misfit(distribution: Distribution) -> str:
    """Say why a distribution does not fit this core, from its metadata alone."""
    if _normal(distribution.metadata["Name"]) == CORE:
        return ""
    from packaging.requirements import InvalidRequirement, Requirement

    here = core_version()
    for text in distribution.requires or ():
        try:
            need = Requirement(text)
        except InvalidRequirement:
            continue
        if _normal(need.name) == CORE and (need.marker is None or need.marker.evaluate()):
            if need.specifier.contains(here, prereleases=True):
                return ""
            return f"it needs {CORE}{need.specifier}, and this is {here}"
    return f"it declares no requirement on {CORE}"


def core_version() -> str:
    """Return the version of this core, as its metadata states it."""
    from importlib.metadata import version

    return version(CORE)


def _normal(name: str) -> str:
    from packaging.utils import canonicalize_name

    return str(canonicalize_name(name))


def _told(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    line = text.splitlines()[0][:200] if text else ""
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
