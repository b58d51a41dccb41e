"""What an anchor says is open, whoever wrote the records before it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from chains import append
from holon_core.store.chains import Draft, NotOpen, OpenCall
from holon_core.store.sqlite import SqliteStore

CHAIN = "ws"
DOINGS = st.lists(
    st.tuples(
        st.sampled_from(["open", "close", "anchor", "anchor all", "fail"]),
        st.integers(0, 1),
        st.integers(0, 5),
    ),
    max_size=40,
)


def by_records(path: Path) -> tuple[list[str], list[str]]:
    """What the stored anchor lists, and what the records up to it say is open."""
    with closing(sqlite3.connect(path)) as plain:
        row = plain.execute("select seq, open from live where key='h:ws'").fetchone()
        if row is None:
            return [], []
        opened: dict[int, str] = {}
        for seq, call, opens, closes in plain.execute(
            "select seq & ((1 << 40) - 1), call, opens, closes from evidence order by seq"
        ):
            if seq <= row[0]:
                if closes is not None:
                    del opened[closes]
                elif opens is not None:
                    opened[seq] = f"{call} {seq} {opens}"
        return row[1].splitlines(), list(opened.values())


@settings(max_examples=60)
@given(doings=DOINGS)
def test_an_anchor_lists_exactly_the_calls_that_are_open_there(doings):
    """Two writers open, close, fail and move the anchor in any order."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "store.db")
        with closing(SqliteStore(path)) as one, closing(SqliteStore(path)) as two:
            calls: list[OpenCall] = []
            for doing, who, which in doings:
                store = (one, two)[who]
                if doing == "open":
                    name = f"c{len(calls)}"
                    draft = Draft(CHAIN, name, "accepted", at=1, body=b"{}", payload=None)
                    seq = store.append(draft, opens=f"r{who}")
                    calls.append(OpenCall(name, CHAIN, seq, f"r{who}"))
                elif doing == "close" and calls:
                    call = calls[which % len(calls)]
                    draft = Draft(CHAIN, call.call, "completed", at=1, body=b"{}", payload=b"{}")
                    with suppress(NotOpen):
                        store.append(draft, closes=call)
                elif doing == "anchor":
                    draft = Draft(CHAIN, "f", "refused", at=1, body=b"{}", payload=None)
                    store.append(draft, full=True)
                elif doing == "anchor all":
                    store.transact(lambda tables: tables.drop_anchors())
                elif doing == "fail":
                    fail(store)
                listed, opened = by_records(path)
                assert listed == opened
        listed, opened = by_records(path)
        assert listed == opened


def fail(store: SqliteStore) -> None:
    """Open a call and move the anchor in a transaction that is rolled back."""

    def work(tables):
        append(tables, CHAIN, "lost", opens="r")
        tables.drop_anchors()
        raise LookupError

    with suppress(LookupError):
        store.transact(work)


def test_a_writer_alone_reads_no_records_to_move_its_anchor(tmp_path):
    """Reading what it wrote itself would cost each call a share of it."""
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        seen: list[str] = []
        store.transact(partial(append, chain=CHAIN, call="a", opens="r"))
        store.transact(lambda tables: tables.drop_anchors())
        store.transact(partial(append, chain=CHAIN, call="b", opens="r"))
        store._writer.set_trace_callback(seen.append)
        store.transact(lambda tables: tables.drop_anchors())
        store._writer.set_trace_callback(None)

    assert any("update live" in sql for sql in seen)
    assert not any("opens is not null" in sql for sql in seen)
    assert by_records(tmp_path / "store.db")[0] == ["a 1 r", "b 2 r"]
