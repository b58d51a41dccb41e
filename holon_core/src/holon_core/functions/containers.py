"""Codecs of lists, sets, tuples and mappings."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from holon_core.functions.codec import (
    ArgumentRefused,
    Codec,
    Convert,
    Test,
    Unsupported,
    atoms_only,
    plain,
)

if TYPE_CHECKING:
    from holon_core.functions.hints import Compiler

_LIST = frozenset({list})


def _need_array(value: Any) -> None:
    if type(value) is not list:
        raise ArgumentRefused("an array is needed")


def _load_items(value: list[Any], read: Convert | None) -> list[Any]:
    if read is None:
        return value
    items: list[Any] = []
    try:
        items.extend(map(read, value))  # as far as it comes, so that the length is the place
    except ArgumentRefused as refused:
        raise refused.under(len(items)) from refused.__cause__
    return items


def _ordered(items: list[Any]) -> list[Any]:
    # A set has no order of its own; evidence and digests need one.
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=_text)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _is_collection(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))


def array_codec(item: Codec | None, *, owns: Test, build: Convert | None = None) -> Codec:
    """Make the codec of an array whose items are all alike.

    Args:
        item: The items' codec; None accepts any.
        owns: The test for a Python value of this type.
        build: What turns the list of items into the type; None keeps the list.
    """
    read = item.load if item else None
    matches = item.match if item else lambda _: True

    def load(value: Any) -> Any:
        _need_array(value)
        items = _load_items(value, read)
        return build(items) if build else items

    write = item.to_json if item else plain

    def dump(value: Any) -> Any:
        return [write(each) for each in value] if owns(value) else plain(value)

    return Codec(
        schema={"type": "array", **({"items": item.schema} if item else {})},
        kinds=_LIST,
        match=lambda value: type(value) is list and all(map(matches, value)),
        owns=owns,
        load=load if build or read else None,
        dump=dump,
    )


def set_codec(item: Codec | None, *, kind: type) -> Codec:
    """Make the codec of a set: an array without equal items, sorted on its way out."""

    def build(items: list[Any]) -> Any:
        try:
            made = kind(items)
        except TypeError:
            raise ArgumentRefused("an item that a set cannot hold") from None
        if len(made) != len(items):
            raise ArgumentRefused("two items that Python holds for equal")
        return made

    base = array_codec(item, owns=lambda value: isinstance(value, AbstractSet), build=build)

    def match(value: Any) -> bool:
        return base.match(value) and len({_text(each) for each in value}) == len(value)

    def dump(value: Any) -> Any:
        items = base.to_json(value)
        return _ordered(items) if base.owns(value) else items

    return Codec(
        schema={**base.schema, "uniqueItems": True},
        kinds=_LIST,
        match=match,
        owns=base.owns,
        load=base.load,
        dump=dump,
    )


def tuple_codec(items: list[Codec]) -> Codec:
    """Make the codec of a tuple of fixed length."""
    size = len(items)
    readers = [item.load for item in items]

    def load(value: Any) -> Any:
        _need_array(value)
        if len(value) != size:
            raise ArgumentRefused(f"an array of {size} items is needed")
        pairs = enumerate(zip(value, readers, strict=True))
        return tuple(each if read is None else _at(at, read, each) for at, (each, read) in pairs)

    def match(value: Any) -> bool:
        fits = type(value) is list and len(value) == size
        return fits and all(item.match(each) for item, each in zip(items, value, strict=True))

    def dump(value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) != size:
            return plain(value)
        return [item.to_json(each) for item, each in zip(items, value, strict=True)]

    schema = {"prefixItems": [item.schema for item in items], "items": False, "minItems": size}
    return Codec(
        schema={"type": "array", **(schema if items else {"maxItems": 0})},
        kinds=_LIST,
        match=match,
        owns=lambda value: isinstance(value, tuple) and len(value) == size,
        load=load,
        dump=dump,
    )


def _at(key: str | int, read: Convert, value: Any) -> Any:
    try:
        return read(value)
    except ArgumentRefused as refused:
        raise refused.under(key) from refused.__cause__


def mapping_codec(key: Codec | None, item: Codec | None) -> Codec:
    """Make the codec of a mapping; its keys have to travel as text."""
    if key and key.kinds != {str}:
        raise Unsupported("a mapping whose keys are not text; JSON objects have no others")
    read_key = key.load if key else None
    read = item.load if item else None
    write_key, write = (each.to_json if each else plain for each in (key, item))
    copied = write_key is plain and write is plain

    def load(value: Any) -> Any:
        if type(value) is not dict:
            raise ArgumentRefused("an object is needed")
        made = {
            (_at(name, read_key, name) if read_key else name): (
                _at(name, read, each) if read else each
            )
            for name, each in value.items()
        }
        if len(made) != len(value):
            raise ArgumentRefused("two keys that Python holds for equal")
        return made

    def match(value: Any) -> bool:
        return type(value) is dict and all(
            (key is None or key.match(name)) and (item is None or item.match(each))
            for name, each in value.items()
        )

    def dump(value: Any) -> Any:
        if copied and type(value) is dict and atoms_only(value):
            # The guard makes its own copy of every output.
            return value
        if type(value) is not dict and not isinstance(value, Mapping):
            return plain(value)
        return {write_key(name): write(each) for name, each in value.items()}

    schema: dict[str, Any] = {"type": "object"}
    if key and key.schema != {"type": "string"}:
        schema["propertyNames"] = key.schema
    if item:
        schema["additionalProperties"] = item.schema
    return Codec(
        schema=schema,
        kinds=frozenset({dict}),
        match=match,
        owns=lambda value: isinstance(value, Mapping),
        load=load if read_key or read else None,
        dump=dump,
        is_object=True,
    )


def _tuple(compiler: Compiler, args: tuple[Any, ...] | None) -> Codec:
    def owns(value: Any) -> bool:
        return isinstance(value, tuple)

    if args is None:
        return array_codec(None, owns=owns, build=tuple)
    if len(args) == 2 and args[1] is Ellipsis:
        return array_codec(compiler.codec(args[0]), owns=owns, build=tuple)
    return tuple_codec([compiler.codec(arg) for arg in args if arg != ()])


def _array(owns: Test) -> Callable[[Compiler, tuple[Any, ...] | None], Codec]:
    def build(compiler: Compiler, args: tuple[Any, ...] | None) -> Codec:
        return array_codec(compiler.codec(args[0]) if args else None, owns=owns)

    return build


def _set(kind: type) -> Callable[[Compiler, tuple[Any, ...] | None], Codec]:
    def build(compiler: Compiler, args: tuple[Any, ...] | None) -> Codec:
        return set_codec(compiler.codec(args[0]) if args else None, kind=kind)

    return build


def _mapping(compiler: Compiler, args: tuple[Any, ...] | None) -> Codec:
    key, item = (compiler.codec(arg) for arg in args) if args else (None, None)
    return mapping_codec(key, item)


_BUILDERS: dict[str, Callable[[Compiler, tuple[Any, ...] | None], Codec]] = {
    "builtins.list": _array(lambda value: isinstance(value, list)),
    "builtins.set": _set(set),
    "builtins.frozenset": _set(frozenset),
    "builtins.tuple": _tuple,
    "builtins.dict": _mapping,
    **{
        f"collections.abc.{name}": _array(_is_collection)
        for name in ("Sequence", "MutableSequence", "Iterable", "Collection")
    },
    "collections.abc.Set": _set(frozenset),
    "collections.abc.MutableSet": _set(set),
    "collections.abc.Mapping": _mapping,
    "collections.abc.MutableMapping": _mapping,
}


def container_codec(compiler: Compiler, origin: type, args: tuple[Any, ...] | None) -> Codec | None:
    """Give the codec of a container, or None where the class is none that is known.

    Args:
        compiler: Compiles the types of the items.
        origin: The container's class, without its arguments.
        args: Its type arguments; None where it was written without any.
    """
    build = _BUILDERS.get(f"{origin.__module__}.{origin.__qualname__}")
    return build(compiler, args) if build else None
