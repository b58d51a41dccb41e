"""The words in which requests of operations are written as JSON Schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

MAX_NAME = 200
MAX_TOOL_ID = 400
MAX_REASON = 2000


def params(required: tuple[str, ...] = (), /, **properties: Mapping[str, Any]) -> Schema:
    """Describe the parameters of an operation; no others are taken."""
    made: Schema = {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "additionalProperties": False,
    }
    return {**made, "required": list(required)} if required else made


def text(doc: str, *, limit: int = MAX_NAME) -> Schema:
    """Describe a text that is not empty, bounded in characters."""
    return {"type": "string", "minLength": 1, "maxLength": limit, "description": doc}


def nullable(schema: Mapping[str, Any]) -> Schema:
    """Let a value be null as well."""
    return {**schema, "type": [schema["type"], "null"]}


def whole(doc: str, *, least: int, most: int = 2**53 - 1, default: int | None = None) -> Schema:
    """Describe a bounded whole number; the default is what the handler takes."""
    made: Schema = {"type": "integer", "minimum": least, "maximum": most, "description": doc}
    return made if default is None else {**made, "default": default}


def flag(doc: str) -> Schema:
    """Describe a choice that is off unless asked for."""
    return {"type": "boolean", "description": doc, "default": False}


def choice(words: list[str], doc: str, *, default: str) -> Schema:
    """Describe one of several words."""
    return {"type": "string", "enum": words, "description": doc, "default": default}


LIMIT = whole("How many at most.", least=1, most=1000, default=50)
AFTER_ID = {
    "type": "string",
    "maxLength": MAX_TOOL_ID,
    "description": "Only what comes after this id: `next_after` of the page before.",
}
TOOL = text("Id of the tool.", limit=MAX_TOOL_ID)
ARGUMENTS = {
    "type": "object",
    "description": "The tool's arguments; none where left out.",
}
REASON = text("Why, for the record.", limit=MAX_REASON)
CALL_ID = text("Id of the call.")
EITHER_ID = text("Id of an approval, or of a call held for it.")
WORKSPACE = nullable(
    text("Id of a workspace; null for calls without one; the caller's where left out.")
)
