"""What tests of the memory lane share: its ids, and answers of the memory command."""

from __future__ import annotations

import json
from typing import Any

import holon_core as holon
from holon_core.records.result import ToolResult

SOURCE = "holon.built-in.memory"
SEARCH = f"{SOURCE}/search-workspace-memory"
WRITE = f"{SOURCE}/write-workspace-memory"
REQUEST = f"{SOURCE}/request-workspace-memory-write-approval"
FULL = {
    "id": "m1",
    "content": "a note",
    "scope": "Workspace",
    "memoryType": "Observation",
    "provenance": "UserStated",
    "importanceScore": 0.5,
    "reliabilityScore": 1.0,
    "sensitivity": "Low",
    "state": "Active",
    "accessCount": 0,
    "corroborationCount": 0,
    "embeddingStale": True,
    "createdAt": "2026-08-01T10:00:00Z",
    "updatedAt": "2026-08-02T10:00:00+02:00",
}
ADDED = {"action": "added", "gateResult": "accepted", "memory": FULL}


def printing(data: Any, **more: Any) -> str:
    """Return Python that prints an answer of the contract."""
    answer = {
        "schemaVersion": "elegy.cli/v1",
        "correlationId": "c",
        "command": ["any"],
        "status": "ok",
        "data": data,
        **more,
    }
    return f"print({json.dumps(answer)!r})"


REPORT = {
    "scope": "Workspace",
    "activeCount": 0,
    "dormantCount": 0,
    "totalStorageBytes": 0,
    "budgetUsageRatio": 0,
    "unresolvedContradictions": 0,
    "staleEmbeddingsCount": 0,
}
# What a command does first that is asked what it can.
_SOUND = printing({"report": REPORT, "typeCounts": {}})
HEALTH = f"if words[0] == 'health':\n    {_SOUND}\n    sys.exit(0)"


def code_of(result: ToolResult) -> str:
    """Return the code of a failure; nothing came of the call."""
    assert result.failure is not None, result.output
    assert result.status is not holon.Status.COMPLETED
    assert result.output is None
    return result.failure.code
