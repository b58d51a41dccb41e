"""workspace-read-file: a bounded part of one regular file, by lines or by bytes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_builtin_workspace.bounds import budget
from holon_builtin_workspace.contain import opened
from holon_builtin_workspace.contents import (
    decoded,
    fitting,
    nth,
    offset_of_line,
    read_at,
    refuse_inside_character,
    whole_characters,
)
from holon_builtin_workspace.paths import shown
from holon_builtin_workspace.refusals import refuse, refused_by_system
from holon_builtin_workspace.timing import Clock
from holon_builtin_workspace.tool import WorkspaceTool, workspace_of

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

DEFAULT_BYTES = 64 * 1024
MAX_BYTES = 256 * 1024
BOM = b"\xef\xbb\xbf"


@frozen(kw_only=True)
class _Part:
    """Bytes of the file: where they begin, on which line, and whether more was asked for."""

    offset: int
    line: int | None
    data: bytes
    cut: bool


class ReadFile(WorkspaceTool):
    """Reads a file; nothing but a regular file inside the workspace is ever opened for it."""

    operation = "read a file"

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Read one part."""
        arguments = call.arguments
        _check_ranges(arguments)
        asked = arguments["path"]
        with opened(workspace_of(call)) as root:
            place, descriptor = root.open(asked)
            try:
                before = os.fstat(descriptor)
                answer = _read(call, descriptor, before.st_size)
                after = os.fstat(descriptor)
            except OSError as error:
                raise refused_by_system(error, asked) from None
            finally:
                os.close(descriptor)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise refuse("changed_during_read", path=asked)
        return {"asked": asked, "path": shown(place.path), **answer}


def _check_ranges(arguments: dict[str, Any]) -> None:
    by_line = "start_line" in arguments or "end_line" in arguments
    if by_line and "offset" in arguments:
        text = "a part is asked for by lines or by offset, not by both"
        raise refuse("arguments_invalid", text, path="/offset")
    if by_line and arguments.get("encoding") == "base64":
        text = "base64 is read by offset; lines are of text"
        raise refuse("arguments_invalid", text, path="/encoding")
    if arguments.get("end_line", arguments.get("start_line", 1)) < arguments.get("start_line", 1):
        raise refuse("arguments_invalid", "end_line is before start_line", path="/end_line")


def _read(call: SealedCall, descriptor: int, total: int) -> dict[str, Any]:
    arguments = call.arguments
    room = budget(call.limits)
    most = min(arguments.get("max_bytes", DEFAULT_BYTES), room)
    if arguments.get("encoding") == "base64":
        # Four characters for three bytes.
        return _as_base64(descriptor, arguments.get("offset", 0), min(most, room // 4 * 3), total)
    bom = read_at(descriptor, 0, len(BOM)) == BOM
    first = len(BOM) if bom else 0
    if "start_line" in arguments or "end_line" in arguments:
        part = _lines(call, descriptor, first, most)
    else:
        part = _bytes(descriptor, arguments.get("offset", 0), first, most)
    text = decoded(part.data, offset=part.offset)
    kept = fitting(text, room)
    data = part.data if kept == text else kept.encode()
    return {
        "encoding": "utf-8",
        "content": kept,
        **_position(part, data, total),
        "truncated": part.cut or kept != text,
        "bom": bom,
        "nul_bytes": "\0" in kept,
        "line_ends": _line_ends(data),
    }


def _bytes(descriptor: int, offset: int, first: int, most: int) -> _Part:
    start = max(offset, first) if offset < first else offset
    if start > first:
        refuse_inside_character(descriptor, start)
    # A character may begin within the limit and end beyond it.
    found = read_at(descriptor, start, most + 4)
    data = whole_characters(found, most)
    line = 1 if start == first else None
    return _Part(offset=start, line=line, data=data, cut=len(data) < len(found))


def _lines(call: SealedCall, descriptor: int, first: int, most: int) -> _Part:
    arguments = call.arguments
    wanted = arguments.get("start_line", 1)
    clock = Clock(call)
    start, line = offset_of_line(descriptor, wanted, start=first, check=clock.left_s)
    if line < wanted:
        text = f"the file has fewer than {wanted} lines"
        raise refuse("arguments_invalid", text, path="/start_line")
    found = read_at(descriptor, start, most + 4)
    if "end_line" in arguments:
        end = nth(found, arguments["end_line"] - line + 1)
        found = found if end < 0 else found[:end]
    data = whole_characters(found, most)
    return _Part(offset=start, line=line, data=data, cut=len(data) < len(found))


def _position(part: _Part, data: bytes, total: int) -> dict[str, Any]:
    end = part.offset + len(data)
    more = end < total
    start_line = end_line = next_line = None
    if part.line is not None:
        breaks = data.count(b"\n")
        closed = data.endswith(b"\n")
        start_line = part.line
        end_line = part.line + breaks - closed if data else part.line
        next_line = part.line + breaks if more and closed else None
    return {
        "offset": part.offset,
        "size_bytes": len(data),
        "total_size": total,
        "next_offset": end if more else None,
        "start_line": start_line,
        "end_line": end_line,
        "next_line": next_line,
    }


def _as_base64(descriptor: int, offset: int, most: int, total: int) -> dict[str, Any]:
    from base64 import b64encode

    data = read_at(descriptor, offset, most)
    part = _Part(offset=offset, line=None, data=data, cut=offset + len(data) < total)
    return {
        "encoding": "base64",
        "content": b64encode(data).decode(),
        **_position(part, data, total),
        "truncated": part.cut,
        "bom": offset == 0 and data.startswith(BOM),
        "nul_bytes": b"\0" in data,
        "line_ends": "none",
    }


def _line_ends(data: bytes) -> str:
    all_ends, windows = data.count(b"\n"), data.count(b"\r\n")
    if not all_ends:
        return "none"
    if not windows:
        return "lf"
    return "crlf" if windows == all_ends else "mixed"
