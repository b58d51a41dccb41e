"""Idempotency keys: one logical call, one execution."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import holon_core as holon
from door import approve, trail
from holon_core.catalogue.catalogue import Entry
from holon_core.errors import StructuredFailureKind
from holon_core.records.outcome import ExecutorFailure, ExecutorOutcome, ExecutorStatus

READ, WRITE = "host.app/read", "host.app/write"


def test_the_same_key_and_payload_get_the_recorded_result(open_runtime, read, ran):
    """Nothing runs again, and a record names the first call."""
    session = (rt := open_runtime(read)).session(principal="ann")
    first = session.call(READ, {"n": 7}, key="k")

    again = session.call(READ, '{"n":7.0}', key="k")

    assert again.output == first.output
    assert again.replayed_from == first.call_id
    assert again.call_id != first.call_id
    assert trail(rt, again.call_id) == ["replayed"]
    assert rt.evidence.read(again.call_id)[0].body["replayed_from"] == first.call_id
    assert ran == [7]


def test_a_failed_result_is_replayed_whole(open_runtime, ran):
    """With its kind, code, message and details."""

    @holon.tool(effects={"none"})
    def fails() -> int:
        ran.append(1)
        raise ValueError("no luck")

    session = open_runtime(fails).session(principal="ann")
    first = session.call("host.app/fails", key="k")

    again = session.call("host.app/fails", key="k")

    assert again.failure == first.failure
    assert len(ran) == 1


@pytest.mark.parametrize("other", [{"n": 8}, {}])
def test_another_payload_under_the_key_is_a_conflict(open_runtime, read, ran, other):
    """It is refused, and the key keeps its call."""
    session = open_runtime(read).session(principal="ann")
    first = session.call(READ, {"n": 7}, key="k")

    result = session.call(READ, other, key="k")

    assert (result.status, result.failure.code) == ("blocked", "conflict")
    assert result.failure.details["call"] == first.call_id
    assert ran == [7]


def test_a_call_that_still_runs_keeps_its_key(open_runtime):
    """The second of two at once hears that the first is at work."""
    inside, go_on = threading.Event(), threading.Event()

    @holon.tool(effects={"none"})
    def slow() -> int:
        inside.set()
        go_on.wait(20)
        return 1

    session = open_runtime(slow).session(principal="ann")
    thread = threading.Thread(target=lambda: session.call("host.app/slow", key="k"))
    thread.start()
    inside.wait(10)
    result = session.call("host.app/slow", key="k")
    go_on.set()
    thread.join()

    assert result.failure.code == "conflict"
    assert "still runs" in result.failure.message
    assert session.call("host.app/slow", key="k").output == {"result": 1}


def test_a_key_belongs_to_principal_workspace_and_tool(open_runtime, read, write, ran, tmp_path):
    """Others may use the same word."""
    (tmp_path / "w").mkdir()
    rt = open_runtime(read, write)
    rt.session(principal="ann").call(READ, {"n": 1}, key="k")

    rt.session(principal="bea").call(READ, {"n": 2}, key="k")
    rt.session(principal="ann", workspace=tmp_path / "w").call(READ, {"n": 3}, key="k")
    held = rt.session(principal="ann").call(WRITE, {"n": 4}, key="k")

    assert ran == [1, 2, 3]
    assert held.held is not None


def test_a_key_expires(open_runtime, read, ran, clock):
    """After its stated time the call may run again."""
    rt = open_runtime(read)
    session = rt.session(principal="ann")
    session.call(READ, {"n": 7}, key="k")
    clock.advance(rt.plugins.config.key_ttl_s)

    assert session.call(READ, {"n": 7}, key="k").replayed_from is None
    assert ran == [7, 7]


def test_a_held_call_is_found_again_by_its_key(open_runtime, write, ran):
    """The same held id comes back; released, the result replays; another payload conflicts."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    first = session.call(WRITE, {"a": 1}, key="k")

    again = session.call(WRITE, {"a": 1}, key="k")

    assert (again.status, again.held) == ("blocked", first.held)
    assert again.replayed_from == first.call_id
    assert trail(rt, again.call_id) == ["replayed"]
    assert trail(rt, first.call_id) == ["held"]
    assert len(rt.approvals.held()) == 1
    assert session.call(WRITE, {"a": 2}, key="k").failure.code == "conflict"
    approve(rt, first.held)
    done = session.release(first.held)
    assert session.call(WRITE, {"a": 1}, key="k").output == done.output
    assert rt.evidence.read(first.held)[-2].body["idempotency_key"] == "k"
    assert len(ran) == 1


@pytest.mark.parametrize("started", [True, False])
def test_a_call_that_did_nothing_gives_its_key_back(open_runtime, read, started):
    """Blocked by its executor, or never started; one that started keeps it."""
    outcome = ExecutorOutcome(
        status=ExecutorStatus.FAILED if not started else ExecutorStatus.BLOCKED,
        failure=ExecutorFailure(
            kind=StructuredFailureKind.PATH_REFUSED,
            code="lanes_own_word",
            message="not there",
            details={"big": "x" * 100_000},
        ),
        started=started,
    )

    class Refuses:
        preview = staticmethod(lambda call: {})
        execute = staticmethod(lambda call: outcome)

    rt = open_runtime(read)
    entry = Entry(rt.tools.read(READ), Refuses())
    real = rt._guard.catalogue.get(READ)
    rt._guard.catalogue.put(entry)
    session = rt.session(principal="ann")

    result = session.call(READ, {"n": 1}, key="k")

    assert result.failure.code == "lanes_own_word"
    assert result.failure.details == {}
    assert result.failure.next_action
    rt._guard.catalogue.put(real)
    assert session.call(READ, {"n": 2}, key="k").status == "completed"


def test_a_refused_call_frees_no_key_and_takes_none(open_runtime, read, ran):
    """Invalid arguments under a key leave it to whoever comes with good ones."""
    session = open_runtime(read).session(principal="ann")

    assert session.call(READ, {"n": "x"}, key="k").status == "failed"
    assert session.call(READ, {"n": 1}, key="k").status == "completed"


@pytest.mark.parametrize("bad", ["", "x" * 401, "\ud800", 5], ids=["empty", "long", "half", "int"])
def test_a_key_that_cannot_be_one_is_misuse(open_runtime, read, bad):
    """It is the host's mistake, and no call is made of it."""
    session = open_runtime(read).session(principal="ann")

    with pytest.raises(holon.Misuse):
        session.call(READ, key=bad)
    with pytest.raises(holon.Misuse):
        session.call(bad)


def test_a_result_under_a_key_holds_no_secret(open_runtime, monkeypatch):
    """What is kept to be replayed is what the first caller saw."""
    monkeypatch.setenv("KEYED_SECRET", "hunter2-hunter2")

    @holon.tool(effects={"none"}, secrets={"word": "env:KEYED_SECRET"})
    def tells(word: str) -> str:
        return f"it is {word}"

    rt = open_runtime(tells)
    session = rt.session(principal="ann")

    outputs: list[Any] = [session.call("host.app/tells", key="k").output for _ in range(2)]

    assert outputs == [{"result": "it is [redacted:word]"}] * 2
    kept = rt._guard.store._reader.execute("select result from idempotency").fetchone()[0]
    assert b"hunter2" not in kept
