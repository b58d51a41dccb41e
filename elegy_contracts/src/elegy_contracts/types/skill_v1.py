"""Skill definitions of the first version: catalogue entries, with no way to invoke them."""

from __future__ import annotations

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class SkillV1Identity:
    """The identity of a skill definition, version 1."""

    definition_id: str | Unset = UNSET
    display_name: str | Unset = UNSET
    namespace: str | Unset | None = UNSET
    version: str | Unset | None = UNSET
    aliases: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class SkillV1Metadata:
    """The metadata of a skill definition, version 1."""

    summary: str | Unset | None = UNSET
    category: str | Unset | None = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    owners: tuple[str, ...] | Unset = UNSET
    documentation_uri: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillV1Trigger:
    """One trigger of a skill definition, version 1."""

    pattern: str
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillV1Constraint:
    """One constraint of a skill definition, version 1."""

    constraint_id: str
    required: bool
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillV1Parameter:
    """One parameter of a skill definition, version 1."""

    name: str
    type: str
    required: bool
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillV1Input:
    """The input of a skill definition, version 1."""

    parameters: tuple[SkillV1Parameter, ...] | Unset = UNSET
    schema_ref: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillV1Output:
    """The output of a skill definition, version 1."""

    result_type: str | Unset | None = UNSET
    schema_ref: str | Unset | None = UNSET
    returns_collection: bool | Unset = UNSET
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillV1Execution:
    """The execution of a skill definition, version 1."""

    mode: str | Unset = UNSET
    is_deterministic: bool | Unset = UNSET
    has_side_effects: bool | Unset = UNSET
    timeout_seconds: int | Unset | None = UNSET


@frozen(kw_only=True)
class SkillV1Governance:
    """The governance of a skill definition, version 1."""

    risk_level: str | Unset = UNSET
    approval_requirement: str | Unset = UNSET
    policy_refs: tuple[str, ...] | Unset = UNSET
    allowed_contexts: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class SkillV1Discovery:
    """The discovery of a skill definition, version 1."""

    keywords: tuple[str, ...] | Unset = UNSET
    capability_hints: tuple[str, ...] | Unset = UNSET
    is_hidden: bool | Unset = UNSET


@frozen(kw_only=True)
class SkillV1Origin:
    """The origin of a skill definition, version 1."""

    materialization_kind: str | Unset = UNSET
    source_kind: str | Unset = UNSET
    source_ref: str | Unset | None = UNSET
    source_version: str | Unset | None = UNSET


@frozen(kw_only=True)
class SkillDefinitionV1:
    """A skill definition, version 1."""

    id: str
    name: str
    triggers: tuple[SkillV1Trigger, ...]
    constraints: tuple[SkillV1Constraint, ...]
    lifecycle_state: str
    description: str | Unset | None = UNSET
    identity: SkillV1Identity | Unset = UNSET
    metadata: SkillV1Metadata | Unset = UNSET
    input: SkillV1Input | Unset = UNSET
    output: SkillV1Output | Unset = UNSET
    execution: SkillV1Execution | Unset = UNSET
    governance: SkillV1Governance | Unset = UNSET
    discovery: SkillV1Discovery | Unset = UNSET
    origin: SkillV1Origin | Unset = UNSET
