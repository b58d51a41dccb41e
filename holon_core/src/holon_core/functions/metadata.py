"""What ``Annotated`` adds to a type: descriptions and the usual bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holon_core.functions.codec import portable

_NUMBERS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_SIZES = {"string": "Length", "array": "Items", "object": "Properties"}


def _number(value: Any) -> bool:
    return type(value) in (int, float) and portable(value)


def _bounds(meta: Any, json_type: object) -> dict[str, Any]:
    """Read bounds by the attribute names that annotated-types and pydantic share."""
    if isinstance(meta, type):
        return {}
    found: dict[str, Any] = {}
    if json_type in ("integer", "number"):
        found = {word: getattr(meta, name, None) for name, word in _NUMBERS.items()}
        found = {word: value for word, value in found.items() if _number(value)}
    size = _SIZES.get(str(json_type))
    for name, prefix in (("min_length", "min"), ("max_length", "max")) if size else ():
        value = getattr(meta, name, None)
        if type(value) is int and not (name == "min_length" and value == 0):
            found[f"{prefix}{size}"] = value
    pattern = getattr(meta, "pattern", None)
    if json_type == "string" and pattern is not None:
        found["pattern"] = getattr(pattern, "pattern", pattern)
    return found


def _description(meta: Any) -> str | None:
    if isinstance(meta, str):
        return meta
    for name in ("description", "documentation"):
        text = getattr(meta, name, None)
        if isinstance(text, str):
            return text
    return None


def annotate(schema: dict[str, Any], metadata: Iterable[Any]) -> list[str]:
    """Write into a schema what the metadata of ``Annotated`` says.

    Args:
        schema: Changed in place.
        metadata: Texts are descriptions; other objects are read by attribute (``ge``,
            ``min_length``, ``pattern``, ``description``…), also one level down in ``metadata``.

    Returns:
        The names of the types of metadata that say nothing that a schema can hold.
    """
    ignored = []
    for meta in metadata:
        description = _description(meta)
        if description is not None:
            schema["description"] = description
        parts = [meta, *(getattr(meta, "metadata", None) or ())]
        bounds = [_bounds(part, schema.get("type")) for part in parts]
        for found in bounds:
            schema.update(found)
        if description is None and not any(bounds):
            ignored.append(type(meta).__name__)
    return ignored
