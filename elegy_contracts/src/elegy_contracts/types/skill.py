"""Skill definitions, version 2: capabilities with how each is invoked."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class SkillIdentity:
    """The identity of a skill definition."""

    namespace: str
    name: str
    version: str
    display_name: str | Unset | None = UNSET
    aliases: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class SkillMetadata:
    """The metadata of a skill definition."""

    display_name: str | Unset | None = UNSET
    description: str | Unset | None = UNSET
    summary: str | Unset | None = UNSET
    category: str | Unset | None = UNSET
    author: str | Unset | None = UNSET
    license: str | Unset | None = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    owners: tuple[str, ...] | Unset = UNSET
    documentation_uri: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillImplementation:
    """The implementation of a skill definition."""

    execution_type: str
    executable_name: str
    arguments: tuple[str, ...]


@frozen(kw_only=True)
class SkillParameter:
    """One parameter of a skill definition."""

    name: str
    type: str
    required: bool
    description: str | Unset | None = UNSET
    default: Any = UNSET


@frozen(kw_only=True)
class SkillInput:
    """The input of a skill definition."""

    parameters: tuple[SkillParameter, ...] | Unset = UNSET
    stdin_format: str | Unset | None = UNSET
    schema_ref: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillOutput:
    """The output of a skill definition."""

    result_type: str | Unset | None = UNSET
    schema_ref: str | Unset | None = UNSET
    returns_collection: bool | Unset = UNSET
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillExecution:
    """The execution of a skill definition."""

    mode: str | Unset = UNSET
    is_deterministic: bool | Unset = UNSET
    has_side_effects: bool | Unset = UNSET
    timeout_seconds: int | Unset | None = UNSET


@frozen(kw_only=True)
class SkillComposesWell:
    """The composes well of a skill definition."""

    typical_next: tuple[str, ...] | Unset = UNSET
    pipeable_to: tuple[str, ...] | Unset = UNSET
    output_consumed_by: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class SkillCapability:
    """One capability of a skill definition."""

    id: str
    name: str
    description: str
    implementation: SkillImplementation | Unset = UNSET
    input: SkillInput | Unset = UNSET
    output: SkillOutput | Unset = UNSET
    execution: SkillExecution | Unset = UNSET
    composes_well: SkillComposesWell | Unset = UNSET


@frozen(kw_only=True)
class SkillConstraint:
    """One constraint of a skill definition."""

    constraint_id: str
    required: bool
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillGovernance:
    """The governance of a skill definition."""

    risk_level: str | Unset = UNSET
    approval_requirement: str | Unset = UNSET
    policy_refs: tuple[str, ...] | Unset = UNSET
    allowed_contexts: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class SkillTrigger:
    """One trigger of a skill definition."""

    pattern: str
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillDiscovery:
    """The discovery of a skill definition."""

    keywords: tuple[str, ...] | Unset = UNSET
    triggers: tuple[SkillTrigger, ...] | Unset = UNSET
    capability_hints: tuple[str, ...] | Unset = UNSET
    is_hidden: bool | Unset = UNSET


@frozen(kw_only=True)
class SkillOrigin:
    """The origin of a skill definition."""

    materialization_kind: str | Unset = UNSET
    source_kind: str | Unset = UNSET
    source_ref: str | Unset | None = UNSET
    source_version: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillCapabilityProjection:
    """One capability projection of a skill definition."""

    capability_id: str
    function_name: str
    side_effect_class: str | Unset = UNSET
    is_deterministic: bool | Unset = UNSET


@frozen(kw_only=True)
class SkillHostProjection:
    """The host projection of a skill definition."""

    cli_name: str | Unset = UNSET
    output_contract_id: str | Unset = UNSET
    default_side_effect_class: str | Unset = UNSET
    capability_projections: tuple[SkillCapabilityProjection, ...] | Unset = UNSET


@frozen(kw_only=True)
class SkillDefinition:
    """A skill definition, version 2; its key is ``namespace.name``."""

    skill_format: str
    skill_version: int
    identity: SkillIdentity
    capabilities: tuple[SkillCapability, ...]
    lifecycle_state: str
    metadata: SkillMetadata | Unset = UNSET
    constraints: tuple[SkillConstraint, ...] | Unset = UNSET
    governance: SkillGovernance | Unset = UNSET
    discovery: SkillDiscovery | Unset = UNSET
    origin: SkillOrigin | Unset = UNSET
    host_projection: SkillHostProjection | Unset = UNSET
