"""Rules of packages: paths, projections against skills, subsets, locks.

Source: docs/elegy.md, "Rules beyond the schemas".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from elegy_contracts.finding import Finding, Severity, pointer
from elegy_contracts.repairs import CLASSES

_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SEMVER = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_HEX = re.compile(r"[0-9a-f]{64}")
_RANK = {name: rank for rank, name in enumerate(CLASSES)}
# From here on a class has effects, and a projection may not claim less.
_EFFECTFUL = _RANK["disk_write"]
_LANES: Mapping[str, frozenset[str]] = {
    "subprocess": frozenset({"subprocess", "cli"}),
    "mcp": frozenset({"mcp"}),
    "library": frozenset({"rust", "plugin", "api"}),
}


def _finding(
    code: str,
    message: str,
    *path: str | int,
    severity: Severity = Severity.ERROR,
    spoils: str = "",
) -> Finding:
    return Finding(
        code=code, message=message, path=pointer(*path), severity=severity, spoils=spoils
    )


def path_problem(path: str) -> str:
    """Say why a path is none inside a package; empty where it is one."""
    if path.startswith(("/", "\\")) or ":" in path or "\0" in path:
        return "it is not relative"
    if any(part in ("", ".", "..") for part in re.split(r"[/\\]", path)):
        return "it has an empty, . or .. part"
    return ""


def plugin_package(data: dict[str, Any]) -> Iterator[Finding]:
    """Check a plugin package as far as it says by itself; files are not looked at."""
    components = data["components"]
    yield from _component_ids(components)
    yield from _paths(components, "components")
    yield from _paths(data.get("publishing", {}), "publishing")
    skills, open_refs = _inline(components)
    for at, each in enumerate(components.get("skillDefinitions", ())):
        path = ("components", "skillDefinitions", at)
        if "definition" not in each and "definitionRef" not in each:
            yield _finding("definition_missing", "neither definition nor reference", *path)
        if "definition" in each:
            yield from _inner(each["definition"], *path, "definition")
    for at, each in enumerate(components.get("capabilityProjections", ())):
        path = ("components", "capabilityProjections", at)
        yield from projection(each, skills, *path, known_all=not open_refs)
    yield from subsets(data, skills)


def _inner(definition: Any, *path: str | int) -> Iterator[Finding]:
    from attrs import evolve

    from elegy_contracts.reading import examine

    for each in examine("skill", definition).findings:
        yield evolve(each, path=pointer(*path) + each.path)


def _component_ids(components: Mapping[str, Any]) -> Iterator[Finding]:
    for name, items in components.items():
        seen: set[str] = set()
        for at, each in enumerate(items):
            given = each.get("id") or each.get("toolName")
            if given is None:
                continue
            if given.casefold() in seen:
                text = f"the component {given!r:.80} is there twice"
                yield _finding("duplicate", text, "components", name, at)
            seen.add(given.casefold())


def _paths(data: Any, *path: str | int) -> Iterator[Finding]:
    if isinstance(data, list):
        for at, each in enumerate(data):
            if path[-1] == "signatureRefs" and isinstance(each, str):
                yield from _path(each, *path, at)
            else:
                yield from _paths(each, *path, at)
    elif isinstance(data, dict):
        for name, value in data.items():
            if name in ("path", "changelogRef", "provenanceRef") or name.endswith("Ref"):
                inside = name != "sourceRef" and isinstance(value, str)
                yield from _path(value, *path, name) if inside else ()
            elif name not in ("definition", "manifest", "fixturePack", "inputSchema"):
                yield from _paths(value, *path, name)


def _path(value: str, *path: str | int) -> Iterator[Finding]:
    problem = path_problem(value)
    if problem:
        yield _finding("path_unsafe", f"{value!r:.120} leaves the package: {problem}", *path)


def _inline(components: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the skills that are inside by their key, and whether others are referred to."""
    from elegy_contracts.reading import examine

    skills, open_refs = {}, False
    for each in components.get("skillDefinitions", ()):
        one = examine("skill", each["definition"]) if "definition" in each else None
        if one is not None and one.valid:
            identity = one.data["identity"]
            skills[f"{identity['namespace']}.{identity['name']}"] = one.data
        else:
            open_refs = True
    return skills, open_refs


