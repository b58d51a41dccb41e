"""A model of agents' sessions, driven by Hypothesis through two runtimes on one root."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import holon_core as holon
from agent_office import DOOR, LOOK, MAX_CALLS, PLAN, REVIEW, SEND, clerk, office
from door import HandClock
from holon_core.agents.session_store import BLOCKED_PER_CALL, session_id

RUNS = st.sampled_from(["r1", "r2"])
STEPS = st.sampled_from(["read", "write"])


class Expected:
    """What the model says of one run."""

    def __init__(self) -> None:
        self.opened = False
        self.state = "open"
        self.step: str | None = None
        self.calls = 0
        self.blocked = 0
        self.outputs: list[str] = []
        self.held: dict[str, int] = {}

    def refused_by(self) -> str | None:
        """Say what a call is refused by that the profile allows."""
        if self.state != "open":
            return "not_allowed"
        spent = self.calls >= MAX_CALLS or self.blocked >= MAX_CALLS * BLOCKED_PER_CALL
        return "budget_exceeded" if spent else None


class Clerks(RuleBasedStateMachine):
    """One agent in two runs, in two processes' worth of runtimes that come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = HandClock()
        self.runs = {"r1": Expected(), "r2": Expected()}
        self.n = 0

    @initialize()
    def start(self) -> None:
        self.open = [self._opened(), self._opened()]

    def _opened(self) -> holon.Runtime:
        return office(f"{self.folder.name}/root", clock=self.clock)

    def _session(self, run: str, step: str, second: bool) -> holon.Session:
        return clerk(self.open[second], run, step)

    def _note(self, run: str, step: str, result: Any) -> None:
        """Note that a call was accepted."""
        expected = self.runs[run]
        expected.opened, expected.step = True, step
        if result.status == "blocked":
            expected.blocked += 1
        else:
            expected.calls += 1

    @rule(run=RUNS, step=STEPS, second=st.booleans())
    def look_up(self, run: str, step: str, second: bool) -> None:
        expected = self.runs[run]
        if expected.state == "open":
            expected.opened, expected.step = True, step
        found = self._session(run, step, second).agent_session
        assert found.state == expected.state

    @rule(run=RUNS, step=STEPS, second=st.booleans(), is_open=st.booleans())
    def call(self, run: str, step: str, second: bool, is_open: bool) -> None:
        refused = self.runs[run].refused_by()
        tool, arguments = (LOOK, {"n": 1}) if is_open else (DOOR, {})
        result = self._session(run, step, second).call(tool, arguments)
        if refused is not None:
            assert result.failure.code == refused
            return
        assert (result.failure is None) is is_open
        self._note(run, step, result)

    @rule(run=RUNS, step=STEPS, second=st.booleans())
    def ask(self, run: str, step: str, second: bool) -> None:
        refused = "not_allowed" if step == "read" else self.runs[run].refused_by()
        self.n += 1
        result = self._session(run, step, second).call(SEND, {"n": self.n})
        if refused is not None:
            assert result.failure.code == refused
            return
        assert result.held is not None
        self.runs[run].held[result.held] = self.n
        self.open[not second].approvals.approve(result.held, by="boss", reason="ok")

    @precondition(lambda self: any(each.held for each in self.runs.values()))
    @rule(data=st.data(), step=STEPS, second=st.booleans())
    def release(self, data: st.DataObject, step: str, second: bool) -> None:
        waiting = [(run, call) for run, each in self.runs.items() for call in each.held]
        run, call = data.draw(st.sampled_from(sorted(waiting)))
        expected = self.runs[run]
        refused, moved_to = expected.refused_by(), expected.step
        result = self._session(run, step, second).release(call)
        if refused is not None:
            assert result.failure.code == refused
            return
        assert result.output == {"result": expected.held.pop(call)}
        expected.calls += 1
        # Where nothing else opened the session, it is opened at the step of the held call.
        expected.step = moved_to if expected.opened else "write"
        expected.opened = True

    @rule(run=RUNS, second=st.booleans())
    def give_an_output(self, run: str, second: bool) -> None:
        expected = self.runs[run]
        result = self._session(run, "read", second).accept_output("reviewer_output", REVIEW)
        assert (result.output_id is not None) is (expected.state == "open")
        if result.output_id is not None:
            expected.opened, expected.step = True, "read"
            expected.outputs.append(result.output_id)

    @rule(run=RUNS, second=st.booleans(), good=st.booleans())
    def finish(self, run: str, second: bool, good: bool) -> None:
        expected = self.runs[run]
        if expected.state == "open":
            expected.opened, expected.step = True, "write"
        result = self._session(run, "write", second).finish(PLAN if good else {"goal": 1})
        assert (result.output_id is not None) is (good and expected.state == "open")
        if result.output_id is not None:
            expected.state = "finished"
            expected.outputs.append(result.output_id)

    @rule(run=RUNS, second=st.booleans(), forced=st.booleans())
    def close(self, run: str, second: bool, forced: bool) -> None:
        expected = self.runs[run]
        session = self._session(run, "write", second)
        sessions = self.open[second].agents.sessions
        if not forced or expected.state != "open":
            with pytest.raises(holon.Refused, match=r"contract|finished|closed"):
                sessions.close(session.caller, forced=forced)
            return
        sessions.close(session.caller, forced=forced)
        expected.opened, expected.step, expected.state = True, "write", "closed"

    @rule(second=st.booleans())
    def restart(self, second: bool) -> None:
        self.open[second].close()
        self.open[second] = self._opened()

    @invariant()
    def the_store_says_what_happened(self) -> None:
        for run, expected in self.runs.items():
            for runtime in getattr(self, "open", ()):
                caller = clerk(runtime, run).caller
                if not expected.opened:
                    assert session_id(caller) not in [s.id for s in runtime.agents.sessions.list()]
                    continue
                found = runtime.agents.sessions.read(session_id(caller))
                assert (found.state, found.plan_step) == (expected.state, expected.step)
                assert (found.calls, found.blocked_calls) == (expected.calls, expected.blocked)
                assert (found.outputs, found.reserved_bytes) == (tuple(expected.outputs), 0)
                waiting = {each.call_id for each in runtime.agents.sessions.waiting(found)}
                assert waiting == set(expected.held)

    def teardown(self) -> None:
        for runtime in getattr(self, "open", ()):
            assert runtime.evidence.verify(None).consistent
            runtime.close()
        self.folder.cleanup()


Clerks.TestCase.settings = settings(
    max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestClerks = Clerks.TestCase
