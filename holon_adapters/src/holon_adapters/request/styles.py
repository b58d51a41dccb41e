"""Writing values by the styles of OpenAPI (RFC 6570 where it has a say)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UNRESERVED = "-._~"
RESERVED = UNRESERVED + ":/?[]@!$'()*,;"
MAX_ITEMS = 10_000
_BETWEEN = {"form": ",", "simple": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}

Encode = "Callable[[str], str]"


class Unwritable(Exception):
    """A value that a style cannot write; the text says why."""


def encoded(text: str) -> str:
    """Percent-encode everything but unreserved characters."""
    return quote(text, safe=UNRESERVED)


def reserved_kept(text: str) -> str:
    """Percent-encode what neither is unreserved nor separates parts of a URL."""
    return quote(text, safe=RESERVED)


def as_it_is(text: str) -> str:
    """Leave a text alone: headers have no encoding."""
    return text


def scalar(value: Any) -> str:
    """Write a value that has no parts, as JSON would; a text without its quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        raise Unwritable("a value inside a list or an object has parts of its own")
    return json.dumps(value)


def simple(value: Any, *, explode: bool, encode: Callable[[str], str]) -> str:
    """Write a value in the style ``simple``: paths and headers."""
    if isinstance(value, list):
        return ",".join(encode(scalar(item)) for item in value)
    if isinstance(value, dict):
        joint = "=" if explode else ","
        return ",".join(f"{encode(k)}{joint}{encode(scalar(v))}" for k, v in value.items())
    return encode(scalar(value))


def in_path(name: str, value: Any, *, style: str, explode: bool) -> str:
    """Write a value into a path, by ``simple``, ``label`` or ``matrix``."""
    if style == "simple":
        return simple(value, explode=explode, encode=encoded)
    mark, between = (".", ".") if style == "label" else (";", ";")
    key = "" if style == "label" else f"{encoded(name)}="
    if isinstance(value, list):
        items = [encoded(scalar(item)) for item in value]
        if explode:
            return mark + between.join(f"{key}{item}" for item in items)
        return mark + key + ",".join(items)
    if isinstance(value, dict):
        if explode:
            pairs = [f"{encoded(k)}={encoded(scalar(v))}" for k, v in value.items()]
            return mark + between.join(pairs)
        return mark + key + simple(value, explode=False, encode=encoded)
    return mark + key + encoded(scalar(value))


def pairs(
    name: str, value: Any, *, style: str, explode: bool, encode: Callable[[str], str] = encoded
) -> Iterator[tuple[str, str]]:
    """Write a value as pairs of a query, a cookie or a form, both sides encoded.

    ``null`` is left out: forms have no word for it.
    """
    if value is None:
        return
    if style == "deepObject":
        yield from _deep(encoded(name), value, encode, [MAX_ITEMS])
    elif isinstance(value, list):
        yield from _listed(name, value, style, explode, encode)
    elif isinstance(value, dict) and explode:
        yield from ((encoded(k), encode(scalar(v))) for k, v in value.items() if v is not None)
    elif isinstance(value, dict):
        flat = [part for pair in value.items() for part in pair]
        yield encoded(name), _BETWEEN[style].join(encode(scalar(part)) for part in flat)
    else:
        yield encoded(name), encode(scalar(value))


def _listed(
    name: str,
    value: list[Any],
    style: str,
    explode: bool,
    encode: Callable[[str], str],
) -> Iterator[tuple[str, str]]:
    items = [encode(scalar(item)) for item in value]
    if explode:
        yield from ((encoded(name), item) for item in items)
    elif items:
        yield encoded(name), _BETWEEN[style].join(items)


def _deep(
    key: str, value: Any, encode: Callable[[str], str], room: list[int]
) -> Iterator[tuple[str, str]]:
    room[0] -= 1
    if room[0] < 0:
        raise Unwritable(f"more than {MAX_ITEMS} values")
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _deep(f"{key}%5B{encoded(name)}%5D", item, encode, room)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _deep(f"{key}%5B{at}%5D", item, encode, room)
    elif value is not None:
        yield key, encode(scalar(value))
