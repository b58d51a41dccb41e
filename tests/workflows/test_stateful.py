"""Runs under any sequence of what people and processes may do, held against a model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import holon_core as holon
import holon_workflows.plugin as lane
from flows import call, definition, line, node

ENDS = {"completed", "failed", "cancelled"}
# From which state a step may come to which, as its events tell.
MOVES = {
    None: {"running", "skipped", "cancelled"},
    "running": {"completed", "failed", "waiting", "blocked", "interrupted", "cancelled"},
    "waiting": {"completed", "failed", "waiting", "running", "cancelled", "skipped", "blocked"},
    "blocked": {"running", "cancelled", "skipped"},
    "interrupted": {"ready", "completed", "failed", "cancelled", "skipped"},
    "ready": {"running", "cancelled", "skipped"},
}


class Life(RuleBasedStateMachine):
    """One run with a retry, a gate, a timer, a held call and a join."""

    @initialize(failures=st.integers(0, 3))
    def begin(self, failures: int) -> None:
        """Start a run whose first step fails as often as is said."""
        self.folder = tempfile.TemporaryDirectory()
        self.at = 1_800_000_000.0
        self.failures, self.sent, self.answers = failures, 0, 0
        self.open()
        steps = (
            call("try", "shaky", retry={"max_attempts": 3, "delay_s": 10}),
            node("gate", "human-gate", {"question": "Go?", "choices": ["yes", "no"]}),
            node("timer", "wait-timer", {"after_s": 30}),
            call("send", "send"),
            call("end", "shaky_no_more"),
        )
        edges = [*line("try", "gate", "send", "end"), *line("try", "timer", "end")]
        self.flows.create(definition(*steps, edges=edges), by="olga")
        session = self.rt.session(principal="ann")
        self.run = self.flows.start("demo", session=session).id

    def now(self) -> float:
        """Return the time of the test."""
        return self.at

    monotonic = now

    def open(self) -> None:
        """Open the runtime with the tools."""

        @holon.tool(effects={"none"})
        def shaky(n: int) -> int:
            """Fail as often as is said."""
            if self.failures:
                self.failures -= 1
                raise RuntimeError("not now")
            return n

        @holon.tool(effects={"network_write"})
        def send(n: int) -> int:
            """Send."""
            self.sent += 1
            return n

        @holon.tool(effects={"none"})
        def shaky_no_more(n: int) -> int:
            """Do nothing."""
            return n

        self.rt = holon.Runtime.open(
            Path(self.folder.name) / "root",
            plugins=[lane],
            discover=False,
            tools=[shaky, send, shaky_no_more],
            clock=self,
        )
        self.flows: Any = self.rt.service("workflows")

    @property
    def view(self) -> Any:
        """The run as it is shown."""
        return self.flows.read(self.run)

    def waits(self, what: str) -> list[Any]:
        """Return what the run waits for, of one sort."""
        return [each for each in self.view.waits_for if each["for"] == what]

    @rule()
    def go_on(self) -> None:
        """Run what is ready."""
        self.flows.ready_run(self.run)

    @rule(seconds=st.sampled_from([-5, 1, 10, 30]))
    def time_passes(self, seconds: int) -> None:
        """Move the clock, also back."""
        self.at += seconds

    @precondition(lambda self: self.waits("person"))
    @rule(choice=st.sampled_from(["yes", "no"]))
    def answer(self, choice: str) -> None:
        """Answer the gate; a second answer is refused."""
        gate = self.waits("person")[0]["gate"]
        if not self.answers:
            self.flows.answer(gate, by="boss", choice=choice)
            self.answers += 1
            return
        with pytest.raises(holon.Refused) as refused:
            self.flows.answer(gate, by="boss", choice=choice)
        assert refused.value.failure.code == "workflow_state"

    @precondition(lambda self: self.waits("approval"))
    @rule(yes=st.booleans())
    def decide(self, yes: bool) -> None:
        """Approve or deny the held call; a second decision is refused."""
        held = self.waits("approval")[0]["call"]
        decision = self.rt.approvals.approve if yes else self.rt.approvals.deny
        if self.rt.approvals.read(held).state == "pending":
            decision(held, by="boss", reason="said")
            return
        with pytest.raises(holon.Refused) as refused:
            decision(held, by="boss", reason="said")
        assert refused.value.failure.code == "already_decided"

    @rule()
    def restart(self) -> None:
        """Close the runtime and open another on the same store."""
        self.rt.close()
        self.open()

    @rule()
    def cancel(self) -> None:
        """Cancel, which ends a run once and for all."""
        before = self.view.state
        after = self.flows.cancel(self.run, by="ann", reason="enough").state
        assert after == (before if before in ENDS else "cancelled")

    @invariant()
    def nothing_is_done_twice(self) -> None:
        """A side effect is there once at most, and only where its step is completed."""
        assert self.sent <= 1
        if self.view.step("send").state == "completed":
            assert self.sent == 1

    @invariant()
    def steps_move_as_they_may(self) -> None:
        """Events tell moves that are allowed; what has ended never moves again."""
        states: dict[str, str] = {}
        for event in self.flows.events(self.run):
            step = event["step"]
            if step is None or not event["kind"].startswith("step_"):
                continue
            before = states.get(step)
            assert before in MOVES, f"{step} was {before}, and moved to {event['state']}"
            assert event["state"] in MOVES[before], f"{step}: {before} -> {event['state']}"
            states[step] = event["state"]
        for step, state in states.items():
            assert self.view.step(step).state == state

    @invariant()
    def a_run_that_ended_has_ended_steps(self) -> None:
        """An ended run holds no step that could go on."""
        view = self.view
        if view.state in ENDS:
            left = {each.state for each in view.steps}
            assert left <= {"completed", "failed", "skipped", "cancelled"}

    def teardown(self) -> None:
        """Close, and hold the chain against itself."""
        assert self.rt.evidence.verify(None).consistent
        self.rt.close()
        self.folder.cleanup()


Life.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLife = pytest.mark.filterwarnings("default::ResourceWarning")(Life.TestCase)
