"""Records in from JSON and out to it: exact types, unknown keys refused, all faults at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import cache
from pathlib import Path, PurePath
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

from holon_core.errors import Rejected
from holon_core.records.finding import Finding
from holon_core.wire.faults import pointer, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cattrs import Converter

    Hook = Callable[[Any, Any], Any]
    Part = str | int

T = TypeVar("T")

_WORDS: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
# What attrs' validators say of a field, up to where they quote the value.
_REFUSAL = re.compile(r"'\w+' must be [^:(]*[^:( ]")


class _Unfit(ValueError):
    """A value of the wrong kind; the text says what was wanted, never what came."""


class _Several(ValueError):
    """Faults inside a container, with the step to each."""

    def __init__(self, faults: list[tuple[Part, Exception]]) -> None:
        super().__init__(len(faults))
        self.faults = faults


def structure(data: object, cls: type[T]) -> T:
    """Make a record from JSON.

    Nothing is coerced: a string is no number, a list of strings is no string. An integer is
    taken where a number is wanted, because JSON does not tell them apart.

    Args:
        data: A JSON value, as ``strict_json.parse`` gives it.
        cls: An attrs class of scalars, words, lists, tuples, sets, mappings, unions and
            further records.

    Raises:
        Rejected: With a finding ``record_invalid`` for each fault, and its JSON pointer.
    """
    from cattrs.errors import CattrsError

    try:
        return _converter().structure(data, cls)
    except (CattrsError, _Unfit, _Several) as error:
        findings = [
            Finding(code="record_invalid", message=message, path=pointer(path))
            for path, message in _faults(error, ())
        ]
    raise Rejected(cls.__name__, findings)


def unstructure(record: object) -> Any:
    """Turn a record into JSON: words become strings, tuples lists, sets sorted lists."""
    return _converter().unstructure(record)


@cache
def _converter() -> Converter:
    from cattrs import Converter

    made = Converter(
        forbid_extra_keys=True, unstruct_collection_overrides={AbstractSet: sorted, Sequence: list}
    )
    # By class: what cattrs itself says of these by class would win over any predicate.
    for worded in (str, int, Enum):
        made.register_unstructure_hook(worded, _plain)
    for base in (str, int, float, bool, bytes, Path, PurePath, Enum):
        made.register_structure_hook(base, _leaf)
    made.register_structure_hook_factory(_is_union, lambda kind: _union(made, kind))
    made.register_structure_hook_factory(_is_made_of(Sequence, tuple), lambda k: _items(made, k))
    made.register_structure_hook_factory(
        _is_made_of(AbstractSet), lambda kind: _members(made, kind)
    )
    made.register_structure_hook_factory(_is_made_of(Mapping), lambda kind: _entries(made, kind))
    made.register_structure_hook_factory(_is_record, lambda kind: _fields(made, kind))
    return made


def _is_made_of(*bases: type) -> Callable[[Any], bool]:
    def is_made_of(kind: Any) -> bool:
        origin = get_origin(kind) or kind
        return isinstance(origin, type) and issubclass(origin, bases) and origin is not str

    return is_made_of


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _is_record(kind: Any) -> bool:
    return hasattr(kind, "__attrs_attrs__")


def _want(value: object, kind: type) -> None:
    if type(value) is not kind:
        raise _Unfit(f"{_WORDS[kind]} is wanted")


def _leaf(value: Any, kind: Any) -> Any:
    if type(value) is kind and kind in _WORDS:
        return value
    if kind is float and type(value) is int:
        return float(value)
    # Subclasses come here as well, and most of all words, which are strings.
    if issubclass(kind, Enum):
        return _member(value, kind)
    raise _Unfit(f"{_WORDS[kind]} is wanted" if kind in _WORDS else "has no form in JSON")


def _member(value: Any, kind: type[Enum]) -> Any:
    for member in kind:
        if type(value) is type(member.value) and value == member.value:
            return member
    raise _Unfit("one of " + ", ".join(str(member.value) for member in kind) + " is wanted")


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _union(converter: Converter, kind: Any) -> Hook:
    choices = [choice for choice in get_args(kind) if choice is not type(None)]
    nullable = len(choices) < len(get_args(kind))

    def union(value: Any, _: Any) -> Any:
        if value is None and nullable:
            return None
        if len(choices) == 1:
            return converter.structure(value, choices[0])
        for choice in choices:
            made, faults = _each(converter, [("", value, choice)])
            if not faults:
                return made[0]
        raise _Unfit("none of the allowed kinds")

    return union


def _items(converter: Converter, kind: Any) -> Hook:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    make: Callable[[list[Any]], Any] = tuple if issubclass(origin, tuple) else list
    # tuple[X, Y] has a kind for each place, tuple[X, ...] and the others one for all.
    fixed = make is tuple and bool(inner) and inner[-1] is not Ellipsis

    def items(value: Any, _: Any) -> Any:
        _want(value, list)
        if fixed and len(value) != len(inner):
            raise _Unfit(f"a list of {len(inner)} is wanted")
        kinds = inner if fixed else (*inner[:1], Any)[:1] * len(value)
        made, faults = _each(converter, zip(range(len(value)), value, kinds, strict=True))
        if faults:
            raise _Several(faults)
        return make(made)

    return items


def _members(converter: Converter, kind: Any) -> Hook:
    items = _items(converter, list[(*get_args(kind), Any)[0]])  # type: ignore[misc]

    def members(value: Any, _: Any) -> Any:
        found = frozenset(items(value, None))
        if len(found) != len(value):
            raise _Unfit("a member appears twice")
        return found

    return members


def _entries(converter: Converter, kind: Any) -> Hook:
    key_kind, value_kind = get_args(kind) or (str, Any)

    def entries(value: Any, _: Any) -> Any:
        _want(value, dict)
        keys, faults = _each(converter, ((key, key, key_kind) for key in value))
        items, more = _each(converter, ((key, item, value_kind) for key, item in value.items()))
        if faults or more:
            raise _Several(faults + more)
        return dict(zip(keys, items, strict=True))

    return entries


def _fields(converter: Converter, kind: Any) -> Hook:
    from cattrs.gen import make_dict_structure_fn

    make = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)

    def fields(value: Any, _: Any) -> Any:
        _want(value, dict)
        return make(value, kind)

    return fields


def _each(
    converter: Converter, parts: Iterable[tuple[Part, Any, Any]]
) -> tuple[list[Any], list[tuple[Part, Exception]]]:
    from cattrs.errors import CattrsError

    made: list[Any] = []
    faults: list[tuple[Part, Exception]] = []
    for step, value, kind in parts:
        try:
            made.append(converter.structure(value, kind))
        except (CattrsError, _Unfit, _Several) as fault:
            faults.append((step, fault))
    return made, faults


def _faults(error: Exception, path: tuple[Part, ...]) -> Iterator[tuple[tuple[Part, ...], str]]:
    """Take an error apart into its single faults, each with its path."""
    from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

    if isinstance(error, _Several):
        for step, inner in error.faults:
            yield from _faults(inner, (*path, step))
    elif isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _faults(inner, (*path, *_steps(inner)))
    elif isinstance(error, ForbiddenExtraKeysError):
        for key in sorted(error.extra_fields):
            yield (*path, key), f"unknown key {shown(key)}"
    elif isinstance(error, KeyError):
        yield path, "missing"
    elif isinstance(error, _Unfit):
        yield path, str(error)
    else:
        found = _REFUSAL.match(str(error))
        yield path, found[0] if found else "refused by the record's own check"


def _steps(error: Exception) -> tuple[Part, ...]:
    return tuple(note.name for note in getattr(error, "__notes__", ()) if hasattr(note, "name"))
