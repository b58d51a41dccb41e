"""From what a server offers to the entry of the catalogue that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Origin, Posture
from holon_mcp.items.hints import READING, WORST
from holon_mcp.items.templates import variables
from holon_mcp.lane import CHANGED, KIND, entry_id
from holon_mcp.records import StoredItem, StoredServer

# What stands for a schema that cannot be used: no arguments are taken.
NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def tool_of(server: StoredServer, item: StoredItem) -> RuntimeToolDescriptor:
    """Describe the accepted definition of an item.

    Where the server gives another one meanwhile, that is not shown: the entry says by a risk
    hint that it changed, which makes it another definition, so that approvals are void.
    """
    given = item.accepted
    assert given is not None, "only what was accepted is described"
    hints = set(item.risk_hints)
    if item.offered is not None:
        hints.add(CHANGED)
    return RuntimeToolDescriptor(
        id=entry_id(item.server, item.kind, item.name),
        lane=KIND,
        origin=Origin.REGISTERED,
        posture=Posture.MODEL_INVOKED,
        version=server.server_version or "1",
        name=_text(given, "name") or item.name,
        title=_title(given),
        description=_text(given, "description"),
        input_schema=_input(item, given),
        output_schema=_output(item, given),
        effects=WORST if item.kind == "tool" else READING,
        risk_hints=tuple(sorted(hints)),
        # Never shown to a model as something to call: nothing here can be called.
        projections=(),
        executor_ref=item.pin,
    )


def _input(item: StoredItem, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if not item.usable or item.kind == "resource":
        return NOTHING
    if item.kind == "tool":
        schema: Mapping[str, Any] = given["inputSchema"]
        return schema
    if item.kind == "template":
        names = variables(given["uriTemplate"]) or ()
        return _texts(dict.fromkeys(names, ""), names)
    arguments = given.get("arguments") or []
    described = {each["name"]: _text(each, "description") for each in arguments}
    required = [each["name"] for each in arguments if each.get("required") is True]
    return _texts(described, required)


def _texts(described: Mapping[str, str], required: Any) -> Mapping[str, Any]:
    properties = {
        name: {"type": "string", **({"description": text} if text else {})}
        for name, text in described.items()
    }
    made = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": list(required)} if required else made


def _output(item: StoredItem, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not item.usable or item.kind != "tool":
        return None
    schema = given.get("outputSchema")
    return schema if isinstance(schema, dict) else None


def _title(given: Mapping[str, Any]) -> str:
    annotations = given.get("annotations")
    inner = _text(annotations, "title") if isinstance(annotations, Mapping) else ""
    return _text(given, "title") or inner


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""
