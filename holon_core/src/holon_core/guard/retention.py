"""Retention: payloads older than the configured time are erased, records never."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holon_core.store.protocol import Store, Tables

BATCH = 5000
# Batches for each chain at one open: opening stays quick, and the next one goes on.
MAX_BATCHES = 20


def expire_payloads(store: Store, *, before_unix_seconds: int) -> None:
    """Erase payloads of records written before a time, going on where the last time ended."""
    for chain, end, _ in store.read(lambda tables: tables.heads()):
        for _batch in range(MAX_BATCHES):
            if not store.transact(
                lambda tables, chain=chain, end=end: _expire(  # type: ignore[misc]
                    tables, chain, end, before_unix_seconds
                )
            ):
                break


def _expire(tables: Tables, chain: str, end: int, at: int) -> bool:
    """Erase one batch; false where the rest is too young, or nothing is left."""
    after = tables.cursor("retention", chain)
    to = min(after + BATCH, end)
    if to <= after:
        return False
    tables.erase_payloads_before(chain, at, after=after, to=to)
    last = tables.records_before(chain, before=to + 1, limit=1)
    # A time that is none was tampered with: the record is not passed over.
    if not last or type(last[0].at) is not int or last[0].at >= at:
        return False
    tables.move_cursor("retention", chain, to)
    return True
