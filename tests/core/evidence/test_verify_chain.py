"""What verifying a chain finds, and what it can't."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import append, evidence_of, opened, write
from holon_core.guard.verify import PAGE, verify_chain
from holon_core.records.evidence import EvidenceHead
from holon_core.records.progress import Progress
from holon_core.store.anchors import ANCHOR_EVERY
from holon_core.store.chains import Draft, OpenCall, genesis, link
from holon_core.store.sqlite import SqliteStore
from holon_core.wire.canonical import canonical

SIZE = 8


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with one chain of eight records."""
    with opened(tmp_path / "store.db") as store:
        write(store, "ws", SIZE)
        yield store


def tamper(store: SqliteStore, *statements: str) -> None:
    """Change the file by hand, as a program that is not Holon."""
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def set_column(store: SqliteStore, seq: int, column: str, value: Any) -> None:
    """Change one column of one record by hand."""
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"update evidence set {column}=? where seq=?", (value, seq))


def column(store: SqliteStore, seq: int, name: str) -> Any:
    """Read one column of one record by hand."""
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as connection:
        return connection.execute(f"select {name} from evidence where seq=?", (seq,)).fetchone()[0]


def test_a_whole_chain_is_consistent_and_says_no_more_without_a_head(store):
    """Consistent is not untampered: only a kept head can show that."""
    found = verify_chain(store, "ws")

    assert (found.consistent, found.records, found.bad_seq) == (True, SIZE, None)
    assert found.matches_head is None
    assert "consistent" in found.message
    assert "untampered" not in found.message


def test_an_empty_chain_is_consistent(store):
    """A workspace without calls has nothing to find fault with."""
    found = verify_chain(store, "other")

    assert (found.consistent, found.records) == (True, 0)


def test_a_kept_head_is_met(store):
    """A chain that went on still holds the head that was kept."""
    head = evidence_of(store).head("ws")
    write(store, "ws", 3, prefix="later")

    found = verify_chain(store, "ws", head=head)

    assert (found.consistent, found.matches_head, found.records) == (True, True, SIZE + 3)
    assert str(SIZE) in found.message


def test_the_head_of_an_empty_chain_is_met_later(store):
    """Position 0 binds the chain's name and nothing else."""
    head = EvidenceHead(chain="ws", seq=0, hash=genesis("ws"))

    assert verify_chain(store, "ws", head=head).matches_head is True


