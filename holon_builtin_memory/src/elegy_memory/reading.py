"""Listing, inspecting, health and contradictions (contract, section 12.3)."""

from __future__ import annotations

import sqlite3
import time
from calendar import timegm
from typing import Any

from elegy_memory import rows
from elegy_memory.envelope import single
from elegy_memory.faults import InvalidInput, RuntimeFailure
from elegy_memory.texts import preview
from elegy_memory.words import SCOPES, TYPES, flag, title, visible
from elegy_memory.writing import transaction

# What this program does beyond the contract; a host looks here before it asks for it.
EXTENSIONS = ("after", "tags", "whole")
_STALE_DAYS = 30


def listed(
    connection: sqlite3.Connection,
    *,
    scope: str,
    memory_type: str | None,
    state: str | None,
    include_dormant: bool,
    limit: int,
    after: str | None,
) -> dict[str, Any]:
    """List memories of exactly one scope, oldest first."""
    if limit < 1:
        raise InvalidInput("limit is at least 1")
    where, values = ["scope = ?"], [scope]
    if memory_type is not None:
        where.append("memory_type = ?")
        values.append(memory_type)
    if state is not None:
        where.append("state = ?")
        values.append(state)
    else:
        where.append("state IN ('active', 'dormant')" if include_dormant else "state = 'active'")
    if after is not None:
        where.append("(created_at, id) > (SELECT created_at, id FROM memories WHERE id = ?)")
        values.append(after)
    found = connection.execute(
        f"{rows.SELECT} WHERE {' AND '.join(where)} ORDER BY created_at, id LIMIT ?",
        [*values, limit],
    )
    memories = [rows.short(rows.row_of(each)) for each in found]
    return {"scope": scope, "count": len(memories), "memories": memories}


def inspected(connection: sqlite3.Connection, memory_id: str) -> dict[str, Any]:
    """Return a memory of any scope with its versions and corrections."""
    found = rows.read(connection, memory_id)
    if found is None:
        raise RuntimeFailure(f"memory not found: {memory_id}")
    return {
        "memory": rows.full(found),
        "versions": _all(
            connection,
            "SELECT id, memory_id AS memoryId, version_number AS versionNumber, content,"
            " changed_by AS changedBy, change_reason AS changeReason, changed_at AS changedAt"
            " FROM memory_versions WHERE memory_id = ? ORDER BY version_number",
            (memory_id,),
        ),
        "corrections": _all(
            connection,
            "SELECT id, memory_id AS memoryId, corrected_at AS correctedAt,"
            " corrected_by AS correctedBy, reason, disposition,"
            " previous_content AS previousContent, corrected_content AS correctedContent"
            " FROM memory_corrections WHERE memory_id = ? ORDER BY corrected_at, id",
            (memory_id,),
        ),
    }


def _all(connection: sqlite3.Connection, sql: str, values: tuple[Any, ...]) -> list[Any]:
    cursor = connection.execute(sql, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, each, strict=True)) for each in cursor]


