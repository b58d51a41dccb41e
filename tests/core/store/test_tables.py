"""The statements of the store: what they keep, and that none walks a whole table."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from attrs import evolve

from chains import append
from holon_core.records.approval import ApprovalRecord, HeldCall
from holon_core.records.caller import CallerContext
from holon_core.records.words import ApprovalState, HeldState, Surface
from holon_core.store.chains import MAX_SEQ, NotOpen, OpenCall
from holon_core.store.frozen_tables import CircuitRow
from holon_core.store.migrations import migrate
from holon_core.store.protocol import Tables

APPROVAL = ApprovalRecord(
    id="a1",
    state=ApprovalState.PENDING,
    tool="t",
    definition="d",
    fingerprint="f",
    arguments_digest="x",
    workspace="ws",
    principal="p",
    requested_at_unix_seconds=1,
    expires_at_unix_seconds=9,
)
CALLER = CallerContext(principal="p", workspace="ws", surface=Surface.WORKFLOW, run="r")
HELD = HeldCall(
    call_id="c1",
    approval_id="a1",
    state=HeldState.HELD,
    caller=CALLER,
    tool={"id": "t"},
    arguments={"text": "zwölf"},
    preview={"would": "write"},
    flags=({"kind": "invisible"},),
    idempotency_key="k",
    held_at_unix_seconds=1,
)


@pytest.fixture
def tables() -> Iterator[Tables]:
    """Tables on a connection of their own."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        yield Tables(connection)


class Recording(sqlite3.Connection):
    """A connection that keeps each statement with what it was given."""

    seen: list[tuple[str, Any]]

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        rows = list(parameters)
        self.seen += [(sql, row) for row in rows]
        return super().executemany(sql, rows)

    def cursor(self, factory: Any = None, /) -> Any:
        return RecordingCursor(self)


class RecordingCursor(sqlite3.Cursor):
    """A cursor of such a connection."""

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        self.connection.seen.append((sql, parameters))  # type: ignore[attr-defined]
        return super().execute(sql, parameters)


