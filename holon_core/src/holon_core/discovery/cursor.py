"""Cursors of discovery: a place in a ranking, opaque to whoever carries it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from holon_core.catalogue.search_rows import Hit
from holon_core.errors import Misuse

MAX_CURSOR = 1000


def question(terms: Sequence[str], lanes: Sequence[str]) -> str:
    """Name what is asked, so that a cursor goes on with nothing else."""
    text = json.dumps([list(terms), list(lanes)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write(asked: str, after: Hit) -> str:
    """Write the place after a hit."""
    text = json.dumps([asked, after.score, after.id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read(cursor: str, asked: str) -> Hit:
    """Read a place.

    Raises:
        Misuse: It is no cursor of discovery, or of another request.
    """
    found = _decoded(cursor)
    if found is None:
        raise Misuse("not a cursor of discovery; pass next_cursor of the page before")
    if found[0] != asked:
        raise Misuse("the cursor belongs to another query or other lanes")
    return Hit(float(found[1]), found[2])


def _decoded(cursor: str) -> list[Any] | None:
    if len(cursor) > MAX_CURSOR:
        return None
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found: Any = json.loads(raw)
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) != 3:
        return None
    asked, score, tool_id = found
    sound = (
        isinstance(asked, str)
        and type(score) in (int, float)
        and isfinite(score)
        and isinstance(tool_id, str)
        and tool_id.isprintable()
    )
    return found if sound else None
