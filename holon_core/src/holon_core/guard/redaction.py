"""Keeping secret values out of what is kept and shown, in whatever shape they turn up."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.guard.secret_forms import Form, compact, forms_of, unusable, walk
from holon_core.records.finding import Finding
from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from holon_core.wire.json_types import JsonValue

# Values that rotate must not fill the memory of a process that runs for months.
MAX_VALUES = 1024
_MAX_PASSES = 8
_MAX_DEPTH = 256
_MIN_PART = 4
# A secret that repeats itself takes long to compare with all that looks like it; beyond this the
# whole stretch beside the cut goes.
_MAX_STEPS = 100_000
_NUMBER = re.compile(r"[-+.0-9eE]+")


class _Known:
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


def _aligned(data: bytes, size: int, code: Any) -> list[int]:
    whole = len(data) // size * size
    return memoryview(data)[:whole].cast(code).tolist() if whole else []


class Redactor:
    """Replaces every known secret value by ``[redacted:<name>]``, in each of its shapes.

    Shapes: raw, URL-encoded, base64 and base64url (alone or inside a longer payload), hex, as
    codes of its bytes or characters, JSON-escaped (twice, too), HTML-escaped, as Python shows it,
    each also with line breaks inside. A text that holds none of them is returned as it is, and
    what was redacted once stays as it is. At most 1,024 values are kept; beyond that the one
    registered longest ago goes. Safe to use from any thread.

    Source: docs/evidence.md, "Redaction".
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: _Known | None = None
        self.active = False

    def register(self, name: str, value: str) -> Finding | None:
        """Redact a value from now on.

        Args:
            name: What stands in its place; a value that is known keeps its first name.
            value: At least four characters of Unicode text, line breaks not counted.

        Returns:
            A finding where the value is refused, since it can't be redacted; else ``None``.
        """
        reason = unusable(value)
        if reason is not None:
            text = f"the value of {name} cannot be redacted: {reason}"
            return Finding(code="config_invalid", message=text)
        with self._lock:
            values = dict(self._known.values) if self._known else {}
            # Put last in any case: the first is the one that was not registered for longest.
            held = values.pop(value, None)
            values[value] = (name, tuple(forms_of(name, value))) if held is None else held
            while len(values) > MAX_VALUES:
                del values[next(iter(values))]
            if self._known is None or value not in self._known.values:
                self._known = _Known(values)
                self.active = True
            else:
                self._known.values = values
        return None

    def text(self, text: str) -> str:
        """Redact a text; the same object comes back where nothing was found."""
        known = self._known
        if known is None:
            return text
        data = text.encode("utf-8", "surrogatepass")
        clean = _clean(known, data)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def data(self, data: bytes, *, cut_start: bool = False, cut_end: bool = False) -> bytes:
        """Redact bytes; the same object comes back where nothing was found.

        Args:
            data: What was captured; need not be UTF-8.
            cut_start: Something stood before it; an end of a secret at its start goes too.
            cut_end: Something stood after it; a beginning of a secret at its end goes too.
        """
        known = self._known
        if known is None:
            return data
        clean = whole = _clean(known, data)
        if cut_start:
            clean = _without_start(known, clean)
        if cut_end:
            clean = _without_end(known, clean)
        return clean if clean is whole else _clean(known, clean)

    def value(self, value: JsonValue) -> JsonValue:
        """Redact a JSON value, its keys and numbers too; unchanged parts are shared.

        What lies deeper than 256 levels is not looked at and therefore replaced.
        """
        known = self._known
        return value if known is None else _deep(self, known, value, 0)


def _clean(known: _Known, data: bytes) -> bytes:
    for _ in range(_MAX_PASSES):
        spans = _spans(known, data)
        if not spans:
            return data
        data = _replaced(data, spans)
    # What stands beside a mark makes up a secret with it, again and again.
    return b"***" if _spans(known, data) else data


def _spans(known: _Known, data: bytes) -> list[tuple[int, int, bytes]]:
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


def _without_end(known: _Known, data: bytes) -> bytes:
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


def _without_start(known: _Known, data: bytes) -> bytes:
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


def _deep(redactor: Redactor, known: _Known, value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if depth > _MAX_DEPTH:
        return "[redacted]"
    if isinstance(value, Mapping):
        return _deep_mapping(redactor, known, value, depth)
    if isinstance(value, (list, tuple)):
        items = [_deep(redactor, known, item, depth + 1) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if known.numeric and isinstance(value, (int, float)):
        text = str(value)
        clean = redactor.text(text)
        return value if clean is text else clean
    return value


def _deep_mapping(
    redactor: Redactor, known: _Known, value: Mapping[Any, Any], depth: int
) -> Mapping[Any, Any]:
    clean: dict[Any, Any] = {}
    changed = False
    for key, item in value.items():
        new_key = redactor.text(key) if isinstance(key, str) else key
        new_item = _deep(redactor, known, item, depth + 1)
        changed = changed or new_key is not key or new_item is not item
        while new_key is not key and (new_key in clean or new_key in value):
            new_key += "~"
        clean[new_key] = new_item
    return clean if changed else value
