"""Reading evidence: lists, one call's records, heads, erasing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from chains import append, evidence_of, opened, write
from holon_core.errors import Misuse
from holon_core.guard.evidence import Recorder
from holon_core.guard.evidence_read import PREVIEW_CHARS, preview
from holon_core.guard.redaction import Redactor
from holon_core.records.evidence import EvidenceHead
from holon_core.store.chains import genesis
from holon_core.store.sqlite import SqliteStore
from support import label

SAID = {"by": "bo", "reason": "asked for"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty store in a file."""
    with opened(tmp_path / "store.db") as store:
        yield store


def tamper(store: SqliteStore, statement: str) -> None:
    """Change the file by hand."""
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(statement)


def test_records_are_listed_in_the_order_they_were_written(store):
    """A page goes on where the one before ended."""
    write(store, "ws", 5)
    evidence = evidence_of(store)

    first = evidence.list(workspace="ws", limit=2)
    rest = evidence.list(workspace="ws", after=first[-1].seq)

    assert [r.seq for r in first + rest] == [1, 2, 3, 4, 5]
    assert first[0].call_id == "call-0"
    assert first[0].payload == {"n": 0}
    assert first[0].preview == '{"n":0}'
    assert first[0].body["kind"] == first[0].kind == "accepted"
    assert first[0].verified is None


def test_the_newest_records_can_come_first(store):
    """Then a page goes on before the last position seen."""
    write(store, "ws", 5)
    evidence = evidence_of(store)

    first = evidence.list(workspace="ws", limit=2, newest=True)
    rest = evidence.list(workspace="ws", after=first[-1].seq, newest=True)

    assert [r.seq for r in first + rest] == [5, 4, 3, 2, 1]


def test_calls_without_a_workspace_have_a_chain_of_their_own(store):
    """No workspace is not any workspace."""
    write(store, "_runtime", 1)
    write(store, "ws", 2)
    evidence = evidence_of(store)

    assert len(evidence.list(workspace=None)) == 1
    assert [h.chain for h in evidence.heads()] == ["_runtime", "ws"]
    assert evidence.head(None) == evidence.heads()[0]
    assert evidence.verify(None).records == 1


@pytest.mark.parametrize(
    "page", [{"limit": 0}, {"limit": -1}, {"limit": 1001}, {"after": -1}], ids=label
)
def test_a_listing_is_bounded(store, page):
    """A page holds 1 to 1000 records of its own chain, and of no other."""
    with pytest.raises(Misuse, match=f"{next(iter(page))} is a whole number"):
        evidence_of(store).list(workspace="ws", **page)


def test_the_head_of_a_chain_without_records_is_its_beginning(store):
    """It can be kept like any other."""
    beginning = EvidenceHead(chain="_runtime", seq=0, hash=genesis("_runtime"))

    assert evidence_of(store).head(None) == beginning
    assert evidence_of(store).heads() == ()


def test_one_calls_records_are_found_in_all_chains(store):
    """The index grows as far as the chains went when it was asked."""
    evidence = evidence_of(store)
    for kind in ("held", "accepted", "completed"):
        store.transact(lambda t, kind=kind: append(t, "ws", "mine", kind=kind))
        store.transact(lambda t: append(t, "ws", "other"))
    assert [r.kind for r in evidence.read("mine")] == ["held", "accepted", "completed"]
    store.transact(lambda t: append(t, "_runtime", "mine", kind="replayed"))

    assert [(r.chain, r.seq) for r in evidence.read("mine")] == [
        ("ws", 1),
        ("ws", 3),
        ("ws", 5),
        ("_runtime", 1),
    ]
    assert evidence.read("nobody") == ()


def test_reading_one_call_changes_nothing_once_all_is_indexed(store):
    """So that a reader does not wait for a writer without need."""
    write(store, "ws", 3)
    evidence = evidence_of(store)
    evidence.read("call-1")
    assert store.path is not None
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("begin immediate")

        assert len(evidence.read("call-1")) == 1


def test_ab_evidence_004_reading_marks_what_follows_a_changed_record(store):
    """AB-EVIDENCE-004: reading still works, and what can't be trusted says so."""
    write(store, "ws", 6)
    tamper(
        store, "update evidence set body=x'00', payload=x'ff', kind=cast(x'ff' as text) where seq=4"
    )

    records = evidence_of(store).records_with_state(workspace="ws")

    assert [r.verified for r in records] == [True] * 3 + [False] * 3
    assert (records[3].body, records[3].payload) == ({}, None)
    assert records[3].kind == "\\udcff"
    assert records[4].payload == {"n": 4}


def test_records_of_a_whole_chain_are_marked_verified(store):
    """The mark is about the whole chain, whatever part is read."""
    write(store, "ws", 4)

    records = evidence_of(store).records_with_state(workspace="ws", after=2)

    assert [(r.seq, r.verified) for r in records] == [(3, True), (4, True)]


def test_a_payload_can_be_erased_by_call(store):
    """The record stays, its digest too, and no byte of the payload in the file."""
    secret = "a-private-thing-" * 8
    store.transact(lambda t: append(t, "ws", "mine", payload={"text": secret}))
    store.transact(lambda t: append(t, "other", "mine", payload={"text": "stays"}))
    write(store, "ws", 2)
    evidence = evidence_of(store)
    head = evidence.head("ws")

    assert evidence.erase("ws", **SAID, call_id="mine") == 1
    assert evidence.erase("ws", **SAID, call_id="mine") == 0

    assert [r.payload for r in evidence.read("mine")] == [None, None, {"text": "stays"}]
    assert evidence.read("mine")[0].preview == ""
    assert evidence.verify("ws", head=head).matches_head is True
    store.close()
    assert store.path is not None
    assert secret.encode() not in store.path.read_bytes()


