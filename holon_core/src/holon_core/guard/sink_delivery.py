"""Delivering evidence to one sink: its cursor, its lease, its failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from holon_core.plugins.faults import kind_of
from holon_core.records.evidence import EvidenceHead
from holon_core.records.sink import SinkState

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_core.records.evidence import EvidenceRecord
    from holon_core.records.sink import EvidenceSink
    from holon_core.store.chains import Row
    from holon_core.store.protocol import Store, Tables

BATCH = 256
# So many batches of one sink, then the others have their turn.
BATCHES_A_TURN = 16
LEASE_S = 10.0
FIRST_RETRY_S, LAST_RETRY_S = 0.1, 30.0

Heads = Mapping[str, tuple[int, str]]


class Delivery:
    """One sink's way through the chains. Used by the pump's thread alone, but for ``state``.

    ``lag`` and ``oldest`` (Unix seconds) are what the last look found undelivered; ``counted``
    is the pump's count of records at that look.
    """

    def __init__(
        self,
        sink: EvidenceSink,
        store: Store,
        *,
        clock: Clock,
        to_record: Callable[[Row], EvidenceRecord],
        owner: str,
    ) -> None:
        self.sink, self.name, self.required = sink, sink.name, bool(sink.required)
        self.lag, self.counted = 0, 0
        self.oldest: float | None = None
        self.error: str | None = None
        self.failures = 0
        self.due = 0.0
        self._store, self._clock, self._to_record = store, clock, to_record
        self._owner = owner
        self._key = f"sink:{self.name}"
        self._cursors: dict[str, int] = {}
        self._ages: dict[str, tuple[int, int]] = {}
        self._heads_due = False

    def measure(self, tables: Tables, heads: Heads, counted: int) -> None:
        """Find out how much is undelivered, by whichever process delivers."""
        lag, ages = 0, {}
        for chain, (seq, _) in heads.items():
            if self._cursors.get(chain, 0) >= seq:
                continue
            done = self._cursors[chain] = tables.cursor(self._key, chain)
            if done < seq:
                lag += seq - done
                ages[chain] = self._age(tables, chain, done)
        self._ages = ages
        self.lag, self.counted = lag, counted
        self.oldest = min((at for _, at in ages.values()), default=None)

    def _age(self, tables: Tables, chain: str, done: int) -> tuple[int, int]:
        known = self._ages.get(chain)
        if known is not None and known[0] == done:
            return known
        first = tables.records(chain, after=done, limit=1)
        return done, first[0].at if first else int(self._clock.now())

    @property
    def pending(self) -> bool:
        """Whether an attempt is worth while now."""
        return (self.lag > 0 or self._heads_due) and self.due <= time.monotonic()

    def deliver(self, heads: Heads, stopped: Callable[[], bool]) -> bool:
        """Write what is undelivered, for one turn.

        Returns:
            Whether more can be delivered at once.
        """
        try:
            more = self._deliver(heads, stopped)
        except BaseException as error:
            self._failed(error)
            return False
        self.error, self.failures = None, 0
        return more

    def _deliver(self, heads: Heads, stopped: Callable[[], bool]) -> bool:
        if not self._lease():
            # Another process delivers; when its lease ends, this one may go on.
            self.due = time.monotonic() + 1.0
            return False
        turns = BATCHES_A_TURN
        for chain, (seq, _) in heads.items():
            while self._cursors.get(chain, 0) < seq:
                if turns == 0 or stopped():
                    return True
                turns -= 1
                if not self._batch(chain, seq):
                    return False
        self._tell_heads(heads)
        return False

    def _lease(self) -> bool:
        return self._store.transact(self._leased)

    def _leased(self, tables: Tables) -> bool:
        now = self._clock.now()
        return tables.take_lease(self._key, self._owner, now=now, ttl_s=LEASE_S) is not None

    def _batch(self, chain: str, to: int) -> bool:
        """Write one batch and move the cursor, in this order: a crash between repeats it."""
        done = self._cursors.get(chain, 0)
        rows = self._store.read(
            lambda tables: tables.records(chain, after=done, limit=BATCH, to=to)
        )
        # Rows that somebody removed can't be delivered; verifying tells of them.
        last = rows[-1].seq if rows else to
        if rows:
            self.sink.write([self._to_record(row) for row in rows])

        def advance(tables: Tables) -> bool:
            if not self._leased(tables):
                return False
            if last > tables.cursor(self._key, chain):
                tables.move_cursor(self._key, chain, last)
            return True

        if not self._store.transact(advance):
            return False
        self._cursors[chain] = last
        self.lag -= last - done
        self._heads_due = True
        return True

    def _tell_heads(self, heads: Heads) -> None:
        self.oldest = None
        tell = getattr(self.sink, "heads", None)
        if tell is not None and self._heads_due:
            tell(
                tuple(
                    EvidenceHead(chain=chain, seq=seq, hash=link)
                    for chain, (seq, link) in heads.items()
                )
            )
        self._heads_due = False

    def _failed(self, error: BaseException) -> None:
        # Only the type: a sink's exceptions may hold the address and key it sends to.
        self.error = kind_of(error)
        if self.failures == 0:
            from holon_core import logs

            logs.raised(f"the evidence sink {self.name}", self.error, logs.frames(error))
        wait_s = min(FIRST_RETRY_S * 2 ** min(self.failures, 20), LAST_RETRY_S)
        self.failures += 1
        self.due = time.monotonic() + wait_s

    def end(self) -> None:
        """Give the lease back and close the sink, whatever that raises."""
        # Where the store is gone, the lease ends by itself.
        with suppress(Exception):
            self._store.transact(lambda tables: tables.drop_lease(self._key, self._owner))
        try:
            self.sink.close()
        except BaseException as error:
            self.error = type(error).__name__

    def state(self, notified: int) -> SinkState:
        """Say how far the sink has come, given the pump's count of records."""
        oldest = self.oldest
        behind_s = 0.0 if oldest is None else max(0.0, self._clock.now() - oldest)
        return SinkState(
            name=self.name,
            required=self.required,
            behind_records=max(0, self.lag + notified - self.counted),
            behind_s=behind_s,
            error=self.error,
            failures=self.failures,
        )
