"""Workflow graphs: a serialised shape, without a runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class WorkflowPortDefinition:
    """One port definition of a workflow graph."""

    name: str
    data_type: str
    required: bool
    allow_multiple: bool
    label: str | Unset | None = UNSET
    description: str | Unset | None = UNSET
    type_descriptor: Any = UNSET
    default_value: Any = UNSET
    schema: str | Unset | None = UNSET


@frozen(kw_only=True)
class WorkflowTrigger:
    """The trigger of a workflow graph."""

    type: str
    input_schema: tuple[WorkflowPortDefinition, ...]
    cron_expression: str | Unset | None = UNSET
    timezone: str | Unset | None = UNSET
    event_type: str | Unset | None = UNSET


@frozen(kw_only=True)
class WorkflowConnectionTransform:
    """The connection transform of a workflow graph."""

    type: str
    template: str | Unset | None = UNSET
    lookup_table: Mapping[str, str] | Unset | None = UNSET
    target_type: Any = UNSET


@frozen(kw_only=True)
class WorkflowInputResolution:
    """The input resolution of a workflow graph."""

    source_expression: str | Unset | None = UNSET
    static_value: Any = UNSET
    transform: WorkflowConnectionTransform | Unset = UNSET
    default_value: Any = UNSET


@frozen(kw_only=True)
class WorkflowRetryConfig:
    """The retry config of a workflow graph."""

    max_retries: int
    initial_delay: str
    max_delay: str
    backoff_multiplier: float
    retryable_error_codes: tuple[str, ...] | Unset | None = UNSET


@frozen(kw_only=True)
class WorkflowScheduleConfig:
    """The schedule config of a workflow graph."""

    kind: str | Unset | None = UNSET
    delay_seconds: int | Unset | None = UNSET
    execute_at: str | Unset | None = UNSET
    cron_expression: str | Unset | None = UNSET
    interval_value: int | Unset | None = UNSET
    interval_unit: str | Unset | None = UNSET
    start_at: str | Unset | None = UNSET
    end_at: str | Unset | None = UNSET
    max_occurrences: int | Unset | None = UNSET
    timezone: str | Unset = UNSET


@frozen(kw_only=True)
class WorkflowHumanReviewConfig:
    """The human review config of a workflow graph."""

    approver_user_ids: tuple[str, ...]
    approver_roles: tuple[str, ...]
    send_notification: bool
    instructions: str | Unset | None = UNSET
    timeout_hours: int | Unset | None = UNSET


@frozen(kw_only=True)
class WorkflowNode:
    """One node of a workflow graph."""

    id: str
    name: str
    type: str
    inputs: tuple[WorkflowPortDefinition, ...]
    outputs: tuple[WorkflowPortDefinition, ...]
    config: Mapping[str, Any]
    input_mappings: Mapping[str, str]
    input_resolutions: Mapping[str, WorkflowInputResolution]
    on_failure: str
    max_retries: int
    retry_delay_seconds: int
    timeout_seconds: int
    persist_output: bool
    is_enabled: bool
    description: str | Unset | None = UNSET
    piece_id: str | Unset | None = UNSET
    piece_type: str | Unset | None = UNSET
    tool_id: str | Unset | None = UNSET
    addon_version: int | Unset | None = UNSET
    retry_config: WorkflowRetryConfig | Unset = UNSET
    condition: str | Unset | None = UNSET
    rollback_tool_id: str | Unset | None = UNSET
    schedule: WorkflowScheduleConfig | Unset = UNSET
    human_review: WorkflowHumanReviewConfig | Unset = UNSET


@frozen(kw_only=True)
class WorkflowEdge:
    """One edge of a workflow graph."""

    from_step_id: str
    from_port: str
    to_step_id: str
    to_port: str
    priority: int
    transform: WorkflowConnectionTransform | Unset = UNSET
    condition: str | Unset | None = UNSET
    label: str | Unset | None = UNSET


@frozen(kw_only=True)
class WorkflowVariable:
    """The workflow variable of a workflow graph."""

    name: str
    data_type: str
    is_secret: bool
    description: str | Unset | None = UNSET
    default_value: Any = UNSET


@frozen(kw_only=True)
class WorkflowGraph:
    """A graph of steps, joined by their ports."""

    canonical_format: str
    canonical_version: int
    nodes: tuple[WorkflowNode, ...]
    edges: tuple[WorkflowEdge, ...]
    variables: Mapping[str, WorkflowVariable]
    trigger: WorkflowTrigger | Unset = UNSET
    entry_step_id: str | Unset | None = UNSET
