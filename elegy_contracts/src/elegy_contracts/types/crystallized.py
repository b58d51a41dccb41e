"""Crystallized capabilities: portable artifacts of proven, deterministic work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class CrystallizedIdentity:
    """The identity of a crystallized capability."""

    namespace: str
    name: str
    aliases: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedFile:
    """One file of a crystallized capability."""

    path: str
    sha256: str
    content: str | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedImplementation:
    """The implementation of a crystallized capability."""

    kind: str
    language: str | Unset = UNSET
    entry_point: str | Unset = UNSET
    artifact_digest: str | Unset = UNSET
    arguments: tuple[str, ...] | Unset = UNSET
    stdin_format: str | Unset | None = UNSET
    files: tuple[CrystallizedFile, ...] | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedVariableSlot:
    """One variable slot of a crystallized capability."""

    name: str
    path: str
    description: str | Unset = UNSET
    schema: Mapping[str, Any] | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedDependency:
    """One dependency of a crystallized capability."""

    kind: str
    name: str
    version: str | Unset = UNSET
    description: str | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedSideEffects:
    """The side effects of a crystallized capability."""

    class_: str
    description: str | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedDeterminism:
    """The determinism of a crystallized capability."""

    is_deterministic: bool
    description: str | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedProvenance:
    """One provenance of a crystallized capability."""

    kind: str
    digest: str | Unset = UNSET
    summary: str | Unset = UNSET
    created_at: str | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedGovernance:
    """The governance of a crystallized capability."""

    risk_level: str | Unset = UNSET
    approval_requirement: str | Unset = UNSET
    policy_refs: tuple[str, ...] | Unset = UNSET
    hints: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedValidation:
    """One validation of a crystallized capability."""

    id: str
    path: str | Unset = UNSET
    sha256: str | Unset = UNSET
    input: Any = UNSET
    output: Any = UNSET


@frozen(kw_only=True)
class CrystallizedHost:
    """One host of a crystallized capability."""

    host: str
    version_range: str
    notes: str | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedCompatibility:
    """The compatibility of a crystallized capability."""

    contract: str | Unset = UNSET
    platforms: tuple[str, ...] | Unset = UNSET
    hosts: tuple[CrystallizedHost, ...] | Unset = UNSET
    requires: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedSecretSlot:
    """One secret slot of a crystallized capability."""

    name: str
    purpose: str
    required: bool | Unset = UNSET


@frozen(kw_only=True)
class CrystallizedCapabilityDefinition:
    """A deterministic capability as a portable artifact, without anything of a host."""

    schema_version: str
    identity: CrystallizedIdentity
    display_name: str
    version: str
    lifecycle_state: str
    implementation: CrystallizedImplementation
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    side_effects: CrystallizedSideEffects
    determinism: CrystallizedDeterminism
    description: str | Unset = UNSET
    variable_slots: tuple[CrystallizedVariableSlot, ...] | Unset = UNSET
    dependencies: tuple[CrystallizedDependency, ...] | Unset = UNSET
    provenance: tuple[CrystallizedProvenance, ...] | Unset = UNSET
    governance: CrystallizedGovernance | Unset = UNSET
    validation: tuple[CrystallizedValidation, ...] | Unset = UNSET
    compatibility: CrystallizedCompatibility | Unset = UNSET
    secret_slots: tuple[CrystallizedSecretSlot, ...] | Unset = UNSET
