"""Filling a dialect's shapes, and reading calls out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holon_core.records.dialect import FunctionDialect

ABSENT: Any = ...
# Where an SDK's object raises; no JSON, so that the guard refuses it as arguments.
UNREADABLE: Any = object()


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
    try:
        if isinstance(thing, Mapping):
            return thing.get(name, ABSENT)
        return getattr(thing, name, ABSENT)
    except Exception:
        return UNREADABLE


def at(thing: Any, path: tuple[str, ...]) -> Any:
    """Follow a path of members."""
    for name in path:
        thing = member(thing, name)
        if thing is ABSENT or thing is UNREADABLE:
            break
    return thing


def is_call(dialect: FunctionDialect, call: Any) -> bool:
    """Tell whether a call is written in a dialect."""
    return (
        _is_marked(dialect, call)
        and isinstance(at(call, dialect.call_name), str)
        and at(call, dialect.call_arguments) is not ABSENT
    )


def may_be_call(dialect: FunctionDialect, call: Any, *, wrapped: bool) -> bool:
    """Tell whether a call is meant to be of a dialect, though its name or arguments are no good.

    Args:
        dialect: The dialect; one without marks can only be guessed from a wrapper.
        call: What a provider sent, taken out of its wrapper.
        wrapped: Whether it was in one.
    """
    if dialect.call_marks:
        return _is_marked(dialect, call)
    return wrapped and isinstance(at(call, dialect.call_name), str)


def _is_marked(dialect: FunctionDialect, call: Any) -> bool:
    return all(member(call, name) == word for name, word in dialect.call_marks.items())


def sendable(text: str) -> str:
    """Return a text that every encoder takes: half of a surrogate pair is written out."""
    return text.encode("utf-8", "backslashreplace").decode()
