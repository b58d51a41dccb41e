"""How one type crosses between JSON and Python: its schema, its test, both conversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from holon_core.errors import HolonError
from holon_core.records.facts import Facts

Test = Callable[[Any], bool]
Convert = Callable[[Any], Any]

JSON_KINDS: frozenset[type] = frozenset({str, int, float, bool, type(None), list, dict})
_ATOMS = frozenset({str, int, float, bool, type(None)})
_LARGEST_INTEGER = 2**53 - 1


class Unsupported(Exception):
    """A type that no schema describes; the text says which and what to use instead."""


class ArgumentRefused(HolonError, ValueError):
    """An argument fits the schema but not the Python type, or never fitted at all.

    ``path`` is a JSON pointer into the arguments. Neither field carries the value.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.message, self.path = message, path

    def __str__(self) -> str:
        return f"{self.message} at {self.path or '/'}"

    def under(self, key: str | int) -> ArgumentRefused:
        """Return the same refusal as seen from one level further out."""
        step = str(key).replace("~", "~0").replace("/", "~1")
        return ArgumentRefused(self.message, f"/{step}{self.path}")


class Codec(Facts):
    """One type's way in and out.

    ``schema`` is fresh for each use and may be written to until the shape is finished.
    ``kinds`` are the exact types of the JSON values that can match. ``match`` tests a JSON
    value without converting it, ``owns`` a Python value. No ``load`` hands the JSON value
    over as it is; no ``dump`` means that ``plain`` is enough.
    """

    schema: dict[str, Any]
    kinds: frozenset[type]
    match: Test
    owns: Test
    load: Convert | None = None
    dump: Convert | None = None
    is_object: bool = False

    @property
    def to_json(self) -> Convert:
        """The conversion of a result to JSON."""
        return self.dump or plain


def atoms_only(value: dict[Any, Any]) -> bool:
    """Tell whether a dict has keys and values of exactly JSON's types, and no containers."""
    for name, each in value.items():
        if type(name) is not str or type(each) not in _ATOMS:
            return False
    return True


def plain(value: Any) -> Any:
    """Copy a value that already is JSON in Python's own types.

    Subclasses of JSON's types become those types, exact tuples become lists. What breaks
    a schema is left for the schema to refuse.

    Raises:
        TypeError: Something in it has no JSON form without a declared type.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, list) or kind is tuple:
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): plain(item) for key, item in value.items()}
    return _atom(value)


def _key(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise TypeError(f"a key of type {type(key).__qualname__} in a JSON object; keys are text")


def _atom(value: Any) -> Any:
    # The base class's own methods: a subclass may answer anything to str(), int() or float().
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    raise TypeError(
        f"{type(value).__qualname__} has no JSON form here; annotate what the function returns"
        " with that type, or return JSON"
    )


def portable(value: Any) -> bool:
    """Tell whether a JSON value can stand in a schema: finite, exact, encodable."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) <= _LARGEST_INTEGER
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, list):
        return all(portable(item) for item in value)
    if isinstance(value, dict):
        return all(portable(key) and portable(item) for key, item in value.items())
    return value is None


def text_codec(schema: dict[str, Any], *, owns: Test, read: Convert, write: Convert) -> Codec:
    """Make the codec of a type that travels as text; ``read`` raises ``ArgumentRefused``."""

    def load(value: Any) -> Any:
        if type(value) is not str:
            raise ArgumentRefused("a text is needed")
        return read(value)

    def match(value: Any) -> bool:
        try:
            load(value)
        except ArgumentRefused:
            return False
        return True

    def dump(value: Any) -> Any:
        return write(value) if owns(value) else plain(value)

    return Codec(
        schema={"type": "string", **schema},
        kinds=frozenset({str}),
        match=match,
        owns=owns,
        load=load,
        dump=dump,
    )
