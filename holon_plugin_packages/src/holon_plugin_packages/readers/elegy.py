"""Plugin packages of Elegy: the lines v1, v2 and the unified one after them."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from elegy_contracts.finding import ContractError, Severity
from elegy_contracts.normal import NormalSkill, normalise
from elegy_contracts.package_rules import projection, subsets
from elegy_contracts.reading import examine
from holon_plugin_packages.normalising import json_file
from holon_plugin_packages.paths import path_problem
from holon_plugin_packages.readers.building import Builder, slug, texts
from holon_plugin_packages.readers.elegy_parts import add_skill, as_finding, capability
from holon_plugin_packages.readers.instructions import add_skill as add_instructions
from holon_plugin_packages.records import PackageFiles, PackageReader, Reading

MARK = b"elegy-plugin-package/v"
# Components that are files, and where they go.
FILES: Mapping[str, str] = {
    "docs": "docs",
    "assets": "assets",
    "configurationTemplates": "assets",
    "configurationProfiles": "assets",
    "capabilityContracts": "assets",
    "evalPacks": "assets",
    "resourcePacks": "assets",
    "toolAdapterContracts": "assets",
    "bridgeAdapterContracts": "assets",
    "cliHelpers": "assets",
}
LOST: Mapping[str, str] = {
    "hostCompatibility": "other hosts",
    "pilotingAdapters": "piloting has no place in a package of Holon",
    "fixturePacks": "fixtures of piloting",
    "rustToolAdapters": "compiled tools come by rust-code-tool",
}
UNMARKED = "the package projects a part of its skill and does not say so: metadata.subsetOf"


def _data(package: PackageFiles, path: str) -> Any:
    if package.manifest is not None:
        return package.manifest
    return json_file(package, path)[0]


def recognise(package: PackageFiles, *, line: str) -> str:
    """Return the file at the root that says that it is of this line."""
    mark = f"elegy-plugin-package/{line}"
    if package.manifest is not None:
        return "(manifest)" if package.manifest.get("schemaVersion") == mark else ""
    for path in sorted(package.files):
        if "/" not in path and path.endswith(".json") and MARK in package.files[path]:
            data = _data(package, path)
            if isinstance(data, dict) and data.get("schemaVersion") == mark:
                return path
    return ""


def read(package: PackageFiles, path: str) -> Reading:
    """Read a package: skills by their references, projections against them, files."""
    builder = Builder(package)
    one = examine("elegy-plugin-package", _data(package, path))
    builder.findings.extend(as_finding(each) for each in one.findings)
    if not one.valid:
        builder.refused.append("the manifest is refused")
        return builder.done()
    data, components = one.data, one.data["components"]
    metadata = data.get("metadata", {})
    given = {**metadata, "displayName": data["identity"].get("displayName")}
    builder.identity(data["identity"]["packageId"], data["identity"]["version"], given)
    builder.manifest["metadata"] = {
        name: data[name]
        for name in ("publishing", "hostPolicyHints", "elegyCompatibility", "extensions")
        if name in data
    }
    _requirements(builder, components)
    skills = _skills(builder, components)
    _projections(builder, data, skills)
    _servers(builder, components)
    _files(builder, components)
    for name in ("prePublishHook", "postPublishHook"):
        if data.get("publishing", {}).get(name):
            builder.lose(f"/publishing/{name}", "a hook is shell text, and never run")
    return builder.done()


def _skills(builder: Builder, components: Mapping[str, Any]) -> dict[str, NormalSkill]:
    found: dict[str, NormalSkill] = {}
    for at, each in enumerate(components.get("skillDefinitions", ())):
        place = f"/components/skillDefinitions/{at}"
        definition = each.get("definition")
        if "definitionRef" in each:
            referred = _referred(builder, each["definitionRef"])
            if referred is None and definition is None:
                builder.lose(place, f"the package has no {each['definitionRef']}", fault=True)
                continue
            if definition is not None and referred is not None and referred != definition:
                text = "definition and definitionRef differ"
                builder.refuse("package_manifest_invalid", text, place)
            definition = definition if definition is not None else referred
        try:
            normal = normalise(definition)
        except ContractError as error:
            builder.findings.extend(as_finding(f, path=place) for f in error.findings)
            builder.refuse("package_manifest_invalid", f"the skill {each['id']} is refused", place)
            continue
        found[normal.key] = normal
        add_skill(builder, normal)
    return found


def _referred(builder: Builder, ref: str) -> Any:
    """Read a referred file: by its path in the package, else by its name alone."""
    files = builder.package.files
    path = ref.removeprefix("./")
    if path_problem(path):
        return None
    if path not in files:
        name = posixpath.basename(path)
        path = next((each for each in sorted(files) if posixpath.basename(each) == name), "")
    return json_file(builder.package, path)[0] if path else None


def _projections(
    builder: Builder, data: Mapping[str, Any], skills: Mapping[str, NormalSkill]
) -> None:
    components = data["components"]
    definitions = {key: normal.definition for key, normal in skills.items()}
    # Those that are inline were judged with the manifest; those by reference are now.
    told = list(subsets(data, definitions))
    unmarked = any(each.code == "subset_unmarked" for each in told)
    builder.findings.extend(as_finding(each) for each in told)
    used: dict[str, str] = {}
    kept: dict[str, set[str]] = {}
    for at, each in enumerate(components.get("capabilityProjections", ())):
        place = ("components", "capabilityProjections", at)
        warning = Severity.WARNING
        found = list(projection(each, definitions, *place, known_all=True, phantom=warning))
        builder.findings.extend(as_finding(one) for one in found)
        if any(one.severity is Severity.ERROR for one in found):
            builder.refused.append("a projection is refused")
        blocked = [one.message for one in found if one.spoils]
        blocked += [UNMARKED] if unmarked else []
        kept.setdefault(each["skill"], set()).add(each["capability"].casefold())
        made = _entry(each, skills, data, blocked)
        name = each["capability"]
        if used.get(name, each["skill"]) != each["skill"]:
            made["id"] = f"{each['skill']}.{name}"
        used.setdefault(name, each["skill"])
        made["requires_tools"] = _needed(builder, made)
        builder.add("capabilities", made)
    for key, normal in skills.items():
        for one in normal.capabilities:
            if one.id.casefold() not in kept.get(key, set()):
                builder.lose(f"{key}#{one.id}", "the package does not project it")


def _entry(
    each: Mapping[str, Any],
    skills: Mapping[str, NormalSkill],
    data: Mapping[str, Any],
    blocked: list[str],
) -> dict[str, Any]:
    normal = skills.get(each["skill"])
    known = () if normal is None else normal.capabilities
    one = next((c for c in known if c.id == each["capability"]), None)
    side = each.get("sideEffectClass")
    if normal is None or one is None:
        made: dict[str, Any] = {"id": each["capability"], "lane": each["lane"]}
        if side:
            made["side_effect"] = side
    else:
        more = () if side is None else (side,)
        made = capability(normal, one, more=more, lane=each["lane"])
    for name, member in (("input_schema", "inputSchema"), ("output_schema", "outputSchema")):
        if member in each:
            made[name] = each[member]
    if data.get("hostPolicyHints", {}).get("requiresApproval") is True:
        made["approval"] = "required"
    if blocked or (each["lane"] in ("cli", "subprocess") and "command" not in made):
        reasons = [*made.get("blocked", ()), *blocked]
        made["blocked"] = reasons or ["the package does not say how it is started"]
    function = each.get("projection", {}).get("functionName")
    if function:
        made["metadata"] = {"function_name": function, "projection": each["id"]}
    return made


def _needed(builder: Builder, made: Mapping[str, Any]) -> list[str]:
    program = made.get("command", {}).get("program")
    known = builder.manifest.get("tool_requirements", ())
    return [each["name"] for each in known if each["program"] == program]


def _requirements(builder: Builder, components: Mapping[str, Any]) -> None:
    for each in components.get("toolRequirements", ()):
        probe = each.get("probeCommand", "--version")
        try:
            parts = shlex.split(probe)
        except ValueError:
            parts = ["--version"]
        if parts and parts[0] == each["cliBinary"]:
            del parts[0]
        builder.add(
            "tool_requirements",
            {
                "name": each["toolName"][:100],
                "program": each["cliBinary"][:200],
                "probe_command": parts[:10],
                "min_version": texts(each.get("minVersion"), 50),
                "description": texts(each.get("description"), 1000),
            },
        )


def _servers(builder: Builder, components: Mapping[str, Any]) -> None:
    for each in components.get("mcpProjections", ()):
        name = each.get("serverName") or each["id"]
        refs = [f"{r['skill']}#{r['capability']}" for r in each.get("capabilityRefs", ())]
        builder.add(
            "mcp_servers",
            {
                "id": slug(name, fallback="server"),
                "title": texts(name, 200),
                "transport": "unknown",
                "metadata": {"descriptor": each.get("descriptorRef", ""), "capabilities": refs},
            },
        )


def _files(builder: Builder, components: Mapping[str, Any]) -> None:
    files = builder.package.files
    for each in components.get("instructionSkills", ()):
        path = each["path"].removeprefix("./")
        if path in files:
            add_instructions(builder, path, plain="instruction")
        else:
            builder.lose(path, "the package has no such file", fault=True)
    for kind, target in FILES.items():
        for each in components.get(kind, ()):
            path = each["path"].removeprefix("./")
            if path not in files:
                builder.lose(path, "the package has no such file", fault=True)
                continue
            entry = {"id": f"{kind}.{each['id']}"[:120], "path": path}
            builder.add(target, {**entry, "description": texts(each.get("description"), 2000)})
    for kind, reason in LOST.items():
        for at, _ in enumerate(components.get(kind, ())):
            builder.lose(f"/components/{kind}/{at}", reason)


READERS = tuple(
    PackageReader(
        format=f"elegy-plugin-package/{line}",
        rank=20,
        recognise=partial(recognise, line=line),
        read=read,
    )
    for line in ("v1", "v2")
)
