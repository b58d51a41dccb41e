"""Whatever policies say and whatever fails: one trail an attempt, no start without its steps."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holon_core as holon
from door import HandClock, open_calls
from holon_core.catalogue.catalogue import Entry
from holon_core.errors import StructuredFailureKind
from holon_core.records.outcome import (
    ExecutorEvidenceDraft,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    completed,
)
from holon_core.records.tool import SecretSlot
from holon_core.store import opening

TOOL = "host.app/work"
ENDS = {"completed", "failed", "blocked", "interrupted"}


class Failing(sqlite3.Connection):
    """A connection whose n-th statement from now on fails as on a full disk, before it is done."""

    fail_in: int | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return self.cursor().execute(sql, parameters)

    def cursor(self, factory: Any = None, /) -> Any:
        return FailingCursor(self)


class FailingCursor(sqlite3.Cursor):
    """A cursor of such a connection."""

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        if Failing.fail_in is not None and not sql.startswith(("begin", "rollback", "pragma")):
            Failing.fail_in -= 1
            if Failing.fail_in == 0:
                Failing.fail_in = None
                raise sqlite3.OperationalError("database or disk is full")
        return super().execute(sql, parameters)


def connect(target: str) -> sqlite3.Connection:
    """Connect as the store does, with the failing class."""
    return sqlite3.connect(
        target,
        isolation_level=None,
        timeout=0,
        check_same_thread=False,
        uri=True,
        factory=Failing,
    )


class Odd(BaseException):
    """What no tool should raise."""


class Unreadable(Exception):
    """An exception that fails when it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


VERDICTS: dict[str, Any] = {
    "allow": holon.Verdict(decision=holon.Decision.ALLOW, rule="a"),
    "ask": holon.Verdict(decision=holon.Decision.ASK, rule="b"),
    "deny": holon.Verdict(decision=holon.Decision.DENY, rule="c", reason="no"),
    "none": None,
    "yes": "yes",
    "raise": ValueError("broken"),
    "exit": SystemExit(3),
}
FAILED = ExecutorStatus.FAILED
ANSWERS: dict[str, Any] = {
    "good": completed({"n": 1}),
    "bad output": completed({"n": "1"}),
    "no json": completed(object()),
    "surrogate": completed({"n": 1, "s": "\ud800"}),
    "none": None,
    "text": "done",
    "blocked": ExecutorOutcome(status=ExecutorStatus.BLOCKED),
    "own code": ExecutorOutcome(
        status=ExecutorStatus.BLOCKED,
        failure=ExecutorFailure(kind=StructuredFailureKind.TOOL_FAILED, code="mine", message="m"),
    ),
    "not started": ExecutorOutcome(status=FAILED, started=False),
    "failed": ExecutorOutcome(status=FAILED),
    "odd status": ExecutorOutcome(status="completed"),  # type: ignore[arg-type]
    "odd failure": ExecutorOutcome(status=FAILED, failure="x"),  # type: ignore[arg-type]
    "odd details": ExecutorOutcome(
        status=FAILED,
        failure=ExecutorFailure(
            kind=StructuredFailureKind.TOOL_FAILED,
            code=object(),  # type: ignore[arg-type]
            message=Unreadable(),  # type: ignore[arg-type]
            details=None,  # type: ignore[arg-type]
        ),
    ),
    "odd evidence": ExecutorOutcome(status=FAILED, evidence=(1, None)),  # type: ignore[arg-type]
    "evidence": completed({"n": 1}, (ExecutorEvidenceDraft(source="s", data={"a": object()}),)),
}
RAISES = [ValueError("x"), Unreadable(), SystemExit(1), Odd(), MemoryError(), StopIteration()]


