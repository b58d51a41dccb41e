"""The index by which skills are found."""

from __future__ import annotations

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class DiscoveryIndexManifest:
    """The manifest of a discovery index."""

    id: str
    load_mode: str
    vault_ref: str | Unset | None = UNSET
    source_kind: str | Unset = UNSET
    materialization_kind: str | Unset = UNSET


@frozen(kw_only=True)
class DiscoveryIndexEntry:
    """One entry of a discovery index."""

    skill_id: str
    name: str
    description: str
    lifecycle_state: str
    triggers_on: tuple[str, ...]
    manifest: DiscoveryIndexManifest
    keywords: tuple[str, ...] | Unset = UNSET
    capability_hints: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class SkillDiscoveryIndex:
    """Skills by what triggers them."""

    schema_version: int
    entries: tuple[DiscoveryIndexEntry, ...]
    built_at: str | Unset = UNSET
