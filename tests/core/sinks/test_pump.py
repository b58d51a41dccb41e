"""The pump: every record reaches every sink, in order, whatever fails, and no call waits."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chains import append, opened, write
from holon_core.clock import SystemClock
from holon_core.errors import Misuse, StoreError
from holon_core.guard import sink_delivery, sinks
from holon_core.guard.evidence_read import to_record
from holon_core.guard.sinks import SinkPump
from holon_core.records.evidence import EvidenceHead, EvidenceRecord
from holon_core.records.sink import SinkState
from holon_core.store.protocol import Tables
from holon_core.store.sqlite import SqliteStore
from support import label

NOW = 1_700_000_000.0


class Clock:
    """The wall clock of a test; durations are the machine's."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time


class Memory:
    """A sink that remembers what it got, and fails as often as it is told to."""

    def __init__(self, name: str = "memory", *, required: bool = False, fails: int = 0) -> None:
        self.name, self.required, self.fails = name, required, fails
        self.got: list[tuple[str, int]] = []
        self.batches: list[int] = []
        self.closed = 0
        self.error: BaseException = RuntimeError("https://user:password@example.org")

    def write(self, records: Sequence[EvidenceRecord]) -> None:
        if self.fails:
            self.fails -= 1
            raise self.error
        self.batches.append(len(records))
        self.got += [(record.chain, record.seq) for record in records]

    def close(self) -> None:
        self.closed += 1

    def of(self, chain: str) -> list[int]:
        return [seq for each, seq in self.got if each == chain]


class Heads(Memory):
    def __init__(self, *, heads_fail: int = 0) -> None:
        super().__init__("heads")
        self.told: list[tuple[EvidenceHead, ...]] = []
        self.heads_fail = heads_fail

    def heads(self, heads: tuple[EvidenceHead, ...]) -> None:
        if self.heads_fail:
            self.heads_fail -= 1
            raise OSError("no")
        self.told.append(heads)


class Stuck(Memory):
    """A sink that does not come back before it is let go."""

    def __init__(self, *, required: bool = False) -> None:
        super().__init__("stuck", required=required)
        self.entered, self.let_go = threading.Event(), threading.Event()

    def write(self, records: Sequence[EvidenceRecord]) -> None:
        self.entered.set()
        self.let_go.wait(30)
        super().write(records)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with opened(tmp_path / "holon.db") as made:
        yield made


MakePump = Callable[..., SinkPump]


@pytest.fixture
def make_pump(store: SqliteStore) -> Iterator[MakePump]:
    made: list[SinkPump] = []

    def make(*given: Memory, **options: Any) -> SinkPump:
        settings: dict[str, Any] = {"clock": Clock(), "runtime_id": f"r-{len(made)}", **options}
        made.append(SinkPump(store, given, to_record=to_record, **settings))
        return made[-1]

    yield make
    for pump in made:
        assert pump.close() == ()


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def cursor(store: SqliteStore, chain: str, name: str = "memory") -> int:
    return store.read(lambda tables: tables.cursor(f"sink:{name}", chain))


