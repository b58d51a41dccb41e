"""Inputs and results of the memory capabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class MemoryAddInput:
    """What is remembered."""

    content: str
    memory_type: str | Unset = UNSET
    importance: float | Unset = UNSET
    provenance: str | Unset = UNSET
    db: str | Unset = UNSET
    scope: str | Unset = UNSET


@frozen(kw_only=True)
class MemorySearchInput:
    """What is searched for."""

    query: str
    limit: int | Unset = UNSET
    include_dormant: bool | Unset = UNSET
    db: str | Unset = UNSET
    scope: str | Unset = UNSET
    provider: str | Unset = UNSET


@frozen(kw_only=True)
class MemoryAddResultMemory:
    """The memory of an added memory."""

    id: str
    content: str
    scope: str
    memory_type: str
    provenance: str
    importance_score: float
    reliability_score: float
    sensitivity: str
    state: str
    access_count: int
    corroboration_count: int
    embedding_stale: bool
    created_at: str
    updated_at: str
    summary: str | Unset | None = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    status: str | Unset | None = UNSET
    custom_metadata: Mapping[str, Any] | Unset = UNSET


@frozen(kw_only=True)
class MemoryAddResult:
    """What became of a memory that was added."""

    action: str
    gate_result: str
    memory: MemoryAddResultMemory


@frozen(kw_only=True)
class MemorySearchResultResult:
    """One result of a search result."""

    id: str
    score: float
    similarity: float
    state: str
    memory_type: str
    preview: str


@frozen(kw_only=True)
class MemorySearchResult:
    """What was found."""

    scope: str
    query: str
    keyword_only: bool
    include_dormant: bool
    results: tuple[MemorySearchResultResult, ...]


@frozen(kw_only=True)
class MemoryListResultMemory:
    """One memory of a list of memories."""

    id: str
    state: str
    memory_type: str
    provenance: str
    importance: float
    updated_at: str
    preview: str


@frozen(kw_only=True)
class MemoryListResult:
    """Memories in short."""

    scope: str
    count: int
    memories: tuple[MemoryListResultMemory, ...]


@frozen(kw_only=True)
class MemoryInspectResultMemory:
    """The memory of an inspected memory."""

    id: str
    content: str
    scope: str
    memory_type: str
    provenance: str
    importance_score: float
    reliability_score: float
    sensitivity: str
    state: str
    access_count: int
    corroboration_count: int
    embedding_stale: bool
    created_at: str
    updated_at: str
    summary: str | Unset | None = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    status: str | Unset | None = UNSET
    custom_metadata: Mapping[str, Any] | Unset = UNSET
    last_accessed_at: str | Unset | None = UNSET
    tenant_id: str | Unset | None = UNSET
    user_id: str | Unset | None = UNSET
    agent_id: str | Unset | None = UNSET


@frozen(kw_only=True)
class MemoryInspectResultVersion:
    """One version of an inspected memory."""

    id: str
    memory_id: str
    version_number: int
    content: str
    changed_by: str
    change_reason: str
    changed_at: str


@frozen(kw_only=True)
class MemoryInspectResult:
    """One memory with its versions."""

    memory: MemoryInspectResultMemory
    versions: tuple[MemoryInspectResultVersion, ...]


@frozen(kw_only=True)
class MemoryHealthReportReport:
    """The report of a health report."""

    scope: str
    active_count: int
    dormant_count: int
    total_storage_bytes: int
    budget_usage_ratio: float
    unresolved_contradictions: int
    stale_embeddings_count: int
    last_consolidation: str | Unset | None = UNSET
    oldest_active_memory: str | Unset | None = UNSET
    newest_memory: str | Unset | None = UNSET


@frozen(kw_only=True)
class MemoryHealthReport:
    """How a store of memories is."""

    report: MemoryHealthReportReport
    type_counts: Mapping[str, int]


@frozen(kw_only=True)
class MemoryPurgeReportReport:
    """The report of a purge report."""

    memories_deleted: int
    versions_deleted: int
    links_deleted: int
    contradictions_deleted: int
    embeddings_deleted: int


@frozen(kw_only=True)
class MemoryPurgeReport:
    """What a purge removed."""

    db_path: str
    scope: str
    report: MemoryPurgeReportReport


@frozen(kw_only=True)
class MemoryReembedResult:
    """What was embedded anew."""

    db_path: str
    scope: str
    provider: str
    requested_limit: int
    stale_found: int
    reembedded_count: int
    reembedded_ids: tuple[str, ...]


@frozen(kw_only=True)
class MemoryContradiction:
    """Two memories that contradict each other; the result is a list of these."""

    id: str
    memory_a_id: str
    memory_b_id: str
    detected_at: str
    description: str
    resolution_status: str
    resolved_at: str | Unset | None = UNSET
    resolution_note: str | Unset | None = UNSET
