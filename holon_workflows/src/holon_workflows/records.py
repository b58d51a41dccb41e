"""The words and records of runs, steps, gates and kinds of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from holon_core.records.failure import StructuredFailure
from holon_core.records.words import Word

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.checking import Checking
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step


class StepState(Word):
    """The life of a step; `completed`, `failed`, `skipped` and `cancelled` are its ends."""

    PENDING = "pending"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class RunState(Word):
    """The life of a run; `completed`, `failed` and `cancelled` are its ends."""

    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


STEP_ENDS = frozenset(
    {StepState.COMPLETED, StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED}
)
RUN_ENDS = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})


@frozen(kw_only=True)
class Outcome:
    """What came of running a step once, or of looking again at one that waits.

    ``wait`` is kept with a step that waits, and handed to it when it is looked at again;
    ``due_at`` is when that is worth doing, in Unix seconds, ``None`` where something else has to
    happen first. ``chosen`` are the nodes that a branch goes on to.
    """

    state: StepState
    output: Any = None
    failure: StructuredFailure | None = None
    wait: Mapping[str, Any] | None = None
    due_at: float | None = None
    chosen: tuple[str, ...] | None = None
    note: str = ""


def completed(output: Any, *, chosen: tuple[str, ...] | None = None, note: str = "") -> Outcome:
    """Say that a step completed with an output."""
    return Outcome(state=StepState.COMPLETED, output=output, chosen=chosen, note=note)


def failed(failure: StructuredFailure) -> Outcome:
    """Say that a step failed."""
    return Outcome(state=StepState.FAILED, failure=failure)


def waiting(wait: Mapping[str, Any], *, due_at: float | None = None, note: str = "") -> Outcome:
    """Say that a step waits, and for what: ``wait["for"]`` names it."""
    return Outcome(state=StepState.WAITING, wait=wait, due_at=due_at, note=note)


def blocked(failure: StructuredFailure) -> Outcome:
    """Say that something outside the run has to change before a step can run."""
    return Outcome(state=StepState.BLOCKED, failure=failure)


def interrupted(failure: StructuredFailure) -> Outcome:
    """Say that nobody knows whether a step took effect, so that a person has to say."""
    return Outcome(state=StepState.INTERRUPTED, failure=failure)


def _no_findings(_node: Node, _about: Checking) -> Iterable[Finding]:
    return ()


def _no_expressions(_config: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    return ()


def _nothing_known(_node: Node, _about: Checking) -> Any:
    return None


@frozen(kw_only=True)
class NodeKind:
    """A kind of node, as `holon_workflow_node_kinds` offers it.

    Args:
        kind: Its name; one of another distribution begins with that distribution's name.
        description: What such a node does.
        config: JSON Schema of a node's ``config``.
        run: Runs a step, or looks again at one that waits; gives an ``Outcome``. It calls tools
            by ``step.call`` alone.
        preview: Shows what a step would do; nothing may start.
        check: Findings about a node; paths are below the node.
        expressions: The expressions of a config, each with its path below it.
        output_schema: Schema of what a node gives, where that is known beforehand.
        input_schema: Schema of what a node takes, where that is known beforehand.
        repeatable: A step that a dead process left running may simply run again.
        closes: Ends what a step started, where the run is cancelled or the step out of time.
    """

    kind: str
    description: str = ""
    config: Mapping[str, Any] = field(factory=dict, repr=False)
    run: Callable[[Step], Outcome]
    preview: Callable[[Step], Any] | None = None
    check: Callable[[Node, Checking], Iterable[Finding]] = _no_findings
    expressions: Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]] = _no_expressions
    output_schema: Callable[[Node, Checking], Any] = _nothing_known
    input_schema: Callable[[Node, Checking], Any] = _nothing_known
    repeatable: bool = False
    closes: Callable[[Step], None] | None = None
