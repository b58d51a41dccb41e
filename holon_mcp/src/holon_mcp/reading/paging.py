"""Joining the pages of a list by the rules of the specification.

Cursors are opaque: an empty text is one, and only an absent or null ``nextCursor`` ends a list.
One that was given before would never end.

Source: MCP specification 2026-07-28, "Pagination".
"""

from __future__ import annotations

from typing import Any

from holon_core.errors import Refused
from holon_core.records.failure import failure

MAX_PAGES = 1000
MAX_ITEMS = 20_000


class Pages:
    """The pages of one list as they come.

    Args:
        method: Of the list, for messages.
        member: Under which an answer has its items.
    """

    def __init__(self, method: str, member: str) -> None:
        self._method, self._member = method, member
        self._seen: set[str] = set()
        self.items: list[Any] = []
        self.count = 0
        self.envelope: dict[str, Any] = {}

    def add(self, page: Any) -> str | None:
        """Take a page; return the cursor of the next, ``None`` where it was the last.

        Raises:
            Refused: ``mcp_pagination``: a cursor came back, or there is no end to it;
                ``mcp_answer``: it is no answer of this list.
        """
        items = page.get(self._member) if isinstance(page, dict) else None
        if not isinstance(items, list):
            text = f"{self._method} answers without a list of {self._member}"
            raise Refused(failure("mcp_answer", text, method=self._method))
        cursor = page.get("nextCursor")
        if cursor is not None and not isinstance(cursor, str):
            raise Refused(failure("mcp_answer", f"{self._method} gives a cursor that is no text"))
        if cursor is not None and cursor in self._seen:
            text = f"{self._method} gives the cursor {cursor!r:.100} again"
            raise Refused(failure("mcp_pagination", text, cursor=cursor[:100]))
        self.count += 1
        self.items += items
        if self.count > MAX_PAGES or len(self.items) > MAX_ITEMS:
            text = f"{self._method} does not end within {MAX_PAGES} pages and {MAX_ITEMS} items"
            raise Refused(failure("mcp_pagination", text))
        for name in ("ttlMs", "cacheScope", "resultType"):
            if name in page:
                self.envelope[name] = page[name]
        if cursor is not None:
            self._seen.add(cursor)
        return cursor


def joined(method: str, member: str, pages: list[Any]) -> Pages:
    """Join saved pages, in the order in which they were asked for.

    Raises:
        Refused: ``mcp_pagination``, also where the last page names a further one that is not
            there, or pages follow the last.
    """
    made, cursor = Pages(method, member), None
    for position, page in enumerate(pages):
        if position and cursor is None:
            text = f"page {position} of {method} was the last, and {len(pages)} are given"
            raise Refused(failure("mcp_pagination", text))
        cursor = made.add(page)
    if cursor is not None:
        text = f"the last page of {method} names a further one, {cursor!r:.100}; give all pages"
        raise Refused(failure("mcp_pagination", text, cursor=cursor[:100]))
    return made
