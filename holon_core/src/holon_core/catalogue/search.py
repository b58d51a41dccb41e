"""The search index of a catalogue: made at the first search, then kept current."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from attrs import field, frozen

from holon_core.catalogue.catalogue import TOOLS
from holon_core.catalogue.codec import descriptor_json
from holon_core.catalogue.search_rows import Hit, Row, row_of
from holon_core.store.rows import decodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holon_core.catalogue.catalogue import Catalogue
    from holon_core.catalogue.search_fts import FtsIndex
    from holon_core.catalogue.search_plain import PlainIndex
    from holon_core.store.document_tables import Document
    from holon_core.store.protocol import Store

BATCH = 1000


@frozen(kw_only=True)
class Found:
    """A part of the ranked tools, and how many there are in all."""

    hits: list[Hit] = field(factory=list)
    total: int = 0


class Search:
    """Ranks the tools of a catalogue by a query. Safe for many threads.

    It reads the store without touching what the catalogue keeps for calls.
    """

    def __init__(self, catalogue: Catalogue, store: Store) -> None:
        self._catalogue = catalogue
        self._store = store
        self._lock = threading.Lock()
        self._index: FtsIndex | PlainIndex | None = None
        # What the index holds: a definition of this process, or the revision of a stored one.
        self._held: dict[str, object] = {}
        self._at: tuple[int, int] | None = None

    def find(
        self, terms: Sequence[str], *, lanes: Sequence[str], after: Hit | None, limit: int
    ) -> Found:
        """Return the tools that match any of the terms, best first; all by id without terms.

        Args:
            terms: Words as ``words.terms`` gives them.
            lanes: Only tools of these lanes; of all where empty.
            after: The hit that the page before ended with.
            limit: How many at most.
        """
        with self._lock:
            index = self._current()
            if terms:
                hits = index.match(terms, lanes=lanes, after=after, limit=limit)
                return Found(hits=hits, total=index.count_matches(terms, lanes=lanes))
            ids = index.by_id(lanes=lanes, after="" if after is None else after.id, limit=limit)
            return Found(hits=[Hit(0.0, each) for each in ids], total=index.count(lanes=lanes))

    def close(self) -> None:
        """Free the index; the next search makes another."""
        with self._lock:
            if self._index is not None:
                self._index.close()
            self._index, self._at, self._held = None, None, {}

    def _current(self) -> FtsIndex | PlainIndex:
        at = (self._store.read(lambda tables: tables.revision()), self._catalogue.changes)
        index = self._index or _new_index()
        if at != self._at:
            # The revision is of before the reading: a change meanwhile is found the next time.
            rows, held = self._changed()
            index.replace(rows, [each for each in self._held if each not in held])
            self._index, self._held, self._at = index, held, at
        return index

    def _changed(self) -> tuple[list[Row], dict[str, object]]:
        held: dict[str, object] = {}
        own = self._catalogue.own()
        held.update(own)
        fresh = [entry.tool for each, entry in own.items() if self._held.get(each) is not entry]
        rows = [row_of(descriptor_json(tool)) for tool in fresh]
        rows.extend(
            _stored_row(stored.body)
            for stored in self._stored()
            # A definition of this process stands before a stored one of its id.
            if held.setdefault(stored.id, stored.revision) == stored.revision
            and self._held.get(stored.id) != stored.revision
        )
        return rows, held

    def _stored(self) -> Iterator[Document]:
        """Yield what is stored, in short reads: a long one would keep others waiting."""
        after = ""
        while True:
            found = self._store.read(
                lambda tables, after=after: tables.list_documents(TOOLS, after=after, limit=BATCH)  # type: ignore[misc]
            )
            yield from found
            if len(found) < BATCH:
                return
            after = found[-1].id


@decodes("a definition")
def _stored_row(body: bytes) -> Row:
    return row_of(json.loads(body))


def _new_index() -> FtsIndex | PlainIndex:
    from holon_core.catalogue import search_fts
    from holon_core.catalogue.search_plain import PlainIndex

    return search_fts.FtsIndex() if search_fts.available() else PlainIndex()
