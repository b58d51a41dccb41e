"""Plugin packages: the lines v1, v2 and the one after them, read as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class PackageIdentity:
    """The identity of a plugin package."""

    package_id: str
    name: str
    version: str
    display_name: str | Unset = UNSET


@frozen(kw_only=True)
class PackageMetadata:
    """The metadata of a plugin package."""

    description: str | Unset = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    license: str | Unset = UNSET
    homepage: str | Unset = UNSET
    documentation_uri: str | Unset = UNSET
    subset_of: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class PackageSkillComponent:
    """One skill component of a plugin package."""

    id: str
    definition_ref: str | Unset = UNSET
    definition: Mapping[str, Any] | Unset = UNSET


@frozen(kw_only=True)
class PackagePath:
    """One file of a plugin package."""

    id: str
    path: str
    description: str | Unset = UNSET


@frozen(kw_only=True)
class PackageProjectionProjection:
    """The projection of a plugin package."""

    projections: tuple[str, ...] | Unset = UNSET
    function_name: str | Unset = UNSET
    mcp_tool_name: str | Unset = UNSET


@frozen(kw_only=True)
class PackageProjection:
    """One projection of a plugin package."""

    id: str
    skill: str
    capability: str
    lane: str
    supports_dry_run: bool
    input_schema: Mapping[str, Any] | Unset = UNSET
    output_schema: Mapping[str, Any] | Unset = UNSET
    side_effect_class: str | Unset = UNSET
    projection: PackageProjectionProjection | Unset = UNSET


@frozen(kw_only=True)
class PackageCapabilityRef:
    """One capability ref of a plugin package."""

    skill: str
    capability: str


@frozen(kw_only=True)
class PackageMcpProjection:
    """One mcp projection of a plugin package."""

    id: str
    descriptor_ref: str | Unset = UNSET
    server_name: str | Unset = UNSET
    capability_refs: tuple[PackageCapabilityRef, ...] | Unset = UNSET


@frozen(kw_only=True)
class PackagePilotingComponent:
    """One piloting component of a plugin package."""

    id: str
    manifest_ref: str | Unset = UNSET
    manifest: Mapping[str, Any] | Unset = UNSET


@frozen(kw_only=True)
class PackageFixtureComponent:
    """One fixture component of a plugin package."""

    id: str
    fixture_pack_ref: str | Unset = UNSET
    fixture_pack: Mapping[str, Any] | Unset = UNSET


@frozen(kw_only=True)
class PackageToolRequirement:
    """One tool requirement of a plugin package."""

    tool_name: str
    cli_binary: str
    min_version: str | Unset = UNSET
    probe_command: str | Unset = UNSET
    description: str | Unset = UNSET


@frozen(kw_only=True)
class PackageCompatibility:
    """One compatibility of a plugin package."""

    host: str
    version_range: str
    notes: str | Unset = UNSET


@frozen(kw_only=True)
class PackageRustToolAdapter:
    """One rust tool adapter of a plugin package."""

    id: str
    crate_name: str
    crate_version: str
    registry_symbol: str
    feature: str | Unset = UNSET
    manifest_ref: str | Unset = UNSET


@frozen(kw_only=True)
class PackageComponents:
    """The components of a plugin package."""

    skill_definitions: tuple[PackageSkillComponent, ...] | Unset = UNSET
    instruction_skills: tuple[PackagePath, ...] | Unset = UNSET
    docs: tuple[PackagePath, ...] | Unset = UNSET
    configuration_templates: tuple[PackagePath, ...] | Unset = UNSET
    configuration_profiles: tuple[PackagePath, ...] | Unset = UNSET
    capability_contracts: tuple[PackagePath, ...] | Unset = UNSET
    eval_packs: tuple[PackagePath, ...] | Unset = UNSET
    resource_packs: tuple[PackagePath, ...] | Unset = UNSET
    tool_adapter_contracts: tuple[PackagePath, ...] | Unset = UNSET
    bridge_adapter_contracts: tuple[PackagePath, ...] | Unset = UNSET
    cli_helpers: tuple[PackagePath, ...] | Unset = UNSET
    assets: tuple[PackagePath, ...] | Unset = UNSET
    capability_projections: tuple[PackageProjection, ...] | Unset = UNSET
    mcp_projections: tuple[PackageMcpProjection, ...] | Unset = UNSET
    piloting_adapters: tuple[PackagePilotingComponent, ...] | Unset = UNSET
    fixture_packs: tuple[PackageFixtureComponent, ...] | Unset = UNSET
    tool_requirements: tuple[PackageToolRequirement, ...] | Unset = UNSET
    host_compatibility: tuple[PackageCompatibility, ...] | Unset = UNSET
    rust_tool_adapters: tuple[PackageRustToolAdapter, ...] | Unset = UNSET


@frozen(kw_only=True)
class PackageHostPolicyHints:
    """The host policy hints of a plugin package."""

    side_effect_class: str | Unset = UNSET
    requires_approval: bool | Unset = UNSET
    policy_tags: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class PackagePublishing:
    """The publishing of a plugin package."""

    crate_path: str | Unset = UNSET
    asset_kind: str | Unset = UNSET
    marketplace_target: str | Unset = UNSET
    import_mode: str | Unset = UNSET
    source_repository: str | Unset = UNSET
    source_ref: str | Unset = UNSET
    source_commit: str | Unset = UNSET
    changelog_ref: str | Unset = UNSET
    provenance_ref: str | Unset = UNSET
    signature_refs: tuple[str, ...] | Unset = UNSET
    compatibility: tuple[PackageCompatibility, ...] | Unset = UNSET
    archive_family: str | Unset = UNSET
    asset_prefix: str | Unset = UNSET
    skill_bridge: str | Unset = UNSET
    installer: str | Unset = UNSET
    pre_publish_hook: str | Unset = UNSET
    post_publish_hook: str | Unset = UNSET
    targets: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class PackageElegyCompatibility:
    """The elegy compatibility of a plugin package."""

    contract_bundle_version: str
    schema_line: str
    minimum_elegy_tooling_version: str | Unset = UNSET
    contracts_source: str | Unset = UNSET


@frozen(kw_only=True)
class PluginPackage:
    """A package that groups skills, projections, configuration and documents."""

    schema_version: str
    identity: PackageIdentity
    components: PackageComponents
    metadata: PackageMetadata | Unset = UNSET
    host_policy_hints: PackageHostPolicyHints | Unset = UNSET
    publishing: PackagePublishing | Unset = UNSET
    elegy_compatibility: PackageElegyCompatibility | Unset = UNSET
    extensions: Mapping[str, Any] | Unset = UNSET


@frozen(kw_only=True)
class ReadinessPackageIdentity:
    """The package identity of a readiness answer."""

    package_id: str
    name: str
    version: str


@frozen(kw_only=True)
class ReadinessVerifiedSkills:
    """One verified skill of a readiness answer."""

    skill_id: str
    status: str


@frozen(kw_only=True)
class ReadinessProjectedTools:
    """One projected tool of a readiness answer."""

    tool_name: str
    function_name: str
    capability_id: str | Unset = UNSET
    lane: str | Unset = UNSET


@frozen(kw_only=True)
class ReadinessToolStatuses:
    """One tool status of a readiness answer."""

    tool_name: str
    status: str
    cli_binary: str | Unset = UNSET
    probe_output: str | Unset = UNSET
    detail: str | Unset = UNSET


@frozen(kw_only=True)
class ReadinessSideEffectSummary:
    """The side effect summary of a readiness answer."""

    none: int | Unset = UNSET
    read_only: int | Unset = field(default=UNSET, metadata={"wire": "read_only"})
    disk_read: int | Unset = field(default=UNSET, metadata={"wire": "disk_read"})
    disk_write: int | Unset = field(default=UNSET, metadata={"wire": "disk_write"})
    network_outbound: int | Unset = field(default=UNSET, metadata={"wire": "network_outbound"})
    process_spawn: int | Unset = field(default=UNSET, metadata={"wire": "process_spawn"})
    desktop_ui: int | Unset = field(default=UNSET, metadata={"wire": "desktop_ui"})


@frozen(kw_only=True)
class ReadinessFindings:
    """One finding of a readiness answer."""

    code: str
    severity: str
    message: str
    detail: str | Unset = UNSET


@frozen(kw_only=True)
class PluginReadiness:
    """What of a package is ready, and why not."""

    schema_version: str
    package_identity: ReadinessPackageIdentity
    readiness: str
    verified_skills: tuple[ReadinessVerifiedSkills, ...] | Unset = UNSET
    projected_tools: tuple[ReadinessProjectedTools, ...] | Unset = UNSET
    tool_statuses: tuple[ReadinessToolStatuses, ...] | Unset = UNSET
    omitted_capabilities: tuple[str, ...] | Unset = UNSET
    unsupported_capabilities: tuple[str, ...] | Unset = UNSET
    side_effect_summary: ReadinessSideEffectSummary | Unset = UNSET
    findings: tuple[ReadinessFindings, ...] | Unset = UNSET


@frozen(kw_only=True)
class PluginLockElegyCompatibility:
    """The elegy compatibility of a plugin lock."""

    contract_bundle_version: str
    schema_line: str
    source_asset: str | Unset = UNSET
    checksum: str | Unset = UNSET


@frozen(kw_only=True)
class PluginLock:
    """By which contracts a package was made."""

    schema_version: str
    lock_version: int
    elegy_compatibility: PluginLockElegyCompatibility
    generated_at: str
    generated_by: str | Unset = UNSET
    plugin_package_ref: str | Unset = UNSET
