"""Sample arguments of a tool from its schema alone, where the schema states values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NONE = object()


def sample_of(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Make arguments of what a schema itself states; nothing is invented.

    Args:
        schema: An input schema. An example of the whole is taken as it is; else each required
            property needs an example, default, const or enum of its own.

    Returns:
        Arguments, or ``None`` where the schema does not state enough.
    """
    whole = _stated(schema)
    if isinstance(whole, Mapping):
        return dict(whole)
    properties = schema.get("properties", {})
    made = {name: _stated(properties.get(name)) for name in schema.get("required", ())}
    return None if any(value is _NONE for value in made.values()) else made


def _stated(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return _NONE
    for key in ("examples", "enum"):
        values = schema.get(key)
        if isinstance(values, (list, tuple)) and values:
            return values[0]
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    return _NONE