# One use of every statement that the store offers; a new one has to be added here.
USES: dict[str, Callable[[Tables], object]] = {
    "forget": lambda t: t.forget(),
    "append": lambda t: append(t, "ws", "c"),
    "revision": lambda t: t.revision(),
    "bump_revision": lambda t: t.bump_revision(),
    "open_calls": lambda t: t.open_calls(),
    "heads": lambda t: t.heads(),
    "check_heads": lambda t: t.check_heads(),
    "stored_anchor": lambda t: t.stored_anchor("ws"),
    "drop_anchors": lambda t: t.drop_anchors() if append(t, "ws", "c") else None,
    "head": lambda t: t.head("ws"),
    "records": lambda t: t.records("ws", after=0, limit=5),
    "records_before": lambda t: t.records_before("ws", before=9, limit=5),
    "index_calls": lambda t: t.index_calls("ws", limit=5),
    "records_of": lambda t: t.records_of("c"),
    "has_strays": lambda t: t.has_strays(),
    "erase_payload": lambda t: t.erase_payload("ws", 1),
    "erase_payloads_before": lambda t: t.erase_payloads_before("ws", 9, after=0, to=5),
    "cursor": lambda t: t.cursor("n", "ws"),
    "move_cursor": lambda t: t.move_cursor("n", "ws", 1),
    "run_effects": lambda t: t.run_effects("r"),
    "add_run_effects": lambda t: t.add_run_effects("r", frozenset({"none"})),
    "put_approval": lambda t: t.put_approval(APPROVAL),
    "approval": lambda t: t.approval("a1"),
    "approvals_for": lambda t: t.approvals_for("f"),
    "approvals_in_scope": lambda t: t.approvals_in_scope("t", "p", ApprovalState.PENDING),
    "list_approvals": lambda t: t.list_approvals(
        state=ApprovalState.PENDING, workspace="ws", after="", limit=5, now=0
    ),
    "count_pending": lambda t: t.count_pending("ws", "p", 5),
    "last_consumed": lambda t: t.last_consumed("t", "ws"),
    "put_held": lambda t: t.put_held(HELD),
    "held": lambda t: t.held("c1"),
    "is_held": lambda t: t.is_held("c1"),
    "set_held_state": lambda t: t.set_held_state("c1", HeldState.RELEASED),
    "held_for": lambda t: t.held_for("a1"),
    "list_held": lambda t: t.list_held(state=HeldState.HELD, after="", limit=5),
    "reserve_key": lambda t: t.reserve_key(
        "k", "c", fingerprint="f", state="running", expires_at=9
    ),
    "key": lambda t: t.key("k"),
    "finish_key": lambda t: t.finish_key("k", "c", state="completed", result=b"{}"),
    "free_key": lambda t: t.free_key("k", "c"),
    "interrupt_keys": lambda t: t.interrupt_keys("c"),
    "purge_keys": lambda t: t.purge_keys(9, limit=5),
    "put_document": lambda t: [t.put_document("n", "d", b"{}", at=1) for _ in range(2)],
    "add_documents": lambda t: t.add_documents("n", {"e": b"{}"}, at=1),
    "set_document": lambda t: [
        t.set_document("n", "s", b"{}", at=at)  # type: ignore[func-returns-value]
        for at in (1, 2)
    ],
    "delete_document": lambda t: t.delete_document("n", "s"),
    "documents_under": lambda t: t.documents_under("n", "d/", after="d/1", limit=5),
    "lease": lambda t: t.lease("l"),
    "free_interrupted": lambda t: t.free_interrupted("k"),
    "count_documents": lambda t: t.count_documents("notes"),
    "document": lambda t: t.document("n", "d"),
    "document_at": lambda t: t.document_at("n", "d", 1),
    "list_documents": lambda t: t.list_documents("n"),
    "remove_document": lambda t: t.remove_document("n", "d", at=2),
    "last_tool_change": lambda t: t.last_tool_change(),
    "tool_changes": lambda t: t.tool_changes(after=0, limit=5),
    "take_lease": lambda t: t.take_lease("l", "me", now=1.0, ttl_s=5.0),
    "drop_lease": lambda t: t.drop_lease("l", "me"),
    "put_blob": lambda t: t.put_blob(b"x"),
    "blob": lambda t: t.blob("0"),
    "put_circuit": lambda t: [
        t.put_circuit("t", row)  # type: ignore[func-returns-value]
        for row in (CircuitRow(1, 0, "c", 7), None)
    ],
    "circuit": lambda t: t.circuit("t"),
    "seen_output": lambda t: t.seen_output("t", "i"),
    "count_seen_outputs": lambda t: t.count_seen_outputs("t"),
    "put_seen_output": lambda t: t.put_seen_output("t", "i", output="o", call="c"),
    "forget_seen_outputs": lambda t: t.forget_seen_outputs("t"),
}


def test_every_statement_has_a_use_here():
    """So that no new one misses the check of its plan."""
    offered = {name for name, _ in inspect.getmembers(Tables, inspect.isfunction) if name[0] != "_"}

    assert offered == set(USES)


@pytest.mark.parametrize("name", USES)
def test_no_statement_walks_a_whole_table(name):
    """Each is found by a key or an index, however much the store holds."""
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Recording)) as recording:
        recording.seen = []
        migrate(recording)
        tables = Tables(recording)
        for filling in ("append", "put_held", "put_approval", "put_document"):
            USES[filling](tables)
        recording.seen.clear()
        USES[name](tables)
        for sql, parameters in list(recording.seen):
            if sql.startswith("pragma"):
                continue
            plan = recording.execute("explain query plan " + sql, parameters).fetchall()
            steps = [str(row[3]) for row in plan]
            assert [s for s in steps if s.startswith("SCAN") and "CONSTANT" not in s] == [], sql


