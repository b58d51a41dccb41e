"""One run as the process that drives it holds it: what is ready, and what expressions see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_workflows.definition.topology import order
from holon_workflows.engine.state import StepRecord
from holon_workflows.records import STEP_ENDS, RunState, StepState

if TYPE_CHECKING:
    from holon_workflows.definition.model import Definition, Graph
    from holon_workflows.engine.state import RunRecord

_GOES_ON = frozenset({StepState.PENDING, StepState.READY, StepState.RUNNING})


class Place:
    """A run with its graph and its steps; whoever changes it holds the driver's lock.

    Args:
        run: Its record.
        definition: The version that it is bound to.
        graph: Of the definition, or of the body that it runs.
        steps: Those that have begun, by node.
    """

    def __init__(
        self, run: RunRecord, definition: Definition, graph: Graph, steps: dict[str, StepRecord]
    ) -> None:
        self.run = run
        self.definition = definition
        self.graph = graph
        self.steps = steps
        self.order = order(graph)
        self._scope: dict[str, Any] = {
            "inputs": run.inputs,
            "variables": definition.variables,
            "steps": {},
            "run": {"id": run.id, "root": run.root, "definition": run.definition},
        }
        for node_id, record in steps.items():
            self.seen(node_id, record)

    def record(self, node_id: str) -> StepRecord:
        """Return the record of a step, made where it has none."""
        found = self.steps.get(node_id)
        if found is None:
            found = self.steps[node_id] = StepRecord(run=self.run.id, node=node_id)
        return found

    def state(self, node_id: str) -> StepState:
        """Return the state of a step."""
        found = self.steps.get(node_id)
        return StepState.PENDING if found is None else found.state

    def scope(self) -> dict[str, Any]:
        """Return what expressions see: only steps that ended are in it."""
        return {**self._scope, "steps": dict(self._scope["steps"])}

    def seen(self, node_id: str, record: StepRecord) -> None:
        """Let expressions see a step that ended."""
        if record.state in STEP_ENDS:
            self._scope["steps"][node_id] = {
                "state": record.state.value,
                "output": record.output,
                "failure": record.failure,
            }

    @property
    def stopped_by(self) -> StepRecord | None:
        """The failed step that ends the run."""
        for node_id, record in self.steps.items():
            node = self.graph.nodes[node_id]
            if record.state is StepState.FAILED and node.stops and node.go_to is None:
                return record
        return None

    def settle(self) -> tuple[list[str], list[StepRecord]]:
        """Decide what comes next.

        Returns:
            The steps that may run or be looked at now, and those that nothing leads to any more
            and which are skipped from here on.
        """
        ready: list[str] = []
        skipped: list[StepRecord] = []
        stopped = self.stopped_by is not None
        for node_id in self.order:
            state = self.state(node_id)
            if state in (StepState.WAITING, StepState.BLOCKED):
                ready += [] if stopped else [node_id]
            if state not in _GOES_ON or stopped:
                continue
            decided = self._decided(node_id)
            if decided:
                ready.append(node_id)
            elif decided is False:
                record = self.record(node_id)
                record.state, record.note = StepState.SKIPPED, "nothing leads to it in this run"
                self.seen(node_id, record)
                skipped.append(record)
        return ready, skipped

    def _decided(self, node_id: str) -> bool | None:
        """Tell whether a step is to run; ``None`` while what leads to it is not decided."""
        before = self.graph.before[node_id]
        if not before:
            return True
        taken = False
        for source in before:
            if self.state(source) not in STEP_ENDS:
                return None
            taken = taken or self._taken(source, node_id)
        return taken

    def _taken(self, source: str, target: str) -> bool:
        record, node = self.steps[source], self.graph.nodes[source]
        if record.state is StepState.FAILED:
            return target == node.go_to if node.go_to is not None else not node.stops
        if record.state is not StepState.COMPLETED:
            return False
        if record.chosen is not None:
            return target in record.chosen
        return target != node.go_to or (source, target) in self._plain(source)

    def _plain(self, source: str) -> set[tuple[str, str]]:
        # An edge to the fallback itself, besides the one that its failure makes.
        return {
            (edge["from"], edge["to"])
            for edge in self._document().get("edges", ())
            if edge["from"] == source
        }

    def _document(self) -> Any:
        document: Any = self.definition.document
        for node_id in self.run.path:
            found = next(node for node in document["nodes"] if node["id"] == node_id)
            document = found["config"]["body"]
        return document

    def outcome(self) -> RunState:
        """Return the state that a run is in when nothing of it can go on now."""
        states = [self.state(node_id) for node_id in self.graph.nodes]
        if self.stopped_by is not None:
            return RunState.FAILED
        if all(state in STEP_ENDS for state in states):
            return RunState.COMPLETED
        if any(state in (StepState.BLOCKED, StepState.INTERRUPTED) for state in states):
            return RunState.BLOCKED
        return RunState.WAITING
