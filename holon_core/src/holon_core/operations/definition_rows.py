"""Operations on definitions: read their sources again, pin them, show how they differ."""

from __future__ import annotations

from typing import Any

from holon_core.catalogue.source_records import SourceState
from holon_core.errors import Refused
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.door import Door, Params
from holon_core.operations.schemas import REASON, TOOL, params, text
from holon_core.operations.tool_rows import NOUN, READS, WRITES, may_see
from holon_core.records.approval_view import ViewChange
from holon_core.records.failure import failure
from holon_core.records.operation import Operation
from holon_core.records.pin import Pin
from holon_core.records.words import Authority

_PIN = schema_of(Pin)


def refresh(door: Door, _: Params) -> Any:
    """Read every source again."""
    return {"sources": to_json(door.runtime.tools.refresh())}


def pin(door: Door, given: Params) -> Any:
    """Pin a tool to its present definition."""
    by = door.caller.principal
    return to_json(door.runtime.tools.pin(given["tool"], by=by, reason=given["reason"]))


def unpin(door: Door, given: Params) -> Any:
    """Take a pin away."""
    by = door.caller.principal
    door.runtime.tools.unpin(given["tool"], by=by, reason=given["reason"])
    return {"unpinned": given["tool"]}


def list_pins(door: Door, _: Params) -> Any:
    """Answer the pins of the root."""
    return {"pins": to_json(door.runtime.tools.pins())}


def diff(door: Door, given: Params) -> Any:
    """Answer how a definition differs from an earlier one."""
    tool = given["tool"]
    if not may_see(door, tool):
        raise Refused(failure("unknown_tool", f"no tool {tool} in this workspace"))
    return {"changes": to_json(door.runtime.tools.difference(tool, since=given.get("since")))}


ROWS = (
    Operation(
        noun=NOUN,
        verb="refresh",
        request=params(),
        response=answer(sources=listed(schema_of(SourceState))),
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=refresh,
        listing="sources",
        columns=("id", "state", "added", "changed", "removed", "problem"),
        doc=(
            "Read every source of definitions again. What is late or fails keeps what is stored; "
            "a changed definition is a new revision, and approvals of the old one fit no more."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="pin",
        request=params(("tool", "reason"), tool=TOOL, reason=REASON),
        response=_PIN,
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=pin,
        positional=("tool",),
        doc=(
            "Let a tool run by its present definition alone, for every process on this root. A "
            "tool that is pinned again is pinned to what it is now."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="unpin",
        request=params(("tool", "reason"), tool=TOOL, reason=REASON),
        response=answer(unpinned={"type": "string"}),
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=unpin,
        positional=("tool",),
        doc="Let a tool run by whatever its definition is.",
    ),
    Operation(
        noun=NOUN,
        verb="list-pins",
        request=params(),
        response=answer(pins=listed(_PIN)),
        authority=Authority.OPERATOR,
        effects=READS,
        handler=list_pins,
        listing="pins",
        columns=("tool", "digest", "by", "reason", "at_unix_seconds"),
        doc="List the tools that are pinned, each with the digest of the definition that may run.",
    ),
    Operation(
        noun=NOUN,
        verb="diff",
        request=params(
            ("tool",),
            tool=TOOL,
            since=text("Digest of the earlier definition; else the pinned one, or the last."),
        ),
        response=answer(changes=listed(schema_of(ViewChange))),
        authority=Authority.CALLER,
        effects=READS,
        handler=diff,
        listing="changes",
        columns=("path", "before", "after"),
        positional=("tool",),
        doc="Show how a tool's definition differs from an earlier one, as a person reads it.",
    ),
)
