"""The search of a catalogue: an index beside the store, one in memory for this process's own."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

from attrs import field, frozen

from holon_core.catalogue import search_rank
from holon_core.catalogue.codec import descriptor_json
from holon_core.catalogue.search_file import BOUND_FILES, FILE, file_of, open_index, remove_index
from holon_core.catalogue.search_index import Index
from holon_core.catalogue.search_making import step, step_bound
from holon_core.catalogue.search_query import Part, read
from holon_core.catalogue.search_rows import Hit, Row, row_of
from holon_core.catalogue.search_vectors import by_meaning
from holon_core.catalogue.stems import stem
from holon_core.logs import LOGGER
from holon_core.records.base import Record
from holon_core.store.opening import FAULTS, fault, is_damage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holon_core.catalogue.catalogue import Catalogue
    from holon_core.records.embedder import Embedder
    from holon_core.store.protocol import Store

T = TypeVar("T")
# How many indexes of workspaces stay open.
MAX_BOUND = 32


@frozen(kw_only=True, eq=False, repr=False)
class Found(Record):
    """Ranked tools, and how many there are in all."""

    hits: Sequence[Hit] = field(factory=list)
    total: int = 0


class Search:
    """Ranks the tools of a catalogue by a query. Safe for many threads and processes.

    The stored tools are indexed in a file beside the store, which any process brings up to date
    when it searches; it holds nothing that could not be made again. It reads the store without
    touching what the catalogue keeps for calls.
    """

    def __init__(
        self, catalogue: Catalogue, store: Store, embedder: Embedder | None = None
    ) -> None:
        self._catalogue = catalogue
        self._embedder = embedder
        self._store = store
        self._lock = threading.Lock()
        self._stored: Index | None = None
        self._own: Index | None = None
        self._bound: OrderedDict[str, Index] = OrderedDict()
        self._held: dict[str, object] = {}
        self._changes = -1

    def rank(
        self, query: str, *, lanes: Sequence[str], deep: bool, workspace: str | None = None
    ) -> Found:
        """Return the tools that fit a query, best first.

        Args:
            query: What is wanted.
            lanes: Only tools of these lanes; of all where empty.
            deep: Also those beyond the best hundred, which take longer to list.
            workspace: Whose own tools are searched beside those for all. Those of others count
                for nothing, also where it is told how rare a word is.
        """
        return self._answer(
            lambda parts: _ranked(parts, query, lanes, embedder=self._embedder, deep=deep),
            workspace,
        )

    def fields(
        self, query: str, tool_ids: Sequence[str], *, workspace: str | None = None
    ) -> dict[str, dict[str, list[str]]]:
        """Return which words of a query each tool holds, field by field."""
        return self._answer(lambda parts: _met(parts, query, tool_ids), workspace)

    def by_id(
        self, *, lanes: Sequence[str], after: str, limit: int, workspace: str | None = None
    ) -> Found:
        """Return tools in the order of their ids, after a given one."""

        def work(parts: list[Part]) -> Found:
            found: set[str] = set()
            for part in parts:
                found.update(part.tools.by_id(lanes=lanes, after=after, limit=limit))
            return Found(
                hits=[Hit(0.0, each) for each in sorted(found)[:limit]], total=_count(parts, lanes)
            )

        return self._answer(work, workspace)

    def close(self) -> None:
        """Free the indexes; the next search opens them again."""
        with self._lock:
            for index in (self._stored, self._own, *self._bound.values()):
                if index is not None:
                    index.close()
            self._stored = self._own = None
            self._bound.clear()
            self._held, self._changes = {}, -1

    def _answer(self, work: Callable[[list[Part]], T], workspace: str | None) -> T:
        repaired = False
        while True:
            with self._lock:
                # First of all, since it refuses a closed store and a forked process.
                at = self._store.read(lambda tables: tables.last_tool_change())
                try:
                    if self._step(at):
                        return work(self._parts(workspace, at))
                except FAULTS as error:
                    if repaired or not is_damage(error):
                        raise fault(error, "the search index") from error
                    repaired = True
                    self._discard(error)
            # Others take a turn between two steps of making a large index.
            time.sleep(0)

    def _discard(self, error: Exception) -> None:
        """Take a damaged index away: it holds nothing that could not be made again."""
        LOGGER.warning("the search index is damaged (%s); it is made anew", error)
        if self._stored is not None:
            self._stored.close()
            self._stored = None
        while self._bound:
            self._bound.popitem()[1].close()
        if self._store.path is not None:
            remove_index(self._store.path.with_name(FILE))
            for path in self._store.path.parent.glob(BOUND_FILES):
                remove_index(path)

    def _step(self, at: tuple[int, str]) -> bool:
        """Bring the stored index nearer to a change of the store; tell whether it is there."""
        if self._stored is None:
            self._stored = open_index(self._store.path)
        self._stored.refresh()
        return step(self._stored, self._store, at)

    def _parts(self, workspace: str | None, at: tuple[int, str]) -> list[Part]:
        assert self._stored is not None
        if self._changes != self._catalogue.changes:
            self._bring_own()
        parts = [Part(self._stored, frozenset(self._held))]
        if self._own is not None:
            parts.append(Part(self._own, frozenset()))
        if workspace is not None and self._stored.bound(workspace, limit=1):
            parts.append(Part(self._of_workspace(workspace, at), frozenset()))
        return parts

    def _of_workspace(self, workspace: str, at: tuple[int, str]) -> Index:
        """Return the index of what is of a workspace alone, brought to a change of the store."""
        assert self._stored is not None
        index = self._bound.pop(workspace, None)
        if index is None:
            index = open_index(self._store.path, file_of(workspace))
            if len(self._bound) >= MAX_BOUND:
                self._bound.popitem(last=False)[1].close()
        self._bound[workspace] = index
        index.refresh()
        step_bound(index, self._stored, self._store, at, workspace)
        return index

    def _bring_own(self) -> None:
        self._changes = self._catalogue.changes
        own = self._catalogue.own()
        if self._own is None:
            if not own:
                return
            self._own = Index()
        fresh = [entry.tool for each, entry in own.items() if self._held.get(each) is not entry]
        with self._own.changing():
            for each in self._held:
                if each not in own:
                    self._own.remove(each)
            self._own.put(row_of(descriptor_json(tool)) for tool in fresh)
        self._held = dict(own)


def _ranked(
    parts: Sequence[Part],
    query: str,
    lanes: Sequence[str],
    *,
    embedder: Embedder | None,
    deep: bool,
) -> Found:
    ranking = search_rank.rank(parts, query, lanes=lanes)
    hits = list(ranking.best)
    if embedder is not None and hits:
        hits = by_meaning(parts, embedder, query, hits)
    if deep and ranking.rest:
        hits += search_rank.beyond(parts, ranking)
    return Found(hits=hits, total=max(ranking.total, len(hits)))


def _met(
    parts: Sequence[Part], query: str, tool_ids: Sequence[str]
) -> dict[str, dict[str, list[str]]]:
    asked = read(parts, query)
    wanted = {term.stem: term.instead_of or term.stem for term in asked.terms}
    met: dict[str, dict[str, list[str]]] = {}
    for part in reversed(parts):
        for row in part.tools.with_ids(tool_ids):
            met.setdefault(row.id, _fields_met(row, wanted))
    return met


def _fields_met(row: Row, wanted: dict[str, str]) -> dict[str, list[str]]:
    found = {}
    for name in ("name", "description", "schema", "examples", "keywords"):
        words = getattr(row, name).split()
        held = [word for word in dict.fromkeys(words) if stem(word) in wanted]
        if held:
            found[name] = held
    return found


def _count(parts: Sequence[Part], lanes: Sequence[str]) -> int:
    total = sum(part.tools.count(lanes) for part in parts)
    if len(parts) > 1:
        total -= sum(parts[0].tools.holds(each) for each in parts[0].hidden)
    return total