@pytest.mark.parametrize(
    ("column_name", "value"),
    [
        ("seq", 99),
        ("call", "another"),
        ("kind", "completed"),
        ("at", 1_600_000_000),
        ("at", "yesterday"),
        ("body", b"{}"),
        ("body", "text"),
        ("hash", "0" * 64),
        ("hash", b"\xff\xfe"),
        ("payload", b'{"n":9}'),
        ("payload", "text"),
        ("call", b"\xff"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_ab_evidence_004_a_changed_field_is_found(store, column_name, value):
    """AB-EVIDENCE-004, first run: the record whose field was changed is named."""
    set_column(store, 4, column_name, value)

    found = verify_chain(store, "ws")

    assert (found.consistent, found.bad_seq, found.records) == (False, 4, 3)
    assert "record 4" in found.message


def test_a_text_that_is_not_utf8_is_found_and_not_raised(store):
    """The driver's own decoding would fail here and hide where the fault is."""
    tamper(store, "update evidence set kind=cast(x'ff41' as text) where seq=6")

    assert verify_chain(store, "ws").bad_seq == 6


def test_ab_evidence_004_a_deleted_row_is_found(store):
    """AB-EVIDENCE-004, second run: the gap is the first bad position."""
    tamper(store, "delete from evidence where seq=3")

    found = verify_chain(store, "ws")

    assert (found.consistent, found.bad_seq, found.records) == (False, 3, 2)


def test_ab_evidence_004_exchanged_rows_are_found(store):
    """AB-EVIDENCE-004, third run: the earlier of the two is named."""
    tamper(
        store,
        "update evidence set seq=100 where seq=3",
        "update evidence set seq=3 where seq=6",
        "update evidence set seq=6 where seq=100",
    )

    found = verify_chain(store, "ws")

    assert (found.consistent, found.bad_seq) == (False, 3)


def test_a_cut_tail_is_found_by_the_anchor(store):
    """The chain's anchor knows how far the chain went."""
    store.transact(lambda tables: tables.drop_anchors())
    tamper(store, "delete from evidence where seq>5")

    found = verify_chain(store, "ws")

    assert (found.consistent, found.bad_seq, found.records) == (False, 6, 5)


def anchor_of(store: SqliteStore) -> Any:
    """Where the chain's anchor is."""
    found = store.read(lambda tables: tables.stored_anchor("ws"))
    assert found is not None
    return found[0]


def test_an_anchor_is_moved_by_what_is_flushed_and_by_each_so_many_records(tmp_path):
    """What is cut before it shows, also after a process was killed."""
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        seqs = []
        for _ in range(2 * ANCHOR_EVERY):
            write(store, "ws", 1)
            seqs.append(anchor_of(store))
        draft = Draft("ws", "f", "k", at=1, body=b"{}", payload=None)
        store.append(draft, full=True)
        last = anchor_of(store)

    assert sorted(set(seqs)) == [0, ANCHOR_EVERY, 2 * ANCHOR_EVERY]
    assert last == 2 * ANCHOR_EVERY + 1


def test_an_anchor_keeps_the_calls_that_are_open_there(tmp_path):
    """Recovery starts from it, and not from the beginning of the chain."""
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        for call in ("a", "b", "c"):
            store.transact(partial(append, chain="ws", call=call, opens="r"))
        store.transact(partial(append, chain="ws", call="b", closes=OpenCall("b", "ws", 2, "r")))
        write(store, "ws", ANCHOR_EVERY)
        store.transact(partial(append, chain="ws", call="a", closes=OpenCall("a", "ws", 1, "r")))

        assert store.read(lambda tables: tables.open_calls()) == [OpenCall("c", "ws", 3, "r")]


@pytest.mark.parametrize(
    ("statement", "bad"),
    [
        ("update live set hash='00' where key='h:ws'", SIZE),
        ("update live set seq=9 where key='h:ws'", SIZE + 1),
        ("update live set seq=6 where key='h:ws'", 6),
        ("update live set seq=0 where key='h:ws'", 1),
        ("update live set seq='many' where key='h:ws'", SIZE + 1),
        ("update live set number=7 where key='h:ws'", 1),
        ("delete from live where key='h:ws'", 1),
    ],
    ids=["hash", "beyond", "earlier", "first", "text", "number", "deleted"],
)
def test_a_changed_anchor_is_found(store, statement, bad):
    """It is checked against the records."""
    store.transact(lambda tables: tables.drop_anchors())
    tamper(store, statement)

    found = verify_chain(store, "ws")

    assert (found.consistent, found.bad_seq) == (False, bad)


def rewrite(store: SqliteStore, *, from_seq: int, to_seq: int = SIZE) -> None:
    """Write the tail of the chain anew, as somebody who holds the whole file can."""
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as connection, connection:
        previous = connection.execute(
            "select hash from evidence where seq=?", (from_seq - 1,)
        ).fetchone()[0]
        connection.execute("delete from evidence where seq>=?", (from_seq,))
        for seq in range(from_seq, to_seq + 1):
            body = canonical({"v": 1, "kind": "forged", "call": "f", "at": 1})
            previous = link(previous, seq, body)
            connection.execute(
                "insert into evidence values(?,'f','forged',1,null,null,?,?,null)",
                (seq, body, previous),
            )
        connection.execute("update live set seq=?, hash=? where key='h:ws'", (to_seq, previous))


def test_a_rewritten_chain_is_consistent_but_does_not_match_the_kept_head(store):
    """Who holds the file can rewrite it; who kept a head sees it."""
    head = evidence_of(store).head("ws")
    rewrite(store, from_seq=4)

    assert verify_chain(store, "ws").consistent is True
    found = verify_chain(store, "ws", head=head)

    assert (found.consistent, found.matches_head, found.bad_seq) == (True, False, SIZE)
    assert "rewritten" in found.message


def test_a_tail_cut_with_its_head_row_does_not_match_the_kept_head(store):
    """A shorter chain is consistent alone and ends before the kept head."""
    head = evidence_of(store).head("ws")
    rewrite(store, from_seq=4, to_seq=5)

    found = verify_chain(store, "ws", head=head)

    assert (found.consistent, found.matches_head, found.bad_seq) == (True, False, 6)


def test_a_head_of_another_chain_is_not_met(store):
    """Equal positions of two chains have nothing to do with one another."""
    head = EvidenceHead(chain="other", seq=0, hash=genesis("other"))

    found = verify_chain(store, "ws", head=head)

    assert (found.matches_head, found.bad_seq) == (False, None)
    assert "another chain" in found.message


def test_a_chain_that_breaks_before_the_kept_head_does_not_match_it(store):
    """The stored hash at the head's position proves nothing where the links before it break."""
    head = evidence_of(store).head("ws")
    set_column(store, 2, "kind", "forged")

    found = verify_chain(store, "ws", head=head)

    assert (found.consistent, found.matches_head, found.bad_seq) == (False, False, 2)


@pytest.mark.parametrize(
    "body",
    [
        b'{"v":1}',
        b'{"at":1,"call":"f","kind":"k","v":2}',
        b'{"at":1,"call":"f","kind":"k","v":true}',
        b'{"at":"1","call":"f","kind":"k","v":1}',
        b'{"call":"f","at":1,"kind":"k","v":1}',
        b'{"at":1,"at":1,"call":"f","kind":"k","v":1}',
        b'{"at":1,"call":"f","kind":"k","v":1.0}',
        b"[1]",
        b"not json",
        b"\xff",
    ],
)
def test_a_body_that_holon_does_not_write_is_found_though_its_hash_fits(store, body):
    """Whoever can compute hashes still has to write what a reader can rely on."""
    head = evidence_of(store).head("ws")
    new = link(head.hash, SIZE + 1, body)
    draft = Draft("ws", "f", "k", at=1, body=body, payload=None)
    store.append(draft)

    found = verify_chain(store, "ws")

    assert column(store, SIZE + 1, "hash") == new
    assert (found.consistent, found.bad_seq) == (False, SIZE + 1)


def test_a_payload_without_a_digest_in_the_body_is_found(store):
    """Nothing can be added to a record that said it had no payload."""
    store.transact(lambda tables: append(tables, "ws", "bare"))
    set_column(store, SIZE + 1, "payload", b"{}")

    assert verify_chain(store, "ws").bad_seq == SIZE + 1


def test_an_erased_payload_leaves_the_chain_consistent(store):
    """The digest stays in the body, so the link does not need the payload."""
    head = evidence_of(store).head("ws")
    tamper(store, "update evidence set payload=null")

    found = verify_chain(store, "ws", head=head)

    assert (found.consistent, found.matches_head) == (True, True)


def test_progress_is_told_page_by_page(tmp_path):
    """Long work says how far it is, and how far it has to go."""
    told: list[Progress] = []
    with opened(tmp_path / "store.db") as store:
        store.transact(lambda t: [append(t, "ws", f"c{n}") for n in range(PAGE * 2 + 1)])
        found = verify_chain(store, "ws", progress=told.append)

    assert found.records == PAGE * 2 + 1
    assert [(p.stage, p.done, p.total) for p in told] == [
        ("verify", PAGE, PAGE * 2 + 1),
        ("verify", PAGE * 2, PAGE * 2 + 1),
    ]


def test_verifying_beside_live_writers_raises_no_alarm(tmp_path):
    """What is written while a verification runs is beyond it, and no fault."""
    failures: list[BaseException] = []

    def work(store: SqliteStore, name: str) -> None:
        try:
            write(store, "ws", 60, prefix=name)
        except BaseException as error:
            failures.append(error)

    with opened(tmp_path / "store.db") as store, opened(tmp_path / "store.db") as other:
        # A chain is known from its first record on.
        write(store, "ws", 1, prefix="first")
        threads = [
            threading.Thread(target=work, args=(store if n % 2 else other, f"t{n}"))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        head, found = evidence_of(store).head("ws"), []
        while any(thread.is_alive() for thread in threads):
            found.append(verify_chain(store, "ws", head=head))
            head = evidence_of(store).head("ws")
        for thread in threads:
            thread.join()
        found.append(verify_chain(store, "ws", head=head))

    assert failures == []
    assert [f.message for f in found if not f.consistent or f.matches_head is False] == []
    assert found[-1].records == 481


@pytest.fixture(scope="module")
def shared_chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A chain that each example of a property changes and puts back."""
    with opened(tmp_path_factory.mktemp("chain") / "store.db") as store:
        write(store, "ws", SIZE)
        yield store


@settings(max_examples=150, deadline=None)
@given(
    seq=st.integers(1, SIZE),
    name=st.sampled_from(["body", "hash", "payload"]),
    place=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
)
def test_a_flipped_byte_anywhere_is_found(shared_chain, seq, name, place, flip):
    """Every bit of body, hash and payload matters, and the record is named."""
    before = column(shared_chain, seq, name)
    data = bytearray(before if isinstance(before, bytes) else before.encode())
    data[int(place * len(data))] ^= flip
    changed: Any = bytes(data)
    try:
        set_column(shared_chain, seq, name, changed)
        if name == "hash":
            tamper(shared_chain, f"update evidence set hash=cast(hash as text) where seq={seq}")

        found = verify_chain(shared_chain, "ws")
    finally:
        set_column(shared_chain, seq, name, before)

    assert (found.consistent, found.bad_seq) == (False, seq)
    assert verify_chain(shared_chain, "ws").consistent
