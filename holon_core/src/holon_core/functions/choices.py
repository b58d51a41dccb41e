"""Codecs of closed choices: ``Literal`` and enums, by value."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, Flag
from typing import Any

from holon_core.functions.codec import ArgumentRefused, Codec, Unsupported, plain, portable

_TYPE_NAMES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def _json_of(member: object, owner: str) -> Any:
    value = member.value if isinstance(member, Enum) else member
    if type(value) not in _TYPE_NAMES or not portable(value):
        raise Unsupported(f"{owner} has a member whose value is not a JSON text, number or boolean")
    return value


def _key(value: object) -> tuple[bool, object]:
    # True == 1 in Python and not in JSON.
    return type(value) is bool, value


def _kinds(values: Sequence[object]) -> frozenset[type]:
    kinds = {type(value) for value in values}
    return frozenset(kinds | {int, float} if kinds & {int, float} else kinds)


def choice_codec(members: Sequence[object], *, owner: str) -> Codec:
    """Make the codec of a closed list of members, each an enum's member or a JSON value."""
    values = [_json_of(member, owner) for member in members]
    if not values:
        raise Unsupported(f"{owner} has no members")
    table = {_key(value): member for value, member in zip(values, members, strict=True)}
    own = {(type(member), member) for member in members}

    def match(value: Any) -> bool:
        return type(value) in _TYPE_NAMES and _key(value) in table

    def owns(value: Any) -> bool:
        try:
            return (type(value), value) in own
        except TypeError:  # a value without a hash is no member
            return False

    def load(value: Any) -> Any:
        if not match(value):
            raise ArgumentRefused(f"not one of the values of {owner}")
        return table[_key(value)]

    def dump(value: Any) -> Any:
        return value.value if isinstance(value, Enum) and owns(value) else plain(value)

    names = {_TYPE_NAMES[type(value)] for value in values}
    has_enums = any(isinstance(member, Enum) for member in members)
    return Codec(
        schema={**({"type": names.pop()} if len(names) == 1 else {}), "enum": values},
        kinds=_kinds(values),
        match=match,
        owns=owns,
        load=load if has_enums else None,
        dump=dump if has_enums else None,
    )


def enum_codec(cls: type[Enum]) -> Codec:
    """Make the codec of an enum, whose members travel by value."""
    if issubclass(cls, Flag):
        raise Unsupported(f"{cls.__name__} is a flag; take a list of its members' names instead")
    return choice_codec(list(cls), owner=cls.__name__)
