"""What seldom happens at the door, each made to happen once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import approve, kinds, open_calls, trail
from holon_core.cancel import CancelToken
from holon_core.catalogue.catalogue import Entry
from holon_core.errors import StructuredFailureKind
from holon_core.guard import drive
from holon_core.guard.attempt import Attempt, Refusal
from holon_core.guard.unfit import arguments_unfit, output_unfit
from holon_core.records.failure import failure
from holon_core.records.outcome import (
    ExecutorEvidenceDraft,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    completed,
)

READ, WRITE = "host.app/read", "host.app/write"


class Unreadable(Exception):
    """An exception that fails when it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def answering(rt: holon.Runtime, tool: str, answer: Any, **options: Any) -> None:
    """Let a tool answer, or raise, one thing."""

    class Executor:
        preview = staticmethod(lambda call: {})

        def execute(self, call: holon.SealedCall) -> Any:
            said = answer(call) if callable(answer) else answer
            if isinstance(said, BaseException):
                raise said
            return said

    rt._guard.catalogue.put(Entry(rt.tools.read(tool), Executor(), **options))


FAILED = ExecutorStatus.FAILED


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (None, "lane_protocol"),
        ("done", "lane_protocol"),
        (ExecutorOutcome(status="completed"), "lane_protocol"),  # type: ignore[arg-type]
        (ExecutorOutcome(status=FAILED, failure="x"), "lane_protocol"),  # type: ignore[arg-type]
        (ExecutorOutcome(status=FAILED, evidence=(1,)), "lane_protocol"),  # type: ignore[arg-type]
        (ExecutorOutcome(status=FAILED), "tool_failed"),
        (ExecutorOutcome(status=ExecutorStatus.BLOCKED), "tool_failed"),
        (Unreadable(), "tool_raised"),
        (Refusal(failure("path_escape", "outside")), "path_escape"),
        (completed(object()), "output_not_json"),
    ],
    ids=[
        "none",
        "text",
        "status",
        "failure",
        "evidence",
        "bare",
        "blocked",
        "unreadable",
        "refusal",
        "object",
    ],
)
def test_what_an_executor_gets_wrong_is_a_typed_outcome(open_runtime, write, answer, code):
    """Never an exception at the caller, and the record is closed."""
    rt = open_runtime(write, config={"rules": [{"id": WRITE, "decision": "allow"}]})
    answering(rt, WRITE, answer)

    result = rt.session(principal="ann").call(WRITE, {})

    assert result.failure.code == code
    assert trail(rt, result.call_id) == ["accepted", str(result.status)]
    assert open_calls(rt) == []


@pytest.mark.parametrize("message", ["plain", Unreadable()], ids=["plain", "unreadable"])
def test_a_lanes_own_words_for_a_failure_are_kept_as_text(open_runtime, read, message):
    """Codes that no table knows say to look at the message."""
    rt = open_runtime(read)
    answering(
        rt,
        READ,
        ExecutorOutcome(
            status=ExecutorStatus.BLOCKED,
            failure=ExecutorFailure(
                kind=StructuredFailureKind.PATH_REFUSED, code="own", message=message
            ),
        ),
    )

    result = rt.session(principal="ann").call(READ)

    if message == "plain":
        assert (result.status, result.failure.code) == ("blocked", "own")
        assert result.blocking_reasons[0].next_action == "see the message"
    else:
        assert (result.status, result.failure.code) == ("failed", "lane_protocol")


def test_evidence_of_an_executor_is_made_sound_json(open_runtime, read):
    """Lists, numbers beyond what JSON holds, half characters, keys that are no text."""
    data = {"l": [None, True, 1, float("inf"), 2**80], "s": "\ud800", "o": {"k": object()}}
    rt = open_runtime(read)
    answering(rt, READ, completed({"result": 1}, (ExecutorEvidenceDraft(source="s", data=data),)))

    result = rt.session(principal="ann").call(READ)

    kept = rt.evidence.read(result.call_id)[-1].body["from_tool"][0]
    assert kept["source"] == "s"
    assert kept["data"]["l"] == [None, True, 1, "inf", str(2**80)]
    assert kept["data"]["s"] == "\\ud800"
    assert kept["data"]["o"] == {"k": "<object>"}


