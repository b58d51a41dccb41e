"""What the outcome of a step means: its state, another attempt, a repair, or a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused
from holon_core.records.failure import StructuredFailure, failure
from holon_core.wire.canonical import digest
from holon_core.wire.schema_engine import compiled
from holon_core.wire.values import normalise
from holon_workflows.engine.repairing import wants_repair
from holon_workflows.engine.state import StepRecord, failure_json
from holon_workflows.engine.step import may_retry
from holon_workflows.records import Outcome, StepState, failed

if TYPE_CHECKING:
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.driver import Driver
    from holon_workflows.engine.place import Place
    from holon_workflows.engine.step import Step

OUTPUT_DOMAIN = "holon-workflow-output/1"


class Applying:
    """Applies outcomes to records, for one driver, which holds its lock meanwhile."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def still_waits(self, record: StepRecord, node: Node) -> bool:
        """Tell whether a step waits between attempts; where that is over it runs again."""
        wait = record.wait
        if record.state is not StepState.WAITING or wait is None or wait.get("for") != "retry":
            return False
        if record.due_at is not None and self._driver.clock.now() < record.due_at:
            return True
        record.state, record.wait = StepState.READY, None
        return False

    def to_repair(self, step: Step, record: StepRecord, outcome: Outcome) -> bool:
        """Tell whether a proposal is to be asked for: no retry is left, and a repair is."""
        if outcome.state is not StepState.FAILED or outcome.failure is None:
            return False
        retries = record.attempt < step.node.retry.max_attempts
        if retries and may_retry(step, outcome.failure):
            return False
        return wants_repair(step)

    def apply(self, place: Place, step: Step, record: StepRecord, outcome: Outcome) -> None:
        """Make an outcome the state of its step, and write it."""
        outcome = self._checked(step, outcome)
        if outcome.state is StepState.WAITING:
            outcome = self._within_time(step, outcome)
        node = step.node
        goes_on = node.go_to is not None or not node.stops
        if outcome.state is StepState.BLOCKED and goes_on and outcome.failure is not None:
            outcome = failed(outcome.failure)
        if outcome.state is StepState.FAILED:
            assert outcome.failure is not None
            closing = self._driver.engine.bench.closing
            if closing or (step.cancelled and self._driver.stopping):
                # Of a cancelled run all steps are told that; of one that is left, this one is
                # still running for whoever drives it next.
                record.failure = failure_json(outcome.failure)
                return
            if self._again(place, step, record, outcome.failure):
                return
        self._enter(place, record, outcome)

    def _enter(self, place: Place, record: StepRecord, outcome: Outcome) -> None:
        wait = None if outcome.wait is None else dict(outcome.wait)
        same = (record.state, record.wait, record.due_at) == (outcome.state, wait, outcome.due_at)
        if same and outcome.note in ("", record.note):
            return
        if not same:
            self._driver.goes_on(place.run)
        record.state = outcome.state
        record.wait = wait
        record.due_at = outcome.due_at
        record.note = outcome.note
        record.failure = None if outcome.failure is None else failure_json(outcome.failure)
        if outcome.state in (StepState.COMPLETED, StepState.FAILED):
            record.ended_at = self._driver.clock.now()
            record.output = outcome.output
            record.chosen = None if outcome.chosen is None else list(outcome.chosen)
            place.seen(record.node, record)
        if same:
            self._driver.keep(record)
        else:
            self._driver.note(place.run, record)
        if outcome.state is not StepState.COMPLETED:
            self._driver.flush()

    def _checked(self, step: Step, outcome: Outcome) -> Outcome:
        """Hold an output against the node's own schema before anybody may use it."""
        if outcome.state is not StepState.COMPLETED:
            return outcome
        try:
            value: Any = normalise(outcome.output).value
        except JsonRefused as error:
            return failed(failure("output_not_json", str(error)))
        schema = step.node.output_schema
        if schema is not None:
            errors = compiled(schema, digest(schema, domain=OUTPUT_DOMAIN)).errors(value)
            if errors:
                text = f"{errors[0].message} at {errors[0].path or '/'}"
                shown = [{"path": e.path, "message": e.message} for e in errors[:20]]
                return failed(failure("output_schema", text, errors=shown))
        return outcome

    def _within_time(self, step: Step, outcome: Outcome) -> Outcome:
        limit = step.node.timeout_s
        if limit is None:
            return outcome
        end = step.started_at + limit
        if self._driver.clock.now() >= end:
            self._driver.engine.close_step(self._driver, step.place, step._record)
            return failed(failure("timeout", f"waited longer than the node's {limit:g} s"))
        due = end if outcome.due_at is None else min(end, outcome.due_at)
        return Outcome(state=outcome.state, wait=outcome.wait, due_at=due, note=outcome.note)

    def _again(
        self, place: Place, step: Step, record: StepRecord, problem: StructuredFailure
    ) -> bool:
        """Try once more, by the node's retries; tell whether."""
        retry = step.node.retry
        if record.attempt < retry.max_attempts and may_retry(step, problem):
            delay = retry.delay(record.attempt)
            self._driver.goes_on(place.run)
            record.attempt += 1
            record.state = StepState.WAITING
            record.wait = {"for": "retry"}
            record.due_at = self._driver.clock.now() + delay
            record.failure = failure_json(problem)
            record.note = f"{problem.code}; attempt {record.attempt} in {delay:g} s"
            self._driver.note(place.run, record)
            self._driver.flush()
            return True
        return False
