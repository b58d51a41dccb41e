"""Runs as they are shown: to programs, at a prompt, in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from holon_workflows.records import RUN_ENDS, StepState

if TYPE_CHECKING:
    from holon_workflows.base import Base
    from holon_workflows.engine.state import RunRecord, StepRecord


@frozen(kw_only=True)
class StepView:
    """One step of a run as it is shown; times in Unix seconds."""

    id: str
    kind: str
    state: str
    attempt: int = 1
    note: str = ""
    output: Any = None
    failure: dict[str, Any] | None = None
    wait: dict[str, Any] | None = None
    due_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None


@frozen(kw_only=True)
class RunView:
    """A run with its steps as it is shown; times in Unix seconds.

    ``waits_for`` names what keeps it from going on: what the step waits for, and by which id.
    """

    id: str
    definition: str
    version: str
    digest: str
    state: str
    principal: str
    workspace: str | None
    inputs: Any
    outputs: Any = None
    failure: dict[str, Any] | None = None
    cancelled_by: str | None = None
    created_at: float
    ended_at: float | None = None
    due_at: float | None = None
    steps: tuple[StepView, ...]
    waits_for: tuple[dict[str, Any], ...] = ()

    def step(self, node: str) -> StepView:
        """Return a step by its node.

        Raises:
            KeyError: The run has no such node.
        """
        for each in self.steps:
            if each.id == node:
                return each
        raise KeyError(node)

    def _repr_html_(self) -> str:
        import time

        from holon_workflows.timeline import html

        return html(self, now=time.time())

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        made = asdict(self)
        made["steps"] = [asdict(each) for each in self.steps]
        made["waits_for"] = list(self.waits_for)
        return made


def view_of(flows: Base, run: RunRecord) -> RunView:
    """Show a run with all of its steps, those that have not begun as well."""
    definition = flows.definitions.version(run.definition, run.version)
    graph = flows.definitions.graph(definition, tuple(run.path))
    steps = flows.ledger.steps(run.id)
    shown = tuple(_step(node.id, node.kind, steps.get(node.id)) for node in graph.nodes.values())
    return RunView(
        id=run.id,
        definition=run.definition,
        version=run.version,
        digest=run.digest,
        state=run.state.value,
        principal=run.caller["principal"],
        workspace=run.caller["workspace"],
        inputs=run.inputs,
        outputs=run.outputs,
        failure=run.failure,
        cancelled_by=run.cancelled_by,
        created_at=run.created_at,
        ended_at=run.ended_at,
        due_at=run.due_at,
        steps=shown,
        waits_for=() if run.state in RUN_ENDS else tuple(_waits(flows, run, steps)),
    )


def _step(node: str, kind: str, found: StepRecord | None) -> StepView:
    if found is None:
        return StepView(id=node, kind=kind, state=StepState.PENDING.value)
    return StepView(
        id=node,
        kind=kind,
        state=found.state.value,
        attempt=found.attempt,
        note=found.note,
        output=found.output,
        failure=found.failure,
        wait=found.wait,
        due_at=found.due_at,
        started_at=found.started_at,
        ended_at=found.ended_at,
    )


def _waits(flows: Base, run: RunRecord, steps: dict[str, StepRecord]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for record in steps.values():
        at = {"run": run.id, "step": record.node}
        if record.state is StepState.WAITING and (record.wait or {}).get("for") == "runs":
            for child in flows.ledger.children(run.id):
                if child.parent and child.parent[1] == record.node and child.state not in RUN_ENDS:
                    found += _waits(flows, child, flows.ledger.steps(child.id))
        elif record.state is StepState.WAITING:
            found.append({**at, **(record.wait or {}), "due_at": record.due_at})
        elif record.state in (StepState.BLOCKED, StepState.INTERRUPTED):
            problem = record.failure or {}
            said = {name: problem.get(name) for name in ("code", "message", "next_action")}
            found.append({**at, "for": record.state.value, **said})
    return found