def test_a_use_that_a_hundred_others_pushed_out_is_not_given_back(open_runtime, write):
    """The record names the last hundred; what it no longer names stays used."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    grant = rt.approvals.grant(
        WRITE, {"n": {"glob": "*"}}, principal="ann", uses=200, ttl_s=60, by="boss", reason="r"
    )
    depth: list[int] = []

    def answer(call: holon.SealedCall) -> ExecutorOutcome:
        if not depth:
            depth.append(1)
            for n in range(101):
                session.call(WRITE, {"n": str(n)})
            return ExecutorOutcome(status=ExecutorStatus.BLOCKED)
        return completed({})

    answering(rt, WRITE, answer)

    assert session.call(WRITE, {"n": "first"}).status == "blocked"
    assert rt.approvals.read(grant.id).uses_left == 200 - 102


class Provider:
    """A plugin whose secrets look available and are not, and that may deny."""

    name = "vault"
    scheme = "vault"

    def __init__(self, act: Any = None, decision: str = "allow") -> None:
        self.act = act
        self.decision = decision
        self.asked = 0

    @holon.hookimpl
    def holon_secret_providers(self, host: Any) -> list[Any]:
        return [self]

    @holon.hookimpl
    def holon_policies(self, host: Any) -> list[Any]:
        return [self]

    def available(self, rest: str) -> bool:
        return True

    def resolve(self, rest: str) -> str | None:
        return None

    def evaluate(self, request: Any) -> holon.Verdict:
        self.asked += 1
        act, self.act = self.act, None
        if act is not None:
            act()
        return holon.Verdict(decision=holon.Decision(self.decision), rule="vault")


@pytest.mark.parametrize("way", ["call", "acall"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_secret_that_is_gone_at_execution_blocks_and_starts_nothing(open_runtime, ran, way, kind):
    """The approval and the key come back."""

    @holon.tool(id="sync", effects={"machine_write"}, secrets={"key": "vault:x"})
    def uses(key: str) -> int:
        ran.append(1)
        return 1

    @holon.tool(id="async", effects={"machine_write"}, secrets={"key": "vault:x"})
    async def auses(key: str) -> int:
        ran.append(1)
        return 1

    rt = open_runtime(uses, auses, plugins=[Provider()])
    session = rt.session(principal="ann")
    tool = f"host.app/{kind}"
    pending = session.request_approval(tool).failure.details["pending"]
    approve(rt, pending)

    if way == "call":
        result = session.call(tool, key="k")
    else:
        result = asyncio.run(session.acall(tool, key="k"))

    assert (result.status, result.failure.code) == ("blocked", "secret_unresolved")
    assert ran == []
    assert rt.approvals.read(pending).uses_left == 1
    assert trail(rt, result.call_id) == ["accepted", "blocked"]
    assert session.call(tool, key="k").replayed_from is None


def test_a_refusal_made_on_an_older_catalogue_is_looked_at_again(open_runtime, read):
    """What is refused is refused for what is there now."""
    provider = Provider(decision="deny")
    rt = open_runtime(read, plugins=[provider])
    provider.act = lambda: rt._guard.store.transact(lambda tables: tables.bump_revision())

    result = rt.session(principal="ann").call(READ)

    assert result.failure.code == "policy_denied"
    assert provider.asked == 2
    assert kinds(rt) == ["refused"]


def test_a_fault_whose_place_is_not_found_is_still_a_refusal():
    """A validator may only know that a value does not fit."""
    assert arguments_unfit([], None).code == "arguments_invalid"
    assert output_unfit([], None).code == "output_schema"


def test_a_call_cancelled_before_it_starts_does_not_start(open_runtime, write, ran):
    """Its approval comes back."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    pending = session.request_approval(WRITE, {"a": 1}).failure.details["pending"]
    approve(rt, pending)
    attempt = Attempt(WRITE, {"a": 1}, session.caller)
    token = CancelToken()
    token.cancel()
    attempt.cancel_by(token)

    result = drive.call(rt._guard, attempt)

    assert (result.status, result.failure.code) == ("failed", "cancelled")
    assert ran == []
    assert rt.approvals.read(pending).uses_left == 1


def test_waiting_for_an_approval_can_be_cancelled(open_runtime, write):
    """Whoever waits gets it as it is."""
    rt = open_runtime(write)
    held = rt.session(principal="ann").call(WRITE, {"a": 1}).held
    token = CancelToken()
    token.cancel()

    assert rt.approvals.wait(held, timeout_s=30, cancel=token).state == "pending"


def test_a_program_may_be_given_another_folder(open_runtime, tmp_path):
    """Where the lane says so."""

    @holon.tool(effects={"none"})
    def pwd(call: holon.SealedCall) -> str:
        outcome = call.run_process(("/bin/pwd",), cwd=tmp_path)
        return outcome.stdout.head.decode()

    result = open_runtime(pwd).session(principal="ann").call("host.app/pwd")

    assert Path(result.output["result"].strip()) == tmp_path.resolve()


