"""Closed objects in schemas, and the defaults that are shown in them."""

from __future__ import annotations

from typing import Any

from attrs import NOTHING

from holon_core.functions.codec import Codec, portable


def object_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """Write the schema of a closed object."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def default_of(codec: Codec, default: Any) -> dict[str, Any]:
    """Show a default in a schema, where it is JSON that the schema itself accepts."""
    if default is NOTHING:
        return {}
    try:
        value = codec.to_json(default)
    except Exception:
        return {}
    return {"default": value} if portable(value) and codec.match(value) else {}
