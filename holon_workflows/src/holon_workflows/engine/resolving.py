"""What a person says of a step that was interrupted: run it again, it was done, it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Refused
from holon_core.records.failure import failure
from holon_core.wire.values import normalise
from holon_workflows.engine.ledger import (
    RUNS,
    STEPS,
    event_of,
    run_event,
    step_event,
    step_now,
    tell,
)
from holon_workflows.engine.state import RunRecord, StepRecord, failure_json
from holon_workflows.records import RUN_ENDS, RunState, StepState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holon_core.workbench import Change
    from holon_workflows.engine.engine import Engine

ACTIONS = ("rerun", "complete", "fail")


class Resolving:
    """Resolves interrupted steps on an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def resolve(
        self, run: RunRecord, node: str, *, action: str, by: str, reason: str, output: Any
    ) -> None:
        """Make what a person says the state of a step; see ``Workflows.resolve``."""
        if action not in ACTIONS:
            text = f"one of {', '.join(ACTIONS)}"
            raise Refused(failure("arguments_invalid", text, path="/action"))
        engine = self._engine
        value = self._output(run, node, output) if action == "complete" else None
        lease = engine.ledger.take(run.root, engine.bench.runtime_id, lives=engine.bench.lives)
        try:
            found = engine.ledger.steps(run.id).get(node)
            step = _interrupted(found, node)
            _apply(step, action, value, by=by, reason=reason, now=engine.clock.now())
            event = {**step_event(run, step, by=by), "note": reason, "action": action}
            draft = engine.ledger.draft(run, event)
            event["at"] = engine.clock.now()
            woken = list(self._woken(run, by=by))

            def work(change: Change) -> None:
                _interrupted(step_now(change, run.id, node), node)
                change.put(STEPS, step.id, step.to_json())
                tell(change, run.root, event, draft)
                for each, woke, told in woken:
                    change.put(RUNS, each.id, each.to_json())
                    tell(change, run.root, woke, told)

            engine.bench.change(work)
        finally:
            engine.ledger.give(lease)

    def accept(self, root: str, tools: Sequence[str], *, by: str, take_over: bool) -> None:
        """Bind a run, and those within it, to the definitions that tools have now."""
        engine = self._engine
        now = {name: self._definition(name) for name in tools}
        lease = engine.ledger.take(root, engine.bench.runtime_id, lives=engine.lives(take_over))
        try:
            runs = list(self._all(root))
            event = event_of(runs[0], "definition_accepted", state=runs[0].state.value, by=by)
            event = {**event, "note": ", ".join(tools), "definitions": now}
            draft = engine.ledger.draft(runs[0], event)
            event["at"] = engine.clock.now()

            def work(change: Change) -> None:
                for run in runs:
                    found = change.get(RUNS, run.id)
                    change.put(RUNS, run.id, {**found, "pins": {**found["pins"], **now}})
                tell(change, root, event, draft)

            engine.bench.change(work)
        finally:
            engine.ledger.give(lease)

    def _definition(self, tool: str) -> str:
        bench = self._engine.bench
        found = bench.tool(tool)
        if found is None:
            raise Refused(bench.unknown_tool(tool))
        return str(found.digest)

    def _all(self, run_id: str) -> Iterator[RunRecord]:
        found = self._engine.ledger.run(run_id)
        if found is None:
            raise Refused(failure("unknown_run", f"no run {run_id}"))
        yield found
        for child in self._engine.ledger.children(run_id):
            if child.state not in RUN_ENDS:
                yield from self._all(child.id)

    def _woken(self, run: RunRecord, *, by: str) -> Iterator[tuple[RunRecord, Any, Any]]:
        """Make the runs that go on from here, each with its event and that one's record."""
        ledger = self._engine.ledger
        for run_id in dict.fromkeys((run.id, run.root)):
            found = ledger.run(run_id)
            if found is not None and found.state is RunState.BLOCKED:
                found.state = RunState.READY
                event = {**run_event(found, by=by), "at": self._engine.clock.now()}
                yield found, event, ledger.draft(found, event)

    def _output(self, run: RunRecord, node: str, output: Any) -> Any:
        """Hold an output that a person gives against the schema of the step."""
        from holon_core.wire.canonical import digest
        from holon_core.wire.schema_engine import compiled
        from holon_workflows.definition.mappings import output_schema_of
        from holon_workflows.engine.applying import OUTPUT_DOMAIN

        try:
            value: Any = normalise(output).value
        except JsonRefused as error:
            raise Refused(
                failure("arguments_invalid", error.message, path="/output" + error.path)
            ) from None
        definitions = self._engine.definitions
        bound = definitions.version(run.definition, run.version)
        graph = definitions.graph(bound, tuple(run.path))
        known = graph.nodes.get(node)
        schema = None if known is None else output_schema_of(known, definitions.checking())
        if schema is not None:
            errors = compiled(schema, digest(schema, domain=OUTPUT_DOMAIN)).errors(value)
            if errors:
                path = "/output" + errors[0].path
                text = f"{errors[0].message} at {path}"
                raise Refused(failure("arguments_invalid", text, path=path))
        return value


def _interrupted(found: StepRecord | None, node: str) -> StepRecord:
    if found is None or found.state is not StepState.INTERRUPTED:
        state = "pending" if found is None else found.state.value
        text = f"{node} is {state}; only a step that was interrupted is resolved"
        raise Refused(failure("workflow_state", text, step=node, state=state))
    return found


def _apply(step: StepRecord, action: str, value: Any, *, by: str, reason: str, now: float) -> None:
    step.wait, step.failure, step.note = None, None, f"{by}: {reason}"
    if action == "rerun":
        # Another attempt, and so another key: the one before may have taken effect.
        step.attempt += 1
        step.state = StepState.READY
        return
    step.ended_at = now
    if action == "complete":
        step.state, step.output = StepState.COMPLETED, value
        return
    step.state = StepState.FAILED
    step.failure = failure_json(failure("tool_failed", f"{by} says that it failed: {reason}"))