def health(connection: sqlite3.Connection, scope: str) -> dict[str, Any]:
    """Report on one scope and, in short, on all."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    size = pages * connection.execute("PRAGMA page_size").fetchone()[0]
    types = dict(
        connection.execute(
            "SELECT memory_type, count(*) FROM memories"
            " WHERE scope = ? AND state <> 'deleted' GROUP BY memory_type",
            (scope,),
        ).fetchall()
    )
    average, oldest = connection.execute(
        "SELECT avg(importance_score), min(created_at) FROM memories"
        " WHERE scope = ? AND state = 'active'",
        (scope,),
    ).fetchone()
    answer: dict[str, Any] = {
        "report": _report(connection, scope, size),
        "perScopeReports": [_report(connection, each, size) for each in SCOPES],
        "typeCounts": {name: types[name] for name in TYPES if name in types},
        "averageImportance": single(average or 0.0),
        "databaseSizeHuman": _human(size),
        "staleMemories": _stale(connection, scope),
        "contradictionSummaries": [
            {
                "id": each["id"],
                "memoryAId": each["memoryAId"],
                "memoryBId": each["memoryBId"],
                "summary": each["description"],
            }
            for each in contradictions(connection, scope)[:3]
        ],
        "extensions": list(EXTENSIONS),
    }
    if oldest is not None:
        then = timegm(time.strptime(oldest[:19], "%Y-%m-%dT%H:%M:%S"))
        answer["oldestMemoryAgeDays"] = max(0, int((time.time() - then) // 86_400))
    used = connection.execute(
        "SELECT id, content, access_count FROM memories WHERE scope = ? AND state = 'active'"
        " AND access_count > 0 ORDER BY access_count DESC, id LIMIT 1",
        (scope,),
    ).fetchone()
    if used is not None:
        answer["mostAccessedMemory"] = {
            "id": used[0],
            "preview": preview(used[1]),
            "accessCount": used[2],
        }
    return answer


def _report(connection: sqlite3.Connection, scope: str, size: int) -> dict[str, Any]:
    active, dormant, stale, oldest, newest = connection.execute(
        "SELECT count(*) FILTER (WHERE state = 'active'),"
        " count(*) FILTER (WHERE state = 'dormant'),"
        " count(*) FILTER (WHERE state = 'active' AND embedding_stale),"
        " min(created_at) FILTER (WHERE state = 'active'), max(created_at)"
        " FROM memories WHERE scope = ?",
        (scope,),
    ).fetchone()
    most = connection.execute(
        "SELECT value FROM scope_config WHERE key = 'budget_active_max'"
    ).fetchone()
    report = {
        "scope": title(scope),
        "activeCount": active,
        "dormantCount": dormant,
        "totalStorageBytes": size,
        "budgetUsageRatio": single(active / int(most[0])) if most else 0.0,
        "unresolvedContradictions": len(contradictions(connection, scope)),
        "staleEmbeddingsCount": stale,
    }
    if oldest is not None:
        report["oldestActiveMemory"] = oldest
    if newest is not None:
        report["newestMemory"] = newest
    return report


def _stale(connection: sqlite3.Connection, scope: str) -> list[dict[str, Any]]:
    before = time.strftime("%Y-%m-%d", time.gmtime(time.time() - _STALE_DAYS * 86_400))
    found = connection.execute(
        "SELECT id, memory_type, content FROM memories WHERE scope = ? AND state = 'active'"
        " AND coalesce(last_accessed_at, updated_at) < ? ORDER BY updated_at, id LIMIT 3",
        (scope, before),
    )
    return [
        {"id": each[0], "memoryType": flag(each[1]), "preview": preview(each[2])} for each in found
    ]


def _human(size: int) -> str:
    amount, unit = float(size), "B"
    for following in ("KB", "MB", "GB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, following
    return f"{amount:.1f} {unit}" if unit != "B" else f"{size} B"


def contradictions(connection: sqlite3.Connection, scope: str) -> list[dict[str, Any]]:
    """Return what is not resolved among the memories that a scope sees."""
    marks = ", ".join("?" * len(visible(scope)))
    found = _all(
        connection,
        "SELECT c.id, c.memory_a_id AS memoryAId, c.memory_b_id AS memoryBId,"  # noqa: S608
        " c.detected_at AS detectedAt, c.description, c.resolution_status AS resolutionStatus"
        " FROM contradictions c JOIN memories a ON a.id = c.memory_a_id"
        f" WHERE c.resolution_status = 'unresolved' AND a.scope IN ({marks})"
        " ORDER BY c.detected_at, c.id",
        visible(scope),
    )
    return [{**each, "resolutionStatus": title(each["resolutionStatus"])} for each in found]


def resolve(
    connection: sqlite3.Connection, contradiction_id: str, *, keep: str | None
) -> dict[str, Any]:
    """Resolve a contradiction: keep one memory and make the other dormant, or keep both."""
    with transaction(connection):
        found = connection.execute(
            "SELECT memory_a_id, memory_b_id FROM contradictions"
            " WHERE id = ? AND resolution_status = 'unresolved'",
            (contradiction_id,),
        ).fetchone()
        if found is None:
            raise InvalidInput(f"unknown contradiction: {contradiction_id}")
        if keep is not None and keep not in found:
            raise InvalidInput(f"{keep} is no side of contradiction {contradiction_id}")
        other = None if keep is None else next(each for each in found if each != keep)
        if other is not None:
            connection.execute(
                "UPDATE memories SET state = 'dormant', updated_at = ? WHERE id = ?",
                (rows.now(), other),
            )
        connection.execute(
            "UPDATE contradictions SET resolution_status = 'resolved_by_user', resolved_at = ?"
            " WHERE id = ?",
            (rows.now(), contradiction_id),
        )
    return {
        "contradictionId": contradiction_id,
        "resolutionStatus": "resolved-by-user",
        "keptBoth": keep is None,
        "keptMemoryId": keep,
        "dormantMemoryId": other,
    }