def projection(
    each: Mapping[str, Any],
    skills: Mapping[str, Any],
    *path: str | int,
    known_all: bool = True,
    phantom: Severity = Severity.ERROR,
) -> Iterator[Finding]:
    """Check one projection against the skills that are known.

    Args:
        each: The projection.
        skills: Definitions by their key.
        path: Where it stands.
        known_all: Whether these are all; others cannot be judged.
        phantom: How much it matters that a capability does not exist.
    """
    spoils = each["id"]
    skill = skills.get(each["skill"])
    if skill is None:
        if known_all:
            text = f"unknown skill {each['skill']!r:.80}"
            yield _finding("unknown_skill", text, *path, "skill", severity=phantom, spoils=spoils)
        return
    capabilities = skill.get("capabilities") or ()
    found = next((c for c in capabilities if c.get("id") == each["capability"]), None)
    if found is None:
        text = f"unknown capability {each['capability']!r:.80} of {each['skill']}"
        at = (*path, "capability")
        yield _finding("unknown_capability", text, *at, severity=phantom, spoils=spoils)
        return
    yield from _against(each, skill, found, *path)


def _against(
    each: Mapping[str, Any], skill: Mapping[str, Any], capability: Any, *path: str | int
) -> Iterator[Finding]:
    spoils = each["id"]
    declared = skill_class(skill, each["capability"])
    claimed = each.get("sideEffectClass")
    if declared in _RANK and claimed in _RANK:
        rank, claims = _RANK[declared], _RANK[claimed]
        at = (*path, "sideEffectClass")
        if claims < rank and rank >= _EFFECTFUL:
            text = f"it claims {claimed} over {declared} of the skill"
            yield _finding("side_effect_loosened", text, *at, spoils=spoils)
        elif claims > rank:
            text = f"it claims {claimed}, more than {declared} of the skill"
            yield _finding("side_effect_raised", text, *at, spoils=spoils)
    kind = str((capability.get("implementation") or {}).get("executionType"))
    if kind in _LANES and each["lane"] not in _LANES[kind]:
        text = f"the lane {each['lane']} does not fit a capability of type {kind}"
        yield _finding("lane_mismatch", text, *path, "lane", spoils=spoils)
    if each["supportsDryRun"] and _writes(capability) and not supports_dry_run(capability):
        text = "it claims a dry run, and the capability has no parameter for one"
        at = (*path, "supportsDryRun")
        yield _finding("dry_run_overstated", text, *at, severity=Severity.WARNING)


def skill_class(skill: Mapping[str, Any], capability: str) -> str | None:
    """Return the side effect class that a skill declares for a capability, if any."""
    host = skill.get("hostProjection") or {}
    for each in host.get("capabilityProjections") or ():
        if each.get("capabilityId") == capability and each.get("sideEffectClass"):
            return str(each["sideEffectClass"])
    given = host.get("defaultSideEffectClass")
    return None if given is None else str(given)


def _writes(capability: Mapping[str, Any]) -> bool:
    return bool((capability.get("execution") or {}).get("hasSideEffects"))


def supports_dry_run(capability: Mapping[str, Any]) -> bool:
    """Tell whether a capability has a parameter for a dry run, and uses it."""
    names = {p.get("name") for p in (capability.get("input") or {}).get("parameters") or ()}
    arguments = (capability.get("implementation") or {}).get("arguments") or ()
    used = {name for name in ("dry_run", "dryRun") if f"${{{name}}}" in "".join(arguments)}
    return bool(names & used)


