"""Names and texts that hosts state: who calls, who decides, why; checked where they come in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from holon_core.errors import Misuse
from holon_core.records.caller import CallerContext
from holon_core.records.words import Surface
from holon_core.visible import has_unseen

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME = 200
MAX_TOOL_ID = 400
MAX_REASON = 2000
MAX_PATH = 4096
_OPTIONAL = ("on_behalf_of", "workspace", "role", "profile", "plan_step", "run", "trace_id")


def required_text(text: object, what: str, limit: int = MAX_REASON) -> str:
    """Return a text that can be kept: not blank, not overlong, encodable.

    Raises:
        Misuse: It is none.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > limit:
        raise Misuse(f"{what} is a text of 1 to {limit} characters that is not blank")
    return encodable(text, what)


def encodable(text: str, what: str) -> str:
    """Return a text as it is, unless it holds a lone surrogate, which nothing can keep."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Misuse(f"{what} holds a lone surrogate") from None
    return text


def optional_text(text: object, what: str, limit: int = MAX_REASON) -> str | None:
    """Return a text that can be kept, or ``None``; see ``required_text``."""
    return None if text is None else required_text(text, what, limit)


def required_name(text: object, what: str, limit: int = MAX_NAME) -> str:
    """Return a name that is all that it looks like, so that two that look alike are one.

    Raises:
        Misuse: It is no text, blank or overlong, begins or ends with white space, or holds a
            control character, one that is not seen, or a space other than the plain one.
    """
    name = required_text(text, what, limit)
    if name != name.strip() or not name.isprintable() or has_unseen(name):
        raise Misuse(f"{what} holds a character that is not seen, or outer white space")
    return name


def optional_name(text: object, what: str, limit: int = MAX_NAME) -> str | None:
    """Return a name, or ``None``; see ``required_name``."""
    return None if text is None else required_name(text, what, limit)


def usable_path(path: object, what: str) -> str:
    """Return a path as text, if any file could have it.

    Raises:
        Misuse: It is no path, empty, overlong, or holds a character that no path can.
    """
    try:
        text = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        raise Misuse(f"{what} is a path, not {type(path).__name__}") from None
    if not isinstance(text, str) or not 0 < len(text) <= MAX_PATH or "\0" in text:
        raise Misuse(f"{what} is a path of 1 to {MAX_PATH} characters, as text, without NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise Misuse(f"{what} holds a character that no path can") from None
    return text


def same_person(one: str, other: str) -> bool:
    """Tell whether two names are one, however their characters are composed."""
    return one == other or normalize("NFKC", one) == normalize("NFKC", other)


def names(given: object, what: str) -> tuple[str, ...]:
    """Return several names; a single text would be taken letter by letter and is refused."""
    return tuple(required_name(name, what) for name in several(given, what))


def several(given: Any, what: str) -> Iterable[Any]:
    """Return an iterable of the host's as it is, unless it is a text or none at all."""
    if isinstance(given, (str, bytes)) or not hasattr(type(given), "__iter__"):
        raise Misuse(f"{what} takes several; write a tuple or a list of them")
    return given  # type: ignore[no-any-return]


def whole(number: object, what: str, *, least: int, most: int) -> int:
    """Return a whole number within bounds; ``True`` and ``1.0`` are none."""
    if type(number) is not int or not least <= number <= most:
        raise Misuse(f"{what} is a whole number from {least} to {most}")
    return number


def page(after: object, limit: object) -> None:
    """Check what bounds a page of a listing by ids."""
    whole(limit, "limit", least=1, most=1000)
    if after != "":
        required_text(after, "after", MAX_TOOL_ID)


def checked_caller(caller: object) -> CallerContext:
    """Return a caller context that a host made itself, if a session could have made it.

    Raises:
        Misuse: It is none, or a field of it is not what ``Runtime.session`` takes.
    """
    if type(caller) is not CallerContext:
        raise Misuse(f"caller is a CallerContext, not {type(caller).__name__}")
    required_name(caller.principal, "principal")
    for what in _OPTIONAL:
        optional_name(getattr(caller, what), what)
    if type(caller.surface) is not Surface:
        raise Misuse("surface is a word of Surface")
    return caller
