"""A model of approvals and held calls, driven by Hypothesis through the public door."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import holon_core as holon
from door import HandClock, open_calls
from holon_core.records.words import ApprovalState, HeldState

TOOL = "host.app/write"
PAYLOADS = st.integers(0, 3)
KEYS = st.sampled_from([None, None, "k1", "k2"])


class Door(RuleBasedStateMachine):
    """Callers, approvers and a second process on one root; the tool notes what it ran."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = HandClock()
        self.ran: list[tuple[str, int, str | None]] = []
        # What the model knows: decisions by payload, and how many starts they can still cover.
        self.held: dict[str, int] = {}
        self.permitted = 0
        self.denied: dict[int, int] = {}
        self.done_by_key: dict[tuple[str, int], int] = {}

    @initialize()
    def open(self) -> None:
        self.rt = self._opened()
        self.other = self._opened()

    def _opened(self) -> holon.Runtime:
        ran = self.ran

        @holon.tool(id="write", effects={"machine_write"})
        def write(call: holon.SealedCall, n: int) -> int:
            ran.append((call.call_id, n, call.idempotency_key))
            return n

        return holon.Runtime.open(
            self.folder.name + "/root", discover=False, tools=[write], clock=self.clock
        )

    def _watched(self, step: Any, *, n: int | None = None) -> holon.ToolResult:
        before = len(self.ran)
        result = step()
        started = self.ran[before:]
        assert len(started) <= 1
        if started:
            assert result.status == "completed"
            self.permitted -= 1
            assert self.permitted >= 0, "more starts than permissions"
            assert started[0][1] not in self._denied_now()
            assert n is None or started[0][1] == n
        return result  # type: ignore[no-any-return]

    def _denied_now(self) -> set[int]:
        return {n for n, until in self.denied.items() if self.clock.at < until}

    @rule(n=PAYLOADS, key=KEYS, second=st.booleans())
    def call(self, n: int, key: str | None, second: bool) -> None:
        session = (self.other if second else self.rt).session(principal="ann")
        result = self._watched(lambda: session.call(TOOL, {"n": n}, key=key), n=n)
        if result.held is not None:
            assert result.held not in self.held or key is not None
            self.held[result.held] = n

    @rule(n=PAYLOADS)
    def request(self, n: int) -> None:
        before = len(self.ran)
        self.rt.session(principal="ann").request_approval(TOOL, {"n": n})
        assert len(self.ran) == before

    @precondition(lambda self: self.held)
    @rule(data=st.data(), second=st.booleans())
    def release(self, data: st.DataObject, second: bool) -> None:
        call = data.draw(st.sampled_from(sorted(self.held)))
        session = (self.rt if second else self.other).session(principal="ann")
        result = self._watched(lambda: session.release(call), n=self.held[call])
        if result.status == "completed":
            del self.held[call]

    @rule(data=st.data(), yes=st.booleans())
    def decide(self, data: st.DataObject, yes: bool) -> None:
        pending = self.rt.approvals.list()
        if not pending:
            return
        chosen = data.draw(st.sampled_from(pending))
        verb = self.rt.approvals.approve if yes else self.other.approvals.deny
        try:
            decided = verb(chosen.id, by="boss", reason="model")
        except holon.Refused as error:
            self._refused_for(error, "approval_expired")
            return
        n = self._payload_of(chosen.fingerprint)
        if yes:
            self.permitted += 1
            self.denied.pop(n, None)
        else:
            self.denied[n] = decided.expires_at_unix_seconds
            waiting = [c for c, m in self.held.items() if m == n and self._state(c) == "denied"]
            for call in waiting:
                del self.held[call]

    @staticmethod
    def _refused_for(error: holon.Refused, code: str) -> None:
        assert error.failure.code == code

    def _payload_of(self, fingerprint: str) -> int:
        from holon_core.guard.fingerprint import fingerprint as made
        from holon_core.wire.values import normalise

        tool = self.rt.tools.read(TOOL)
        caller = self.rt.session(principal="ann").caller
        return next(
            n
            for n in range(4)
            if made(tool, tool.posture, caller, normalise({"n": n}).canonical) == fingerprint
        )

    def _state(self, call: str) -> str:
        return str(self.rt.approvals.held_call(call).state)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), n=PAYLOADS)
    def edit(self, data: st.DataObject, n: int) -> None:
        call = data.draw(st.sampled_from(sorted(self.held)))
        before = len(self.ran)
        try:
            result = self.rt.approvals.edit(call, {"n": n}, by="boss", reason="model")
        except holon.Refused as error:
            self._refused_for(error, "already_decided")
            return
        assert len(self.ran) == before, "an edit ran without an approval of the edit"
        if result.held is not None:
            del self.held[call]
            self.held[result.held] = n

    @rule(n=PAYLOADS, uses=st.integers(1, 2))
    def grant(self, n: int, uses: int) -> None:
        self.other.approvals.grant(
            TOOL,
            {"n": {"equals": n}},
            principal="ann",
            uses=uses,
            ttl_s=600,
            by="boss",
            reason="model",
        )
        self.permitted += uses

    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        live = self.rt.approvals.list(state=ApprovalState.APPROVED)
        if live:
            chosen = data.draw(st.sampled_from(live))
            self.permitted -= chosen.uses_left
            self.rt.approvals.revoke(chosen.id, by="boss", reason="model")

    @rule(seconds=st.sampled_from([1, 700, 90_000]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def reopen(self) -> None:
        self.other.close()
        self.other = self._opened()

    @invariant()
    def keys_ran_once(self) -> None:
        keyed = [(key, n) for _, n, key in self.ran if key is not None]
        assert len(keyed) == len(set(keyed)) or self.clock.passed > 80_000

    @invariant()
    def each_call_ran_once(self) -> None:
        calls = [call for call, _, _ in self.ran]
        assert len(calls) == len(set(calls))

    @invariant()
    def nothing_is_open(self) -> None:
        if hasattr(self, "rt"):
            assert open_calls(self.rt) == []

    @invariant()
    def uses_add_up(self) -> None:
        if hasattr(self, "rt"):
            used = sum(len(a.used_by) for a in self.rt.approvals.list(state=None, limit=1000))
            assert used == len(self.ran)

    @invariant()
    def what_is_held_is_what_the_model_holds(self) -> None:
        if hasattr(self, "rt"):
            stored = {h.call_id for h in self.rt.approvals.held(state=HeldState.HELD, limit=1000)}
            assert set(self.held) == stored

    def teardown(self) -> None:
        if hasattr(self, "rt"):
            assert self.rt.evidence.verify(None).consistent
            self.rt.close()
            self.other.close()
        self.folder.cleanup()


Door.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestDoor = Door.TestCase
