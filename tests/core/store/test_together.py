"""Several changes as one: all that a thread does meanwhile is kept as a whole, or not at all."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chains import append, opened, position
from holon_core.errors import Misuse, StoreError
from holon_core.store.protocol import Tables
from holon_core.store.sqlite import SqliteStore


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty store that does not wait long."""
    if request.param == "memory":
        made = SqliteStore(None, wait_s=0.2)
        yield made
        made.close()
        return
    with opened(tmp_path / "store.db", wait_s=0.2) as made:
        yield made


def put(store: SqliteStore, name: str) -> None:
    """Store a document and a record, each in a change of its own."""
    store.transact(lambda tables: tables.put_document("x", name, b"{}", at=1))
    store.transact(lambda tables: append(tables, "ws", name))


def names(store: SqliteStore) -> list[str]:
    """Return which documents there are."""
    return [row.id for row in store.read(lambda tables: tables.list_documents("x", limit=100))]


def test_changes_are_seen_by_their_thread_and_kept_at_the_end(store: SqliteStore):
    """Reads in between see what was changed before; others see it once it is whole."""

    def work() -> list[str]:
        put(store, "a")
        seen = names(store)
        put(store, "b")
        return seen

    assert store.together(work) == ["a"]
    assert names(store) == ["a", "b"]
    assert position(store, "ws") == 2


def test_one_failure_takes_all_back(store: SqliteStore):
    """Documents, records, the place in the chain: as if nothing had been done."""
    put(store, "before")

    def work() -> None:
        put(store, "a")
        raise LookupError

    with pytest.raises(LookupError):
        store.together(work)

    assert names(store) == ["before"]
    assert position(store, "ws") == 1
    put(store, "after")
    assert position(store, "ws") == 2


def test_a_change_that_fails_and_is_caught_leaves_nothing_of_its_own(store: SqliteStore):
    """What is half done of it is gone; what was done before stands."""

    def half(tables: Tables) -> None:
        tables.put_document("x", "half", b"{}", at=1)
        raise LookupError

    def work() -> None:
        put(store, "a")
        with pytest.raises(LookupError):
            store.transact(half)
        put(store, "b")

    store.together(work)

    assert names(store) == ["a", "b"]
    assert position(store, "ws") == 2


def test_one_inside_another_is_part_of_it(store: SqliteStore):
    """The outer one decides."""

    def outer() -> None:
        store.together(lambda: put(store, "inner"))
        put(store, "still together")
        raise LookupError

    with pytest.raises(LookupError):
        store.together(outer)

    assert names(store) == []


def test_inside_a_single_change_it_is_misuse(store: SqliteStore):
    """A change that is no part of several cannot become several."""
    with pytest.raises(Misuse):
        store.transact(lambda _: store.together(lambda: None))


def test_other_threads_wait_for_the_end(store: SqliteStore):
    """A writer in another thread does not get into it, and is told after its time."""
    told: list[str] = []

    def other() -> None:
        try:
            put(store, "other")
        except StoreError as error:
            told.append(error.code)

    def work() -> None:
        put(store, "a")
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    store.together(work)

    assert told == ["store_locked"]
    assert names(store) == ["a"]


def test_readers_in_other_threads_see_what_was_there_before(tmp_path: Path):
    """In a file they neither wait nor see anything of it."""
    seen: list[list[str]] = []
    with opened(tmp_path / "store.db") as store:

        def work() -> None:
            put(store, "a")
            thread = threading.Thread(target=lambda: seen.append(names(store)))
            thread.start()
            thread.join()

        store.together(work)

    assert seen == [[]]


def test_a_fault_that_ends_the_transaction_is_the_stores(tmp_path: Path):
    """SQLite takes all back by itself on some faults; that is no second fault."""
    with opened(tmp_path / "store.db") as made:

        def ended(tables: Tables) -> None:
            tables.put_document("x", "a", b"{}", at=1)
            made._writer.execute("rollback")
            raise sqlite3.OperationalError("disk I/O error")

        with pytest.raises(StoreError):
            made.together(lambda: made.transact(ended))

        assert names(made) == []
