"""Changes and reads from many threads and processes at once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import append, opened, position, write
from holon_core.errors import Misuse, StoreError, UsedAfterFork
from holon_core.guard.verify import verify_chain
from holon_core.store import sqlite as sqlite_store
from holon_core.store.chains import CatalogueMoved, Draft, NotOpen, OpenCall, genesis
from holon_core.store.protocol import StoreBusy, Tables
from holon_core.store.sqlite import SqliteStore

WRITER = Path(__file__).parents[2] / "support" / "chains.py"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of a test lies."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """An empty store that does not wait long."""
    with opened(path, wait_s=0.2) as store:
        yield store


def python(*arguments: object) -> subprocess.Popen[bytes]:
    """Start an interpreter that can import what the tests can."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait for processes that must succeed without a word of complaint."""
    outcomes = [(p.communicate(timeout=90)[1], p.returncode) for p in processes]
    assert outcomes == [(b"", 0)] * len(processes)


def in_threads(count: int, work: Any) -> list[BaseException]:
    """Run ``work(number)`` in threads that start together; return what they raised."""
    start, raised = threading.Barrier(count), []

    def run(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def take_turn(tables: Tables) -> int:
    """Read, then write what depends on it: the transaction that a deferred one would lose."""
    number = tables.cursor("turn", "ws") + 1
    tables.move_cursor("turn", "ws", number)
    append(tables, "ws", f"turn-{number}")
    return number


TURNS = """
import sys
from pathlib import Path
sys.path.append(sys.argv[3])
from test_transactions import take_turn
from holon_core.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    store.transact(take_turn)
store.close()
"""


def test_ab_store_001_reading_then_writing_never_fails_at_once(path):
    """AB-STORE-001: two threads on two connections and two processes; no turn is lost."""
    with opened(path) as one, opened(path) as two:
        processes = [python("-c", TURNS, path, 100, Path(__file__).parent) for _ in range(2)]
        raised = in_threads(
            2, lambda n: [(one if n else two).transact(take_turn) for _ in range(100)]
        )
        finish(processes)

        assert raised == []
        assert one.read(lambda t: t.cursor("turn", "ws")) == 400
        assert verify_chain(one, "ws").records == 400


def test_a_hundred_threads_racing_take_one_use(path):
    """Of all who want to end the one open call, exactly one does."""
    with opened(path) as store:
        store.transact(lambda t: append(t, "ws", "c", opens="r"))
        won: list[int] = []

        def race(number: int) -> None:
            end = OpenCall("c", "ws", 1, "r")
            with contextlib.suppress(NotOpen):
                store.transact(lambda t: append(t, "ws", "c", closes=end))
                won.append(number)

        assert in_threads(100, race) == []
        assert len(won) == 1


def test_ab_evidence_008_eight_processes_write_one_unbroken_chain(path):
    """AB-EVIDENCE-008: 4,000 records, unique ids, no writer sees the store locked."""
    SqliteStore(path).close()
    finish([python(WRITER, path, "ws", 500, f"p{n}") for n in range(8)])

    with opened(path) as store:
        found = verify_chain(store, "ws")
        calls = store.read(lambda t: [row.call for row in t.records("ws", after=0, limit=5000)])
    assert (found.consistent, found.records) == (True, 4000)
    assert len(set(calls)) == 4000


def test_ab_store_002_a_lock_held_too_long_is_a_typed_failure(store, path):
    """AB-STORE-002: nothing has changed, and the same change works when the lock is gone."""
    write(store, "ws", 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")

        with pytest.raises(StoreError) as caught:
            write(store, "ws", 1, prefix="again")
        assert caught.value.code == "store_locked"
        assert position(store, "ws") == 1

        other.execute("rollback")
    write(store, "ws", 1, prefix="again")
    assert verify_chain(store, "ws").records == 2


def test_a_thread_that_holds_the_store_too_long_is_a_typed_failure(store):
    """The wait is bounded inside one process too."""
    holding, done = threading.Event(), threading.Event()

    def hold(tables: Tables) -> None:
        holding.set()
        done.wait(10)

    thread = threading.Thread(target=store.transact, args=(hold,))
    thread.start()
    holding.wait()
    try:
        with pytest.raises(StoreError) as caught:
            store.transact(lambda t: None)
        assert caught.value.code == "store_locked"
        with pytest.raises(StoreBusy):
            store.transact(lambda t: None, wait=False)
    finally:
        done.set()
        thread.join()


def test_a_change_that_may_not_wait_says_so_at_once(store, path):
    """So that an event loop's thread can hand it to another."""
    store.transact(lambda t: None, wait=False)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreBusy):
            store.transact(lambda t: None, wait=False)
    with pytest.raises(StoreBusy):
        store.transact(lambda t: None, wait=False, full=True)


def test_full_durability_is_asked_for_call_by_call(store):
    """The pragma follows each change, both ways."""

    def level(tables: Tables) -> int:
        return int(tables._sql("pragma synchronous").fetchone()[0])

    levels = [store.transact(level, full=full) for full in (False, True, True, False)]

    assert levels == [1, 2, 2, 1]


def test_a_reader_locked_out_waits_and_then_says_so(store, path):
    """A process that recovers or closes the store keeps readers out for a moment."""
    with opened(path, wait_s=0.05, journal="wal") as reader:
        write(reader, "ws", 1)
    path_of_rollback = path.with_name("rollback.db")
    with opened(path_of_rollback, journal="rollback", wait_s=0.05) as reader:
        write(reader, "ws", 1)
        with closing(sqlite3.connect(path_of_rollback, isolation_level=None)) as other:
            other.execute("begin exclusive")
            with pytest.raises(StoreError) as caught:
                reader.read(lambda t: t.head("ws"))
            assert caught.value.code == "store_locked"
            other.execute("rollback")
        assert position(reader, "ws") == 1


@pytest.mark.parametrize("place", ["file", "memory"])
def test_a_change_inside_a_change_is_misuse(tmp_path, place):
    """It could be neither whole nor undone; the outer one is undone."""
    with closing(SqliteStore(tmp_path / "s.db" if place == "file" else None)) as store:

        def nested(tables: Tables) -> None:
            append(tables, "ws", "outer")
            store.transact(lambda t: append(t, "ws", "inner"))

        with pytest.raises(Misuse, match="inside another"):
            store.transact(nested)
        assert store.read(lambda t: t.head("ws")) is None


@pytest.mark.parametrize("place", ["file", "memory"])
def test_a_read_inside_a_read_sees_the_same_view(tmp_path, place):
    """Nothing that another writer commits meanwhile comes between."""
    with closing(SqliteStore(tmp_path / "s.db" if place == "file" else None)) as store:
        write(store, "ws", 1)

        def outer(tables: Tables) -> tuple[Any, Any]:
            return tables.head("ws"), store.read(lambda t: t.head("ws"))

        first, second = store.read(outer)

    assert first == second
    assert first[0] == 1


def test_a_change_that_fails_leaves_nothing(store):
    """Neither rows nor the remembered head; the next change goes on from what is stored."""
    write(store, "ws", 2)

    def failing(tables: Tables) -> None:
        append(tables, "ws", "lost")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.transact(failing)
    write(store, "ws", 1, prefix="next")

    assert verify_chain(store, "ws").records == 3


def test_a_broken_constraint_is_no_damaged_file(store):
    """A statement that breaks a rule of a table fails alone; the store itself is sound."""
    with pytest.raises(StoreError) as caught:
        store.transact(lambda t: t._sql("insert into held(call) values('c')"))

    assert caught.value.code == "store_unavailable"


def test_a_full_disk_leaves_nothing_half_written(store):
    """All of a change or none of it, a typed failure, and the store goes on when there is room."""
    write(store, "ws", 3)
    pages = store.read(lambda t: t._sql("pragma page_count").fetchone()[0])
    store.transact(lambda t: t._sql(f"pragma max_page_count={pages}").fetchone())

    def large(tables: Tables) -> None:
        append(tables, "ws", "first")
        tables.put_blob(b"x" * 4_000_000)

    with pytest.raises(StoreError) as caught:
        store.transact(large)
    assert caught.value.code == "store_unavailable"
    assert "full" in caught.value.message
    assert position(store, "ws") == 3

    store.transact(lambda t: t._sql("pragma max_page_count=100000").fetchone())
    store.transact(large)
    assert verify_chain(store, "ws").records == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_ab_store_007_a_child_by_fork_refuses_and_the_parent_goes_on(store, path):
    """AB-STORE-007: no connection is shared; the child opens its own."""
    write(store, "ws", 1)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def child() -> None:
        for use in (store.transact, store.read):
            try:
                use(lambda t: None)
            except UsedAfterFork:
                answers.put("refused")
        store.close()
        with opened(path) as own:
            write(own, "ws", 1, prefix="child")

    process = context.Process(target=child)
    process.start()
    write(store, "ws", 1, prefix="parent")
    process.join(30)

    assert process.exitcode == 0
    assert [answers.get(), answers.get()] == ["refused", "refused"]
    assert verify_chain(store, "ws").records == 3


def test_a_store_of_another_process_refuses_every_use(store):
    """What a child by fork meets, seen from inside one process."""
    store._forked = True

    for use in (store.transact, store.read):
        with pytest.raises(UsedAfterFork):
            use(lambda t: None)

    # So that the fixture closes it.
    store._forked = False


def test_a_view_that_a_fault_has_ended_is_not_ended_again(store):
    """SQLite undoes by itself on some faults; the next read begins anew."""
    store.read(lambda t: t._sql("rollback"))

    assert store.read(lambda t: t.heads()) == []


def test_a_closed_store_says_so(store):
    """Closing twice does nothing more."""
    store.close()
    store.close()
    for use in (store.transact, store.read):
        with pytest.raises(StoreError) as caught:
            use(lambda t: None)
        assert caught.value.code == "store_unavailable"


def test_ab_store_008_text_with_nul_comes_back_byte_for_byte(store):
    """AB-STORE-008: in keys and values alike."""
    text = "a\0b"
    store.transact(lambda t: append(t, text, text, kind=text, payload={"note": text}))
    store.transact(lambda t: t.put_document("notes", text, text.encode(), at=1))

    row = store.read(lambda t: t.records(text, after=0, limit=1))[0]
    document = store.read(lambda t: t.document("notes", text))

    assert (row.call, row.kind, row.payload) == (text, text, b'{"note":"a\\u0000b"}')
    assert (document.id, document.body) == (text, b"a\0b")
    assert verify_chain(store, text).consistent
    assert store.read(lambda t: [d.id for d in t.list_documents("notes")]) == [text]


def test_ab_store_008_a_lone_surrogate_leaves_nothing_behind(store):
    """AB-STORE-008: boundaries refuse it; were one to pass, the change is undone."""
    with pytest.raises(UnicodeEncodeError):
        store.transact(lambda t: t.put_document("notes", "\ud800", b"{}", at=1))

    assert store.read(lambda t: t.list_documents("notes")) == []


def test_a_moved_catalogue_is_noticed_by_each_append(store, path):
    """Also where another process moved it; a call prepared anew goes on."""
    write(store, "ws", 1)

    def prepared(tables: Tables, revision: int) -> int:
        draft = Draft("ws", "c", "k", at=1, body=b"{}", payload=None)
        return tables.append(draft, revision=revision)

    before = store.read(lambda t: t.revision())
    store.transact(partial(prepared, revision=before))
    with opened(path) as other:
        after = other.transact(lambda t: t.bump_revision())

    assert store.transact(partial(prepared, revision=after)) == 3
    with pytest.raises(CatalogueMoved):
        store.transact(partial(prepared, revision=before))
    store.transact(lambda t: t.bump_revision())
    with pytest.raises(CatalogueMoved):
        store.transact(partial(prepared, revision=after))


def test_a_chain_that_comes_back_after_its_head_was_removed_takes_no_others_place(store):
    """Numbers of chains are never used twice while one of them is left."""
    for chain in ("a", "b", "c"):
        write(store, chain, 2)
    store.transact(lambda t: (t._sql("delete from live where key='h:b'"), t.forget()))

    write(store, "b", 1)

    assert [verify_chain(store, chain).consistent for chain in "abc"] == [True, True, True]
    assert store.read(lambda t: t.has_strays())
    assert not verify_chain(store, "unknown").consistent


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), max_size=30))
def test_any_sequence_of_appends_over_chains_and_connections_verifies(tmp_path_factory, steps):
    """Connections remember heads; one that is stale notices."""
    path = tmp_path_factory.mktemp("chains") / "store.db"
    stores = [SqliteStore(path) for _ in range(3)]
    try:
        for number, (which, chain) in enumerate(steps):
            stores[which].transact(partial(append, chain=chain, call=f"c{number}"))
        for chain in "abc":
            count = sum(1 for step in steps if step[1] == chain)
            found = verify_chain(stores[0], chain)
            assert (found.consistent, found.records) == (True, count)
    finally:
        for store in stores:
            store.close()


def test_a_store_in_memory_keeps_all_the_promises_of_one_in_a_file():
    """Notebooks and tests run on it."""
    with closing(SqliteStore(None)) as store:
        store.transact(lambda t: append(t, "ws", "c"), wait=False, full=True)

        assert verify_chain(store, "ws").records == 1
        assert store.read(lambda t: t.heads())[0][:2] == ("ws", 1)
        assert store.read(lambda t: t.head("ws")) != (1, genesis("ws"))


def test_a_store_in_which_no_record_can_follow_is_damaged(store):
    """Somebody's trigger, say: it is not tried again and again."""
    write(store, "ws", 1)
    store.transact(
        lambda tables: tables._sql(
            "create trigger no before insert on evidence begin select raise(abort, 'no'); end"
        )
    )

    with pytest.raises(StoreError, match="a record stands where its next one goes"):
        write(store, "ws", 1)


def test_a_fork_tells_the_stores_that_are_open(path, monkeypatch):
    """In the child, before anything else runs there."""
    with opened(path) as store:
        monkeypatch.setattr(sqlite_store, "_OPEN", weakref.WeakSet([store]))

        sqlite_store._tell_child()

        assert store._forked
        store._forked = False