def subsets(data: Mapping[str, Any], skills: Mapping[str, Any]) -> Iterator[Finding]:
    """Find skills of which a package projects a part without saying so, or says it wrongly."""
    said = {each.casefold() for each in data.get("metadata", {}).get("subsetOf", ())}
    projections = data["components"].get("capabilityProjections", ())
    for key, skill in skills.items():
        known = {str(c.get("id")).casefold() for c in skill.get("capabilities") or ()}
        kept = {e["capability"].casefold() for e in projections if e["skill"] == key} & known
        left = known - kept
        if not kept or not left:
            continue
        if not said:
            text = f"{len(left)} of {len(known)} capabilities of {key} are left out, unsaid"
            severity = Severity.WARNING
            path = ("metadata", "subsetOf")
            yield _finding("subset_unmarked", text, *path, severity=severity, spoils="*")
        # It names those that are kept in one line, and those that are left out in another.
        elif not said & (kept | left):
            text = f"it names no capability of {key}"
            path = ("metadata", "subsetOf")
            yield _finding("subset_bogus", text, *path, severity=Severity.WARNING)


def elegy_package(data: dict[str, Any]) -> Iterator[Finding]:
    """Check a package of the later line: names, paths, files against what refers to them."""
    if not _KEBAB.fullmatch(data["name"]) or len(data["name"]) > 96:
        yield _finding("name_invalid", "a name is kebab-case, 96 characters at most", "name")
    if not _SEMVER.fullmatch(data["version"]):
        yield _finding("version_invalid", "the version is no semantic version", "version")
    for name in ("targets", "entrypoints", "files"):
        if not data[name]:
            yield _finding("empty", f"{name} is empty", name)
    files: set[str] = set()
    for at, each in enumerate(data["files"]):
        yield from _inside(each["path"], "files", at, "path")
        if each["path"] in files:
            yield _finding("duplicate", f"{each['path']!r:.120} is there twice", "files", at)
        files.add(each["path"])
        if each["path"] == "./elegy-package.json":
            yield _finding("manifest_listed", "the manifest lists itself", "files", at)
    yield from _referred(data, files)


def _inside(path: str, *at: str | int) -> Iterator[Finding]:
    parts = path.split("/")
    good = path.startswith("./") and "\\" not in path and "\0" not in path
    if not good or any(part in ("", ".", "..") for part in parts[1:]):
        text = f"{path!r:.120} is no safe package-relative path"
        yield _finding("path_unsafe", text, *at)


def _referred(data: Mapping[str, Any], files: set[str]) -> Iterator[Finding]:
    wanted: list[tuple[str, tuple[str | int, ...]]] = [
        (data["capabilityCatalog"], ("capabilityCatalog",))
    ]
    if data.get("readiness"):
        wanted.append((data["readiness"], ("readiness",)))
    wanted += [(p, ("skills", at)) for at, p in enumerate(data.get("skills") or ())]
    seen: set[str] = set()
    for at, each in enumerate(data["entrypoints"]):
        wanted.append((each["executable"], ("entrypoints", at, "executable")))
        if each["id"] in seen:
            yield _finding("duplicate", f"{each['id']!r:.80} is there twice", "entrypoints", at)
        seen.add(each["id"])
    for path, place in wanted:
        if path not in files:
            yield _finding("undeclared_file", f"{path!r:.120} is not among the files", *place)


def elegy_lock(data: dict[str, Any]) -> Iterator[Finding]:
    """Check a lock: exact versions, digests, and something that is allowed."""
    seen: set[str] = set()
    for at, each in enumerate(data["packages"]):
        if each["name"] in seen:
            yield _finding("duplicate", f"{each['name']!r:.80} is there twice", "packages", at)
        seen.add(each["name"])
        if not _SEMVER.fullmatch(each["version"]):
            text = "a lock names one exact version"
            yield _finding("version_invalid", text, "packages", at, "version")
        for name in ("archiveSha256", "manifestSha256", "capabilityCatalogSha256"):
            if not _HEX.fullmatch(each[name]):
                text = "a digest is 64 hexadecimal digits"
                yield _finding("digest_invalid", text, "packages", at, name)
        for name in ("executableDigests", "allowedCapabilities"):
            if not each[name]:
                yield _finding("empty", f"{name} is empty", "packages", at, name)
