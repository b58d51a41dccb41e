"""Cursors of searches: how far a page went, for which search, and what had been shown by then."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from attrs import frozen

from holon_builtin_memory.refusals import refuse

_CURSOR = re.compile(r"after:(0|[1-9][0-9]{0,4}):([0-9a-f]{16}):([0-9a-f]{16})")
_DIGITS = 16
# A page may be of another length; everything else says what is asked.
_NOT_ASKED = ("cursor", "limit")


@frozen(kw_only=True)
class Page:
    """Where a page begins: after how many hits, of which search, and which those were."""

    skip: int
    asked: str
    shown: str

    def check_shown(self, ids: Iterable[str]) -> None:
        """Refuse to go on where the hits before are others now: some would be left out or twice.

        Raises:
            Refused: ``arguments_invalid``: the memory changed in what this search finds.
        """
        if self.skip and self.shown != _digest(sorted(ids)):
            text = "the memory changed since the page before; search anew, without cursor"
            raise refuse("arguments_invalid", text, path="/cursor")

    def after(self, ids: Iterable[str]) -> str:
        """Return the cursor of the next page, after all hits that were shown by then."""
        shown = sorted(ids)
        return f"after:{len(shown)}:{self.asked}:{_digest(shown)}"


def page_of(arguments: Mapping[str, Any], workspace: str) -> Page:
    """Read where the page begins that is asked for.

    Raises:
        Refused: ``arguments_invalid``: the cursor is none, or of another search.
    """
    asked = _digest(
        [workspace, {key: arguments[key] for key in arguments if key not in _NOT_ASKED}]
    )
    cursor = arguments.get("cursor")
    if cursor is None:
        return Page(skip=0, asked=asked, shown="")
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        text = "the cursor is not next_cursor of an answer"
        raise refuse("arguments_invalid", text, started=False, path="/cursor")
    if found[2] != asked:
        text = "the cursor is of another search; leave it out, or repeat that search unchanged"
        raise refuse("arguments_invalid", text, started=False, path="/cursor")
    return Page(skip=int(found[1]), asked=asked, shown=found[3])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:_DIGITS]
