"""Capability definitions, and projections of them as tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class CapabilityDefinitionInput:
    """The input of a capability definition."""

    schema: Any = UNSET
    schema_ref: str | Unset | None = UNSET
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class CapabilityDefinitionExecution:
    """The execution of a capability definition."""

    side_effect_class: str
    auth_mode: str
    idempotence: str
    cost_hint: str
    latency_hint: str
    timeout_seconds: int | Unset | None = UNSET


@frozen(kw_only=True)
class CapabilityDefinitionGovernance:
    """The governance of a capability definition."""

    trust_level: str
    approval_requirement: str
    policy_refs: tuple[str, ...]


@frozen(kw_only=True)
class CapabilityDefinitionSource:
    """The source of a capability definition."""

    source_kind: str
    source_ref: str | Unset | None = UNSET
    artifact_ref: str | Unset | None = UNSET


@frozen(kw_only=True)
class CapabilityDefinitionObservability:
    """The observability of a capability definition."""

    labels: tuple[str, ...]
    correlation_required: bool
    emits_execution_events: bool


@frozen(kw_only=True)
class CapabilityDefinition:
    """One capability, described without a host."""

    id: str
    display_name: str
    version: str
    family: str
    tags: tuple[str, ...]
    input: CapabilityDefinitionInput
    output: CapabilityDefinitionInput
    execution: CapabilityDefinitionExecution
    governance: CapabilityDefinitionGovernance
    source: CapabilityDefinitionSource
    observability: CapabilityDefinitionObservability
    lifecycle_state: str
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class ToolProjectionInvocationEnvelope:
    """The invocation envelope of a tool projection."""

    request_schema_ref: str | Unset = UNSET
    response_schema_ref: str | Unset = UNSET


@frozen(kw_only=True)
class ToolProjectionDependencyRequirements:
    """The dependency requirements of a tool projection."""

    secrets: tuple[str, ...] | Unset = UNSET
    services: tuple[str, ...] | Unset = UNSET
    filesystem: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class ToolProjectionProvenance:
    """The provenance of a tool projection."""

    source_capability_id: str
    generated_by: str
    generated_at: str
    projection_version: str | Unset = UNSET


@frozen(kw_only=True)
class ToolProjectionFrozenTool:
    """The frozen tool of a tool projection."""

    is_frozen: bool | Unset = UNSET
    frozen_at: str | Unset = UNSET
    input_examples: tuple[Mapping[str, Any], ...] | Unset = UNSET
    validation_evidence: str | Unset = UNSET
    fallback_behavior: str | Unset = UNSET


@frozen(kw_only=True)
class ToolProjection:
    """A capability as one kind of tool."""

    projection_kind: str
    name: str
    description: str
    input_schema_ref: str
    output_schema_ref: str
    side_effect_class: str
    provenance: ToolProjectionProvenance
    invocation_envelope: ToolProjectionInvocationEnvelope | Unset = UNSET
    is_deterministic: bool | Unset = UNSET
    dependency_requirements: ToolProjectionDependencyRequirements | Unset = UNSET
    frozen_tool: ToolProjectionFrozenTool | Unset = UNSET
