"""Descriptors as stored JSON, and back; by hand, since every start reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from holon_core.records.tool import (
    Dependency,
    Limits,
    Provenance,
    RuntimeToolDescriptor,
    SecretSlot,
)
from holon_core.records.words import ApprovalRequirement, Effect, Origin, Posture
from holon_core.store.rows import decodes, text

_SLOTS = rb'"secret_slots": ?\[\['


def descriptor_json(tool: RuntimeToolDescriptor) -> dict[str, Any]:
    """Return a descriptor as plain JSON, every field of it."""
    return {
        "id": tool.id,
        "lane": tool.lane,
        "origin": tool.origin.value,
        "posture": tool.posture.value,
        "version": tool.version,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "examples": list(tool.examples),
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "effects": sorted(effect.value for effect in tool.effects),
        "approval": tool.approval.value,
        "risk_hints": list(tool.risk_hints),
        "dependencies": [[d.kind, d.name, d.version] for d in tool.dependencies],
        "secret_slots": [[s.name, s.ref, s.purpose] for s in tool.secret_slots],
        "projections": list(tool.projections),
        "idempotent": tool.idempotent,
        "limits": [tool.limits.timeout_s, tool.limits.max_output_bytes],
        "executor_ref": tool.executor_ref,
        "provenance": [
            tool.provenance.distribution,
            tool.provenance.version,
            tool.provenance.plugin,
        ],
        "digest": tool.digest,
        **({"keywords": list(tool.keywords)} if tool.keywords else {}),
        **({"lifecycle": tool.lifecycle} if tool.lifecycle else {}),
        **({"workspace": tool.workspace} if tool.workspace else {}),
    }


@decodes("a definition")
def descriptor_from(body: bytes) -> RuntimeToolDescriptor:
    """Return the descriptor that was stored."""
    data = json.loads(body)
    limits, origin = data["limits"], data["provenance"]
    return RuntimeToolDescriptor(
        id=data["id"],
        lane=data["lane"],
        origin=Origin(data["origin"]),
        posture=Posture(data["posture"]),
        version=data["version"],
        name=data["name"],
        title=data["title"],
        description=data["description"],
        examples=tuple(data["examples"]),
        keywords=tuple(data.get("keywords", ())),
        input_schema=data["input_schema"],
        output_schema=data["output_schema"],
        effects=frozenset(map(Effect, data["effects"])),
        approval=ApprovalRequirement(data["approval"]),
        risk_hints=tuple(data["risk_hints"]),
        dependencies=tuple(
            Dependency(kind=k, name=n, version=v) for k, n, v in data["dependencies"]
        ),
        secret_slots=tuple(
            SecretSlot(name=n, ref=r, purpose=p) for n, r, p in data["secret_slots"]
        ),
        projections=tuple(data["projections"]),
        idempotent=data["idempotent"],
        limits=Limits(timeout_s=limits[0], max_output_bytes=limits[1]),
        executor_ref=data["executor_ref"],
        provenance=Provenance(distribution=origin[0], version=origin[1], plugin=origin[2]),
        digest=data["digest"],
        lifecycle=text(data.get("lifecycle", "")),
        workspace=workspace_of(data),
    )


def workspace_of(said: Mapping[str, Any]) -> str | None:
    """Return the workspace that a stored descriptor is of, and no other.

    The id of a frozen tool names it, whether the descriptor says it or not.
    """
    if "workspace" in said:
        return text(said["workspace"])
    source = said["id"].partition("/")[0]
    return source.removeprefix("frozen.") if source.startswith("frozen.") else None


@decodes("a definition")
def slot_references(body: bytes) -> tuple[str, ...]:
    """Return which secrets a stored descriptor refers to."""
    # Most name none, and need not be parsed. A schema may hold the same words: that costs a look.
    if not re.search(_SLOTS, body):
        return ()
    return tuple(text(ref) for _, ref, _ in json.loads(body)["secret_slots"])


@decodes("a pin")
def pinned_digest(body: bytes) -> str:
    """Return the digest of the definition that a stored pin lets run."""
    return text(json.loads(body)["digest"])
