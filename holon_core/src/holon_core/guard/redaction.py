"""Keeping secret values out of what is kept and shown, in whatever shape they turn up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holon_core.guard.known_secrets import Known
    from holon_core.records.finding import Finding
    from holon_core.wire.json_types import JsonValue

# Values that rotate must not fill the memory of a process that runs for months.
MAX_VALUES = 1024
_MAX_DEPTH = 256


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
        self._known: Known | None = None
        self.active = False
        self._told: list[Callable[[], None]] = []

    def when_known(self, forget: Callable[[], None]) -> None:
        """Have something told of every value that is new, so that it forgets what it kept."""
        self._told.append(forget)

    def register(self, name: str, value: str) -> Finding | None:
        """Redact a value from now on.

        Args:
            name: What stands in its place; a value that is known keeps its first name.
            value: At least four characters of Unicode text, line breaks not counted.

        Returns:
            A finding where the value is refused, since it can't be redacted; else ``None``.
        """
        # Loaded with the first secret: most runtimes have none.
        from holon_core.guard.known_secrets import Known, forms_of, unusable

        reason = unusable(value)
        if reason is not None:
            from holon_core.records.finding import Finding

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
                self._known = Known(values)
                self.active = True
                for forget in self._told:
                    forget()
            else:
                self._known.values = values
        return None

    def text(self, text: str) -> str:
        """Redact a text; the same object comes back where nothing was found."""
        known = self._known
        if known is None:
            return text
        data = text.encode("utf-8", "surrogatepass")
        clean = known.clean(data)
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
        clean = whole = known.clean(data)
        if cut_start:
            clean = known.without_start(clean)
        if cut_end:
            clean = known.without_end(clean)
        return clean if clean is whole else known.clean(clean)

    def value(self, value: JsonValue) -> JsonValue:
        """Redact a JSON value, its keys and numbers too; unchanged parts are shared.

        What lies deeper than 256 levels is not looked at and therefore replaced.
        """
        known = self._known
        return value if known is None else _deep(self, known, value, 0)


def _deep(redactor: Redactor, known: Known, value: Any, depth: int) -> Any:
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
    redactor: Redactor, known: Known, value: Mapping[Any, Any], depth: int
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
