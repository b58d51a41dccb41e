"""Strict reading of JSON text: one value, UTF-8, within limits, nothing guessed."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

from holon_core.errors import JsonRefused
from holon_core.wire.faults import Mark, first_fault, shown
from holon_core.wire.json_types import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, JsonValue

_WHITESPACE = b" \t\n\r"
_BRACKETS = b"[]{}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_DELTA = [1 if code in b"[{" else -1 for code in range(256)]
# Digits become 0 and E becomes e, so that two searches find every number worth a second look.
_SHAPE = bytes(
    48 if 48 <= code <= 57 else 101 if code in b"eE" else code if code in b"+-" else 32
    for code in range(256)
)
_LONG_RUN = b"0" * 16


class _Suspect(Exception):
    """Ends the fast pass; the careful one finds out what is wrong and where."""


def parse(
    data: bytes | str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> JsonValue:
    """Read exactly one JSON value.

    Args:
        data: The whole text; as ``bytes`` it must be UTF-8 without a byte order mark.
        max_bytes: Size accepted, in bytes of UTF-8.
        max_depth: Arrays and objects accepted inside one another; ``[]`` is 1 deep.

    Returns:
        The value, numbers as written: ``1.0`` stays a float.

    Raises:
        JsonRefused: The text is not JSON, repeats a key, holds a lone surrogate or a number
            that a double cannot carry (an integer beyond ±(2**53-1), 1e400, 1e-400), or is too
            large or too deep. ``rule`` says which.

    Source: design, section 4, step 3; RFC 8259; RFC 7493.
    """
    raw, text = _decoded(data, max_bytes)
    if raw.count(b"[") + raw.count(b"{") > max_depth and _depth(raw) > max_depth:
        raise JsonRefused("depth", f"nested more than {max_depth} deep")
    try:
        return _careful(text) if _needs_care(raw) else _fast(text)
    except json.JSONDecodeError as error:
        refusal = _not_json(error, raw, text)
    except RecursionError:
        refusal = JsonRefused("depth", "nested deeper than the interpreter's stack has room for")
    if isinstance(data, bytes) and refusal.offset is not None:
        refusal = JsonRefused(
            refusal.rule, refusal.message, "", len(text[: refusal.offset].encode())
        )
    raise refusal


def _decoded(data: bytes | str, max_bytes: int) -> tuple[bytes, str]:
    if not isinstance(data, (bytes, str)):
        raise JsonRefused("type", f"JSON text is bytes or str, not {type(data).__name__}")
    if len(data) > max_bytes:
        raise JsonRefused("too_large", f"larger than {max_bytes} bytes")
    raw, text = _from_bytes(data) if isinstance(data, bytes) else _from_str(data)
    if len(raw) > max_bytes:
        raise JsonRefused("too_large", f"larger than {max_bytes} bytes")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise JsonRefused("bom", "starts with a byte order mark", "", 0)
    return raw, text


def _from_bytes(raw: bytes) -> tuple[bytes, str]:
    try:
        return raw, raw.decode()
    except UnicodeDecodeError as error:
        raise JsonRefused("not_utf8", "not UTF-8", "", error.start) from None


def _from_str(text: str) -> tuple[bytes, str]:
    try:
        return text.encode(), text
    except UnicodeEncodeError as error:
        raise JsonRefused("surrogate", "a lone surrogate", "", error.start) from None


def _depth(raw: bytes) -> int:
    """Measure the nesting without recursion; exact for as much of the text as is JSON."""
    outside = raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    brackets = b"".join(outside).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_DELTA.__getitem__, brackets)), default=0)


def _needs_care(raw: bytes) -> bool:
    """Tell whether a number may be out of range, or an escape may be a lone surrogate."""
    shape = raw.translate(_SHAPE)
    return (
        _LONG_RUN in shape
        or b"0e000" in shape
        or b"0e+000" in shape
        or b"0e-000" in shape
        or (b"\\" in raw and (b"\\ud" in raw or b"\\uD" in raw))
    )


def _careful(text: str) -> JsonValue:
    value: JsonValue = _MARKING(text)
    fault = first_fault(value)
    if fault is not None:
        raise fault
    return value


def _fast(text: str) -> JsonValue:
    try:
        value: JsonValue = _PLAIN(text)
    except _Suspect:
        return _careful(text)
    return value


def _not_json(error: json.JSONDecodeError, raw: bytes, text: str) -> JsonRefused:
    if not raw.strip(_WHITESPACE):
        return JsonRefused("empty", "no JSON value, only white space", "", 0)
    if error.msg == "Extra data":
        return JsonRefused("trailing", "more text after the JSON value", "", error.pos)
    return JsonRefused("syntax", f"not JSON: {error.msg}", "", error.pos)


def _suspect(_: str) -> Any:
    raise _Suspect


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Suspect
    return found


def _marked_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Mark:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            return Mark("duplicate_key", f"the key {shown(key)} appears twice", key)
        found[key] = value
    return found


def _marked_int(digits: str) -> int | Mark:
    # The length comes first: converting a very long integer is slow, or refused by Python.
    value = int(digits) if len(digits) <= 17 else None
    if value is None or not -MAX_INTEGER <= value <= MAX_INTEGER:
        return Mark("number_range", "an integer beyond ±(2**53-1); send it as a string")
    return value


def _marked_float(digits: str) -> float | Mark:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        return Mark("number_range", "a number too large for a double")
    if value == 0 and digits.lower().partition("e")[0].strip("-0."):
        return Mark("number_range", "a number too small for a double, which would become 0")
    return value


def _marked_constant(name: str) -> Mark:
    return Mark("syntax", f"not JSON: {name}")


_PLAIN = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_suspect).decode
_MARKING = json.JSONDecoder(
    object_pairs_hook=_marked_pairs,
    parse_int=_marked_int,
    parse_float=_marked_float,
    parse_constant=_marked_constant,
).decode
