"""Crystallized capabilities: an active tool as a portable definition, and back as a proposal.

Nothing of a host leaves with one, and nothing of trust comes with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from elegy_contracts import canonical, examine
from holon_core.errors import Refused, Rejected
from holon_core.guard.secrecy import know_registered
from holon_core.operations.answers import to_json
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.frozen import FrozenState, FrozenToolRecord
from holon_core.records.words import EFFECT_ORDER, ApprovalRequirement, Effect
from holon_core.wire.canonical import sha256_hex
from holon_elegy.effects import EFFECTS
from holon_elegy.portable_files import (
    CONTENT,
    Read,
    command_of,
    file_of,
    fixtures_of,
    refuse_clash,
)

if TYPE_CHECKING:
    from holon_core.runtime import Runtime

CONTRACT = "crystallized-capability"
VERSION = "elegy-crystallized-capability/v1"
EFFECT_HINT = "effect."
# A folder such as / stands in any text, and tells nothing.
SHORTEST = 4
# The form of every id that a host makes: of calls, approvals, runs, sessions, outputs.
_ID = re.compile(r"(?<![0-9A-Za-z])[a-z][0-9a-f]{32}(?![0-9A-Za-z])")
# The class of each effect in the vocabulary of the portable contract, from harmless on.
CLASSES: Mapping[Effect, str] = {
    Effect.NONE: "none",
    Effect.WORKSPACE_READ: "disk_read",
    Effect.HOST_STATE_READ: "disk_read",
    Effect.MACHINE_READ: "disk_read",
    Effect.NETWORK_READ: "network_outbound",
    Effect.WORKSPACE_WRITE: "disk_write",
    Effect.HOST_STATE_WRITE: "disk_write",
    Effect.MACHINE_WRITE: "disk_write",
    Effect.NETWORK_WRITE: "network_outbound",
    Effect.PROCESS: "process_spawn",
    Effect.DESTRUCTIVE: "disk_write",
}
_RANK = ("none", "disk_read", "disk_write", "network_outbound", "process_spawn")


def export(runtime: Runtime, record: FrozenToolRecord) -> dict[str, Any]:
    """Write an active tool as a portable definition.

    Args:
        runtime: Where it is active.
        record: The tool.

    Returns:
        Contract data, which its own schema and rules admit.

    Raises:
        Refused: ``lifecycle_blocked``: it is not active; ``unsupported_capability``: its sources
            take the folder that the portable form needs.
        Rejected: Something of this host is in it, with the path of each place.
    """
    if record.state is not FrozenState.ACTIVE:
        raise Refused(failure("lifecycle_blocked", f"{record.id} is {record.state}, not active"))
    made = _definition(runtime, record)
    findings = [
        Finding(code="record_invalid", message=each.message, path=each.path)
        for each in examine(CONTRACT, made).findings
        if each.severity == "error"
    ]
    findings += _private(runtime, record, made)
    if findings:
        raise Rejected(record.id, findings)
    return made


def _definition(runtime: Runtime, record: FrozenToolRecord) -> dict[str, Any]:
    definition = record.definition
    effects = definition.policy.effects
    classes = [CLASSES[effect] for effect in effects]
    validation, files = fixtures_of(definition)
    return {
        "schemaVersion": VERSION,
        "identity": {"namespace": definition.kind, "name": definition.name},
        "displayName": definition.name,
        "version": str(record.version),
        "description": definition.purpose,
        "lifecycleState": "active",
        "implementation": _implementation(runtime, record, files),
        "inputSchema": dict(definition.input_schema),
        "outputSchema": dict(definition.output_schema),
        "variableSlots": [
            {"name": name, "path": f"/{name}", "schema": schema if isinstance(schema, dict) else {}}
            for name, schema in dict(definition.input_schema).get("properties", {}).items()
        ],
        "dependencies": [
            {"kind": each.kind, "name": each.name, "version": each.version}
            for each in definition.dependencies
        ],
        "sideEffects": {"class": max(classes, key=_RANK.index)},
        "determinism": {"isDeterministic": definition.deterministic},
        "provenance": [_provenance(record)],
        "governance": {
            "approvalRequirement": definition.policy.approval.value,
            "hints": [
                *(f"{EFFECT_HINT}{each.value}" for each in sorted(effects, key=EFFECT_ORDER.get)),  # type: ignore[arg-type]
                *definition.risk_hints,
            ],
        },
        "validation": validation,
        "compatibility": {"contract": VERSION},
        "secretSlots": [
            {"name": each.name.lower(), "purpose": each.purpose or each.name.lower()}
            for each in definition.secret_slots
        ],
    }


def _implementation(
    runtime: Runtime, record: FrozenToolRecord, more: list[dict[str, str]]
) -> dict[str, Any]:
    definition = record.definition
    refuse_clash(definition)
    files = [
        {
            "path": each.path,
            "sha256": each.sha256,
            "content": runtime.tools.frozen.file(each.sha256).decode(),
        }
        for each in definition.files
    ]
    made: dict[str, Any] = {"kind": definition.kind}
    command = command_of(definition.content)
    if command is not None:
        made |= {"language": command[0], "entryPoint": command[1], "arguments": command[2:]}
    elif definition.content:
        made["entryPoint"] = CONTENT
        files.append(file_of(CONTENT, to_json(dict(definition.content))))
    return {**made, "files": [*files, *more]}


def _provenance(record: FrozenToolRecord) -> dict[str, Any]:
    """Say how much proved it, without any log of the workspace."""
    run = record.validation
    proven = 0 if run is None else len(run.fixtures)
    text = f"{len(record.provenance)} recorded origins; {proven} fixtures passed"
    return {"kind": "frozen-tool", "digest": record.digest, "summary": text}


def _private(runtime: Runtime, record: FrozenToolRecord, made: Any) -> Iterator[Finding]:
    """Find ids, places and secrets of this store in any text of a definition."""
    references = [slot.ref for slot in record.definition.secret_slots]
    unknown = know_registered(runtime._guard, references)
    if unknown is not None:
        yield Finding(code="record_invalid", message=unknown.message)
    names = [*_places(runtime), *references]
    for path, text in _texts(made, ""):
        if _ID.search(text) or any(name in text for name in names if len(name) >= SHORTEST):
            message = "an id, a place or a secret reference of this host stands in it"
            yield Finding(code="record_invalid", message=message, path=path)
        elif runtime._guard.redactor.text(text) != text:
            yield Finding(code="record_invalid", message="a secret stands in it", path=path)


def _places(runtime: Runtime) -> Iterator[str]:
    """Yield the storage root, and id and folder of each workspace of the store."""
    root = runtime._parts.root
    if root is not None:
        yield str(root)
    after = ""
    while page := runtime.workspaces.list(after=after, limit=1000):
        for each in page:
            yield from (each.id, each.root_path)
        after = page[-1].id


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield f"{path}/{name}", name
            yield from _texts(item, f"{path}/{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{path}/{number}")
    elif isinstance(value, str):
        yield path, value


def proposal_of(data: Any, secret_refs: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """Read a portable definition as a proposal, and digest it.

    Args:
        data: Contract data, of anybody.
        secret_refs: The reference of each secret slot; one that is not named is looked up in
            the host's own table, as ``secret:<name>``.

    Raises:
        Rejected: It is no sound definition, with every finding.
    """
    reading = examine(CONTRACT, data)
    findings = [
        Finding(code="record_invalid", message=each.message, path=each.path)
        for each in reading.findings
        if each.severity == "error"
    ]
    findings += _unfit(data) if not findings else []
    if findings:
        raise Rejected("the definition", findings)
    read = Read(data)
    if read.findings:
        raise Rejected("the definition", read.findings)
    return _proposal(data, secret_refs, read), sha256_hex(canonical(data))


def _unfit(data: Mapping[str, Any]) -> Iterator[Finding]:
    for number, each in enumerate(data["implementation"].get("files", ())):
        where = f"/implementation/files/{number}"
        if "content" not in each:
            yield Finding(code="source_invalid", message="its content is not here", path=where)
        elif sha256_hex(each["content"].encode()) != each["sha256"]:
            yield Finding(code="source_invalid", message="it is not of its digest", path=where)


def _proposal(
    data: Mapping[str, Any], secret_refs: Mapping[str, str], read: Read
) -> dict[str, Any]:
    governance = data.get("governance", {})
    hints = governance.get("hints", ())
    required = governance.get("approvalRequirement") == ApprovalRequirement.REQUIRED.value
    return {
        "name": data["identity"]["name"],
        "kind": data["implementation"]["kind"],
        "purpose": data.get("description") or data["displayName"],
        "input_schema": data["inputSchema"],
        "output_schema": data["outputSchema"],
        "policy": {
            "effects": _effects(data["sideEffects"]["class"], hints),
            "approval": "required" if required else "none",
        },
        "fallback": {"kind": "none"},
        "deterministic": data["determinism"]["isDeterministic"],
        "content": read.content,
        "files": read.sources,
        "fixtures": read.fixtures,
        "secret_slots": [
            {
                "name": each["name"].upper(),
                "ref": secret_refs.get(each["name"], f"secret:{each['name']}"),
                "purpose": each["purpose"],
            }
            for each in data.get("secretSlots", ())
        ],
        "dependencies": [
            {"kind": each["kind"], "name": each["name"], "version": each.get("version", "")}
            for each in data.get("dependencies", ())
        ],
        "risk_hints": [each for each in hints if not each.startswith(EFFECT_HINT)],
    }


def _effects(stated: str, hints: tuple[str, ...]) -> list[str]:
    """Return the effects that a definition claims: by name where they are of its class."""
    words = {effect.value: effect for effect in CLASSES}
    named = [each[len(EFFECT_HINT) :] for each in hints if each.startswith(EFFECT_HINT)]
    known = [words[name] for name in named if name in words]
    whole = bool(known) and len(known) == len(named)
    if whole and max((CLASSES[each] for each in known), key=_RANK.index) == stated:
        return sorted(each.value for each in known)
    return sorted(each.value for each in EFFECTS[("host_class", stated)])
