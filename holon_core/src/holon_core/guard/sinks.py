"""The pump: one background thread that brings evidence to its sinks, behind the calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from holon_core.errors import Misuse
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_core.guard.sink_delivery import Delivery
    from holon_core.records.evidence import EvidenceRecord
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.sink import EvidenceSink, SinkState
    from holon_core.store.chains import Row
    from holon_core.store.protocol import Store, Tables

MAX_BEHIND_RECORDS = 1000
MAX_BEHIND_S = 60.0
# Records that come close together are delivered together: a commit for each would slow calls.
GATHER_S = 0.02
# Other processes on the same root write records too, and wake nobody here.
POLL_S = 1.0
JOIN_S = 5.0


class SinkPump:
    """Brings every record to every sink at least once, in the order of its chain.

    The thread starts with the first record. Each sink has a cursor in the store, so that nothing
    is lost by a crash, and a lease, so that of several processes one delivers to it. A sink that
    fails is tried again after 0.1 s, doubling to 30 s; calls never wait for it.

    Args:
        store: Where records, cursors and leases are.
        sinks: Their names are unique.
        clock: Where times come from.
        to_record: Makes a record of a stored row.
        runtime_id: Who holds the leases.
        report: Told a sink's state when it begins to fail and when it recovers.

    Raises:
        Misuse: Two sinks have one name.
    """

    def __init__(
        self,
        store: Store,
        sinks: Sequence[EvidenceSink],
        *,
        clock: Clock,
        to_record: Callable[[Row], EvidenceRecord],
        runtime_id: str,
        report: Callable[[SinkState], None] | None = None,
    ) -> None:
        self._store, self._clock, self._report = store, clock, report
        self._all: list[Delivery] = []
        if sinks:
            from holon_core.guard.sink_delivery import Delivery

            self._all = [
                Delivery(sink, store, clock=clock, to_record=to_record, owner=runtime_id)
                for sink in sorted(sinks, key=lambda sink: not sink.required)
            ]
        if len({each.name for each in self._all}) < len(self._all):
            raise Misuse("two evidence sinks have one name; name each differently")
        # Whether there is anything to notify of records, or to wait for.
        self.active = bool(self._all)
        self._required = [each for each in self._all if each.required]
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._cycled = threading.Condition()
        self._stop = False
        self._stop_by = 0.0
        self._closed = False
        self._woken = False
        self._notified = 0
        # When the first record came that no look at the store has counted yet.
        self._since: float | None = None
        self._busy: Delivery | None = None

    def notify(self) -> None:
        """Tell that a record was committed. Cheap, and never fails a call."""
        if not self.active:
            return
        # Not locked: a count that is off by a few is put right by the next look at the store.
        self._notified += 1
        if self._since is None:
            self._since = self._clock.now()
        if not self._woken:
            self._woken = True
            self._wake.set()
            if self._thread is None:
                self.start()

    def start(self) -> None:
        """Look how far the sinks are and start the thread, unless there are none.

        ``notify`` does it too; a runtime with sinks may deliver what an earlier one left behind.
        """
        with self._lock:
            if self._thread is not None or self._closed or not self._all:
                return
            thread = threading.Thread(target=self._run, name="holon-sinks", daemon=True)
            try:
                self._look()
                thread.start()
            except Exception:
                # No thread or no store to be had now: the next record tries again.
                self._woken = False
                return
            self._thread = thread

    def behind(self) -> StructuredFailure | None:
        """Return ``sink_behind`` where a required sink is too far behind to go on."""
        if not self._required:
            return None
        now = self._clock.now()
        for each in self._required:
            records = each.lag + self._notified - each.counted
            since = self._since if each.oldest is None else each.oldest
            seconds = 0.0 if since is None else now - since
            if records > MAX_BEHIND_RECORDS or seconds > MAX_BEHIND_S:
                text = f"the required sink {each.name} is {records} records, {seconds:.0f} s behind"
                return failure("sink_behind", text, sink=each.name, records=records)
        return None

    def state(self) -> tuple[SinkState, ...]:
        """Say of each sink how far it has come and what it last failed with."""
        return tuple(each.state(self._notified) for each in self._all)

    def flush(self, timeout_s: float) -> bool:
        """Wait until every sink has every record that was committed before.

        A sink that failed is tried again at once.

        Args:
            timeout_s: How long to wait at most.

        Returns:
            Whether all of it was delivered in time.
        """
        deadline = time.monotonic() + timeout_s
        for each in self._all:
            each.due = 0.0
        self.start()
        while not self._store.read(self._delivered):
            left_s = deadline - time.monotonic()
            if left_s <= 0 or self._closed:
                return False
            self._wake.set()
            with self._cycled:
                self._cycled.wait(min(left_s, 0.05))
        return True

    def close(self) -> tuple[str, ...]:
        """Deliver what can be delivered at once, close the sinks and end the thread.

        Returns:
            The thread's name and the sink it hangs in, where it does not end within 5 s.
        """
        with self._lock:
            first, self._closed = not self._closed, True
        self._stop_by = time.monotonic() + JOIN_S / 2
        self._stop = True
        self._wake.set()
        if self._thread is None:
            if first:
                self._end()
            return ()
        self._thread.join(JOIN_S)
        if not self._thread.is_alive():
            return ()
        busy = self._busy
        return (f"{self._thread.name} in {busy.name if busy else 'the store'}",)

    def _run(self) -> None:
        while True:
            stopping = self._stop
            wait_s = self._cycle(last=stopping)
            if stopping:
                return self._end()
            with self._cycled:
                self._cycled.notify_all()
            if wait_s and self._wake.wait(wait_s) and not self._stop:
                time.sleep(GATHER_S)
            self._wake.clear()
            self._woken = False

    def _cycle(self, *, last: bool) -> float:
        """Let each sink have its turn; return how long there is nothing more to do."""
        try:
            heads = self._look()
        except Exception:
            # The store's trouble; whoever calls hears of it, and here it is tried again.
            return POLL_S
        more = False
        for each in self._all:
            if last and each.lag:
                each.due = 0.0
            if each.pending:
                more = self._deliver(each, heads, last=last) or more
        soonest = min((each.due for each in self._all if each.error), default=None)
        if more:
            return 0.0
        if soonest is None:
            return POLL_S
        return min(POLL_S, max(0.001, soonest - time.monotonic()))

    def _deliver(self, each: Delivery, heads: dict[str, tuple[int, str]], *, last: bool) -> bool:
        failing = each.error is not None
        self._busy = each

        def stopped() -> bool:
            return self._stop and (not last or time.monotonic() > self._stop_by)

        more = each.deliver(heads, stopped)
        self._busy = None
        if self._report is not None and failing != (each.error is not None):
            try:
                self._report(each.state(self._notified))
            except Exception:
                self._report = None
        return more

    def _look(self) -> dict[str, tuple[int, str]]:
        """Read the heads and how far each sink is behind them."""
        # Counted before reading: whatever is committed meanwhile counts twice and not never.
        counted, since = self._notified, self._since
        self._since = None

        def look(tables: Tables) -> dict[str, tuple[int, str]]:
            heads = {chain: (seq, link) for chain, seq, link in tables.heads()}
            for each in self._all:
                each.measure(tables, heads, counted)
            return heads

        try:
            return self._store.read(look)
        except BaseException:
            self._since = since
            raise

    def _delivered(self, tables: Tables) -> bool:
        heads: Iterable[tuple[str, int, str]] = tables.heads()
        return all(
            tables.cursor(f"sink:{each.name}", chain) >= seq
            for chain, seq, _ in heads
            for each in self._all
        )

    def _end(self) -> None:
        for each in self._all:
            self._busy = each
            each.end()
