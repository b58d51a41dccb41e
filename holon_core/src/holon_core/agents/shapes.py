"""Filling a dialect's shapes, and reading calls out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holon_core.records.dialect import FunctionDialect

ABSENT: Any = ...


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Fill a template; members whose value is absent are left out."""
    if isinstance(template, str) and template.startswith("$"):
        return values.get(template[1:], ABSENT)
    if isinstance(template, Mapping):
        made = {name: filled(held, values) for name, held in template.items()}
        return {name: held for name, held in made.items() if held is not ABSENT}
    if isinstance(template, (list, tuple)):
        return [filled(each, values) for each in template]
    return template


def member(thing: Any, name: str) -> Any:
    """Return a member of a JSON object or of an SDK's object; absent where there is none."""
    if isinstance(thing, Mapping):
        return thing.get(name, ABSENT)
    return getattr(thing, name, ABSENT)


def at(thing: Any, path: tuple[str, ...]) -> Any:
    """Follow a path of members."""
    for name in path:
        thing = member(thing, name)
        if thing is ABSENT:
            return ABSENT
    return thing


def is_call(dialect: FunctionDialect, call: Any) -> bool:
    """Tell whether a call is written in a dialect."""
    marked = all(member(call, name) == word for name, word in dialect.call_marks.items())
    return (
        marked
        and isinstance(at(call, dialect.call_name), str)
        and at(call, dialect.call_arguments) is not ABSENT
    )
