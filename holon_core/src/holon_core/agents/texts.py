"""Texts for models: cleaned of what acts without being seen, and bounded."""

from __future__ import annotations

import re

from holon_core.visible import is_unseen

_KEPT = "\n\t"
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")


def cleaned(text: str, limit: int) -> str:
    """Return a text without control, bidirectional, zero-width and other unseen characters.

    Args:
        text: Of a tool's author, whom nobody knows.
        limit: Characters kept.

    Returns:
        The text; line ends and tabs stay, nothing is added but an ellipsis where it was cut.
    """
    # Far more than is kept is not even looked at.
    text = _ESCAPES.sub("", text[: limit * 8]) if "\x1b" in text else text[: limit * 8]
    if not text.isascii() or not text.isprintable():
        text = "".join(c for c in text if c in _KEPT or not is_unseen(c))
    text = text.strip()
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"