def test_every_record_reaches_every_sink_in_chain_order(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """Two chains, two sinks, more than one batch."""
    first, second = Memory(), Memory("second")
    pump = make_pump(first, second)
    store.transact(lambda t: [append(t, "w1", f"c{i}") for i in range(600)])
    write(store, "w2", 3)

    pump.notify()

    assert pump.flush(20)
    for sink in (first, second):
        assert sink.of("w1") == list(range(1, 601))
        assert sink.of("w2") == [1, 2, 3]
        assert max(sink.batches) == 256
    assert pump.behind() is None


def test_records_written_while_it_runs_follow(store: SqliteStore, make_pump: MakePump) -> None:
    """Each notification is enough; none is lost between two looks."""
    sink = Memory()
    pump = make_pump(sink)

    for number in range(50):
        write(store, "w", 1, prefix=f"c{number}")
        pump.notify()

    until(lambda: sink.of("w") == list(range(1, 51)))


def test_nothing_starts_without_sinks(store: SqliteStore, make_pump: MakePump) -> None:
    """No thread, no state, never behind."""
    before = threading.active_count()
    pump = make_pump()

    pump.notify()
    pump.start()

    assert threading.active_count() == before
    assert pump.state() == ()
    assert pump.behind() is None
    assert pump.flush(0)


def test_the_thread_starts_with_the_first_record(store: SqliteStore, make_pump: MakePump) -> None:
    """A runtime that records nothing costs no thread."""
    pump = make_pump(Memory())
    assert "holon-sinks" not in {thread.name for thread in threading.enumerate()}

    pump.notify()

    assert "holon-sinks" in {thread.name for thread in threading.enumerate()}
    assert pump.close() == ()
    assert "holon-sinks" not in {thread.name for thread in threading.enumerate()}


def test_a_start_delivers_what_an_earlier_runtime_left(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """The cursor is in the store: nothing is sent again, nothing is left out."""
    sink = Memory()
    write(store, "w", 3)
    first = make_pump(sink)
    first.start()
    assert first.flush(20)
    first.close()
    write(store, "w", 2, prefix="later")

    second = make_pump(sink)
    second.start()
    second.start()

    until(lambda: sink.of("w") == [1, 2, 3, 4, 5])


@pytest.mark.parametrize("error", [RuntimeError("https://key@host"), SystemExit(3)], ids=label)
def test_a_failing_sink_is_tried_again_and_reported(
    store: SqliteStore, make_pump: MakePump, error: BaseException
) -> None:
    """What failed comes again, in order; only the type of the error is told."""
    sink, other = Memory(fails=3), Memory("other")
    sink.error = error
    reports: list[SinkState] = []
    pump = make_pump(sink, other, report=reports.append)
    write(store, "w", 5)

    pump.notify()

    until(lambda: len(reports) == 2)
    assert sink.of("w") == other.of("w") == [1, 2, 3, 4, 5]
    failing, recovered = reports
    assert (failing.name, failing.error, failing.failures) == ("memory", type(error).__name__, 1)
    assert failing.behind_records == 5
    assert (recovered.error, recovered.failures, recovered.behind_records) == (None, 0, 0)
    assert "host" not in repr(reports)


def test_a_listener_that_fails_is_not_asked_again(store: SqliteStore, make_pump: MakePump) -> None:
    """Telling of a failure must not become one."""
    told = []

    def listener(state: SinkState) -> None:
        told.append(state)
        raise ValueError

    sink = Memory(fails=1)
    pump = make_pump(sink, report=listener)
    write(store, "w", 1)

    pump.notify()

    until(lambda: sink.got)
    pump.close()
    assert len(told) == 1


def test_failures_wait_longer_each_time_up_to_half_a_minute(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """A sink that is down for a day is not asked a million times."""
    sink = Memory(fails=10**6)
    delivery = make_pump(sink)._all[0]
    write(store, "w", 1)
    heads = {"w": (1, "")}
    waits = []
    for _ in range(12):
        before = time.monotonic()
        delivery.deliver(heads, lambda: False)
        waits.append(round(delivery.due - before, 1))

    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]


def test_a_flush_tries_a_failing_sink_again_at_once(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """Whoever asks for delivery now does not wait for the next turn."""
    sink = Memory()
    pump = make_pump(sink)
    pump.start()
    pump._all[0].due = time.monotonic() + 3600
    write(store, "w", 1)

    assert pump.flush(20)
    assert sink.of("w") == [1]


def test_a_flush_says_when_it_was_not_done_in_time(store: SqliteStore, make_pump: MakePump) -> None:
    """Nothing is claimed that did not happen."""
    pump = make_pump(Memory(fails=10**6))
    write(store, "w", 1)
    pump.notify()

    assert not pump.flush(0.05)
    pump.close()
    assert not pump.flush(5)


def test_a_stuck_sink_does_not_block_a_notification(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """The call goes on while the sink hangs."""
    sink = Stuck()
    pump = make_pump(sink)
    write(store, "w", 1)
    pump.notify()
    assert sink.entered.wait(20)

    for number in range(100):
        write(store, "w", 1, prefix=f"c{number}")
        pump.notify()

    assert sink.got == []
    sink.let_go.set()
    assert pump.flush(20)
    assert sink.of("w") == list(range(1, 102))


def test_a_thread_that_cannot_be_ended_is_reported(
    store: SqliteStore, make_pump: MakePump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing is bounded; what hangs is named."""
    monkeypatch.setattr(sinks, "JOIN_S", 0.05)
    sink = Stuck()
    pump = make_pump(sink)
    write(store, "w", 1)
    pump.notify()
    assert sink.entered.wait(20)

    assert pump.close() == ("holon-sinks in stuck",)

    sink.let_go.set()
    until(lambda: sink.closed)
    assert pump.close() == ()
    assert sink.closed == 1


def test_a_thread_that_hangs_in_the_store_is_reported(
    store: SqliteStore, make_pump: MakePump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No sink is to blame then."""
    monkeypatch.setattr(sinks, "JOIN_S", 0.05)
    pump = make_pump(Memory())
    pump.start()
    let_go = threading.Event()
    holding = threading.Thread(target=lambda: store.read(lambda tables: let_go.wait(20)))
    holding.start()
    time.sleep(0.05)

    left = pump.close()

    let_go.set()
    holding.join()
    assert left == ("holon-sinks in the store",)


def test_closing_delivers_what_is_left(store: SqliteStore, make_pump: MakePump) -> None:
    """Also to a sink that failed a moment ago."""
    sink = Memory(fails=1)
    pump = make_pump(sink)
    write(store, "w", 10)
    pump.notify()
    until(lambda: pump.state()[0].failures)
    pump._all[0].due = time.monotonic() + 3600

    assert pump.close() == ()

    assert sink.of("w") == list(range(1, 11))
    assert sink.closed == 1


def test_closing_ends_after_a_bounded_time_with_slow_sinks(
    store: SqliteStore, make_pump: MakePump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not delivered then is delivered by the next runtime."""
    monkeypatch.setattr(sinks, "JOIN_S", 0.4)
    monkeypatch.setattr(sink_delivery, "BATCH", 1)

    class Slow(Memory):
        def write(self, records: Sequence[EvidenceRecord]) -> None:
            time.sleep(0.06)
            super().write(records)

    sink = Slow()
    pump = make_pump(sink)
    write(store, "w", 40)
    pump.notify()
    until(lambda: sink.got)

    assert pump.close() == ()

    assert len(sink.got) < 40
    rest = Memory()
    assert make_pump(rest).flush(20)
    assert sink.of("w") + rest.of("w") == list(range(1, 41))


def test_closing_before_anything_happened_closes_the_sinks_once(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """Their files and connections are theirs to let go."""
    sink = Memory()
    pump = make_pump(sink)

    assert pump.close() == pump.close() == ()
    pump.notify()
    pump.start()

    assert sink.closed == 1


def test_a_sink_that_cannot_be_closed_stops_no_other(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """Whatever it raises."""

    class Broken(Memory):
        def close(self) -> None:
            raise SystemExit

    sink = Memory()
    pump = make_pump(Broken("broken"), sink)

    assert pump.close() == ()

    assert sink.closed == 1
    assert pump.state()[0].error == "SystemExit"


def test_two_sinks_of_one_name_are_refused(store: SqliteStore) -> None:
    """They would share one cursor and each miss records."""
    with pytest.raises(Misuse, match="one name"):
        SinkPump(store, [Memory(), Memory()], clock=Clock(), to_record=to_record, runtime_id="r")


def test_a_required_sink_may_be_a_thousand_records_behind_and_no_more(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """Counted from what the store holds and from what came since."""
    sink = Stuck(required=True)
    pump = make_pump(sink, Memory("other"))
    store.transact(lambda t: [append(t, "w", f"c{i}") for i in range(998)])
    pump.notify()
    assert sink.entered.wait(20)
    assert pump.behind() is None
    pump.notify()
    pump.notify()
    assert pump.behind() is None

    pump.notify()

    failure = pump.behind()
    assert failure is not None
    assert failure.code == "sink_behind"
    assert failure.details == {"sink": "stuck", "records": 1001}
    assert pump.state()[0].behind_records == 1001
    sink.let_go.set()
    assert pump.flush(20)
    until(lambda: pump.behind() is None)


def test_a_required_sink_may_be_a_minute_behind_and_no_more(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """The age of the oldest record that it has not taken."""
    clock = Clock()
    sink = Stuck(required=True)
    pump = make_pump(sink, clock=clock)
    write(store, "w", 1)
    pump.notify()
    assert sink.entered.wait(20)

    clock.time = NOW + 60
    assert pump.behind() is None
    assert pump.state()[0].behind_s == 60
    clock.time = NOW + 61

    failure = pump.behind()
    assert failure is not None
    assert "61 s behind" in failure.message
    sink.let_go.set()
    assert pump.flush(20)
    assert pump.behind() is None
    assert pump.state()[0].behind_s == 0


def test_a_record_that_no_look_has_seen_ages_all_the_same(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """A pump that cannot run must not look as if it were up to date."""
    clock = Clock()
    pump = make_pump(Memory(required=True), clock=clock)
    pump._woken = True
    write(store, "w", 1)
    pump.notify()

    clock.time = NOW + 61

    assert pump.behind() is not None


def test_a_sink_that_nobody_requires_is_never_in_the_way(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """It is reported and that is all."""
    clock = Clock()
    pump = make_pump(Memory(fails=10**6), clock=clock)
    store.transact(lambda t: [append(t, "w", f"c{i}") for i in range(1500)])
    pump.notify()
    until(lambda: pump.state()[0].failures)
    clock.time = NOW + 1000

    assert pump.behind() is None
    assert pump.state()[0].behind_records == 1500
    assert pump.state()[0].behind_s == 1000


def test_required_sinks_are_served_first(store: SqliteStore, make_pump: MakePump) -> None:
    """Calls depend on them."""
    stuck, required = Stuck(), Memory("needed", required=True)
    pump = make_pump(stuck, required)
    write(store, "w", 3)
    pump.notify()

    assert stuck.entered.wait(20)

    assert required.of("w") == [1, 2, 3]
    stuck.let_go.set()


def test_heads_follow_the_records_that_they_end(store: SqliteStore, make_pump: MakePump) -> None:
    """A sink that takes heads gets all of them after the records, and again when they move."""
    sink = Heads(heads_fail=1)
    pump = make_pump(sink)
    write(store, "w1", 2)
    write(store, "w2", 1)
    pump.notify()

    until(lambda: sink.told)

    expected = store.read(lambda tables: tables.heads())
    assert [(h.chain, h.seq, h.hash) for h in sink.told[0]] == expected
    assert [h.seq for h in sink.told[0]] == [2, 1]
    write(store, "w2", 1)
    pump.notify()
    until(lambda: len(sink.told) == 2)
    assert [h.seq for h in sink.told[1]] == [2, 2]


def test_of_two_runtimes_on_one_store_one_delivers(store: SqliteStore, make_pump: MakePump) -> None:
    """The lease is held while there is work; the other goes on when it is given back."""
    mine, others = Stuck(), Memory("stuck")
    first, second = make_pump(mine), make_pump(others)
    write(store, "w", 3)
    first.notify()
    assert mine.entered.wait(20)

    second.notify()

    until(lambda: second._all[0].due > 0)
    assert others.got == []
    mine.let_go.set()
    assert first.flush(20)
    first.close()
    write(store, "w", 2)
    second.notify()
    assert second.flush(20)
    assert mine.of("w") == [1, 2, 3]
    assert others.of("w") == [4, 5]


def test_a_lease_that_was_lost_moves_no_cursor(store: SqliteStore, make_pump: MakePump) -> None:
    """Who was too slow finds that another has gone on."""
    clock = Clock()

    class Overtaken(Memory):
        def write(self, records: Sequence[EvidenceRecord]) -> None:
            super().write(records)
            clock.time += 11
            store.transact(
                lambda t: t.take_lease("sink:memory", "other", now=clock.time, ttl_s=100)
            )

    sink = Overtaken()
    pump = make_pump(sink, clock=clock)
    write(store, "w", 3)

    pump.notify()

    until(lambda: sink.got)
    assert pump.close() == ()
    assert cursor(store, "w") == 0


def test_a_cursor_never_goes_back(store: SqliteStore, make_pump: MakePump) -> None:
    """Another process delivered further while this one wrote."""

    class Ahead(Memory):
        def write(self, records: Sequence[EvidenceRecord]) -> None:
            super().write(records)
            store.transact(lambda t: t.move_cursor("sink:memory", "w", 5))

    pump = make_pump(Ahead())
    write(store, "w", 3)

    pump.notify()
    until(lambda: cursor(store, "w"))
    pump.close()

    assert cursor(store, "w") == 5


def test_records_of_other_processes_are_found(store: SqliteStore, make_pump: MakePump) -> None:
    """Nobody notifies of them here."""
    sink = Memory()
    pump = make_pump(sink)
    pump.start()

    write(store, "w", 2)

    until(lambda: sink.of("w") == [1, 2])


@pytest.mark.parametrize("kept", [0, 2])
def test_records_that_somebody_removed_hold_nothing_up(
    store: SqliteStore, make_pump: MakePump, kept: int
) -> None:
    """Verifying tells of them; the sink gets what is there."""
    write(store, "w", 3)
    store.transact(lambda t: t._sql("delete from evidence where (seq & 255) > ?", (kept,)))
    sink = Memory()
    pump = make_pump(sink)
    pump.start()

    assert pump.flush(20)
    write(store, "w", 1)
    assert pump.flush(20)

    assert sink.of("w") == [*range(1, kept + 1), 4]


def test_records_that_somebody_removes_meanwhile_hold_nothing_up(
    store: SqliteStore, make_pump: MakePump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their place is passed, and what comes after is delivered."""
    monkeypatch.setattr(sink_delivery, "BATCH", 1)

    class Removing(Memory):
        def write(self, records: Sequence[EvidenceRecord]) -> None:
            super().write(records)
            if len(self.got) == 1:
                store.transact(lambda t: t._sql("delete from evidence where (seq & 255) > 1"))

    write(store, "w", 3)
    sink = Removing()
    pump = make_pump(sink)
    pump.start()
    assert pump.flush(20)
    write(store, "w", 1)

    assert pump.flush(20)

    assert sink.of("w") == [1, 4]


def test_a_cursor_that_another_moved_further_is_not_moved_back(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """What another process delivered meanwhile is delivered."""

    class Overtaken(Memory):
        def write(self, records: Sequence[EvidenceRecord]) -> None:
            super().write(records)
            store.transact(lambda t: t.move_cursor("sink:memory", "w", 3))

    sink = Overtaken()
    pump = make_pump(sink)
    pump.start()
    write(store, "w", 2)

    assert pump.flush(20)

    assert store.read(lambda t: t.cursor("sink:memory", "w")) == 3
    assert sink.of("w") == [1, 2]


def test_a_store_that_fails_for_a_while_is_asked_again(
    store: SqliteStore, make_pump: MakePump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a notification nor the thread is ended by it."""
    monkeypatch.setattr(sinks, "POLL_S", 0.02)
    sink = Memory(required=True)
    pump = make_pump(sink)
    read, down = store.read, threading.Event()
    down.set()

    def failing(work: Callable[[Tables], Any]) -> Any:
        if down.is_set():
            raise StoreError("store_locked", "busy")
        return read(work)

    monkeypatch.setattr(store, "read", failing)
    write(store, "w", 2)
    pump.notify()
    assert pump._thread is None
    assert pump._since == NOW
    down.clear()
    pump.notify()
    until(lambda: sink.of("w") == [1, 2])
    down.set()
    write(store, "w", 1)
    pump.notify()
    time.sleep(0.1)
    down.clear()

    until(lambda: sink.of("w") == [1, 2, 3])


def test_a_pump_whose_store_is_closed_ends(tmp_path: Path) -> None:
    """The lease ends by itself."""
    sink = Memory()
    with opened(tmp_path / "other.db") as store:
        pump = SinkPump(store, [sink], clock=SystemClock(), to_record=to_record, runtime_id="r")
        pump.start()

    assert pump.close() == ()
    assert sink.closed == 1


def test_many_batches_of_one_sink_let_the_others_have_their_turn(
    store: SqliteStore, make_pump: MakePump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sink with a long way to go does not keep the others waiting until its end."""
    monkeypatch.setattr(sink_delivery, "BATCH", 2)
    monkeypatch.setattr(sink_delivery, "BATCHES_A_TURN", 3)
    order: list[str] = []

    class Noting(Memory):
        def write(self, records: Sequence[EvidenceRecord]) -> None:
            super().write(records)
            order.append(self.name)

    first, second = Noting("first"), Noting("second")
    pump = make_pump(first, second)
    store.transact(lambda t: [append(t, "w", f"c{i}") for i in range(20)])
    pump.notify()

    assert pump.flush(20)

    assert order[:6] == ["first"] * 3 + ["second"] * 3
    assert first.of("w") == second.of("w") == list(range(1, 21))


def test_a_killed_process_loses_no_record_and_keeps_the_order(tmp_path: Path) -> None:
    """Killed again and again in the middle: repeats may come, gaps and disorder may not."""
    total = 3000
    with opened(tmp_path / "holon.db") as store:
        for start in range(0, total, 500):
            store.transact(
                lambda t, s=start: [append(t, "w", f"c{s + i}") for i in range(500)]  # type: ignore[misc]
            )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        script = Path(__file__).with_name("pump_process.py")
        for number in range(4):
            process = subprocess.Popen(
                [sys.executable, str(script), str(tmp_path), f"owner-{number}"],
                stdout=subprocess.PIPE,
                env=env,
            )
            with process:
                assert process.stdout is not None
                assert process.stdout.readline() == b"started\n"
                time.sleep(0.05 + 0.03 * number)
                process.send_signal(signal.SIGKILL)
            store.transact(partial(_free_lease))

        from holon_core.sinks.jsonl import JsonLinesSink

        sink = JsonLinesSink(tmp_path / "evidence.jsonl")
        pump = SinkPump(store, [sink], clock=SystemClock(), to_record=to_record, runtime_id="last")
        assert pump.flush(30)
        assert pump.close() == ()

    seen: list[int] = []
    for line in (tmp_path / "evidence.jsonl").read_text().splitlines():
        try:
            seen.append(json.loads(line)["seq"])
        except ValueError:
            continue
    assert sorted(set(seen)) == list(range(1, total + 1))
    highest = 0
    for seq in seen:
        assert seq <= highest + 1
        highest = max(highest, seq)


def _free_lease(tables: Tables) -> None:
    # Ten seconds pass.
    tables._sql("update leases set expires_at=0")


def test_records_that_were_removed_hold_a_sink_up_no_longer(
    store: SqliteStore, make_pump: MakePump
) -> None:
    """They cannot be delivered; that they are gone is what verifying tells."""
    sink = Memory()
    pump = make_pump(sink)
    store.transact(lambda t: [append(t, "w", f"c{i}") for i in range(5)])
    store.transact(lambda t: t._sql("delete from evidence where (seq & 255) between 1 and 4"))
    pump.notify()

    until(lambda: cursor(store, "w") == 5)

    assert sink.of("w") == [5]
