"""What records share: comparing, hashing and showing themselves, by their fields."""

from __future__ import annotations

from typing import Any


class Record:
    """Base of records made with ``@frozen(kw_only=True, eq=False, repr=False)``.

    attrs would write these methods anew for each class and compile them at import: for the
    records that a first call needs that costs more than the call and the opening of the store.
    """

    __slots__ = ()

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


def _fields(record: object) -> tuple[Any, ...]:
    return type(record).__attrs_attrs__  # type: ignore[attr-defined,no-any-return]
