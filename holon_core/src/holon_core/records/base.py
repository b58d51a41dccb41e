"""What records share: comparing, hashing and showing themselves, by their fields."""

from __future__ import annotations

from typing import Any, TypeVar

R = TypeVar("R", bound="Record")


class Record:
    """Base of records made with ``@frozen(kw_only=True, eq=False, repr=False)``.

    attrs would write these methods anew for each class and compile them at import: for the
    records that a first call needs that costs more than the call and the opening of the store.
    """

    __slots__ = ("__weakref__",)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in _fields(self) if field.eq]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        values = [getattr(self, field.name) for field in _fields(self) if field.eq]
        return hash((type(self), *values))

    def __repr__(self) -> str:
        shown = [
            # A field may bring its own way of being shown, so as to hide a part.
            f"{f.name}={f.repr(value) if callable(f.repr) else repr(value)}"
            for f in _fields(self)
            if f.repr
            for value in (getattr(self, f.name),)
        ]
        return f"{type(self).__qualname__}({', '.join(shown)})"


def blank(record: type[R]) -> type[Any]:
    """Return a class with a record's fields, to be filled and then made the record.

    ``made.__class__ = record`` makes it one. A frozen record sets each field by a call: for the
    records that each guarded call makes this way takes a fourth of the time.

    Args:
        record: Derived from ``Record`` alone.
    """
    names = tuple(field.name for field in record.__attrs_attrs__)  # type: ignore[attr-defined]
    return type(f"Blank{record.__name__}", (Record,), {"__slots__": names})


def _fields(record: object) -> tuple[Any, ...]:
    return type(record).__attrs_attrs__  # type: ignore[attr-defined,no-any-return]
