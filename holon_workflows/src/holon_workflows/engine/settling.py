"""How a run stands when nothing of it can go on now: ended, waiting, or left as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure
from holon_workflows.engine.state import RunRecord, StepRecord, failure_json
from holon_workflows.expressions import ExpressionError, evaluate
from holon_workflows.records import RUN_ENDS, STEP_ENDS, RunState, StepState

if TYPE_CHECKING:
    from holon_workflows.engine.driver import Driver
    from holon_workflows.engine.place import Place


class Settling:
    """Settles runs for one driver, which holds its lock meanwhile."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def settle(self, place: Place) -> None:
        """Say how a run stands, and write it; one that is left stays as it is."""
        driver = self._driver
        if driver.asked_to_cancel is not None:
            self.cancel(place, driver.asked_to_cancel)
        elif driver.left:
            driver.flush()
        else:
            self._stands(place)

    def _stands(self, place: Place) -> None:
        run, now = place.run, self._driver.clock.now()
        before, due_before = run.state, run.due_at
        run.state = place.outcome()
        stopped = place.stopped_by
        if run.state is RunState.FAILED and stopped is not None:
            run.failure = {**(stopped.failure or {}), "step": stopped.node}
            self._end_steps(place, StepState.SKIPPED, "a step before it failed")
        if run.state is RunState.COMPLETED:
            _give_outputs(place)
        if run.state in RUN_ENDS:
            run.ended_at, run.due_at = now, None
        else:
            due = [each.due_at for each in place.steps.values() if _waits(each) and each.due_at]
            run.due_at = min(due, default=None)
        if run.state is not before:
            self._driver.note_run(run)
        elif run.due_at != due_before:
            self._driver.keep(run)
        self._driver.flush()

    def _end_steps(self, place: Place, state: StepState, note: str) -> None:
        driver = self._driver
        for node_id in place.graph.nodes:
            record = place.record(node_id)
            if record.state in STEP_ENDS:
                continue
            driver.engine.close_step(driver, place, record)
            record.state, record.note, record.ended_at = state, note, driver.clock.now()
            driver.note(place.run, record)

    def cancel(self, place: Place, asked: dict[str, Any]) -> None:
        """End a run and all of its steps that have not ended."""
        run = place.run
        self._end_steps(place, StepState.CANCELLED, "the run was cancelled")
        run.state, run.ended_at, run.due_at = RunState.CANCELLED, self._driver.clock.now(), None
        run.cancelled_by = asked["by"]
        run.failure = failure_json(failure("cancelled", f"by {asked['by']}: {asked['reason']}"))
        self._driver.note_run(run, note=asked["reason"], by=asked["by"])
        self._driver.flush()

    def cancel_child(self, run: RunRecord) -> None:
        """End a run within another whose step has ended."""
        if run.state not in RUN_ENDS:
            asked = {"by": "holon-workflows", "reason": "its step has ended"}
            self.cancel(self._driver.place(run), self._driver.asked_to_cancel or asked)


def _give_outputs(place: Place) -> None:
    run = place.run
    try:
        scope = place.scope()
        run.outputs = {
            name: evaluate(expression, scope) for name, expression in place.graph.outputs.items()
        }
    except ExpressionError as error:
        run.state = RunState.FAILED
        run.failure = failure_json(failure("workflow_expression", f"the outputs: {error}"))


def _waits(record: StepRecord) -> bool:
    return record.state is StepState.WAITING
