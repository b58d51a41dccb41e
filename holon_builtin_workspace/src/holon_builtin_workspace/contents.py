"""Bytes of an open file: parts by position, and where a line begins."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from holon_builtin_workspace.bounds import boundary_before, json_size
from holon_builtin_workspace.refusals import refuse

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 256 * 1024


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """Read so many bytes from a position; fewer only at the end of the file."""
    try:
        os.lseek(descriptor, offset, os.SEEK_SET)
    except OSError as error:
        # A file system refuses to go to places that no file of its could have.
        if error.errno != errno.EINVAL:
            raise
        return b""
    parts: list[bytes] = []
    while size > 0:
        part = os.read(descriptor, min(size, _CHUNK))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def offset_of_line(
    descriptor: int, line: int, *, start: int, check: Callable[[], object]
) -> tuple[int, int]:
    """Find where a line begins; a line ends with LF, as everywhere in this lane.

    Args:
        descriptor: The open file.
        line: From 1.
        start: Where the first line begins.
        check: Called between chunks; raises to give up.

    Returns:
        The position, and the number of the line there. Where the file has fewer lines: its end,
        and the number that a further line would have.
    """
    offset, number = start, 1
    while number < line:
        check()
        chunk = read_at(descriptor, offset, _CHUNK)
        if not chunk:
            return offset, number
        count = chunk.count(b"\n")
        if number + count < line:
            number += count
            offset += len(chunk)
            if len(chunk) < _CHUNK and not chunk.endswith(b"\n"):
                number += 1
            continue
        place = nth(chunk, line - number)
        return offset + place, line
    return offset, number


def nth(data: bytes, count: int) -> int:
    """Return the position after the so-many-th LF, or -1 where there are fewer."""
    place = 0
    for _ in range(count):
        found = data.find(b"\n", place)
        if found < 0:
            return -1
        place = found + 1
    return place


def decoded(data: bytes, *, offset: int) -> str:
    """Decode UTF-8 exactly.

    Raises:
        Refused: ``binary_content``, with the position of the first byte that is no text.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = "the content is not UTF-8 text; ask for encoding=base64"
        raise refuse("binary_content", text, offset=offset + error.start) from None


def whole_characters(data: bytes, size: int) -> bytes:
    """Keep at most so many bytes, ending between two characters."""
    return data if len(data) <= size else data[: boundary_before(data, size)]


def fitting(text: str, size: int) -> str:
    """Keep as many characters as fit into so many bytes of JSON."""
    if json_size(text) <= size:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if json_size(text[:middle]) <= size else (low, middle - 1)
    return text[:low]


def refuse_inside_character(descriptor: int, offset: int) -> None:
    """Refuse a position between the bytes of one character, and say where that begins.

    Raises:
        Refused: ``arguments_invalid``.
    """
    from_start = max(0, offset - 3)
    near = read_at(descriptor, from_start, 8)
    at = offset - from_start
    if at >= len(near) or near[at] & 0xC0 != 0x80:
        return
    begin = boundary_before(near, at)
    for end in range(at + 1, min(len(near), begin + 4) + 1):
        try:
            near[begin:end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        text = f"offset {offset} lies inside a character; it begins at {from_start + begin}"
        raise refuse("arguments_invalid", text, path="/offset")