def test_an_approval_comes_back_as_it_was_stored(tables):
    """Each field, with and without a pattern."""
    grant = evolve(
        APPROVAL,
        id="a2",
        pattern={"text": ["a"]},
        used_by=("c1", "c2"),
        state=ApprovalState.CONSUMED,
        self_approved=True,
        decided_at_unix_seconds=3,
        decided_by="boss",
        reason="ok",
        role="r",
    )
    tables.put_approval(APPROVAL)
    tables.put_approval(grant)

    assert tables.approval("a1") == APPROVAL
    assert tables.approval("a2") == grant
    assert tables.approval("a3") is None
    assert tables.approvals_for("f") == [grant, APPROVAL]
    assert tables.approvals_in_scope("t", "p", ApprovalState.CONSUMED) == [grant]
    assert tables.list_approvals(state=None, workspace=None, after="a1", limit=5, now=0) == [grant]
    assert tables.count_pending("ws", "p", 5) == 1
    assert tables.count_pending(None, "p", 5) == 0
    assert tables.last_consumed("t", "ws") == "c2"


def test_a_consumed_approval_that_names_no_call_has_no_last_one(tables):
    """The approver's view then shows no difference."""
    assert tables.last_consumed("t", "ws") is None
    tables.put_approval(evolve(APPROVAL, state=ApprovalState.CONSUMED))
    assert tables.last_consumed("t", "ws") is None


def test_a_held_call_comes_back_as_it_was_stored(tables):
    """A process without the tool can show and decide it."""
    tables.put_held(HELD)

    assert tables.held("c1") == HELD
    assert tables.held("c2") is None
    assert tables.held_for("a1") == [HELD]
    assert tables.list_held(state=HeldState.HELD, after="", limit=5) == [HELD]
    assert (tables.is_held("c1"), tables.is_held("c2")) == (True, False)
    tables.set_held_state("c1", HeldState.RELEASED, "c9")
    assert not tables.is_held("c1")
    assert tables.held("c1") == evolve(HELD, state=HeldState.RELEASED, replaced_by="c9")


def test_a_key_belongs_to_one_call_until_it_is_freed(tables):
    """Only its holder finishes or frees it."""
    tables.reserve_key("k", "c", fingerprint="f", state="running", expires_at=9)
    tables.free_key("k", "other")
    tables.finish_key("k", "other", state="completed", result=b"other's")
    assert tables.key("k") == ("c", "f", "running", 9, None)

    tables.finish_key("k", "c", state="completed", result=b"{}")
    assert tables.key("k") == ("c", "f", "completed", 9, b"{}")
    tables.free_key("k", "c")
    assert tables.key("k") is None


def test_expired_keys_are_purged_unless_their_call_runs(tables):
    """An interrupted call's key goes like any other."""
    for name, state in (("a", "running"), ("b", "held"), ("c", "completed"), ("d", "running")):
        tables.reserve_key(name, f"call-{name}", fingerprint="f", state=state, expires_at=5)
    tables.interrupt_keys("call-d")

    assert tables.purge_keys(5, limit=10) == 0
    assert tables.purge_keys(6, limit=10) == 2
    assert [tables.key(name) is None for name in "abcd"] == [False, False, True, True]


def test_documents_keep_their_revisions(tables):
    """A removed document that comes back goes on counting."""
    assert tables.put_document("n", "d", b"1", at=1) == 1
    assert tables.put_document("n", "d", b"2", at=2) == 2
    assert tables.document("n", "d") == ("d", 2, 2, b"2")
    assert tables.document_at("n", "d", 1) == ("d", 1, 1, b"1")
    assert tables.document_at("n", "d", 9) is None

    assert tables.remove_document("n", "d", at=3)
    assert not tables.remove_document("n", "d", at=3)
    assert tables.document("n", "d") is None
    assert tables.document_at("n", "d", 2) == ("d", 2, 2, b"2")
    assert tables.put_document("n", "d", b"4", at=4) == 4


