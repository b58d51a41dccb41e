"""What drives a run: takes its lease, runs what is ready, writes what came of it."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from holon_core.errors import HolonError
from holon_core.records.failure import failure
from holon_workflows.engine.applying import Applying
from holon_workflows.engine.ledger import LeaseLost, run_event, step_event
from holon_workflows.engine.place import Place
from holon_workflows.engine.repairing import repaired
from holon_workflows.engine.state import RunRecord, StepRecord, failure_json
from holon_workflows.engine.step import Step
from holon_workflows.expressions import ExpressionError, evaluate
from holon_workflows.records import (
    RUN_ENDS,
    STEP_ENDS,
    Outcome,
    RunState,
    StepState,
    blocked,
    failed,
)

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_workflows.engine.engine import Engine
    from holon_workflows.engine.ledger import Lease

MAX_PARALLEL = 8
# How often a driver whose steps run looks whether somebody asked to cancel, in seconds.
LOOK_S = 0.2


class Driver:
    """Drives one run, with all runs within it, while it holds the lease.

    Args:
        engine: What it works with.
        lease: The right to drive.
    """

    def __init__(self, engine: Engine, lease: Lease) -> None:
        self.engine = engine
        self._lease = lease
        self._lock = threading.RLock()
        self._records: dict[str, RunRecord | StepRecord] = {}
        self._events: list[tuple[RunRecord, dict[str, Any]]] = []
        self._steps: set[Step] = set()
        self._cancelled: dict[str, Any] | None = None
        # Whether blocked steps are tried anew, of this run and those within it.
        self._again = False
        self.applying = Applying(self)

    @property
    def clock(self) -> Clock:
        """For times."""
        return self.engine.clock

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked to cancel the run."""
        return self._cancelled is not None

    def cancel(self, asked: dict[str, Any]) -> None:
        """End what runs, and then the run."""
        with self._lock:
            self._cancelled = asked
            steps = list(self._steps)
        for step in steps:
            step.cancel()

    def drive(self, run: RunRecord, *, again: bool = False) -> None:
        """Run all that is ready, until what is left waits, or the run has ended.

        Args:
            run: The run, not within another.
            again: Also try steps that were blocked.
        """
        self._again = again
        asked = self.engine.ledger.cancel_asked(run.id)
        if asked is not None:
            self.cancel(asked)
        self.advance(self.place(run))
        self.flush()

    def place(self, run: RunRecord) -> Place:
        """Load a run with its steps."""
        definition = self.engine.definitions.version(run.definition, run.version)
        graph = self.engine.definitions.graph(definition, tuple(run.path))
        return Place(run, definition, graph, self.engine.ledger.steps(run.id))

    def advance(self, place: Place) -> None:
        """Run what is ready in one run, and settle its state."""
        run = place.run
        if run.state in RUN_ENDS:
            return
        if run.state is not RunState.RUNNING:
            with self._lock:
                run.state = RunState.RUNNING
                self._note_run(run)
        looked: set[str] = set()
        running: dict[Future[None], str] = {}
        pool: ThreadPoolExecutor | None = None
        try:
            while not self.cancelled:
                with self._lock:
                    ready, skipped = place.settle()
                    for record in skipped:
                        self.note(run, record)
                ready = [
                    node_id
                    for node_id in ready
                    if node_id not in looked
                    and node_id not in running.values()
                    and (self._again or self._worth_trying(place, node_id))
                ]
                looked |= {each for each in ready if place.state(each) in _LOOKED_AT}
                if len(ready) == 1 and not running:
                    self._run(place, ready[0])
                    continue
                if not ready and not running:
                    break
                pool = pool or ThreadPoolExecutor(MAX_PARALLEL, thread_name_prefix="holon-workflow")
                for node_id in ready:
                    running[pool.submit(self._run, place, node_id)] = node_id
                done, _ = wait(running, timeout=LOOK_S, return_when=FIRST_COMPLETED)
                for future in done:
                    del running[future]
                    future.result()
        finally:
            if pool is not None:
                pool.shutdown(wait=True)
        for future in running:
            future.result()
        with self._lock:
            self._settle(place)

    def _worth_trying(self, place: Place, node_id: str) -> bool:
        """Tell whether a step that is blocked may have become ready by itself: by a bridge."""
        if place.state(node_id) is not StepState.BLOCKED:
            return True
        found = place.steps[node_id].failure
        return found is not None and found["code"] == "bridge_not_ready"

    def _run(self, place: Place, node_id: str) -> None:
        record, node = place.record(node_id), place.graph.nodes[node_id]
        try:
            if self.applying.still_waits(record, node):
                return
            recovering = record.state is StepState.RUNNING
            inputs, problem = self._inputs(place, node_id)
            step = Step(self, place, record, inputs=inputs, recovering=recovering)
            with self._lock:
                if self.cancelled:
                    return
                self._steps.add(step)
            try:
                self._begin(place, record)
                outcome = problem or step.bounded(lambda: self._outcome(step))
                while self.applying.to_repair(step, record, outcome):
                    assert outcome.failure is not None, "what failed says why"
                    outcome = repaired(step, outcome.failure)
            finally:
                with self._lock:
                    self._steps.discard(step)
            with self._lock:
                self.applying.apply(place, step, record, outcome)
        except LeaseLost as lost:
            self.cancel({"lost": str(lost)})
            raise

    def _begin(self, place: Place, record: StepRecord) -> None:
        if record.state in (StepState.PENDING, StepState.READY, StepState.BLOCKED):
            with self._lock:
                record.state, record.note = StepState.RUNNING, ""
                record.failure, record.wait, record.due_at = None, None, None
                record.started_at = record.started_at or self.clock.now()
                self.note(place.run, record)
                # Before it runs: a process that finds it running knows that it may have run.
                self.flush()

    def _outcome(self, step: Step) -> Outcome:
        kind = self.engine.kinds.get(step.node.kind)
        if kind is None:
            text = f"no installed distribution brings nodes of the kind {step.node.kind}"
            return blocked(failure("dependency_missing", text))
        reason = self.engine.not_ready(step)
        if reason is not None:
            return blocked(reason)
        if step.recovering and not kind.repeatable:
            return step._indeterminate(None)
        try:
            found = kind.run(step)
        except (LeaseLost, KeyboardInterrupt):
            raise
        except ExpressionError as error:
            return failed(failure("workflow_expression", str(error)))
        except HolonError as error:
            given = getattr(error, "failure", None)
            code = getattr(error, "code", "internal")
            return failed(given or failure(code, str(error)[:500]))
        except Exception as error:
            self.engine.logger.exception("a node of kind %s raised", step.node.kind)
            text = f"the kind {step.node.kind} raised {type(error).__name__}"
            return failed(failure("lane_protocol", text))
        if type(found) is not Outcome:
            text = f"the kind {step.node.kind} gave no outcome"
            return failed(failure("lane_protocol", text))
        return found

    def _inputs(self, place: Place, node_id: str) -> tuple[dict[str, Any], Outcome | None]:
        made: dict[str, Any] = {}
        scope = place.scope()
        for name, each in place.graph.nodes[node_id].inputs.items():
            if each.expression is None:
                made[name] = each.value
                continue
            try:
                found = evaluate(each.expression, scope)
            except ExpressionError as error:
                text = f"the input {name}: {error}"
                return {}, failed(failure("workflow_expression", text, input=name))
            if found is not None or not each.optional:
                made[name] = found
        return made, None

    def note(self, run: RunRecord, record: StepRecord, *, by: str | None = None) -> None:
        """Keep a step to be written, with the event of its state."""
        with self._lock:
            self._records[record.id] = record
            self._events.append((run, step_event(run, record, by=by)))

    def keep(self, record: RunRecord | StepRecord) -> None:
        """Keep a record to be written, without an event."""
        with self._lock:
            self._records[record.id] = record

    def _note_run(self, run: RunRecord, *, note: str = "", by: str | None = None) -> None:
        self._records[run.id] = run
        self._events.append((run, run_event(run, note=note, by=by)))

    def flush(self) -> None:
        """Write what is kept."""
        with self._lock:
            records, events = list(self._records.values()), self._events
            if not records and not events:
                return
            self._records, self._events = {}, []
            self.engine.ledger.write(self._lease, records, events)

    def _settle(self, place: Place) -> None:
        run, before = place.run, RunState.RUNNING
        if self.cancelled:
            assert self._cancelled is not None
            if "lost" not in self._cancelled:
                self._cancel(place, self._cancelled)
            return
        run.state = place.outcome()
        stopped = place.stopped_by
        if run.state is RunState.FAILED and stopped is not None:
            run.failure = {**(stopped.failure or {}), "step": stopped.node}
            self._end_steps(place, StepState.SKIPPED, "a step before it failed")
        if run.state is RunState.COMPLETED:
            self._outputs(place)
        if run.state in RUN_ENDS:
            run.ended_at, run.due_at = self.clock.now(), None
        else:
            due = [each.due_at for each in place.steps.values() if _waits(each) and each.due_at]
            run.due_at = min(due, default=None)
        if run.state is not before:
            self._note_run(run)
        self.flush()

    def _outputs(self, place: Place) -> None:
        run = place.run
        try:
            scope = place.scope()
            run.outputs = {
                name: evaluate(expression, scope)
                for name, expression in place.graph.outputs.items()
            }
        except ExpressionError as error:
            run.state = RunState.FAILED
            run.failure = failure_json(failure("workflow_expression", f"the outputs: {error}"))

    def _end_steps(self, place: Place, state: StepState, note: str) -> None:
        for node_id in place.graph.nodes:
            record = place.record(node_id)
            if record.state in STEP_ENDS:
                continue
            self.engine.close_step(self, place, record)
            record.state, record.note, record.ended_at = state, note, self.clock.now()
            self.note(place.run, record)

    def _cancel(self, place: Place, asked: dict[str, Any]) -> None:
        run = place.run
        self._end_steps(place, StepState.CANCELLED, "the run was cancelled")
        run.state, run.ended_at, run.due_at = RunState.CANCELLED, self.clock.now(), None
        run.cancelled_by = asked["by"]
        run.failure = failure_json(failure("cancelled", f"by {asked['by']}: {asked['reason']}"))
        self._note_run(run, note=asked["reason"], by=asked["by"])
        self.flush()

    def cancel_child(self, run: RunRecord) -> None:
        """End a run within another whose step has ended."""
        if run.state not in RUN_ENDS:
            asked = self._cancelled or {"by": "holon-workflows", "reason": "its step has ended"}
            self._cancel(self.place(run), asked)


_LOOKED_AT = frozenset({StepState.WAITING, StepState.BLOCKED})


def _waits(record: StepRecord) -> bool:
    return record.state is StepState.WAITING
