"""What the demo says of an answer, each in one line."""

from __future__ import annotations

from typing import Any

from holon_core.records.discovery import DiscoveredTool
from holon_core.records.result import ToolResult

MAX_SHOWN = 60


def availability(tool: DiscoveredTool) -> str:
    """Say whether a found tool could be called now, and what would lift what blocks it."""
    reasons = "; ".join(f"{each.code}: {each.next_action}" for each in tool.blocking_reasons)
    return f"{tool.availability.value}: {reasons}" if reasons else tool.availability.value


def seen(result: ToolResult, member: str, things: str) -> str:
    """Say how much a search found and where first, or what it lacks: ripgrep may not be there."""
    if result.failure is not None:
        return f"{outcome(result)}: {result.failure.message}"
    found = result.output[member]
    more = " and more" if result.output["truncated"] else ""
    places = ", ".join(_place(each) for each in found[:3]) or "none"
    counted = things.removesuffix("s") if len(found) == 1 else things
    return f"{len(found):,} {counted}{more}, first {places}"


def _place(found: Any) -> str:
    return found if isinstance(found, str) else f"{found['path']}:{found['line']}"


def beginning(result: ToolResult | None) -> str:
    """Say what was read: the file, its size, and the beginning of its first line."""
    if result is None:
        return "no file here to read"
    if result.failure is not None:
        return f"{outcome(result)}: {result.failure.message}"
    read = result.output
    line = read["content"].strip()[:MAX_SHOWN]
    return f"{read['path']}, {read['total_size']:,} bytes: {line}"


def outcome(result: ToolResult) -> str:
    """Say how a call ended, and by which code."""
    code = "" if result.failure is None else f": {result.failure.code}"
    return f"{result.status.value}{code}"


def said(sound: bool) -> str:
    """Say in words what a verification found."""
    return "consistent" if sound else "does not verify"
