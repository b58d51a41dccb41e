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
from holon_workflows.engine.settling import Settling
from holon_workflows.engine.state import RunRecord, StepRecord
from holon_workflows.engine.step import Step
from holon_workflows.expressions import ExpressionError, evaluate
from holon_workflows.records import (
    RUN_ENDS,
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
        # Who asked to cancel the run, and why.
        self.asked_to_cancel: dict[str, Any] | None = None
        self._leaving = False
        # Whether blocked steps are tried anew, of this run and those within it.
        self._again = False
        self._runs: dict[str, RunRecord] = {}
        self.applying = Applying(self)
        self.settling = Settling(self)

    @property
    def clock(self) -> Clock:
        """For times."""
        return self.engine.clock

    @property
    def stopping(self) -> bool:
        """Whether no further step begins: the run is cancelled, or left to who drives it next."""
        return self.asked_to_cancel is not None or self.left

    @property
    def left(self) -> bool:
        """Whether the run is left to who drives it next, also as its runtime closes."""
        return self._leaving or self.engine.bench.closing

    def cancel(self, asked: dict[str, Any]) -> None:
        """End what runs, and then the run."""
        with self._lock:
            self.asked_to_cancel = asked
            steps = list(self._steps)
        for step in steps:
            step.cancel()

    def leave(self, *, at_once: bool = False) -> None:
        """Begin no further step, and end those that may run again; ``at_once``: all of them.

        What was ended stays as it was: running. Whoever drives the run next sees to that.
        """
        with self._lock:
            self._leaving = True
            steps = [step for step in self._steps if at_once or step.may_be_left]
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
        self._runs[run.id] = run
        definition = self.engine.definitions.version(run.definition, run.version)
        graph = self.engine.definitions.graph(definition, tuple(run.path))
        return Place(run, definition, graph, self.engine.ledger.steps(run.id))

    def advance(self, place: Place) -> None:
        """Run what is ready in one run, and settle its state."""
        run = place.run
        if run.state in RUN_ENDS:
            return
        looked: set[str] = set()
        running: dict[Future[None], str] = {}
        pool: ThreadPoolExecutor | None = None
        try:
            while not self.stopping:
                with self._lock:
                    ready, skipped = place.settle()
                    for record in skipped:
                        self.goes_on(run)
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
            self.settling.settle(place)

    def _worth_trying(self, place: Place, node_id: str) -> bool:
        """Tell whether a step that is blocked may have become ready by itself: by a bridge."""
        if place.state(node_id) is not StepState.BLOCKED:
            return True
        return self.engine.is_freed(place.steps[node_id], place.graph.nodes[node_id])

    def _run(self, place: Place, node_id: str) -> None:
        record, node = place.record(node_id), place.graph.nodes[node_id]
        try:
            if self.applying.still_waits(record, node):
                return
            recovering = record.state is StepState.RUNNING
            inputs, problem = self._inputs(place, node_id)
            step = Step(self, place, record, inputs=inputs, recovering=recovering)
            with self._lock:
                if self.stopping:
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
            self.leave(at_once=True)
            raise LeaseLost(str(lost)) from None

    def _begin(self, place: Place, record: StepRecord) -> None:
        if record.state in (StepState.PENDING, StepState.READY, StepState.BLOCKED):
            with self._lock:
                self.goes_on(place.run)
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
        reason = self.engine.not_ready(step.node)
        if reason is not None:
            return blocked(reason)
        if step.recovering and not kind.repeatable:
            return step.indeterminate(None)
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

    def goes_on(self, run: RunRecord) -> None:
        """Say that a run goes on, with those that it is within, before the first change of it.

        A look at steps that all wait changes nothing, and nothing is written of it.
        """
        with self._lock:
            if run.parent is not None:
                self.goes_on(self._runs[run.parent[0]])
            if run.state is not RunState.RUNNING:
                run.state = RunState.RUNNING
                self.note_run(run)

    def keep(self, record: RunRecord | StepRecord) -> None:
        """Keep a record to be written, without an event."""
        with self._lock:
            self._records[record.id] = record

    def note_run(self, run: RunRecord, *, note: str = "", by: str | None = None) -> None:
        """Keep a run to be written, with the event of its state."""
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


_LOOKED_AT = frozenset({StepState.WAITING, StepState.BLOCKED})