class World:
    """One runtime in which every part may fail, and what really happened in it."""

    def __init__(self, plan: dict[str, Any], folder: str) -> None:
        self.plan = plan
        self.entered: list[str] = []
        self.seen: list[str] = []
        self.clock = HandClock()
        self.name = "world"
        self.rt = holon.Runtime.open(
            folder, discover=False, plugins=[self], clock=self.clock, operator="ann"
        )
        self.rt.register(self._declared, id="work", effects={plan["effect"]})
        self._install()

    @staticmethod
    def _declared(n: int) -> dict[str, int]:
        raise AssertionError

    def _install(self) -> None:
        from attrs import evolve

        tool = self.rt.tools.read(TOOL)
        slots = (SecretSlot(name="s", ref="world:s"),) if self.plan["secret"] else ()
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        tool = evolve(tool, secret_slots=slots, output_schema=schema)
        self.rt._guard.catalogue.put(Entry(tool, self, is_async=False))

    @holon.hookimpl
    def holon_policies(self, host: Any) -> list[Any]:
        return [Judge(f"j{n}", self, word) for n, word in enumerate(self.plan["policies"])]

    @holon.hookimpl
    def holon_secret_providers(self, host: Any) -> list[Any]:
        return [self]

    scheme = "world"

    def available(self, rest: str) -> bool:
        return self.plan["secret"] != "gone"

    def resolve(self, rest: str) -> str | None:
        if self.plan["secret"] == "raises":
            raise Odd
        return "value-of-it" if self.plan["secret"] == "good" else None

    def preview(self, call: holon.SealedCall) -> dict[str, Any]:
        self.clock.advance(self.plan["jump"])
        if self.plan["preview"] == "raise":
            raise Odd
        return {"would": "work", "odd": self.plan["preview"]}

    def execute(self, call: holon.SealedCall) -> Any:
        self.entered.append(call.call_id)
        # Whoever is entered was accepted before, durably: a reader of its own sees it.
        left, Failing.fail_in = Failing.fail_in, None
        self.seen.append(self.rt.evidence.list(workspace=None, limit=1, newest=True)[0].kind)
        Failing.fail_in = left
        self.clock.advance(self.plan["jump"])
        answer = self.plan["answer"]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Judge:
    """A policy with one answer."""

    def __init__(self, name: str, world: World, word: str) -> None:
        self.name = name
        self.world = world
        self.word = word

    def evaluate(self, request: Any) -> Any:
        said = VERDICTS[self.word]
        self.world.clock.advance(self.world.plan["jump"])
        if isinstance(said, BaseException):
            raise said
        return said


@contextmanager
def world(plan: dict[str, Any]) -> Any:
    with TemporaryDirectory() as folder:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(opening, "connect", connect)
            made = World(plan, folder + "/root")
        try:
            yield made
        finally:
            Failing.fail_in = None
            made.rt.close()


PLANS = st.fixed_dictionaries(
    {
        "policies": st.lists(st.sampled_from(list(VERDICTS)), max_size=3),
        "effect": st.sampled_from(["none", "machine_read", "machine_write", "unknown"]),
        "secret": st.sampled_from([None, None, "good", "gone", "raises", "empty"]),
        "preview": st.sampled_from(["fine", "raise"]),
        "answer": st.one_of(st.sampled_from(list(ANSWERS.values())), st.sampled_from(RAISES)),
        "jump": st.sampled_from([0, 0, 1, -7200, 10**7]),
    }
)


@settings(max_examples=70, suppress_health_check=list(HealthCheck))
@given(
    PLANS,
    st.lists(
        st.tuples(
            st.sampled_from(["call", "call", "keyed", "approved", "release", "dry_run", "request"]),
            st.one_of(st.none(), st.none(), st.integers(1, 24)),
            st.sampled_from([{"n": 1}, {"n": 1}, {"n": 2}, {"n": "x"}, '{"n":1,"n":2}']),
        ),
        min_size=1,
        max_size=5,
    ),
)
def test_each_attempt_leaves_one_trail_and_starts_only_what_was_accepted(plan, attempts):
    """For any policies, any failing part, and the store failing at any statement."""
    with world(plan) as w:
        session = w.rt.session(principal="ann")
        for what, fails_at, arguments in attempts:
            entered_before = len(w.entered)
            result = attempt(w, session, what, arguments, fails_at)
            Failing.fail_in = None
            if result is not None:
                check(w, result, started=len(w.entered) > entered_before)
        assert w.rt.evidence.verify(None).consistent
        check_all(w)


