"""What parts of the core hand to one another inside: as frozen as a record, made without attrs.

attrs writes an ``__init__`` for each class and compiles it when it is imported, a third of a
millisecond each; classes that never leave the core are made here at a thirtieth of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs.exceptions import FrozenInstanceError

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: bool) -> Any:
        """Tell type checkers alone."""
        return lambda cls: cls


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=True)
class Facts:
    """Base of classes whose annotated names are their fields, given by keyword.

    A default is what the class has under the name; it is shared, so it is immutable.

    Raises:
        TypeError: A field is missing, or there is none of this name.
        FrozenInstanceError: A field is set or deleted afterwards.
    """

    _names: ClassVar[frozenset[str]]
    _needed: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        names = cls.__annotations__
        cls._names = frozenset(names)
        cls._needed = frozenset(name for name in names if not hasattr(cls, name))

    def __init__(self, **given: Any) -> None:
        if not self._needed <= given.keys() <= self._names:
            lacks = sorted(self._needed - given.keys())
            more = sorted(given.keys() - self._names)
            raise TypeError(f"{type(self).__name__} lacks {lacks}, and has no {more}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, _: object) -> None:
        raise FrozenInstanceError

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__annotations__)
        return f"{type(self).__qualname__}({shown})"
