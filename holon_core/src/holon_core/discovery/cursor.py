"""Cursors of discovery: a place in a ranking, opaque to whoever carries it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

from holon_core.errors import Misuse

MAX_CURSOR = 1000


class Place(NamedTuple):
    """Where a page ended: at equal scores what is executable comes first, then goes the id."""

    score: float
    blocked: bool
    id: str


def question(query: str, lanes: Sequence[str]) -> str:
    """Name what is asked, so that a cursor goes on with nothing else."""
    text = json.dumps([query, list(lanes)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write(asked: str, after: Place) -> str:
    """Write the place after a tool."""
    text = json.dumps([asked, *after], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read(cursor: str, asked: str) -> Place:
    """Read a place.

    Raises:
        Misuse: It is no cursor of discovery, or of another request.
    """
    found = _decoded(cursor)
    if found is None:
        raise Misuse("not a cursor of discovery; pass next_cursor of the page before")
    if found[0] != asked:
        raise Misuse("the cursor belongs to another query or other lanes")
    return Place(float(found[1]), found[2], found[3])


def _decoded(cursor: str) -> list[Any] | None:
    if len(cursor) > MAX_CURSOR:
        return None
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found: Any = json.loads(raw)
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) != 4:
        return None
    asked, score, blocked, tool_id = found
    sound = (
        isinstance(asked, str)
        and type(score) in (int, float)
        and isfinite(score)
        and isinstance(blocked, bool)
        and isinstance(tool_id, str)
        and tool_id.isprintable()
    )
    return found if sound else None