def attempt(
    w: World, session: holon.Session, what: str, arguments: Any, fails_at: int | None
) -> Any:
    """Make one attempt, the store failing at a statement of it; no answer is an exception."""
    waiting = w.rt.approvals.held()
    if what == "approved" and waiting:
        with contextlib.suppress(holon.Refused):
            w.rt.approvals.approve(waiting[0].call_id, by="ann", reason="fine")
    Failing.fail_in = fails_at
    if what == "call":
        return session.call(TOOL, arguments)
    if what == "keyed":
        return session.call(TOOL, arguments, key="k")
    if what == "dry_run":
        return session.dry_run(TOOL, arguments)
    if what == "request":
        return session.request_approval(TOOL, arguments)
    if not waiting:
        return None
    return session.release(waiting[0].call_id)


def check(w: World, result: holon.ToolResult, *, started: bool) -> None:
    """Compare a result with its trail and with whether the executor was entered."""
    records = w.rt.evidence.read(result.call_id)
    kinds = [r.kind for r in records]
    code = result.failure.code if result.failure else None
    if not kinds:
        # Not recorded at all: then nothing ran, and the answer says so.
        assert code in ("evidence_unavailable", "store_locked")
        assert not started
        assert result.failure.details["started"] is False
        return
    assert (result.failure is None) == (result.status == "completed")
    last = kinds[-1]
    if code == "evidence_not_closed":
        assert last == "accepted"
    elif code == "evidence_unavailable":
        assert not started
    elif last in ENDS:
        assert result.status == last
        assert started or code == "secret_unresolved"
    elif last == "held":
        assert result.held == result.call_id
        assert not started
    elif last in ("dry_run", "replayed", "approval_requested"):
        assert not started
    else:
        assert last == "refused"
        assert result.status in ("blocked", "failed")
        assert not started
    if started:
        assert "accepted" in kinds


def check_all(w: World) -> None:
    """Look at every trail, and that what was not used was given back."""
    calls: dict[str, list[str]] = {}
    for record in w.rt.evidence.list(workspace=None, limit=1000):
        calls.setdefault(record.call_id, []).append(record.kind)
    pending_ends = set(open_calls(w.rt))
    for call, kinds in calls.items():
        if call.startswith("c"):
            assert kinds.count("accepted") <= 1, kinds
            ends = sum(kind in ENDS for kind in kinds)
            assert ends == kinds.count("accepted") or call in pending_ends, kinds
    assert len(w.entered) == len(set(w.entered))
    assert set(w.seen) <= {"accepted"}
    for call in w.entered:
        assert "accepted" in calls[call]
    for approval in w.rt.approvals.list(state=None):
        for used in approval.used_by:
            # What used an approval up was entered; what never started gave it back.
            assert used in w.entered or used in pending_ends
            assert not returned(w, used) or used in pending_ends
    key = w.rt._guard.store.read(lambda tables: tables.key(json.dumps(["ann", None, TOOL, "k"])))
    if key is not None and key.state == "done":
        assert key.call in w.entered
        assert not returned(w, key.call)


def returned(w: World, call: str) -> bool:
    """Tell whether a call's record says that nothing was done."""
    last = w.rt.evidence.read(call)[-1]
    return last.kind == "blocked"


def test_the_injected_failures_do_fail():
    """Otherwise the property above would hold of nothing."""
    plan = {
        "policies": [],
        "effect": "none",
        "secret": None,
        "preview": "fine",
        "answer": ANSWERS["good"],
        "jump": 0,
    }
    codes = set()
    with world(plan) as w:
        session = w.rt.session(principal="ann")
        for fails_at in range(1, 12):
            assert session.call(TOOL, {"n": 1}).status == "completed"
            Failing.fail_in = fails_at
            result = session.call(TOOL, {"n": 1})
            Failing.fail_in = None
            codes.add(result.failure.code if result.failure else "completed")
    assert codes == {"evidence_unavailable", "evidence_not_closed", "completed"}
