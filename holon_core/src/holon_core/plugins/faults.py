"""Errors of foreign code in one line that is safe to print; telling them never raises."""

from __future__ import annotations

from holon_core.visible import escape_controls

MAX_CHARS = 200


def told(error: BaseException) -> str:
    """Return type and first line of an exception.

    Args:
        error: Whatever foreign code raised; its own methods may raise, too.

    Raises:
        KeyboardInterrupt: Somebody ends the program meanwhile.
    """
    name = kind_of(error)
    line = text_of(error).strip().partition("\n")[0]
    return f"{name}: {escape_controls(line[:MAX_CHARS])}" if line else name


def text_of(thing: object) -> str:
    """Return the text of a foreign object; none where it has no text.

    Raises:
        KeyboardInterrupt: Somebody ends the program meanwhile.
    """
    try:
        return str.__str__(str(thing))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def kind_of(thing: object) -> str:
    """Return the name of an object's type; nothing of the object itself is run."""
    return escape_controls(str.__str__(type.__dict__["__name__"].__get__(type(thing)))[:MAX_CHARS])
