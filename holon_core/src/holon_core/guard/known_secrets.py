"""All secret values that a runtime knows at one moment, and where they occur in a text."""

from __future__ import annotations

import re
from typing import Any

from holon_core.guard.secret_forms import Form, compact, forms_of, unusable, walk
from holon_core.visible import escape_controls

_MAX_PASSES = 8
_MIN_PART = 4
# A secret that repeats itself takes long to compare with all that looks like it; beyond this the
# whole stretch beside the cut goes.
_MAX_STEPS = 100_000
_NUMBER = re.compile(r"[-+.0-9eE]+")

__all__ = ["Known", "forms_of", "unusable"]


class Known:
    """All that is known at one moment; never changed, so that readers need no lock."""

    __slots__ = ("eights", "forms", "fours", "marks", "numeric", "shorts", "values")

    def __init__(self, values: dict[str, tuple[str, tuple[Form, ...]]]) -> None:
        self.values = values
        self.forms = [form for _, each in values.values() for form in each]
        self.numeric = any(_NUMBER.fullmatch(value) for value in values)
        self.eights: dict[int, list[Form]] = {}
        self.fours: dict[int, list[Form]] = {}
        self.shorts: list[Form] = []
        for form in self.forms:
            self._index(form)
        names = {name for name, _ in values.values()}
        self.marks = {name: self._mark(name) for name in names}

    def _index(self, form: Form) -> None:
        # Wherever 15 bytes stand, one of their first eight begins an aligned block of eight. So
        # eight look-ups find every occurrence, and looking all blocks of a text up in a table
        # costs the same for one secret as for a thousand.
        if len(form.low) >= 15:
            for block in {_aligned(form.low[i:], 8, "Q")[0] for i in range(8)}:
                self.eights.setdefault(block, []).append(form)
        elif len(form.low) >= 7:
            for block in {_aligned(form.low[i:], 4, "I")[0] for i in range(4)}:
                self.fours.setdefault(block, []).append(form)
        else:
            self.shorts.append(form)

    def _mark(self, name: str) -> bytes:
        # A mark must not hold a secret itself ("redacted" is somebody's password).
        marks = (f"[redacted:{escape_controls(name)}]".encode("utf-8", "replace"), b"[redacted]")
        return next((mark for mark in marks if not self.spans(mark)), b"***")

    def spans(self, data: bytes) -> list[tuple[int, int, str]]:
        """Find all occurrences: where each begins and ends, and the name of the secret."""
        low = data.lower()
        bare_low = compact(low)
        candidates = self.candidates(bare_low)
        bare = compact(data) if candidates else b""
        return [
            (start, end, form.name)
            for form in candidates
            for start, end in (form.spans(low, bare_low) if form.folded else form.spans(data, bare))
        ]

    def candidates(self, bare: bytes) -> list[Form]:
        """Return the forms that may occur in a compact text in lower case; mostly none, at once."""
        forms = [form for form in self.shorts if form.low in bare]
        for table, size, code in ((self.eights, 8, "Q"), (self.fours, 4, "I")):
            if table and not table.keys().isdisjoint(blocks := _aligned(bare, size, code)):
                hit = {form for block in blocks if block in table for form in table[block]}
                forms += [form for form in hit if form.low in bare]
        return forms

    def clean(self, data: bytes) -> bytes:
        """Replace all occurrences; the same object comes back where there are none."""
        return _clean(self, data)

    def without_start(self, data: bytes) -> bytes:
        """Replace the longest end of a secret that the data starts with."""
        return _without_start(self, data)

    def without_end(self, data: bytes) -> bytes:
        """Replace the longest beginning of a secret that the data ends with."""
        return _without_end(self, data)


def _aligned(data: bytes, size: int, code: Any) -> list[int]:
    whole = len(data) // size * size
    return memoryview(data)[:whole].cast(code).tolist() if whole else []


def _clean(known: Known, data: bytes) -> bytes:
    for _ in range(_MAX_PASSES):
        spans = _spans(known, data)
        if not spans:
            return data
        data = _replaced(data, spans)
    # What stands beside a mark makes up a secret with it, again and again.
    return b"***" if _spans(known, data) else data


def _spans(known: Known, data: bytes) -> list[tuple[int, int, bytes]]:
    """Find all occurrences, joined where they overlap; the first and longest gives the mark."""
    spans: list[tuple[int, int, bytes]] = []
    for start, end, name in sorted(known.spans(data), key=lambda span: (span[0], -span[1])):
        if spans and start < spans[-1][1]:
            first, furthest, mark = spans[-1]
            spans[-1] = (first, max(furthest, end), mark)
        else:
            spans.append((start, end, known.marks[name]))
    return spans


def _replaced(data: bytes, spans: list[tuple[int, int, bytes]]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for start, end, mark in spans:
        parts += (data[at:start], mark)
        at = end
    return b"".join((*parts, data[at:]))


def _without_end(known: Known, data: bytes) -> bytes:
    """Replace the longest beginning of a secret that the data ends with."""
    best, mark, low = len(data), b"", data.lower()
    for form in known.forms:
        first, steps, seen = form.body[:1], 0, low if form.folded else data
        # Room for a line break after every byte.
        at = seen.find(first, max(0, len(data) - 6 * len(form.body)))
        while 0 <= at < best:
            end, reached = walk(seen, at, form.body)
            steps += reached
            if (end == len(data) and reached >= _MIN_PART) or steps > _MAX_STEPS:
                best, mark = at, known.marks[form.name]
            at = seen.find(first, at + 1)
    return data[:best] + mark if mark else data


def _without_start(known: Known, data: bytes) -> bytes:
    """Replace the longest end of a secret that the data starts with."""
    best, mark, low = 0, b"", data.lower()
    # The cut may have gone through a line break that is written as two characters.
    starts = (0, 1) if data[:1] in (b"n", b"r") else (0,)
    for form in known.forms:
        size, steps, seen = len(form.body), 0, low if form.folded else data
        for skipped in range(1, size - _MIN_PART + 1):
            for start in starts:
                end, reached = walk(seen, start, form.body, skipped)
                steps += reached - skipped
                if steps > _MAX_STEPS:
                    end, reached = min(len(data), 6 * size), size
                if reached == size and end > best:
                    best, mark = end, known.marks[form.name]
            if steps > _MAX_STEPS:
                break
    return mark + data[best:] if mark else data
