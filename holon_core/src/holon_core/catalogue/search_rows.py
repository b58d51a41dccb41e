"""What is searched of a tool, as text by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from holon_core.catalogue.words import prose, split

# A text beyond this says nothing more about what a tool is for.
MAX_TEXT = 8000
MAX_SCHEMA_DEPTH = 4
MAX_PARAMETERS = 200


class Row(NamedTuple):
    """One tool's words; columns in the order of ``WEIGHTS``."""

    id: str
    lane: str
    name: str
    title: str
    description: str
    examples: str
    parameters: str
    source: str


# How much a hit in a column counts, in the order of the columns.
WEIGHTS = (3.0, 3.0, 2.0, 2.0, 1.0, 0.2)


class Hit(NamedTuple):
    """One tool that was found: a higher score fits better; equal ones are in the order of ids."""

    score: float
    id: str


def row_of(tool: Mapping[str, Any]) -> Row:
    """Return the words of a tool, given as its stored JSON."""
    source, _, capability = tool["id"].partition("/")
    name = tool["name"]
    return Row(
        id=tool["id"],
        lane=tool["lane"],
        name=split(capability if name in ("", capability) else f"{capability} {name}"),
        title=split(tool["title"][:MAX_TEXT]),
        description=prose(tool["description"][:MAX_TEXT]),
        examples=prose(" ".join(tool["examples"])[:MAX_TEXT]),
        parameters=_parameters(tool["input_schema"]),
        source=split(source),
    )


def _parameters(schema: Any) -> str:
    found: list[str] = []
    size = 0
    for name, text in _walk(schema, 0):
        if size > MAX_TEXT or len(found) >= MAX_PARAMETERS:
            break
        words = f"{split(name)} {prose(text[:MAX_TEXT])}"
        size += len(words)
        found.append(words)
    return " ".join(found)


def _walk(schema: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each parameter, also of nested ones."""
    if not isinstance(schema, dict) or depth > MAX_SCHEMA_DEPTH:
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, inner in properties.items():
            text = inner.get("description") if isinstance(inner, dict) else None
            yield name, text if isinstance(text, str) else ""
            yield from _walk(inner, depth + 1)
    yield from _walk(schema.get("items"), depth + 1)
