"""Bringing the index of stored tools up to date: changes alone, or all of it step by step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holon_core.catalogue.catalogue import TOOLS
from holon_core.catalogue.codec import workspace_of
from holon_core.catalogue.search_rows import Row, row_of
from holon_core.logs import LOGGER
from holon_core.store.rows import decodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.catalogue.search_index import Index
    from holon_core.store.document_tables import Document
    from holon_core.store.protocol import Store

BATCH = 1000
# A large index says how far it is, at each so many tools.
PROGRESS = 10_000


def step(index: Index, store: Store, at: tuple[int, str]) -> bool:
    """Bring an index nearer to a change of the store; tell whether it is there."""
    return index.meta("at") == _mark(at) or _bring(index, store, at)


def step_bound(index: Index, known: Index, store: Store, at: tuple[int, str], of: str) -> None:
    """Bring the index of what is of one workspace to a change of the store.

    Args:
        index: That of the workspace.
        known: The index of all others, which was brought there before.
        store: Where the tools are.
        at: The change.
        of: The workspace.
    """
    if index.meta("at") == _mark(at):
        return
    with index.changing():
        noted = index.meta("at")
        changed = None if noted is None or index.worn() else _changed(store, noted, at)
        if changed is None:
            index.clear()
            changed = known.bound(of)
        for each in changed:
            index.remove(each)
            stored = _one(store, each)
            if stored is not None:
                workspace, row = _read(stored.body)
                index.put([row] if workspace == of else [])
        index.set_meta("at", _mark(at))


def _bring(index: Index, store: Store, at: tuple[int, str]) -> bool:
    """Take what changed into the index, or one batch of all; tell whether nothing is left.

    An index that is being made notes up to which change, and which tool came last: whoever
    has the next turn goes on from there, in this process or another, also after a kill.
    """
    with index.changing():
        noted = index.meta("at")
        if noted == _mark(at):
            return True
        changed = None if noted is None or index.worn() else _changed(store, noted, at)
        if changed is None:
            return _make(index, store, at, noted)
        for each in changed:
            stored = _one(store, each)
            index.loose(each)
            if stored is None:
                index.remove(each)
            else:
                _take(index, [stored])
        index.set_meta("at", _mark(at))
        return True


def _make(index: Index, store: Store, at: tuple[int, str], noted: str | None) -> bool:
    making = json.loads(index.meta("making") or "null")
    if noted is not None or making is None or not _of_past(store, making["at"], at):
        index.clear()
        making = {"at": at, "after": "", "done": 0}
    found = store.read(
        lambda tables: tables.list_documents(TOOLS, after=making["after"], limit=BATCH)
    )
    _take(index, found)
    done = making["done"] + len(found)
    if len(found) < BATCH:
        # What changed since it was begun is taken in next, as after any search.
        index.drop_meta("making")
        index.set_meta("at", _mark(tuple(making["at"])))
        return bool(tuple(making["at"]) == at)
    if done % PROGRESS == 0:
        LOGGER.info("making the search index: %d tools so far", done)
    index.set_meta("making", json.dumps({"at": making["at"], "after": found[-1].id, "done": done}))
    return False


def _of_past(store: Store, begun: Sequence[Any], at: tuple[int, str]) -> bool:
    """Tell whether so little changed since a beginning that it can be taken in afterwards."""
    return _changed(store, json.dumps(begun), at) is not None


def _changed(store: Store, noted: str, at: tuple[int, str]) -> list[str] | None:
    """Return what changed since, or ``None`` where the index is not of this store's past."""
    seq, tool_id = json.loads(noted)
    if seq > at[0] or at[0] - seq > BATCH:
        return None
    found = store.read(lambda tables: tables.tool_changes(after=seq - 1, limit=BATCH + 1))
    if seq and (not found or list(found[0]) != [seq, tool_id]):
        return None
    return list(dict.fromkeys(each for number, each in found if number > seq))


def _one(store: Store, tool_id: str) -> Document | None:
    return store.read(lambda tables: tables.document(TOOLS, tool_id))


def _take(index: Index, found: Sequence[Document]) -> None:
    """Take tools in; of those of one workspace only which they are, so that no rank shows them."""
    read = [(each.id, *_read(each.body)) for each in found]
    index.put(row for _, workspace, row in read if workspace is None)
    for tool_id, workspace, _ in read:
        if workspace is not None:
            index.bind(tool_id, workspace)


@decodes("a definition")
def _read(body: bytes) -> tuple[str | None, tuple[Row, dict[str, int]]]:
    said = json.loads(body)
    return workspace_of(said), row_of(said)


def _mark(at: tuple[int, str]) -> str:
    return json.dumps(at)
