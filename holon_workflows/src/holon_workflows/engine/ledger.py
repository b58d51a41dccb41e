"""All that is written of runs: state, events and evidence in one change, under a lease."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import Refused
from holon_core.records.failure import failure
from holon_core.records.workflow import WorkflowEventKind
from holon_workflows.engine.state import RunRecord, StepRecord
from holon_workflows.records import RUN_ENDS, StepState

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_core.workbench import Change, View, Workbench

RUNS, STEPS, EVENTS, CANCELS = "runs", "steps", "events", "cancels"
# Runs that callers started and that have not ended: what a runner looks through.
ACTIVE = "active"
KIND = "workflow"
_STEP_EVENTS = {
    StepState.READY: WorkflowEventKind.STEP_ACCEPTED,
    StepState.RUNNING: WorkflowEventKind.STEP_STARTED,
    StepState.COMPLETED: WorkflowEventKind.STEP_COMPLETED,
    StepState.FAILED: WorkflowEventKind.STEP_FAILED,
    StepState.CANCELLED: WorkflowEventKind.STEP_CANCELLED,
}


@frozen
class Lease:
    """The right to drive a run: of one process at a time, told by the number."""

    root: str
    owner: str
    fence: int


class LeaseLost(Exception):
    """Another process drives the run now; what this one still had to write is void."""


def lease_name(root: str) -> str:
    """Return the name of the lease of a run and all runs within it."""
    return f"run/{root}"


def event_of(
    run: RunRecord,
    kind: str,
    *,
    state: str,
    step: StepRecord | None = None,
    note: str = "",
    by: str | None = None,
) -> dict[str, Any]:
    """Describe a transition: of a step, or of a run where no step is named."""
    about = run if step is None else step
    return {
        "kind": kind,
        "run": run.id,
        "step": None if step is None else step.node,
        "attempt": None if step is None else step.attempt,
        "state": state,
        "note": note,
        "by": by,
        "code": None if about.failure is None else about.failure["code"],
    }


def step_event(run: RunRecord, step: StepRecord, *, by: str | None = None) -> dict[str, Any]:
    """Describe the state that a step has just entered."""
    kind = _STEP_EVENTS.get(step.state, WorkflowEventKind.STEP_PROGRESS).value
    return event_of(run, kind, state=step.state.value, step=step, note=step.note, by=by)


def run_event(run: RunRecord, *, note: str = "", by: str | None = None) -> dict[str, Any]:
    """Describe the state that a run has just entered."""
    return event_of(run, f"run_{run.state.value}", state=run.state.value, note=note, by=by)


class Ledger:
    """Reads and writes the runs of one store.

    Args:
        bench: Where they are.
        clock: For times.
    """

    def __init__(self, bench: Workbench, clock: Clock) -> None:
        self.bench = bench
        self.clock = clock

    def run(self, run_id: str) -> RunRecord | None:
        """Return a run."""
        found = self.bench.read(lambda view: view.get(RUNS, run_id))
        return None if found is None else RunRecord.of(found)

    def steps(self, run_id: str) -> dict[str, StepRecord]:
        """Return the steps of a run that have begun, by node."""
        rows = self.bench.read(lambda view: list(view.every(STEPS, f"{run_id}/")))
        return {data["node"]: StepRecord.of(data) for _, data in rows}

    def children(self, run_id: str) -> list[RunRecord]:
        """Return the runs that steps of a run started."""
        rows = self.bench.read(lambda view: list(view.every(RUNS, f"{run_id}:")))
        made = (RunRecord.of(data) for _, data in rows)
        return [each for each in made if each.parent and each.parent[0] == run_id]

    def active(self) -> list[str]:
        """Return the ids of the runs that callers started and that have not ended."""
        return self.bench.read(lambda view: [name for name, _ in view.every(ACTIVE)])

    def take(self, root: str, owner: str, *, lives: Any) -> Lease:
        """Take the lease of a run, also from a process that died.

        Raises:
            Refused: ``workflow_state``: another drives it, and the details name who.
        """
        name = lease_name(root)

        def work(change: Change) -> Lease | str:
            fence = change.take_lease(name, owner, lives=lives)
            if fence is not None:
                return Lease(root, owner, fence)
            held = change.lease(name)
            return held[0] if held is not None else ""

        made = self.bench.change(work)
        if isinstance(made, Lease):
            return made
        text = f"{made} drives this run; it goes on there"
        raise Refused(failure("workflow_state", text, run=root, owner=made))

    def give(self, lease: Lease) -> None:
        """Give a lease back."""
        self.bench.change(lambda change: change.drop_lease(lease_name(lease.root), lease.owner))

    def write(
        self,
        lease: Lease | None,
        records: Sequence[RunRecord | StepRecord],
        events: Iterable[tuple[RunRecord, dict[str, Any]]],
    ) -> None:
        """Write states with their events and evidence: all of it, or nothing.

        Raises:
            LeaseLost: The lease is another's by now.
        """
        kept = [
            (RUNS if isinstance(each, RunRecord) else STEPS, each.id, each.to_json())
            for each in records
        ]
        ended = [
            each.id
            for each in records
            if isinstance(each, RunRecord) and not each.parent and each.state in RUN_ENDS
        ]
        at = self.clock.now()
        told = [(run.root, {**event, "at": at}, self._draft(run, event)) for run, event in events]

        def work(change: Change) -> None:
            held = None if lease is None else change.lease(lease_name(lease.root))
            if lease is not None and held != (lease.owner, lease.fence):
                raise LeaseLost(lease.root)
            for collection, doc_id, value in kept:
                change.put(collection, doc_id, value)
            for run_id in ended:
                change.remove(ACTIVE, run_id)
            for root, event, draft in told:
                tell(change, root, event, draft)

        self.bench.change(work)

    def _draft(self, run: RunRecord, event: dict[str, Any]) -> Any:
        return self.bench.draft(run.who, run.root, KIND, {"workflow": _record(run, event)})

    def draft(self, run: RunRecord, event: dict[str, Any]) -> Any:
        """Make the record of an event for a change of one's own."""
        return self._draft(run, event)

    def cancel_asked(self, root: str) -> dict[str, Any] | None:
        """Return who asked to cancel a run."""
        found: dict[str, Any] | None = self.bench.read(lambda view: view.get(CANCELS, root))
        return found


def tell(change: Change, root: str, event: dict[str, Any], draft: Any) -> None:
    """Record an event in the chain, and list it under its place there."""
    seq = change.record(draft)
    change.put(EVENTS, f"{root}/{seq:012d}", {**event, "seq": seq})


def _record(run: RunRecord, event: dict[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in event.items() if value not in (None, "")}
    made["definition"] = f"{run.definition}@{run.version}"
    made["digest"] = run.digest
    return made


def run_now(view: View, run_id: str) -> RunRecord | None:
    """Return a run within a look or change."""
    found = view.get(RUNS, run_id)
    return None if found is None else RunRecord.of(found)


def step_now(view: View, run_id: str, node: str) -> StepRecord | None:
    """Return a step within a look or change."""
    found = view.get(STEPS, f"{run_id}/{node}")
    return None if found is None else StepRecord.of(found)
