"""Between contract data and its attrs types: absent and null told apart, names translated."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from attrs import fields, has

from elegy_contracts.spelling import camel

T = TypeVar("T")
Read = Callable[[Any], Any]


class Unset(Enum):
    """The value of a member that is absent: nothing, as opposed to null; it is false."""

    UNSET = "unset"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset.UNSET


def wire_name(field: Any) -> str:
    """Return the name that a field has in contract data."""
    return str(field.metadata.get("wire") or camel(field.name.rstrip("_")))


def from_data(cls: type[T], data: Mapping[str, Any]) -> T:
    """Make a record of data that was checked against its contract; nothing is checked here."""
    made = {}
    kind: Any = cls
    for name, wire, read in _plan(kind):
        if wire in data:
            made[name] = read(data[wire])
    return cls(**made)


def to_data(value: Any) -> Any:
    """Return the contract data of a record; absent members stay away."""
    if has(type(value)):
        return {
            wire_name(field): to_data(inner)
            for field in fields(type(value))
            if (inner := getattr(value, field.name)) is not UNSET
        }
    if isinstance(value, Mapping):
        return {key: to_data(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_data(inner) for inner in value]
    return value


@lru_cache(maxsize=512)
def _plan(cls: Any) -> tuple[tuple[str, str, Read], ...]:
    hints = get_type_hints(cls)
    return tuple((f.name, wire_name(f), _reader(hints[f.name])) for f in fields(cls))


def _reader(kind: Any) -> Read:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        inner = [one for one in get_args(kind) if one not in (Unset, type(None))]
        return _nullable(_reader(inner[0])) if len(inner) == 1 else _same
    if has(kind):
        return lambda data: from_data(kind, data)
    if origin is tuple:
        item = _reader(get_args(kind)[0])
        return lambda data: tuple(map(item, data))
    if origin is not None and issubclass(origin, Mapping):
        item = _reader(get_args(kind)[1])
        return lambda data: {key: item(inner) for key, inner in data.items()}
    return _same


def _same(data: Any) -> Any:
    return data


def _nullable(read: Read) -> Read:
    return lambda data: None if data is None else read(data)
