"""``elegy-package/v1`` with its capability catalogue, and the lock that may come with it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from elegy_contracts.finding import ContractError
from elegy_contracts.normal import NormalSkill, normalise
from elegy_contracts.reading import examine
from holon_plugin_packages.normalising import json_file
from holon_plugin_packages.readers.building import Builder
from holon_plugin_packages.readers.elegy_lock import PLACE, held_to_locks, runs_here
from holon_plugin_packages.readers.elegy_parts import add_skill, as_finding, capability
from holon_plugin_packages.readers.instructions import add_skill as add_instructions
from holon_plugin_packages.records import PackageFiles, PackageReader, Reading

CODE = "package_manifest_invalid"


def recognise(package: PackageFiles) -> str:
    """Return the manifest at the root."""
    return PLACE if PLACE in package.files else ""


def read(package: PackageFiles, path: str) -> Reading:
    """Read a package: every file declared and there, the catalogue, skills, the lock."""
    builder = Builder(package)
    data, faults = json_file(package, path)
    builder.findings.extend(faults)
    one = examine("elegy-package-v1", data)
    builder.findings.extend(as_finding(each) for each in one.findings)
    if not one.valid:
        builder.refused.append("the manifest is refused")
        return builder.done()
    data = one.data
    builder.identity(data["name"], data["version"], {**data, "author": data["publisher"]["name"]})
    builder.manifest["publisher"] = {
        "name": data["publisher"]["name"][:200],
        "url": data["publisher"]["repository"][:2000],
    }
    builder.manifest["files"] = [_file(each) for each in data["files"]]
    catalogue = _catalogue(builder, data)
    allowed, target = held_to_locks(builder, data)
    if catalogue is not None:
        _capabilities(builder, data, catalogue, (allowed, target))
    for each in data.get("skills") or ():
        if each.removeprefix("./") in package.files:
            add_instructions(builder, each.removeprefix("./"), plain="instruction")
    for each in data["entrypoints"]:
        if each["kind"] == "mcp-stdio":
            command = {"command": each["executable"], "args": list(each.get("command", ()))}
            builder.server(each["id"], {**command, "type": "stdio"})
    return builder.done()


def _file(each: Mapping[str, Any]) -> dict[str, Any]:
    made = {"path": each["path"], "role": each["role"][:100]}
    return {**made, "sha256": each["sha256"]} if each.get("sha256") else made


def _catalogue(builder: Builder, data: Mapping[str, Any]) -> NormalSkill | None:
    path = data["capabilityCatalog"].removeprefix("./")
    if path not in builder.package.files:
        builder.refuse("unresolved_ref", f"the package has no {path!r:.200}", "/capabilityCatalog")
        return None
    given, faults = json_file(builder.package, path)
    builder.findings.extend(faults)
    try:
        normal = normalise(given)
    except ContractError as error:
        builder.findings.extend(as_finding(each) for each in error.findings)
        builder.refuse(CODE, "the capability catalogue is refused", "/capabilityCatalog")
        return None
    if (normal.key, normal.version) != (data["name"], data["version"]):
        text = f"the catalogue is of {normal.key} {normal.version}, not of this package"
        builder.refuse(CODE, text, "/capabilityCatalog")
    return normal


def _capabilities(
    builder: Builder,
    data: Mapping[str, Any],
    normal: NormalSkill,
    locked: tuple[frozenset[str] | None, str],
) -> None:
    allowed, target = locked
    elsewhere = "" if not target or runs_here(target) else f"the lock is for {target[:100]}"
    add_skill(builder, normal)
    programs = {each["path"] for each in data["files"] if each["role"] == "executable"}
    for each in normal.capabilities:
        made = capability(normal, each, lane="cli" if each.implementation else "mcp")
        command = made.get("command")
        if command is not None:
            program = _program(command["program"], data, programs)
            if program:
                command["program"] = program
            else:
                text = "its program is no declared executable of the package"
                made["blocked"] = [*made.get("blocked", ()), text]
                del made["command"]
        if allowed is not None and each.id not in allowed:
            made["blocked"] = [*made.get("blocked", ()), "the lock does not allow it"]
        if elsewhere:
            made["blocked"] = [*made.get("blocked", ()), elsewhere]
        builder.add("capabilities", made)


def _program(name: str, data: Mapping[str, Any], programs: set[str]) -> str:
    """Return the declared file that a catalogue's program is."""
    plain = posixpath.basename(name).removesuffix(".exe")
    for path in (*(each["executable"] for each in data["entrypoints"]), *sorted(programs)):
        if path == name or posixpath.basename(path).removesuffix(".exe") == plain:
            return str(path)
    return ""


READERS = (PackageReader(format="elegy-package/v1", rank=10, recognise=recognise, read=read),)