def test_payloads_can_be_erased_by_age(store):
    """A record of the very second is kept."""
    for at in (100, 200, 300):
        store.transact(lambda t, at=at: append(t, "ws", f"c{at}", at=at, payload={"at": at}))
    evidence = evidence_of(store)

    assert evidence.erase("ws", **SAID, before_unix_seconds=200) == 1
    assert evidence.erase(None, **SAID, before_unix_seconds=200) == 0

    payloads = [r.payload for r in evidence.list(workspace="ws")]
    assert payloads == [None, {"at": 200}, {"at": 300}, None]
    assert evidence.verify("ws").consistent


def test_erasing_is_recorded_with_how_many_by_whom_and_why(store):
    """In the chain that lost them, in the trail of the call where it was one call's."""
    write(store, "ws", 3)
    evidence = evidence_of(store)

    evidence.erase("ws", by="bo", reason="asked for", call_id="call-1")
    evidence.erase("ws", by="cy", reason="too old", before_unix_seconds=2**40)

    first, second = evidence.list(workspace="ws", after=3)
    assert (first.kind, first.call_id, first.payload) == ("payloads_erased", "call-1", None)
    said = [(r.body["by"], r.body["reason"], r.body["erased"]) for r in (first, second)]
    assert said == [("bo", "asked for", 1), ("cy", "too old", 2)]
    assert second.body["before_unix_seconds"] == 2**40
    assert evidence.list(workspace=None) == ()


def test_erasing_nothing_leaves_no_record(store):
    """A second erasing of the same finds nothing and says nothing."""
    write(store, "ws", 1)
    evidence = evidence_of(store)

    evidence.erase("ws", **SAID, call_id="call-0")
    again = evidence.erase("ws", **SAID, call_id="call-0")

    assert again == 0
    assert len(evidence.list(workspace="ws")) == 2


@pytest.mark.parametrize("given", [{"by": ""}, {"reason": " "}, {"by": None}, {"by": "x" * 201}])
def test_erasing_names_who_and_why(store, given):
    """Nothing is erased by nobody, or for no reason."""
    write(store, "ws", 1)

    with pytest.raises(Misuse, match="is a text"):
        evidence_of(store).erase("ws", **{**SAID, **given}, call_id="call-0")

    assert evidence_of(store).list(workspace="ws")[0].payload == {"n": 0}


@pytest.mark.parametrize("wish", [{}, {"before_unix_seconds": 1, "call_id": "c"}])
def test_erasing_asks_for_a_time_or_a_call(store, wish):
    """Nothing is erased by a call that does not say what."""
    with pytest.raises(Misuse, match="exactly one"):
        evidence_of(store).erase("ws", **SAID, **wish)


def test_ab_evidence_009_order_does_not_come_from_the_clock(store):
    """AB-EVIDENCE-009: the clock steps back one hour between two records; the step is visible."""

    class Steps:
        times = iter([10_000.0, 6_400.0, 6_401.0])

        def now(self) -> float:
            return next(self.times)

        monotonic = staticmethod(time.monotonic)

    recorder = Recorder(Steps(), Redactor(), {})
    for number in range(3):
        draft = recorder.draft("ws", f"c{number}", "accepted", {})
        store.append(draft)
    evidence = evidence_of(store)

    records = evidence.list(workspace="ws")

    assert [r.call_id for r in records] == ["c0", "c1", "c2"]
    assert [r.created_at_unix_seconds for r in records] == [10_000, 6_400, 6_401]
    assert records[1].body["clock_stepped_back_s"] == 3_600
    assert evidence.verify("ws").consistent


def test_ab_evidence_007_a_cut_payload_says_so(store):
    """AB-EVIDENCE-007, as far as reading: cut on character borders, with size and digest."""
    text = "zwölf Boxkämpfer 🥊 " * 150_000
    recorder = Recorder(_Clock(), Redactor(), {})
    payload = recorder.safe_payload({"stdout": text}, None, None)
    store.append(recorder.draft("ws", "c", "failed", {}, payload=payload))

    record = evidence_of(store).list(workspace="ws")[0]

    whole = ('{"stdout":"' + text + '"}').encode()
    assert record.payload["truncated"] is True
    assert record.payload["bytes"] == len(whole)
    assert record.payload["sha256"] == sha256(whole).hexdigest()
    assert whole.decode().startswith(record.payload["head"])
    assert whole.decode().endswith(record.payload["tail"])
    assert len(record.preview) == PREVIEW_CHARS
    assert record.preview.endswith("…")


class _Clock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


def test_a_preview_is_one_bounded_line_of_printable_text(store):
    """Nothing in it can look like another line or steer a terminal."""
    hostile = "\x7f\x85\u2028\u2029\x9b2K" * 100

    shown = preview(f'"{hostile}"'.encode())

    assert len(shown) <= PREVIEW_CHARS
    assert not any(ch in shown for ch in "\x7f\x85\u2028\u2029\x9b")


def test_a_short_preview_is_whole():
    """Only what was cut says so."""
    assert preview(b"x" * PREVIEW_CHARS) == "x" * PREVIEW_CHARS
    assert preview(b"x" * (PREVIEW_CHARS + 1)) == "x" * (PREVIEW_CHARS - 1) + "…"
    assert preview(None) == ""