def test_a_document_that_is_known_to_be_new_goes_on_counting_too(tables):
    """As if it had been looked for: the first is revision 1, one that comes back the next."""
    tables.add_documents("n", {"d": b"1"}, at=1)
    assert tables.document("n", "d") == ("d", 1, 1, b"1")
    tables.remove_document("n", "d", at=2)

    tables.add_documents("n", {"e": b"0", "d": b"3"}, at=3)

    assert tables.document("n", "d") == ("d", 3, 3, b"3")
    assert tables.document("n", "e") == ("e", 1, 3, b"0")


def test_documents_are_listed_by_id(tables):
    """A page goes on after the last id seen, in its own collection."""
    for name in "cab":
        tables.put_document("n", name, b"{}", at=1)
    tables.put_document("other", "d", b"{}", at=1)

    assert [d.id for d in tables.list_documents("n")] == ["a", "b", "c"]
    assert [d.id for d in tables.list_documents("n", after="a", limit=1)] == ["b"]


def test_a_lease_has_one_holder_and_a_number_that_rises(tables):
    """A late write of an earlier holder can be told by the number."""
    assert tables.take_lease("l", "one", now=0, ttl_s=5) == 1
    assert tables.take_lease("l", "two", now=4, ttl_s=5) is None
    assert tables.take_lease("l", "one", now=4, ttl_s=5) == 1
    assert tables.take_lease("l", "two", now=9, ttl_s=5) == 2
    tables.drop_lease("l", "one")
    assert tables.take_lease("l", "one", now=10, ttl_s=5) is None
    tables.drop_lease("l", "two")
    assert tables.take_lease("l", "two", now=10, ttl_s=5) == 3


def test_bytes_are_stored_once_by_their_digest(tables):
    """The same bytes have the same name."""
    digest = tables.put_blob(b"bytes")

    assert tables.put_blob(b"bytes") == digest
    assert tables.blob(digest) == b"bytes"
    assert tables.blob("0" * 64) is None


def test_open_calls_are_those_that_did_not_end(tables):
    """Recovery asks for them."""
    append(tables, "ws", "c1", opens="r")
    append(tables, "ws", "c2", opens="r")
    append(tables, "ws", "c1", closes=OpenCall("c1", "ws", 1, "r"))

    with pytest.raises(NotOpen):
        append(tables, "ws", "c1", closes=OpenCall("c1", "ws", 1, "r"))
    assert tables.open_calls() == [OpenCall("c2", "ws", 2, "r")]
    assert tables.head("ws")[0] == 3


def test_the_index_of_calls_says_when_nothing_is_left(tables):
    """Its readers go on until then, a bounded number of records at a time."""
    for number in range(3):
        append(tables, "ws", f"c{number}")

    assert [tables.index_calls("ws", limit=2) for _ in range(3)] == [True, True, False]
    assert [row.seq for row in tables.records_of("c2")] == [3]


def test_effects_of_a_run_add_up(tables):
    """Each once, and none of another run."""
    tables.add_run_effects("r", frozenset({"workspace_read"}))
    tables.add_run_effects("r", frozenset({"workspace_read", "network_read"}))

    assert tables.run_effects("r") == {"workspace_read", "network_read"}
    assert tables.run_effects("other") == frozenset()


def test_a_page_never_leaves_its_chain(tables):
    """However far out the positions are that somebody asks for."""
    for chain in ("a", "b", "c"):
        append(tables, chain, f"call-{chain}")

    for position in (-(2**50), -1, 0, 1, MAX_SEQ, 2**62):
        for chain in ("a", "b", "c"):
            rows = tables.records(chain, after=position, limit=9)
            rows += tables.records(chain, after=0, limit=9, to=position)
            rows += tables.records_before(chain, before=position, limit=9)
            assert {row.call for row in rows} <= {f"call-{chain}"}


def test_a_calls_records_survive_the_loss_of_their_chains_head(tables):
    """They are still found, without a name."""
    append(tables, "ws", "c")
    tables.index_calls("ws", limit=9)
    tables._sql("delete from live where key='h:ws'")

    assert [(row.chain, row.seq) for row in tables.records_of("c")] == [("", 1)]
