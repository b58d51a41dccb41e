"""Codecs of the types without parts: JSON's own, and those that travel as text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import PurePath
from typing import Any

from holon_core.functions.codec import (
    JSON_KINDS,
    ArgumentRefused,
    Codec,
    Unsupported,
    text_codec,
)
from holon_core.functions.moments import date_codec, date_time_codec, time_codec

# No exponent: "1e999999999" is short on the wire and endless in a function's int().
_PLAIN_DECIMAL = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"
_WIDEST_DECIMAL = 1000
_UUID = r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"


def _native(json_type: str, *kinds: type) -> Codec:
    exact = frozenset(kinds)
    return Codec(
        schema={"type": json_type},
        kinds=exact,
        match=lambda value: type(value) in exact,
        owns=lambda value: isinstance(value, kinds) and (bool in exact or type(value) is not bool),
    )


def any_codec() -> Codec:
    """Any JSON value at all."""
    return Codec(schema={}, kinds=JSON_KINDS, match=lambda _: True, owns=lambda _: True)


def _uuid(cls: Any) -> Codec:
    def read(text: str) -> Any:
        if re.fullmatch(_UUID, text) is None:
            raise ArgumentRefused("not a UUID in its usual form")
        return cls(text)

    return text_codec(
        {"format": "uuid"}, owns=lambda value: isinstance(value, cls), read=read, write=str
    )


def _decimal(cls: Any) -> Codec:
    def read(text: str) -> Any:
        if re.fullmatch(_PLAIN_DECIMAL, text) is None:
            raise ArgumentRefused("not a decimal number without exponent")
        return cls(text)

    def write(value: Any) -> str:
        if not value.is_finite() or abs(value.adjusted()) > _WIDEST_DECIMAL:
            raise TypeError("a Decimal that is not finite, or too wide to write in full")
        return format(value, "f")

    return text_codec(
        {"pattern": f"^{_PLAIN_DECIMAL}$"},
        owns=lambda value: isinstance(value, cls),
        read=read,
        write=write,
    )


def _path(cls: Any) -> Codec:
    return text_codec({}, owns=lambda value: isinstance(value, PurePath), read=cls, write=str)


_FACTORIES: dict[Any, Callable[[], Codec]] = {
    str: lambda: _native("string", str),
    int: lambda: _native("integer", int),
    float: lambda: _native("number", float, int),
    bool: lambda: _native("boolean", bool),
    type(None): lambda: _native("null", type(None)),
    object: any_codec,
    date: date_codec,
    time: time_codec,
    datetime: date_time_codec,
}
_BINARY = (bytes, bytearray, memoryview)
# Imported by whoever wrote the hint, or not needed at all: no reason to import them here.
_ELSEWHERE: dict[tuple[str, str], Callable[[Any], Codec]] = {
    ("uuid", "UUID"): _uuid,
    ("decimal", "Decimal"): _decimal,
}


def scalar_codec(hint: type) -> Codec | None:
    """Give the codec of a class without parts, or None where it is another kind of class."""
    factory = _FACTORIES.get(hint)
    if factory is not None:
        return factory()
    if issubclass(hint, _BINARY):
        raise Unsupported(f"{hint.__name__} is not JSON; take text, or a path to a file")
    if issubclass(hint, PurePath):
        return _path(hint)
    for (module, name), build in _ELSEWHERE.items():
        if hint is getattr(sys.modules.get(module), name, None):
            return build(hint)
    return None
