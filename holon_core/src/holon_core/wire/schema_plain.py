"""Schemas of plain parts, as most are: sound at a glance, so that none of the rest is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holon_core.wire.format_names import ASSERTED

# A tree of this size is cheap, whatever it looks like (``schema_cost``).
MAX_PARTS = 100
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def is_plain(schema: dict[str, Any]) -> bool:
    """Tell whether a schema of the latest dialect is sound, whatever else is true of it.

    It holds keywords that every engine understands and that refer to nothing, each with a value
    that the dialect allows, and few of them. Of any other schema nothing is said: whether it is
    sound the whole admission finds out (``schema_check``).

    Args:
        schema: What ``values.normalise`` made.
    """
    parts = [schema]
    for part in parts:
        for keyword, value in part.items():
            sound = _SOUND.get(keyword)
            if sound is not None:
                if not sound(value):
                    return False
            elif keyword == "properties":
                if type(value) is not dict:
                    return False
                parts += value.values()
            elif keyword in _INNER:
                if value is not True and value is not False:
                    parts.append(value)
            elif keyword[:2] != "x-":
                return False
        if len(parts) > MAX_PARTS or {*map(type, parts)} != _ALL_OBJECTS:
            return False
    return True


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_list(value: Any) -> bool:
    return type(value) is list


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_factor(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_names(value: Any) -> bool:
    return type(value) is list and {*map(type, value)} <= {str} and len({*value}) == len(value)


def _is_type(value: Any) -> bool:
    if type(value) is str:
        return value in _TYPES
    return _is_names(value) and bool(value) and _TYPES.issuperset(value)


def _is_format(value: Any) -> bool:
    return type(value) is str and value in ASSERTED


def _is_anything(_: Any) -> bool:
    return True


_ALL_OBJECTS = {dict}
_INNER = frozenset({"additionalProperties", "items"})
_SOUND: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "format": _is_format,
    "required": _is_names,
    "enum": _is_list,
    "examples": _is_list,
    "multipleOf": _is_factor,
    **dict.fromkeys(("const", "default"), _is_anything),
    **dict.fromkeys(("$comment", "title", "description"), _is_text),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _is_flag),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _is_count,
    ),
}
