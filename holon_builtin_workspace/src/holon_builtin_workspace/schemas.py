"""Pieces of the schemas of this lane's tools."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def closed_object(properties: Schema, required: list[str] | None = None) -> Schema:
    """Describe an object of these properties and no others; all required by default."""
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties) if required is None else required,
        "additionalProperties": False,
    }


def text(description: str, **bounds: int) -> Schema:
    """Describe a text."""
    return {"type": "string", "description": description, **bounds}


def flag(description: str, **more: bool) -> Schema:
    """Describe a boolean."""
    return {"type": "boolean", "description": description, **more}


def number(description: str, most: int, usual: int | None = None, *, least: int = 1) -> Schema:
    """Describe a bounded integer argument, with its default."""
    found: Schema = {"type": "integer", "minimum": least, "maximum": most}
    if usual is not None:
        found["default"] = usual
    return {**found, "description": description}


def count(description: str, *, null: bool = False, least: int | None = 0) -> Schema:
    """Describe an integer of an answer, from 0 where there is a least."""
    found: Schema = {"type": ["integer", "null"] if null else "integer"}
    if least is not None:
        found["minimum"] = least
    return {**found, "description": description}


LARGE = 2**53 - 1
TRUNCATED = flag("There is more than this page.")
CURSOR: Schema = {
    "type": ["string", "null"],
    "description": "Give it as cursor for the next page; null where there is none.",
}
ASKED: Schema = {
    "asked": text("The path as it was asked for."),
    "path": text("The same place relative to the workspace, without links and dots."),
}
SCOPE: Schema = {
    "include_ignored": flag("Take also what ignore files exclude.", default=False),
    "include_hidden": flag("Take also names that begin with a dot.", default=False),
}
SEARCHED: Schema = {
    "truncated": TRUNCATED,
    "cut_by": {
        "enum": ["max_results", "size", "search_output", None],
        "description": "What ended the page: its number, its size, or what ripgrep may print.",
    },
    "next_cursor": CURSOR,
    "ignore_rules_applied": flag("Ignore files from the searched folder down counted."),
    "hidden_files_searched": flag("Names that begin with a dot were searched."),
    "left_out_files_have_results": {
        "type": ["boolean", "null"],
        "description": "For an empty answer: ignored or hidden files would have results.",
    },
    "some_unreadable": flag("ripgrep could not read everything."),
}
