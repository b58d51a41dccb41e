"""The operation that finds tools for a caller: the only one that says `executable`."""

from __future__ import annotations

from typing import Any

from holon_core.operations.answers import schema_of, to_json
from holon_core.operations.door import Door, Params
from holon_core.operations.schemas import flag, params, text, whole
from holon_core.operations.tool_rows import READS
from holon_core.records.discovery import MIN_CONFIDENCE, DiscoveryPage
from holon_core.records.operation import Operation
from holon_core.records.words import Authority

MAX_QUERY = 1_000_000


def discover(door: Door, given: Params) -> Any:
    """Find tools for a caller."""
    return to_json(
        door.session.discover(
            given.get("query"),
            limit=given.get("limit", 20),
            cursor=given.get("cursor"),
            include_blocked=not given.get("executable_only", False),
            lanes=given.get("lanes"),
            min_confidence=given.get("min_confidence"),
            max_tools=given.get("max_tools"),
            max_schema_tokens=given.get("max_schema_tokens"),
            explain=given.get("explain", False),
        )
    )


ROWS = (
    Operation(
        noun="runtime-capability",
        verb="discover",
        request=params(
            query={
                "type": "string",
                "maxLength": MAX_QUERY,
                "description": "What is wanted, in any words; all tools by id where left out.",
            },
            limit=whole("How many at most.", least=1, most=100, default=20),
            cursor=text(
                "`next_cursor` of the page before, of the same query and lanes.", limit=1000
            ),
            executable_only=flag("Leave out what this caller could not call now."),
            lanes={
                "type": "array",
                "items": text("A lane kind."),
                "maxItems": 100,
                "description": "Only tools of these lanes; of all where left out.",
            },
            min_confidence={
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": (
                    "How likely the best tool has to answer the query; below it nothing fits."
                    f" {MIN_CONFIDENCE} where left out, 0 offers what there is."
                ),
            },
            max_tools=whole("A budget of tools beside `limit`: the smaller counts.", least=1),
            max_schema_tokens=whole(
                "About how many tokens the tools may take in a prompt.", least=1
            ),
            explain=flag("Say of each tool why it ranks where it does."),
        ),
        response=schema_of(DiscoveryPage),
        authority=Authority.CALLER,
        effects=READS,
        handler=discover,
        listing="items",
        columns=("id", "availability", "side_effect_class", "description"),
        positional=("query",),
        doc=(
            "Find tools that fit a request, best first, and what would block this caller. "
            "`blocked` names everything outside the request that has to change first, each with "
            "the step that would lift it; a needed approval is such a thing. Policy is asked "
            "without arguments; nothing is recorded, and nothing said here changes a verdict of "
            "the call. A page may hold fewer than `limit`; only `next_cursor` null ends it."
        ),
    ),
)
