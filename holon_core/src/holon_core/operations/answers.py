"""Answers of operations: records as JSON, and the schema of what that gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from attrs import fields, has

from holon_core.records.failure import StructuredFailure
from holon_core.records.output import OutputResult
from holon_core.records.result import EvidenceRef, ToolResult
from holon_core.records.tool import RuntimeToolDescriptor

Schema = dict[str, Any]
# What the wire shows of a record besides its fields.
_DERIVED: Mapping[type, tuple[str, ...]] = {
    RuntimeToolDescriptor: ("side_effect_class", "readiness"),
    StructuredFailure: ("next_action",),
}
_SCALARS: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def to_json(record: object) -> Any:
    """Turn records into JSON as every door shows them: the one way out.

    Args:
        record: A record, or a tuple or list of records.
    """
    from holon_core.wire.converter import unstructure

    if isinstance(record, (list, tuple)):
        return [to_json(item) for item in record]
    made = unstructure(record)
    for name in _DERIVED.get(type(record), ()):
        made[name] = unstructure(getattr(record, name))
    if isinstance(record, (ToolResult, OutputResult)):
        made["evidence_refs"] = [ref._asdict() for ref in record.evidence_refs]
        made["failure"] = None if record.failure is None else to_json(record.failure)
    return made


def schema_of(kind: Any) -> Schema:
    """Describe what ``to_json`` makes of a type: an attrs class, or what its fields hold."""
    if kind is Any:
        return {}
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(choice) for choice in inner]}
    if origin is EvidenceRef:
        return _object({name: schema_of(of) for name, of in get_type_hints(EvidenceRef).items()})
    if has(origin):
        return _record(origin)
    if issubclass(origin, Enum):
        return {"type": "string", "enum": [member.value for member in origin]}
    if issubclass(origin, Mapping):
        return {"type": "object"}
    assert issubclass(origin, (tuple, list, AbstractSet)), f"{kind} has no form in an answer"
    return listed(schema_of(inner[0] if inner else Any))


def listed(items: Schema) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": items}


def answer(**members: Schema) -> Schema:
    """Describe an answer that has exactly these members."""
    return _object(members)


def page(name: str, items: Schema, *, cursor: str = "string", **more: Schema) -> Schema:
    """Describe a page of a listing; ``next_after`` begins the next one, null ends it."""
    return _object({name: listed(items), "next_after": {"type": [cursor, "null"]}, **more})


def paged(
    name: str,
    found: Sequence[Any],
    limit: int,
    *,
    visible: Callable[[Any], bool] = lambda each: True,
) -> dict[str, Any]:
    """Answer a page as ``page`` describes it.

    Args:
        name: Of the listing.
        found: Up to ``limit`` records with an ``id``, in its order.
        limit: How many were asked for; fewer are the last.
        visible: Tells which the caller may see; the others are left out, and counted all the same.
    """
    last = found[-1].id if len(found) == limit else None
    return {name: to_json([each for each in found if visible(each)]), "next_after": last}


def _record(cls: Any) -> Schema:
    hints = get_type_hints(cls)
    members = {field.name: schema_of(hints[field.name]) for field in fields(cls)}
    for name in _DERIVED.get(cls, ()):
        members[name] = schema_of(get_type_hints(getattr(cls, name).fget)["return"])
    return _object(members)


def _object(members: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(members),
        "required": list(members),
        "additionalProperties": False,
    }
