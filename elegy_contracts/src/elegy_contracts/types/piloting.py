"""Descriptors of applications that are piloted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class PilotingTargetLaunchHints:
    """The launch hints of a piloting target."""

    executables: tuple[str, ...]
    arguments: tuple[str, ...]
    urls: tuple[str, ...]


@frozen(kw_only=True)
class PilotingTargetAttachHints:
    """The attach hints of a piloting target."""

    process_names: tuple[str, ...]
    window_titles: tuple[str, ...]
    surface_urls: tuple[str, ...]


@frozen(kw_only=True)
class PilotingTargetDescriptor:
    """A product that is piloted."""

    schema_version: str
    target_id: str
    product_name: str
    version_range: str
    platforms: tuple[str, ...]
    launch_hints: PilotingTargetLaunchHints
    attach_hints: PilotingTargetAttachHints


@frozen(kw_only=True)
class PilotingSurfaceSelectors:
    """One selector of a piloting surface."""

    strategy: str
    value: str
    description: str | Unset = UNSET


@frozen(kw_only=True)
class PilotingSurfaceDescriptor:
    """A surface of a product."""

    schema_version: str
    surface_id: str
    target_id: str
    surface_kind: str
    stability: str
    selectors: tuple[PilotingSurfaceSelectors, ...]
    semantic_anchors: tuple[str, ...]


@frozen(kw_only=True)
class PilotingAdapterContracts:
    """The contracts of a piloting adapter."""

    target_descriptor_schema_ref: str
    surface_descriptor_schema_ref: str
    observation_frame_schema_ref: str
    action_intent_schema_ref: str
    action_result_schema_ref: str
    readiness_report_schema_ref: str
    fixture_pack_schema_ref: str
    policy_decision_schema_ref: str
    simulation_result_schema_ref: str
    replay_checkpoint_schema_ref: str
    lifecycle_event_schema_ref: str


@frozen(kw_only=True)
class PilotingAdapterFixtures:
    """One fixture of a piloting adapter."""

    fixture_pack_id: str
    path: str
    description: str | Unset = UNSET


@frozen(kw_only=True)
class PilotingAdapterPermissions:
    """The permissions of a piloting adapter."""

    side_effect_classes: tuple[str, ...]
    requires_host_approval: bool


@frozen(kw_only=True)
class PilotingAdapterManifest:
    """An adapter that pilots a product."""

    schema_version: str
    adapter_id: str
    display_name: str
    version: str
    mode: str
    supported_software: tuple[Mapping[str, Any], ...]
    supported_surfaces: tuple[Mapping[str, Any], ...]
    contracts: PilotingAdapterContracts
    fixtures: tuple[PilotingAdapterFixtures, ...]
    permissions: PilotingAdapterPermissions
    description: str | Unset = UNSET


@frozen(kw_only=True)
class PilotingFixtureExpectedResultChecks:
    """One expected result check of a fixture pack."""

    action_id: str
    expected_status: str
    checks: tuple[str, ...]
    evidence_refs: tuple[str, ...]


@frozen(kw_only=True)
class PilotingFixturePack:
    """Recorded cases of piloting."""

    schema_version: str
    fixture_pack_id: str
    adapter_id: str
    target_id: str
    recorded_at_utc: str
    observations: tuple[Mapping[str, Any], ...]
    allowed_actions: tuple[Mapping[str, Any], ...]
    expected_result_checks: tuple[PilotingFixtureExpectedResultChecks, ...]
    policy_decisions: tuple[Mapping[str, Any], ...]
    simulation_results: tuple[Mapping[str, Any], ...]
    replay_checkpoints: tuple[Mapping[str, Any], ...]
    lifecycle_events: tuple[Mapping[str, Any], ...]
