"""Faults of foreign code, told to `logging` under `holon.core`: silent until a host listens."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path

from holon_core.visible import escape_controls

LOGGER = logging.getLogger("holon.core")
# Without it Python prints what no host asked to see.
LOGGER.addHandler(logging.NullHandler())
MAX_FRAMES = 20
MAX_LINE = 300
_OWN = str(Path(__file__).parent)


def frames(error: BaseException) -> list[str]:
    """Return where foreign code raised, outermost first; neither values nor messages.

    Args:
        error: What was raised; of its frames the last 20 are told, of each at most 300
            characters, and none of Holon's own.
    """
    trace = BaseException.__dict__["__traceback__"].__get__(error)
    try:
        found = traceback.extract_tb(trace)
    except Exception:
        # A source that cannot be decoded, a loader that raises: no reason for another fault.
        return []
    foreign = [each for each in found if not each.filename.startswith(_OWN)]
    return [
        escape_controls(f"{each.filename}:{each.lineno} in {each.name}: {each.line or ''}")[
            :MAX_LINE
        ]
        for each in foreign[-MAX_FRAMES:]
    ]


def raised(where: str, what: str, places: list[str], *, clean: Callable[[str], str] = str) -> None:
    """Log that foreign code raised.

    Args:
        where: Whose code it is.
        what: The type of what it raised, and its message where that may be told.
        places: What ``frames`` found.
        clean: Takes secrets out.
    """
    text = "\n  ".join([f"{where} raised {escape_controls(what)}", *places])
    LOGGER.error("%s", clean(text))
