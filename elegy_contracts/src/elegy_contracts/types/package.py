"""Packages, locks and bills of materials of the later line."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class ElegyPackagePackageEntrypointV1:
    """One package entrypoint of a package."""

    executable: str
    id: str
    kind: str
    command: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class ElegyPackagePackageFileV1:
    """One package file of a package."""

    path: str
    role: str
    sha256: str | Unset | None = UNSET


@frozen(kw_only=True)
class ElegyPackagePackageProvenanceV1:
    """The provenance of a package."""

    build_workflow: str | Unset | None = UNSET
    builder: str | Unset | None = UNSET
    source_commit: str | Unset | None = UNSET


@frozen(kw_only=True)
class ElegyPackagePackagePublisherV1:
    """The publisher of a package."""

    name: str
    repository: str
    workflow_identity: str | Unset | None = UNSET


@frozen(kw_only=True)
class ElegyPackage:
    """A package: entrypoints, files and where they come from."""

    capability_catalog: str
    description: str
    entrypoints: tuple[ElegyPackagePackageEntrypointV1, ...]
    files: tuple[ElegyPackagePackageFileV1, ...]
    license: str
    name: str
    publisher: ElegyPackagePackagePublisherV1
    schema_version: str
    targets: tuple[str, ...]
    version: str
    provenance: ElegyPackagePackageProvenanceV1 | Unset | None = UNSET
    readiness: str | Unset | None = UNSET
    skills: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class ElegyLockCapabilityReferenceV1:
    """One capability reference of a lock."""

    allowed_capabilities: tuple[str, ...]
    archive_sha256: str
    capability_catalog_sha256: str
    executable_digests: Mapping[str, str]
    manifest_sha256: str
    name: str
    publisher: str
    source: str
    target: str
    version: str


@frozen(kw_only=True)
class ElegyLock:
    """The exact packages of one agent."""

    agent_id: str
    packages: tuple[ElegyLockCapabilityReferenceV1, ...]
    schema_version: str


@frozen(kw_only=True)
class ElegySbomSbomFileV1:
    """One sbom file of a bill of materials."""

    path: str
    role: str
    sha256: str


@frozen(kw_only=True)
class ElegySbomPackageProvenanceV1:
    """The provenance of a bill of materials."""

    build_workflow: str | Unset | None = UNSET
    builder: str | Unset | None = UNSET
    source_commit: str | Unset | None = UNSET


@frozen(kw_only=True)
class ElegySbom:
    """What a package archive holds."""

    archive_sha256: str
    files: tuple[ElegySbomSbomFileV1, ...]
    package: str
    publisher: str
    schema_version: str
    version: str
    provenance: ElegySbomPackageProvenanceV1 | Unset | None = UNSET


@frozen(kw_only=True)
class ElegyReadinessReadinessEvidence:
    """One readiness evidence of a readiness document."""

    kind: str
    path: str
    summary: str
    non_fixture: bool | Unset = UNSET


@frozen(kw_only=True)
class ElegyReadiness:
    """How far a surface is, and by which evidence."""

    evidence: tuple[ElegyReadinessReadinessEvidence, ...]
    installation: str
    invocation: str
    limitations: tuple[str, ...]
    schema_version: str
    stage: str
    summary: str
    supported_environments: tuple[str, ...]
    surface: str
    surface_version: str
    works_today: tuple[str, ...]
