"""Elegy's invocations, failures and events as Holon's outcomes, failures and workflow events.

Each mapping is a table that a test walks; docs/elegy.md shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from elegy_contracts.model import to_data
from elegy_contracts.reading import read
from elegy_contracts.repairs import as_seconds
from elegy_contracts.spelling import snake
from elegy_contracts.types.invocation import ExecutionEvent, InvocationResponse
from elegy_contracts.types.invocation import StructuredFailure as ElegyFailure
from holon_core.errors import StructuredFailureKind
from holon_core.records.failure import StructuredFailure
from holon_core.records.outcome import (
    ExecutorEvidenceDraft,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
)
from holon_core.records.words import Status
from holon_core.records.workflow import WorkflowEvent, WorkflowEventKind, WorkflowStepResult

INVOCATION = "elegy-invocation"
FAILURE = "elegy-failure"
EVENT = "elegy-event"

STATUSES: Mapping[str, ExecutorStatus] = {
    "completed": ExecutorStatus.COMPLETED,
    "failed": ExecutorStatus.FAILED,
    "cancelled": ExecutorStatus.FAILED,
}
# Categories that say nothing was done because somebody said no.
BLOCKED = frozenset({"policy", "authorization", "authentication"})
KINDS: Mapping[str, StructuredFailureKind] = {
    "invalidInput": StructuredFailureKind.SCHEMA_MISMATCH,
    "policy": StructuredFailureKind.POLICY_DENIED,
    "authentication": StructuredFailureKind.SECRET_UNRESOLVED,
    "authorization": StructuredFailureKind.NOT_ALLOWED,
    "timeout": StructuredFailureKind.TIMEOUT,
    "dependency": StructuredFailureKind.DEPENDENCY_MISSING,
    "unavailable": StructuredFailureKind.UNSUPPORTED_CAPABILITY,
    "conflict": StructuredFailureKind.CONFLICT,
    "internal": StructuredFailureKind.TOOL_FAILED,
    "unknown": StructuredFailureKind.TOOL_FAILED,
}
EVENTS: Mapping[str, WorkflowEventKind] = {
    "accepted": WorkflowEventKind.STEP_ACCEPTED,
    "started": WorkflowEventKind.STEP_STARTED,
    "progress": WorkflowEventKind.STEP_PROGRESS,
    "completed": WorkflowEventKind.STEP_COMPLETED,
    "failed": WorkflowEventKind.STEP_FAILED,
    "cancelled": WorkflowEventKind.STEP_CANCELLED,
}


def outcome_of(response: Any, events: Iterable[Any] = ()) -> ExecutorOutcome:
    """Make the outcome of an execution of an InvocationResponse.

    Args:
        response: The record, or its JSON in either spelling.
        events: ExecutionEvents beside it; those of other executions are left out.

    Raises:
        ContractError: The response or an event is refused; with paths.

    Source: docs/elegy.md, "Mappings".
    """
    answer = _response(response)
    failure = answer.failure or None
    return ExecutorOutcome(
        status=_status(answer, failure),
        output_json=None if not answer.output else _plain(answer.output),
        failure=None if answer.status == "completed" else _executor_failure(answer, failure),
        evidence=(*_drafts(answer, failure), *_events_of(answer, events)),
    )


def _response(response: Any) -> InvocationResponse:
    if isinstance(response, InvocationResponse):
        response = to_data(response)
    made: InvocationResponse = read(response, contract="invocation-response")
    return made


def _status(answer: InvocationResponse, failure: ElegyFailure | None) -> ExecutorStatus:
    if answer.status == "failed" and failure is not None and failure.category in BLOCKED:
        return ExecutorStatus.BLOCKED
    return STATUSES[answer.status]


def _executor_failure(
    answer: InvocationResponse, failure: ElegyFailure | None
) -> ExecutorFailure | None:
    if failure is None:
        return None
    kind = kind_of(failure)
    if answer.status == "cancelled":
        kind = StructuredFailureKind.CANCELLED
    details = dict(failure.details or {})
    return ExecutorFailure(kind=kind, code=failure.code, message=failure.message, details=details)


def kind_of(failure: ElegyFailure) -> StructuredFailureKind:
    """Return the kind of a failure: by its category, else by a code that is a kind's own word."""
    if failure.category == "unknown":
        word = snake(failure.code.replace("-", "_"))
        if word in {kind.value for kind in StructuredFailureKind}:
            return StructuredFailureKind(word)
    return KINDS[failure.category]


