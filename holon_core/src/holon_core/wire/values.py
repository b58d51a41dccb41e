"""Python values from a caller, made into a fresh, sound JSON value with its canonical bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

from holon_core.errors import JsonRefused
from holon_core.wire.encoding import encode
from holon_core.wire.faults import first_fault, pointer
from holon_core.wire.json_types import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, JsonValue

# One walk's state is a list of three, the cheapest mutable thing there is.
_ROOM, _MAX_DEPTH, _PLAIN = 0, 1, 2
_TOO_LARGE = "larger than the size limit"


class Normalised(NamedTuple):
    """A JSON value that belongs to nobody else, and its canonical bytes (RFC 8785)."""

    value: JsonValue
    canonical: bytes


class _Fault(Exception):
    """A fault on its way up; every level adds its step."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule)
        self.rule, self.message = rule, message
        self.parts: list[str | int] = []
        self.passed: set[int] = set()

    def leave(self, container: Any, part: str | int) -> None:
        self.parts.append(part)
        if self.rule == "depth" and id(container) in self.passed:
            self.rule, self.message = "cycle", "the value contains itself"
        self.passed.add(id(container))


def normalise(
    value: object, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> Normalised:
    """Copy a caller's value into a sound JSON value.

    Exactly ``dict`` with ``str`` keys, ``list``, ``str``, ``int``, ``float``, ``bool`` and
    ``None`` are accepted, no subclass of them. An integral float within ±(2**53-1) becomes an
    integer: ``1.0`` and ``1`` are one value. One beyond that range is refused like the integer
    it equals, up to 1e21, from where its canonical form has an exponent.

    Args:
        value: What the caller sent.
        max_bytes: Size accepted, in bytes of the canonical form.
        max_depth: Lists and dicts accepted inside one another; ``[]`` is 1 deep.

    Returns:
        A copy that shares nothing mutable with ``value``, and its canonical bytes.

    Raises:
        JsonRefused: Another type, NaN or infinity, an integer beyond ±(2**53-1), a lone
            surrogate, a cycle, too large or too deep. ``rule`` says which, ``path`` where.

    Source: design, section 4, step 3; RFC 8785.
    """
    walk = [max_bytes, max_depth, 1]
    try:
        if type(value) is dict:
            copy: JsonValue = _copy_dict(value, 1, walk)
        else:
            copy = _copy_top(value, walk)
        if walk[_ROOM] < 0:
            raise JsonRefused("too_large", _TOO_LARGE)
        canonical = encode(copy, plain=walk[_PLAIN] == 1)
    except _Fault as fault:
        raise JsonRefused(fault.rule, fault.message, pointer(reversed(fault.parts))) from None
    except ValueError:
        raise _first_fault(copy) from None
    except RecursionError:
        raise JsonRefused("depth", "deeper than the interpreter's stack has room for") from None
    except RuntimeError:
        raise JsonRefused("type", "a dict changed while it was read") from None
    if len(canonical) > max_bytes:
        raise JsonRefused("too_large", _TOO_LARGE)
    # As ``Normalised(…)``, without the function that the class would be made in.
    return tuple.__new__(Normalised, (copy, canonical))


def _copy_top(value: object, walk: list[int]) -> JsonValue:
    try:
        return _copy_list([value], 0, walk)[0]
    except _Fault as fault:
        fault.parts.pop()
        raise


def _copy_dict(source: dict[Any, Any], depth: int, walk: list[int]) -> dict[str, JsonValue]:
    if depth > walk[_MAX_DEPTH]:
        raise _too_deep(walk)
    size = len(source)
    copy: dict[str, JsonValue] = {}
    key = ""
    try:
        for key, item in source.items():
            if type(key) is not str:
                raise _Fault("key_type", f"a key is a {type(key).__name__}, not a string")
            size += len(key)
            if not key.isascii() and max(key) >= "\ud800":
                walk[_PLAIN] = 0
            kind = type(item)
            if kind is str:
                size += len(item)
            elif kind is int:
                if not -MAX_INTEGER <= item <= MAX_INTEGER:
                    raise _integer_range()
            elif kind is float:
                item = _number(item, walk)
            elif item is not None and kind is not bool:
                item = _copy_container(item, depth + 1, walk)
            copy[key] = item
    except _Fault as fault:
        if type(key) is str:
            fault.leave(source, key)
        raise
    walk[_ROOM] -= size
    return copy


def _copy_list(source: list[Any], depth: int, walk: list[int]) -> list[JsonValue]:
    if depth > walk[_MAX_DEPTH]:
        raise _too_deep(walk)
    size = len(source)
    copy: list[JsonValue] = []
    try:
        for item in source:
            kind = type(item)
            if kind is str:
                size += len(item)
            elif kind is int:
                if not -MAX_INTEGER <= item <= MAX_INTEGER:
                    raise _integer_range()
            elif kind is float:
                item = _number(item, walk)
            elif item is not None and kind is not bool:
                item = _copy_container(item, depth + 1, walk)
            copy.append(item)
    except _Fault as fault:
        fault.leave(source, len(copy))
        raise
    walk[_ROOM] -= size
    return copy


def _copy_container(item: Any, depth: int, walk: list[int]) -> JsonValue:
    if walk[_ROOM] < 0:
        raise _Fault("too_large", _TOO_LARGE)
    # Two bytes at once, so that shared containers cannot multiply before they are noticed.
    walk[_ROOM] -= 2
    if type(item) is dict:
        return _copy_dict(item, depth, walk)
    if type(item) is list:
        return _copy_list(item, depth, walk)
    raise _Fault("type", f"{type(item).__name__} is not a JSON type")


def _number(item: float, walk: list[int]) -> int | float:
    if item.is_integer():
        if -MAX_INTEGER <= item <= MAX_INTEGER:
            return int(item)
        # RFC 8785 writes these as integers, which no strict reader would take back.
        if -1e21 < item < 1e21:
            raise _integer_range()
        walk[_PLAIN] = 0
    elif not 1e-4 <= abs(item) < 1e16:
        if item != item or item in (float("inf"), float("-inf")):
            raise _Fault("number_range", "NaN and infinity are not JSON")
        walk[_PLAIN] = 0
    return item


def _first_fault(copy: JsonValue) -> JsonRefused:
    return first_fault(copy) or JsonRefused("type", "the value cannot be written as JSON")


def _integer_range() -> _Fault:
    return _Fault("number_range", "an integer beyond ±(2**53-1); send it as a string")


def _too_deep(walk: list[int]) -> _Fault:
    return _Fault("depth", f"nested more than {walk[_MAX_DEPTH]} deep")
