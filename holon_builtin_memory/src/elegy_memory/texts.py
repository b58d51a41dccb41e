"""How texts are shown, indexed and asked for."""

from __future__ import annotations

import re

PREVIEW = 80
_TERM = re.compile(r"\w+")
# Borders inside an identifier: aB, ABc, a1, 1a.
_BORDER = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])"
)


def preview(content: str) -> str:
    """Return the first 80 characters on one line, with an ellipsis where cut."""
    line = content.replace("\r", " ").replace("\n", " ")
    return line if len(line) <= PREVIEW else line[:PREVIEW] + "…"


def indexed(content: str) -> str:
    """Return what is indexed of a text: itself, and its identifiers split at their borders."""
    parts = [
        " ".join(pieces)
        for term in _TERM.findall(content)
        if len(pieces := _BORDER.sub(" ", term).replace("_", " ").split()) > 1
    ]
    return f"{content} {' '.join(parts)}" if parts else content


def matching(query: str) -> str | None:
    """Return the FTS5 expression that asks for all terms; ``None`` where there is none."""
    terms = _TERM.findall(query)
    return " AND ".join(f'"{term}"' for term in terms) if terms else None