def test_a_copy_in_a_forked_child_closes_nothing(open_runtime):
    """The runtime belongs to the process that opened it."""
    rt = open_runtime()
    mine, rt._parts._pid = rt._parts._pid, -1

    assert rt.close() == ()

    rt._parts._pid, rt._open = mine, True
    assert kinds(rt) == []


def test_a_lock_swept_away_while_it_was_taken_is_taken_anew(open_runtime, monkeypatch):
    """Another process that opened at that moment removed the file."""
    from holon_core.store.oslock import OsLock

    answers = [False]
    is_current = OsLock.is_current
    monkeypatch.setattr(
        OsLock, "is_current", lambda self: answers.pop() if answers else is_current(self)
    )

    rt = open_runtime()

    assert answers == []
    assert (rt._parts.root / "live" / rt._guard.runtime_id).exists()


def test_a_user_without_a_name_is_known_by_number(open_runtime, read, monkeypatch):
    """As in many containers."""
    import getpass

    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    rt = open_runtime(read)

    rt.session(principal="ann").call(READ)

    assert rt.evidence.list(workspace=None)[0].body["host"]["os_user"].isdigit()


def test_payloads_past_their_retention_are_erased_at_an_open(open_runtime, read, clock):
    """Younger ones stay, records stay, and the chain verifies."""
    with open_runtime(read) as rt:
        session = rt.session(principal="ann")
        old = session.call(READ, {"n": 1})
        clock.advance(3 * 86_400)
        young = session.call(READ, {"n": 2})

    for _ in range(2):
        with open_runtime(read, config={"retention_days": 2}) as rt:
            assert [r.payload for r in rt.evidence.read(old.call_id)] == [None, None]
            assert rt.evidence.read(young.call_id)[0].payload == {"n": 2}
            assert rt.evidence.verify(None).consistent
            records = rt.evidence.list(workspace=None)
            [noted] = [each for each in records if each.kind == "payloads_erased"]
            assert (noted.body["by"], noted.body["erased"]) == ("retention", 2)


def test_all_payloads_may_be_past_their_retention(open_runtime, read, clock, monkeypatch):
    """In several batches, and the next open has nothing left to do."""
    from holon_core.guard import retention

    monkeypatch.setattr(retention, "BATCH", 3)
    with open_runtime(read) as rt:
        for n in range(5):
            rt.session(principal="ann").call(READ, {"n": n})
    clock.advance(9 * 86_400)

    for batches in (2, 20, 20):
        monkeypatch.setattr(retention, "MAX_BATCHES", batches)
        rt = open_runtime(read, config={"retention_days": 2})
        left = [r for r in rt.evidence.list(workspace=None) if r.payload is not None]
        rt.close()
    assert left == []


def test_a_refusal_that_cannot_be_recorded_says_both(open_runtime, read, tmp_path):
    """What was refused, and that there is no record of it."""
    import sqlite3

    def harm() -> None:
        other = sqlite3.connect(tmp_path / "root" / "holon.db")
        other.execute("drop table live")
        other.close()

    rt = open_runtime(read, plugins=[Provider(act=harm, decision="deny")])

    result = rt.session(principal="ann").call(READ)

    assert (result.status, result.failure.code) == ("blocked", "evidence_unavailable")
    assert result.failure.details["refused"] == "policy_denied"


def test_an_async_tool_that_answers_its_cancelling_was_late_all_the_same(open_runtime):
    """What it returns after its limit is no result."""

    @holon.tool(effects={"none"}, timeout_s=0.05)
    async def polite() -> int:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return 1
        return 2

    result = open_runtime(polite).session(principal="ann").call("host.app/polite")

    assert (result.status, result.failure.code, result.output) == ("failed", "timeout", None)


def test_two_openings_that_find_the_same_dead_call_mark_it_once(open_runtime, read):
    """Whoever comes second finds it closed."""
    from holon_core.guard import recovery

    rt = open_runtime(read)
    found: list[Any] = []

    def answer(call: holon.SealedCall) -> ExecutorOutcome:
        guard = rt._guard
        found.extend(guard.store.read(lambda tables: tables.open_calls()))
        for _ in range(2):
            guard.store.transact(
                lambda tables: recovery._interrupt(tables, guard.recorder, found[0])
            )
        return completed({"result": 1})

    answering(rt, READ, answer)

    result = rt.session(principal="ann").call(READ)

    assert result.failure.code == "evidence_not_closed"
    assert kinds(rt) == ["accepted", "interrupted"]
