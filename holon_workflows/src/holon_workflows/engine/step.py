"""A step as its kind sees it: what it is given, and the one way to call tools."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from holon_core.errors import StructuredFailureKind
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.words import READ_ONLY, Status
from holon_workflows.engine.held import look_at_held
from holon_workflows.records import (
    Outcome,
    StepState,
    blocked,
    completed,
    failed,
    interrupted,
    waiting,
)

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.session import Session
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.driver import Driver
    from holon_workflows.engine.place import Place
    from holon_workflows.engine.state import RunRecord, StepRecord

# Where the failure may have happened after an effect, and nobody can tell.
_UNSURE = frozenset({"evidence_not_closed"})
# What a retry cannot change.
_LASTING = frozenset(
    {
        StructuredFailureKind.INVALID_ARGUMENTS,
        StructuredFailureKind.SCHEMA_MISMATCH,
        StructuredFailureKind.CANCELLED,
        StructuredFailureKind.APPROVAL_DENIED,
        StructuredFailureKind.BUDGET_EXCEEDED,
    }
)


class Step:
    """One step while it is run or looked at.

    Args:
        driver: What drives the run.
        place: The run.
        record: The step.
        inputs: What its mappings gave.
        recovering: A process died while it ran the step.
    """

    def __init__(
        self,
        driver: Driver,
        place: Place,
        record: StepRecord,
        *,
        inputs: dict[str, Any],
        recovering: bool,
    ) -> None:
        self._driver = driver
        self._place = place
        self._record = record
        self.inputs = inputs
        self.recovering = recovering
        # Whether running the step once more could do no harm; a call says so of its tool.
        self.repeatable = False
        self._attempt: Attempt | None = None
        self._cancelled = False
        self._timed_out = False

    @property
    def node(self) -> Node:
        """Its node."""
        return self._place.graph.nodes[self._record.node]

    @property
    def run(self) -> RunRecord:
        """Its run."""
        return self._place.run

    @property
    def id(self) -> str:
        """Of this instance of the step: run and node."""
        return self._record.id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._record.attempt

    @property
    def wait(self) -> Mapping[str, Any] | None:
        """What it was waiting for, where it is looked at again."""
        return self._record.wait

    @property
    def started_at(self) -> float:
        """When it began, in Unix seconds."""
        return self._record.started_at or self.now

    @property
    def now(self) -> float:
        """The time, in Unix seconds."""
        return self._driver.engine.clock.now()

    @property
    def scope(self) -> dict[str, Any]:
        """What expressions see: inputs, variables, steps and run."""
        return self._place.scope()

    @property
    def driver(self) -> Driver:
        """What drives its run; for kinds that start runs of their own."""
        return self._driver

    @property
    def place(self) -> Place:
        """Its run as the driver holds it."""
        return self._place

    @property
    def key(self) -> str:
        """The idempotency key of its call: the same after a crash, another for each attempt."""
        record = self._record
        named = f"{record.run}\0{record.node}\0{record.attempt}\0{record.holds}\0{record.repairs}"
        return "workflow:" + sha256(named.encode()).hexdigest()[:40]

    def needs_new_key(self) -> None:
        """Give its call another key: the one before is spent, by what never ran to its end."""
        self._record.holds += 1

    def session(self) -> Session:
        """Return the door in the name of who started the run."""
        caller = self.run.caller_of(self._record.node)
        return self._driver.engine.bench.session(caller, begun=self._begun)

    def _begun(self, attempt: Attempt) -> None:
        self._attempt = attempt
        if self._cancelled:
            attempt.cancel.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants the step any more."""
        return self._cancelled

    @property
    def may_be_left(self) -> bool:
        """Whether it may be ended here and run again elsewhere: no call with side effects runs."""
        return self.repeatable or self._attempt is None

    def cancel(self, *, timed_out: bool = False) -> None:
        """End what runs for the step."""
        self._timed_out = self._timed_out or timed_out
        self._cancelled = True
        if self._attempt is not None:
            self._attempt.cancel.cancel()

    def bounded(self, work: Callable[[], Outcome]) -> Outcome:
        """Run work within the node's time limit."""
        limit = self.node.timeout_s
        if limit is None:
            return work()
        timer = threading.Timer(limit, self.cancel, kwargs={"timed_out": True})
        timer.daemon = True
        timer.start()
        try:
            found = work()
        finally:
            timer.cancel()
        if self._timed_out and found.state is not StepState.COMPLETED:
            return failed(failure("timeout", f"longer than the node's {limit:g} s"))
        return found

    def call(
        self, tool: str, arguments: Mapping[str, Any], *, definition: str | None = None
    ) -> Outcome:
        """Call a tool under guard, exactly once whatever dies meanwhile.

        Args:
            tool: Its id.
            arguments: Its arguments.
            definition: Digest of the definition that is meant, where it is pinned.

        Returns:
            Completed with its output; failed; blocked, where something outside has to change;
            waiting for a person's approval; interrupted, where a process died during a call with
            side effects that nobody declared idempotent.
        """
        bench = self._driver.engine.bench
        known = bench.tool(tool)
        if known is None:
            caller = self.run.caller_of(self._record.node)
            return blocked(bench.unknown_tool(tool, caller=caller))
        self.repeatable = known.effects <= READ_ONLY or known.idempotent
        wait = self.wait
        if wait is not None and wait.get("for") == "approval":
            return look_at_held(self, wait, lambda: self._ask(known, arguments, definition))
        # The key that tells what became of the call is not kept for ever.
        forgotten = self.now - self.started_at >= bench.key_ttl_s
        if self.recovering and not self.repeatable and forgotten:
            return self.indeterminate(None)
        return self._ask(known, arguments, definition)

    def call_again(self, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Make the call that a repair proposed: a call of its own, with a key of its own."""
        self._record.repair_call = {"tool": tool, "arguments": dict(arguments)}
        self._record.wait = None
        self._driver.keep(self._record)
        # Before it runs, so that a process that comes after knows which call it was.
        self._driver.flush()
        self.recovering = False
        return self.call(tool, arguments, definition=self.run.pins.get(tool))

    @property
    def repair_call(self) -> Mapping[str, Any] | None:
        """The call that a repair proposed, and which the step waits for."""
        return self._record.repair_call

    def _ask(
        self, tool: RuntimeToolDescriptor, arguments: Mapping[str, Any], definition: str | None
    ) -> Outcome:
        result = self.session().call(tool.id, dict(arguments), key=self.key, definition=definition)
        code = None if result.failure is None else result.failure.code
        if code == "conflict" and self.recovering:
            # A runtime that died has left its call open; whoever opens next settles it, or we.
            self._driver.engine.bench.settle_interrupted()
            result = self.session().call(
                tool.id, dict(arguments), key=self.key, definition=definition
            )
            code = None if result.failure is None else result.failure.code
        if code == "cancelled" and self.recovering:
            # A driver that left ended it; what came of it is known where it never began.
            assert result.failure is not None, "what was cancelled says so"
            began = result.failure.details.get("started") is not False
            if began and not self.repeatable:
                return self.indeterminate(result.replayed_from)
            self.needs_new_key()
            self.recovering = False
            return self._ask(tool, arguments, definition)
        if code == "interrupted" and self.repeatable:
            caller = self.run.caller_of(self._record.node)
            self._driver.engine.bench.free_interrupted(caller, tool.id, self.key)
            result = self.session().call(
                tool.id, dict(arguments), key=self.key, definition=definition
            )
        return self.outcome_of(result)

    def outcome_of(self, result: ToolResult) -> Outcome:
        """Say what the result of its call means for the step."""
        note = f"call {result.call_id}"
        if result.status is Status.COMPLETED:
            return completed(result.output, note=note)
        if result.held is not None:
            text = f"waits for an approval of {result.held}"
            return waiting({"for": "approval", "call": result.held}, note=text)
        problem = result.failure
        assert problem is not None, "what did not complete says why"
        if problem.code == "interrupted":
            return self.indeterminate(problem.details.get("call"))
        if problem.code in _UNSURE and not self.repeatable:
            return self.indeterminate(result.call_id)
        if result.status is Status.FAILED or problem.code == "approval_denied":
            return failed(problem)
        return blocked(problem)

    def indeterminate(self, call: str | None) -> Outcome:
        """Say that nobody knows whether its call took effect."""
        text = "a process died while this step ran; whether it took effect is unknown"
        details = {"run": self.run.id, "step": self._record.node, "call": call}
        return interrupted(failure("workflow_step_indeterminate", text, **details))


def may_retry(step: Step, problem: StructuredFailure) -> bool:
    """Tell whether another attempt may be made, and could help."""
    return step.repeatable and problem.kind not in _LASTING
