"""JSON text in, strictly; canonical bytes out (RFC 8785)."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from elegy_contracts.finding import ContractError, Finding

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1


class _Refused(ValueError):
    pass


def parse(text: str | bytes, *, subject: str = "data") -> Any:
    """Read one JSON text.

    Args:
        text: At most 16 MiB, UTF-8 where bytes; a byte order mark and any line ends are taken.
        subject: What it is, for messages.

    Returns:
        The value.

    Raises:
        ContractError: Not exactly one JSON text, a member twice in one object, NaN or infinity,
            an integer beyond 2**53-1, a lone surrogate, or more than 64 levels.
    """
    try:
        if len(text) > MAX_BYTES:
            raise _Refused(f"more than {MAX_BYTES} bytes")
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        value = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=_members,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_float,
        )
        check(value)
    except RecursionError:
        raise _error(subject, f"more than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise _error(subject, str(error)) from None
    return value


def _error(subject: str, message: str) -> ContractError:
    return ContractError(subject, [Finding(code="not_json", message=message)])


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"the member {twice!r:.80} is there twice")
    return made


def _constant(word: str) -> NoReturn:
    raise _Refused(f"{word} is no JSON number")


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise _Refused(f"the integer {text:.30} is beyond 2**53-1")
    return int(text)


def _float(text: str) -> float | int:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _Refused(f"the number {text:.30} is too large")
    return int(number) if number.is_integer() and abs(number) <= MAX_INTEGER else number


def check(value: Any) -> None:
    """Check that a Python value is sound JSON: plain types, bounded depth, no lone surrogate.

    Raises:
        ValueError: It is not.
    """
    todo = [(value, 1)]
    while todo:
        item, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise _Refused(f"more than {MAX_DEPTH} levels")
        if type(item) is str:
            _text(item)
        elif type(item) is dict:
            for name in item:
                if type(name) is not str:
                    raise _Refused("the name of a member is no text")
                _text(name)
            todo += [(inner, depth + 1) for inner in item.values()]
        elif type(item) is list:
            todo += [(inner, depth + 1) for inner in item]
        else:
            _scalar(item)


def _scalar(item: Any) -> None:
    if item is None or type(item) is bool:
        return
    if type(item) not in (int, float):
        raise _Refused(f"{type(item).__name__} is no JSON")
    if type(item) is int and abs(item) > MAX_INTEGER:
        raise _Refused("an integer is beyond 2**53-1")
    if item != item or item in (float("inf"), float("-inf")):
        raise _Refused("NaN and infinity are no JSON")


def _text(item: str) -> None:
    try:
        item.encode()
    except UnicodeEncodeError:
        raise _Refused("a text holds a lone surrogate") from None


def canonical(value: Any) -> bytes:
    """Write the canonical bytes of a JSON value (RFC 8785); ``1.0`` and ``1`` are one value.

    Raises:
        ContractError: It is not sound JSON.
    """
    import rfc8785

    try:
        check(value)
    except ValueError as error:
        raise _error("data", str(error)) from None
    return rfc8785.dumps(value)