def failure_of(given: Any) -> tuple[StructuredFailure, tuple[ExecutorEvidenceDraft, ...]]:
    """Make a StructuredFailure of Elegy's: message verbatim, details kept, its source as evidence.

    Args:
        given: The record, or its JSON in either spelling.

    Raises:
        ContractError: It is refused; with paths.
    """
    if isinstance(given, ElegyFailure):
        given = to_data(given)
    one: ElegyFailure = read(given, contract="structured-failure")
    made = StructuredFailure(
        kind=kind_of(one), code=one.code, message=one.message, details=dict(one.details or {})
    )
    return made, tuple(_of_failure(one))


def _drafts(
    answer: InvocationResponse, failure: ElegyFailure | None
) -> Iterator[ExecutorEvidenceDraft]:
    run = {
        "request_id": answer.request_id,
        "execution_id": answer.execution_id,
        "completed_at": answer.completed_at or None,
        "trace_ref": answer.trace_ref or None,
        "metadata": dict(answer.metadata or {}),
    }
    yield ExecutorEvidenceDraft(source=INVOCATION, data=run)
    if failure is not None:
        yield from _of_failure(failure)


def _of_failure(failure: ElegyFailure) -> Iterator[ExecutorEvidenceDraft]:
    kept = {
        "source": failure.source or None,
        "cause": None if not failure.cause else to_data(failure.cause),
        "correlation_id": failure.correlation_id or None,
    }
    if any(value is not None for value in kept.values()):
        yield ExecutorEvidenceDraft(
            source=FAILURE,
            data={**kept, "category": failure.category, "retryable": failure.retryable},
        )


def _events_of(
    answer: InvocationResponse, events: Iterable[Any]
) -> Iterator[ExecutorEvidenceDraft]:
    beside = [_event(each) for each in events]
    mine = [each for each in beside if each.execution_id == answer.execution_id]
    for each in sorted((*(answer.events or ()), *mine), key=lambda event: event.sequence):
        made = event_of(each)
        data = {
            "kind": made.kind.value,
            "created_at_unix_seconds": made.created_at_unix_seconds,
            "payload": made.payload_json,
        }
        yield ExecutorEvidenceDraft(source=made.source or EVENT, data=data)


def _event(given: Any) -> ExecutionEvent:
    if isinstance(given, ExecutionEvent):
        given = to_data(given)
    made: ExecutionEvent = read(given, contract="execution-event")
    return made


def event_of(given: Any) -> WorkflowEvent:
    """Make a workflow event of an ExecutionEvent.

    Args:
        given: The record, or its JSON in either spelling.

    Raises:
        ContractError: It is refused; with paths.
    """
    event = _event(given)
    data = to_data(event)
    payload = data.get("payload")
    if payload is None:
        names = ("message", "progress", "failure", "metadata")
        payload = {name: data[name] for name in names if data.get(name) is not None}
    return WorkflowEvent(
        kind=EVENTS[event.event_type],
        created_at_unix_seconds=as_seconds(event.timestamp),
        payload_json=payload,
        source=event.source or event.capability_id or event.trace_ref or "",
    )


def step_result_of(response: Any) -> WorkflowStepResult:
    """Make the result of a workflow step of an InvocationResponse.

    Raises:
        ContractError: It is refused; with paths.
    """
    outcome = outcome_of(response)
    failure = outcome.failure
    return WorkflowStepResult(
        status=Status(outcome.status.value),
        output_json=outcome.output_json,
        failure=None
        if failure is None
        else StructuredFailure(
            kind=failure.kind, code=failure.code, message=failure.message, details=failure.details
        ),
    )


def failed_step_of(failure: Any) -> WorkflowStepResult:
    """Make the result of a workflow step of a StructuredFailure alone.

    Raises:
        ContractError: It is refused; with paths.
    """
    made, _ = failure_of(failure)
    return WorkflowStepResult(status=Status.FAILED, failure=made)


def _plain(value: Any) -> Any:
    return to_data(value)
