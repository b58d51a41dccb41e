"""Secrets as the core handles them: who resolves a reference, and a value that never shows."""

from __future__ import annotations

from typing import NoReturn, Protocol, runtime_checkable


@runtime_checkable
class SecretProvider(Protocol):
    """Resolves the references of one scheme, e.g. everything after ``env:``.

    Called from any thread, at execution only; an exception counts as "no value". A provider may
    also have ``advice(rest) -> str``, a sentence that says how to set the value.
    """

    scheme: str

    def resolve(self, rest: str) -> str | None:
        """Return the value, or ``None`` where there is none."""
        ...

    def available(self, rest: str) -> bool:
        """Tell, without fetching it where possible, whether there is a value."""
        ...


class SecretValue:
    """A secret's value, opaque: no text made of it shows it, and it cannot be pickled.

    Only ``reveal`` gives the value. A copy is the same object.
    """

    __slots__ = ("__value", "name")

    name: str

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.__value = value

    def reveal(self) -> str:
        """Return the value. Whoever asks keeps it out of logs, errors and results."""
        return self.__value

    def __repr__(self) -> str:
        return f"<SecretValue {self.name}>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        from html import escape

        return escape(repr(self))

    def __copy__(self) -> SecretValue:
        return self

    def __deepcopy__(self, memo: object) -> SecretValue:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret value cannot be pickled; pass its reference")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a secret value has no state to show; pass its reference")
