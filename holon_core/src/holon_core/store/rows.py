"""Reading rows: one of another shape than this library writes is a damaged store."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from holon_core.errors import Misuse, StoreError

F = TypeVar("F", bound=Callable[..., Any])

HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    Misuse,
    RecursionError,
    TypeError,
    ValueError,
)


def damaged(what: str, why: str = "") -> StoreError:
    """Return what a row that cannot be right means to callers."""
    return StoreError("store_corrupt", f"the store holds {what} of a wrong form{why} (check: rows)")


def decodes(what: str) -> Callable[[F], F]:
    """Make a function that decodes rows answer damage as ``store_corrupt``.

    Args:
        what: What a row is, for the message; its content may be anything and is not shown.
    """

    def decorate(decode: F) -> F:
        @wraps(decode)
        def checked(*row: Any) -> Any:
            try:
                return decode(*row)
            except _DAMAGE as error:
                raise damaged(what, f": {type(error).__name__}") from error

        return checked  # type: ignore[return-value]

    return decorate


def text(value: Any) -> str:
    """Return a text; another type, or what is not Unicode, is damage."""
    if type(value) is not str:
        raise TypeError
    if not value.isascii():
        # The reading connection lets undecodable bytes through as surrogates.
        value.encode()
    return value


def text_or_none(value: Any) -> str | None:
    """Return a text, or ``None`` where there is none."""
    return None if value is None else text(value)


def number(value: Any, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return a whole number within bounds; all else is damage."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError
    return value


def number_or_none(value: Any) -> int | None:
    """Return a whole number, or ``None`` where there is none."""
    return None if value is None else number(value)


def link_hash(value: Any) -> str:
    """Return a hash as links are written; all else is damage."""
    if type(value) is not str or HASH.fullmatch(value) is None:
        raise ValueError
    return value
