"""Text made safe to read: what acts without being seen is written out."""

from __future__ import annotations

import re
from functools import cache

# C0, DEL, C1; marks of writing direction, which reorder what is read; line and paragraph
# separators; surrogates, which no file can take.
_CONTROL_RANGES = (
    "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
)
# What no glyph stands for: joiners, fillers, variation selectors, tags, private use.
_UNSEEN_RANGES = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f"
    "\u2800\u3164\ue000-\uf8ff\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
    "\U000f0000-\U0010ffff"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


# Compiled when first used: large classes take long, and most calls show nothing.
@cache
def _controls() -> re.Pattern[str]:
    return re.compile(f"[{_CONTROL_RANGES}]")


@cache
def _unseen() -> re.Pattern[str]:
    return re.compile(f"[{_CONTROL_RANGES}{_UNSEEN_RANGES}]")


def escape_controls(text: str) -> str:
    r"""Write control characters visibly, so that one record stays one line and reads in order.

    C0, C1, DEL, U+2028, U+2029, bidirectional controls, the byte order mark and lone surrogates
    become ``\n``, ``\x1b`` or ``\u2028``. A backslash stays as it is: the result is for reading
    and can't always be turned back.

    Source: docs/evidence.md, "Previews".
    """
    if _is_plain(text):
        return text
    return _controls().sub(lambda found: _escape(found[0]), text)


def escape_unseen(text: str) -> str:
    r"""Write invisible characters visibly too, for a person who decides by what is shown.

    Besides what ``escape_controls`` writes out: zero-width and joining characters, soft hyphens,
    fillers, variation selectors, tags and private use, as ``\u200b`` or ``\U000e0041``. Emoji
    and scripts that use such characters properly are written out as well.
    """
    if _is_plain(text):
        return text
    return _unseen().sub(lambda found: _escape(found[0]), text)


def is_unseen(character: str) -> bool:
    """Tell whether a character is one that ``escape_unseen`` writes out."""
    return _unseen().match(character) is not None


def has_unseen(text: str) -> bool:
    """Tell whether a text holds any such character."""
    return not _is_plain(text) and _unseen().search(text) is not None


def _is_plain(text: str) -> bool:
    """Tell of most texts, without a search, that all of their characters are seen."""
    return text.isascii() and text.isprintable()


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return _SHORT.get(character) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
