"""Retention: payloads older than the configured time are erased, records never."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING

from holon_core.ids import new_id

if TYPE_CHECKING:
    from holon_core.guard.evidence import Recorder
    from holon_core.store.protocol import Store, Tables

BATCH = 5000
MAX_REASON = 2000
# Batches for each chain at one open: opening stays quick, and the next one goes on.
MAX_BATCHES = 20


def expire_payloads(store: Store, recorder: Recorder, *, before_unix_seconds: int) -> None:
    """Erase payloads of records written before a time, going on where the last time ended.

    What was erased leaves records ``payloads_erased`` in its chain, by ``retention``.
    """
    erasing = new_id("e")
    for chain, end, _ in store.read(lambda tables: tables.heads()):
        for _batch in range(MAX_BATCHES):
            if not store.transact(
                lambda tables, chain=chain, end=end: _expire(  # type: ignore[misc]
                    tables, recorder, chain, end, at=before_unix_seconds, erasing=erasing
                )
            ):
                break


def _expire(
    tables: Tables, recorder: Recorder, chain: str, end: int, *, at: int, erasing: str
) -> bool:
    """Erase one batch; false where the rest is too young, or nothing is left."""
    after = tables.cursor("retention", chain)
    to = min(after + BATCH, end)
    if to <= after:
        return False
    erased = tables.erase_payloads_before(chain, at, after=after, to=to)
    said = {"by": "retention", "reason": "older than retention_days"}
    note_erased(
        recorder, tables, said, chain=chain, call=erasing, erased=erased, before_unix_seconds=at
    )
    last = tables.records_before(chain, before=to + 1, limit=1)
    # A time that is none was tampered with: the record is not passed over.
    if not last or type(last[0].at) is not int or last[0].at >= at:
        return False
    tables.move_cursor("retention", chain, to)
    return True


def note_erased(
    recorder: Recorder,
    tables: Tables,
    said: dict[str, str],
    *,
    chain: str,
    call: str,
    erased: int,
    **more: int,
) -> None:
    """Record in the same transaction what was erased; nothing where nothing was.

    Args:
        recorder: Makes the record.
        tables: The open transaction.
        said: By whom, and why.
        chain: Whose payloads they were.
        call: Whose they were, or the id of the erasing.
        erased: How many.
        more: What else is to be kept.
    """
    if not erased:
        return
    texts = {name: recorder.safe_text(text, limit=MAX_REASON) for name, text in said.items()}
    fields = {name: quote(text) for name, text in texts.items()}
    fields |= {name: str(number) for name, number in {"erased": erased, **more}.items()}
    fields["host"] = recorder.host_fragment()
    tables.append(recorder.draft(chain, call, "payloads_erased", fields))
