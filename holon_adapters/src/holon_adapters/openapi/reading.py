"""Reading a document's text: strict JSON, or YAML as far as it says the same as JSON."""

from __future__ import annotations

import json
from datetime import date, datetime
from math import isnan
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Rejected
from holon_core.records.finding import Finding
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from collections.abc import Hashable

MAX_TEXT_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 200
MAX_VALUES = 2_000_000


def read_text(text: str | bytes) -> Any:
    """Read one document, JSON or YAML by what it begins with.

    Args:
        text: Up to 16 MiB of UTF-8, 200 levels deep. Of YAML: one document, the tags of JSON,
            no key twice; anchors and aliases count as often as they are used.

    Raises:
        Rejected: It is not sound; with the place.
    """
    data = text.encode() if isinstance(text, str) else text
    if len(data) > MAX_TEXT_BYTES:
        raise rejected(f"larger than {MAX_TEXT_BYTES} bytes")
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            return parse(_without_mark(data), max_bytes=MAX_TEXT_BYTES, max_depth=MAX_DEPTH)
        except JsonRefused as refused:
            if refused.rule == "number_range":
                # Limits of 64 bits stand in many documents; they are left out of schemas later.
                return _wide_numbers(data)
            # A YAML document may be written in braces; what is JSON is told as JSON.
            if refused.rule != "syntax":
                raise rejected(refused.message, refused.path) from None
    return _read_yaml(data)


def rejected(message: str, path: str = "", *, code: str = "record_invalid") -> Rejected:
    """Make the rejection of a document for one thing."""
    return Rejected("document", [Finding(code=code, message=message, path=path)])


def _without_mark(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf")


def _wide_numbers(data: bytes) -> Any:
    """Read JSON whose numbers may be beyond what JSON carries safely; all else is strict."""
    return json.loads(
        _without_mark(data),
        object_pairs_hook=_unique,
        parse_int=_whole,
        parse_constant=_no_number,
    )


def _whole(digits: str) -> int | float:
    # Python refuses to convert very long ones, and all of them are beyond any limit.
    return int(digits) if len(digits) < 400 else float(digits)


def _no_number(name: str) -> Any:
    raise rejected(f"{name} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise rejected(f"the key {twice!r:.80} appears twice")
    return found


def _read_yaml(data: bytes) -> Any:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(data, Loader=_strict(loader))  # noqa: S506 - a safe loader, made strict
    except _Refused as refused:
        raise rejected(str(refused)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = "" if mark is None else f" at line {mark.line + 1}"
        said = getattr(error, "problem", None) or "not YAML"
        raise rejected(f"neither JSON nor YAML: {said}{at}") from None
    except (RecursionError, ValueError, UnicodeDecodeError) as error:
        raise rejected(f"neither JSON nor YAML: {type(error).__name__}") from None
    return _plain(value)


class _Refused(Exception):
    """YAML that says something JSON cannot; the text says what."""


_LOADERS: dict[Any, Any] = {}


def _strict(base: Any) -> Any:
    """Return a safe loader that refuses a key given twice."""
    made = _LOADERS.get(base)
    if made is None:
        made = type("Strict", (base,), {"construct_mapping": _construct_mapping})
        _LOADERS[base] = made
    return made


def _construct_mapping(loader: Any, node: Any, deep: bool = False) -> dict[Hashable, Any]:
    loader.flatten_mapping(node)
    made: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, (str, int, float, bool)):
            raise _Refused(f"a key that is no text at line {key_node.start_mark.line + 1}")
        if key in made:
            raise _Refused(f"the key {key!r:.80} twice at line {key_node.start_mark.line + 1}")
        made[key] = loader.construct_object(value_node, deep=deep)
    return made


def _plain(value: Any) -> Any:
    """Make JSON of what YAML gave, with its aliases written out, within the limits."""
    room = [MAX_VALUES]
    return _plain_at(value, 0, room)


def _plain_at(value: Any, depth: int, room: list[int]) -> Any:
    room[0] -= 1
    if room[0] < 0:
        raise rejected(f"more than {MAX_VALUES} values, aliases written out")
    if depth > MAX_DEPTH:
        raise rejected(f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {_key(key): _plain_at(item, depth + 1, room) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_at(item, depth + 1, room) for item in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, float) and isnan(value):
        raise rejected("what is no number is no JSON")
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise rejected(f"a value of the type {type(value).__name__} is no JSON")


def _key(key: Any) -> str:
    # Status codes are written as numbers, and `on` or `yes` as property names.
    return ("true" if key else "false") if isinstance(key, bool) else str(key)
