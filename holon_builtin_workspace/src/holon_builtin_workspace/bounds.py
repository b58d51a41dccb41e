"""What one answer may hold: sizes are counted as the JSON that leaves the call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holon_core.records.tool import Limits

# The most JSON that a tool of this lane answers with, and what of it is kept for the fields
# around the list or the content.
RESULT_BYTES = 256 * 1024
ENVELOPE_BYTES = 16 * 1024


def budget(limits: Limits) -> int:
    """Return the bytes of JSON that the list or content of an answer may take."""
    return max(1024, min(RESULT_BYTES, limits.max_output_bytes) - ENVELOPE_BYTES)


def json_size(value: Any) -> int:
    """Return the size of a value as JSON text in UTF-8."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


class Page:
    """Items of an answer, up to a number and a size; the first one always fits."""

    def __init__(self, *, most: int, limits: Limits) -> None:
        self.items: list[Any] = []
        self.cut_by: str | None = None
        self._most = most
        self._left = budget(limits)

    def add(self, item: Any) -> bool:
        """Add an item, or say that the page is full."""
        if len(self.items) >= self._most:
            self.cut_by = "max_results"
            return False
        size = json_size(item) + 1
        if size > self._left and self.items:
            self.cut_by = "size"
            return False
        self._left -= size
        self.items.append(item)
        return True


def boundary_before(data: bytes, place: int) -> int:
    """Return the last character boundary of UTF-8 text at or before a place."""
    for back in range(4):
        at = place - back
        if at <= 0 or at >= len(data) or data[at] & 0xC0 != 0x80:
            return max(0, min(at, len(data)))
    return place
