"""What happens in a run of steps, as records: events, and how a step ended."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from holon_core.records.failure import StructuredFailure
from holon_core.records.words import Status, Word


class WorkflowEventKind(Word):
    """What an event of a step says."""

    STEP_ACCEPTED = "step_accepted"
    STEP_STARTED = "step_started"
    STEP_PROGRESS = "step_progress"
    STEP_COMPLETED = "step_completed"
    STEP_FAILED = "step_failed"
    STEP_CANCELLED = "step_cancelled"


@frozen(kw_only=True)
class WorkflowEvent:
    """One event; ``source`` says who told it, ``payload_json`` is JSON."""

    kind: WorkflowEventKind
    created_at_unix_seconds: int
    payload_json: Any = None
    source: str = ""


@frozen(kw_only=True)
class WorkflowStepResult:
    """How a step ended: its output, or its failure."""

    status: Status
    output_json: Any = None
    failure: StructuredFailure | None = None
