"""Cursors of pages: the place where a page ended, and of which question it was a page."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from holon_builtin_workspace.refusals import refuse
from holon_builtin_workspace.tool import workspace_of

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

_CURSOR = re.compile(r"([0-9a-f]{16}):(.*)", re.DOTALL)
# A page may be of another length; everything else says what is asked.
_NOT_ASKED = frozenset({"cursor", "max_results", "max_entries"})


def place_of(call: SealedCall) -> str | None:
    """Return where the page before ended; ``None`` where a first page is asked for.

    Raises:
        Refused: ``arguments_invalid``: the cursor is none, or of another question, in which
            its place would leave things out that nobody was shown.
    """
    cursor = call.arguments.get("cursor")
    if cursor is None:
        return None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise refuse(
            "arguments_invalid", "the cursor is not next_cursor of an answer", path="/cursor"
        )
    if found[1] != _asked(call):
        text = "the cursor is of another question; leave it out, or repeat that one unchanged"
        raise refuse("arguments_invalid", text, path="/cursor")
    return found[2]


def cursor_at(place: str, call: SealedCall) -> str:
    """Return the cursor of the page that follows this place of what a call asked."""
    return f"{_asked(call)}:{place}"


def _asked(call: SealedCall) -> str:
    asked = {key: value for key, value in call.arguments.items() if key not in _NOT_ASKED}
    text = json.dumps([call.tool.id, workspace_of(call).id, asked], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]
