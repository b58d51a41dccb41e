"""Invocations: request, response, failure, event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class RequestContext:
    """Who asks, when, and for how long it may take."""

    correlation_id: str
    execution_id: str
    requested_at: str
    timeout_seconds: int | Unset | None = UNSET
    caller_ref: str | Unset | None = UNSET
    trace_ref: str | Unset | None = UNSET
    policy_context: Mapping[str, str] | Unset | None = UNSET
    metadata: Mapping[str, str] | Unset = UNSET


@frozen(kw_only=True)
class InvocationRequest:
    """What is asked of a capability."""

    request_id: str
    capability_id: str
    input: Mapping[str, Any]
    context: RequestContext


@frozen(kw_only=True)
class FailureCause:
    """What lay behind a failure."""

    code: str
    message: str


@frozen(kw_only=True)
class StructuredFailure:
    """Why an invocation did not complete; ``source`` is not of the contract, and kept."""

    code: str
    message: str
    category: str
    retryable: bool
    correlation_id: str | Unset | None = UNSET
    details: Mapping[str, Any] | Unset | None = UNSET
    cause: FailureCause | Unset | None = UNSET
    source: Any = UNSET


@frozen(kw_only=True)
class EventProgress:
    """How far an execution is."""

    current: int
    total: int
    unit: str | Unset | None = UNSET


@frozen(kw_only=True)
class ExecutionEvent:
    """One step of an execution; ``payload`` and ``source`` are not of the contract, and kept."""

    event_id: str
    request_id: str
    execution_id: str
    sequence: int
    timestamp: str
    event_type: str
    status: str
    correlation_id: str | Unset | None = UNSET
    trace_ref: str | Unset | None = UNSET
    capability_id: str | Unset | None = UNSET
    message: str | Unset | None = UNSET
    progress: EventProgress | Unset | None = UNSET
    failure: StructuredFailure | Unset | None = UNSET
    metadata: Mapping[str, str] | Unset = UNSET
    payload: Any = UNSET
    source: str | Unset = UNSET


@frozen(kw_only=True)
class InvocationResponse:
    """How an invocation ended; ``events`` are not of the contract, and kept."""

    request_id: str
    execution_id: str
    status: str
    output: Mapping[str, Any] | Unset | None = UNSET
    failure: StructuredFailure | Unset | None = UNSET
    completed_at: str | Unset | None = UNSET
    trace_ref: str | Unset | None = UNSET
    metadata: Mapping[str, str] | Unset = UNSET
    events: tuple[ExecutionEvent, ...] | Unset = UNSET
