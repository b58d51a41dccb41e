"""Whether a run that waits is worth driving: told by reading alone, without its lease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.words import ApprovalState, HeldState
from holon_workflows.engine.state import RunRecord, StepRecord
from holon_workflows.gates import GATES, OPEN
from holon_workflows.records import RUN_ENDS, RunState, StepState

if TYPE_CHECKING:
    from holon_workflows.engine.engine import Engine

_RESTS = frozenset({RunState.WAITING, RunState.BLOCKED})
_STARTS = frozenset({StepState.READY, StepState.RUNNING})
_BROKEN = frozenset({RunState.FAILED, RunState.CANCELLED})


class Waking:
    """Looks at runs that wait, for one engine.

    Args:
        engine: Whose runs they are.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def is_due(self, run: RunRecord) -> bool:
        """Tell whether something of a run may go on now.

        A look that finds nothing leaves nothing behind, so that runs may wait for years.
        """
        if run.state not in _RESTS:
            return run.state not in RUN_ENDS
        if run.parent is None and self._engine.ledger.cancel_asked(run.id) is not None:
            return True
        steps = self._engine.ledger.steps(run.id).values()
        return any(self._has_come(run, each) for each in steps)

    def goes_on(self, run: RunRecord) -> bool:
        """Tell whether a run that waits goes on at its time, without anybody's doing.

        A gate that expires and a step that has only so long wait for a person all the same.
        """
        return any(self._is_timed(each) for each in self._engine.ledger.steps(run.id).values())

    def _is_timed(self, record: StepRecord) -> bool:
        if record.state is not StepState.WAITING or record.due_at is None:
            return False
        what = (record.wait or {}).get("for")
        if what == "runs":
            return any(self.goes_on(each) for each in self._within(record))
        return what not in ("person", "approval")

    def _has_come(self, run: RunRecord, record: StepRecord) -> bool:
        if record.state is StepState.BLOCKED:
            definition = self._engine.definitions.version(run.definition, run.version)
            graph = self._engine.definitions.graph(definition, tuple(run.path))
            return self._engine.is_freed(record, graph.nodes[record.node])
        if record.state is not StepState.WAITING:
            return record.state in _STARTS
        if record.due_at is not None and self._engine.clock.now() >= record.due_at:
            return True
        return self._is_over(record, record.wait or {})

    def _is_over(self, record: StepRecord, wait: Mapping[str, Any]) -> bool:
        """Tell whether what a step waits for has happened, or whether only its kind can tell."""
        what = wait.get("for")
        if what in ("time", "retry"):
            return record.due_at is None
        if what == "person" and "gate" in wait:
            gate: Any = self._engine.bench.read(lambda view: view.get(GATES, wait["gate"]))
            return gate is None or gate["state"] != OPEN
        if what == "approval" and "call" in wait:
            return self._is_decided(wait["call"])
        if what == "runs":
            return self._goes_on_within(record)
        return True

    def _is_decided(self, call: str) -> bool:
        found = self._engine.bench.held(call)
        if found is None:
            return True
        held, approval = found
        pending = (held.state, approval.state) == (HeldState.HELD, ApprovalState.PENDING)
        return not pending or self._engine.clock.now() >= approval.expires_at_unix_seconds

    def _goes_on_within(self, record: StepRecord) -> bool:
        own = self._within(record)
        if all(each.state in RUN_ENDS for each in own):
            return True
        return any(each.state in _BROKEN or self.is_due(each) for each in own)

    def _within(self, record: StepRecord) -> list[RunRecord]:
        runs = self._engine.ledger.children(record.run)
        return [each for each in runs if each.parent and each.parent[1] == record.node]
