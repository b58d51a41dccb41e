"""Pins: the one definition of a tool that an operator lets run, and what changed since."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holon_core.catalogue.catalogue import MAX_PINS, PINS, TOOLS
from holon_core.catalogue.codec import descriptor_from
from holon_core.errors import Refused
from holon_core.names import required_name, required_text
from holon_core.records.failure import failure
from holon_core.store.rows import decodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.clock import Clock
    from holon_core.records.approval_view import ViewChange
    from holon_core.records.pin import Pin
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.document_tables import Document
    from holon_core.store.protocol import Store, Tables

# Earlier revisions that are looked through for the one that a difference is to.
MAX_REVISIONS = 100
MAX_CHANGES = 1000


class Pins:
    """The pins of a storage root.

    Args:
        store: Where they live.
        clock: For times.
        record: Appends a record about the root to evidence.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        record: Callable[[Tables, str, dict[str, str]], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._record = record

    def set(self, tool: RuntimeToolDescriptor, *, by: str, reason: str) -> Pin:
        """Pin a tool to the definition that is given, instead of any earlier one."""
        _check_said(by, reason)
        from holon_core.records.pin import Pin

        pin = Pin(
            tool=tool.id,
            digest=tool.digest,
            by=by,
            reason=reason,
            at_unix_seconds=int(self._clock.now()),
        )
        said = {"digest": pin.digest, "by": by, "reason": reason}

        def work(tables: Tables) -> None:
            body = json.dumps(said, ensure_ascii=False).encode()
            tables.put_document(PINS, tool.id, body, at=pin.at_unix_seconds)
            # Every process has to look at the pins anew.
            tables.bump_revision()
            self._record(tables, "pinned", _fields(tool.id, said))

        self._store.transact(work, full=True)
        return pin

    def remove(self, tool_id: str, *, by: str, reason: str) -> None:
        """Let a tool run by whatever its definition is."""
        _check_said(by, reason)

        def work(tables: Tables) -> None:
            if not tables.remove_document(PINS, tool_id, at=int(self._clock.now())):
                raise Refused(failure("not_pinned", f"{tool_id} is not pinned"))
            tables.bump_revision()
            self._record(tables, "unpinned", _fields(tool_id, {"by": by, "reason": reason}))

        self._store.transact(work, full=True)

    def list(self) -> list[Pin]:
        """Return all pins, by tool."""
        rows = self._store.read(lambda tables: tables.list_documents(PINS, limit=MAX_PINS))
        return list(map(_pin, rows))


@decodes("a pin")
def _pin(row: Document) -> Pin:
    from holon_core.records.pin import Pin

    return Pin(tool=row.id, at_unix_seconds=row.at, **json.loads(row.body))


def earlier(store: Store, tool: RuntimeToolDescriptor, since: str | None) -> Any:
    """Return an earlier definition of a stored tool; ``None`` where there is none.

    Args:
        store: The store.
        tool: The tool as it is.
        since: Digest of the definition that is meant; the last other one where none is given.
    """
    for body in store.read(lambda tables: list(_revisions(tables, tool.id))):
        found = descriptor_from(body)
        if found.digest == since or (since is None and found.digest != tool.digest):
            return found
    return None


def _revisions(tables: Tables, tool_id: str) -> Iterator[bytes]:
    newest = tables.document(TOOLS, tool_id)
    # A host function is in no collection.
    last = 0 if newest is None else newest.revision
    for revision in range(last, max(0, last - MAX_REVISIONS), -1):
        found = newest if revision == last else tables.document_at(TOOLS, tool_id, revision)
        # A removed tool that came back has a revision without a body in between.
        if found is not None and found.body is not None:
            yield found.body


def changes(before: RuntimeToolDescriptor, after: RuntimeToolDescriptor) -> tuple[ViewChange, ...]:
    """Return the smallest places in which two definitions differ, as a person reads them."""
    old, new = before.definition(), after.definition()
    from holon_core.wire.difference import Pair, differing, shown_change

    pairs = differing(Pair("", old, new, shown_before=old, shown_after=new))
    return tuple(shown_change(pair) for pair, _ in zip(pairs, range(MAX_CHANGES), strict=False))


def _check_said(by: str, reason: str) -> None:
    required_name(by, "by")
    required_text(reason, "reason")


def _fields(tool_id: str, said: dict[str, str]) -> dict[str, str]:
    return {"tool_id": tool_id, **said}
