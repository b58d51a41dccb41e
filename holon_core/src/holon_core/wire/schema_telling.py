"""What may be told of a fault in a value: nothing of what its schema marks secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.wire.engine import SchemaError

if TYPE_CHECKING:
    from holon_core.wire.schema_marks import Marks

# Rules whose messages name what is inside the value that breaks them.
_NAMING = frozenset({"additionalProperties", "unevaluatedProperties", "duplicate_key"})
# Beyond these many digits a step is no index of a list.
_INDEX_DIGITS = 9


def telling(error: SchemaError, marks: Marks | None) -> SchemaError:
    """Return a fault as callers and evidence may see it.

    Args:
        error: A fault in a value; its path may lead through names that the value holds.
        marks: Of the value's schema; ``None`` where it marks nothing.

    Returns:
        The same fault. One inside a marked field is told of the field itself, by its rule alone.

    Source: docs/secrets.md, "Redaction".
    """
    steps = error.path.split("/")[1:]
    shown = None if marks is None else _marked(steps, marks)
    if shown is None or (shown == len(steps) and error.rule not in _NAMING):
        return error
    path = "".join(f"/{step}" for step in steps[:shown])
    return SchemaError(path=path, rule=error.rule, message=f"what it holds breaks {error.rule}")


def _marked(steps: list[str], marks: Marks) -> int | None:
    """Count the steps to the outermost marked field on the way; ``None`` where there is none."""
    places = {marks.root}
    for taken in range(len(steps) + 1):
        places.discard(None)
        if any(place.masked for place in places if place):
            return taken
        keys = _keys(steps[taken]) if taken < len(steps) else ()
        places = {place.below(key) for place in places if place for key in keys}
    return None


def _keys(step: str) -> tuple[str | int, ...]:
    """Read a step: a number is a name or an index, and rather one field too many is marked."""
    name = step.replace("~1", "/").replace("~0", "~")
    index = name.isdecimal() and name.isascii() and len(name) <= _INDEX_DIGITS
    return (name, int(name)) if index else (name,)
