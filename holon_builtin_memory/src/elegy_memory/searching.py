"""Keyword search and its ranking (contract, section 12.4)."""

from __future__ import annotations

import math
import sqlite3
import time
from calendar import timegm
from typing import Any

from elegy_memory import rows
from elegy_memory.envelope import single
from elegy_memory.faults import InvalidInput
from elegy_memory.texts import matching, preview
from elegy_memory.words import flag, visible
from elegy_memory.writing import transaction

# Only what is this close to the best similarity is moved by use and age, and by so much.
GAP = 0.03
BONUS = 0.0147
_COLUMNS = ", ".join(f"m.{name}" for name in rows.COLUMNS)
_HITS = """
WITH hits AS MATERIALIZED (
    SELECT f.rowid AS place, f.rank AS cost
    FROM memories_fts f JOIN memories m ON m.rowid = f.rowid
    WHERE memories_fts MATCH :terms AND m.scope IN ({scopes}) AND m.state IN ({states})
), bounds AS (SELECT min(cost) AS best, max(cost) AS worst FROM hits), scaled AS (
    SELECT place, CASE WHEN worst > best THEN (worst - cost) / (worst - best) ELSE 1.0 END AS fit
    FROM hits, bounds
)
"""
_RANKED = """
SELECT * FROM (
    SELECT {columns}, s.fit AS fit FROM scaled s JOIN memories m ON m.rowid = s.place
    WHERE s.fit > :near
)
UNION ALL
SELECT * FROM (
    SELECT {columns}, s.fit AS fit FROM scaled s JOIN memories m ON m.rowid = s.place
    WHERE s.fit <= :near ORDER BY s.fit DESC, m.updated_at DESC, m.id DESC LIMIT :limit
)
"""


def search(
    connection: sqlite3.Connection,
    query: str,
    *,
    scope: str,
    limit: int,
    include_dormant: bool,
    whole: bool,
) -> dict[str, Any]:
    """Find memories by their words, best first; each hit counts as a use of it.

    Args:
        connection: The file.
        query: Its terms are all wanted.
        scope: What it sees is searched.
        limit: Most hits, at least 1.
        include_dormant: Dormant ones, too.
        whole: Show each hit's full memory beside the short row.
    """
    if not query.strip():
        raise InvalidInput("query is empty")
    if limit < 1:
        raise InvalidInput("limit is at least 1")
    terms = matching(query)
    found = []
    if terms is not None:
        found = _ranked(connection, terms, scope, limit=limit, dormant=include_dormant)
        _used(connection, [row["id"] for row, _, _ in found])
    results = [_result(row, fit, score, whole=whole) for row, fit, score in found]
    return {
        "scope": scope,
        "query": query,
        "keywordOnly": True,
        "includeDormant": include_dormant,
        "results": results,
    }


def _ranked(
    connection: sqlite3.Connection, terms: str, scope: str, *, limit: int, dormant: bool
) -> list[tuple[rows.Row, float, float]]:
    scopes = ", ".join(f"'{word}'" for word in visible(scope))
    states = "'active', 'dormant'" if dormant else "'active'"
    statement = _HITS.format(scopes=scopes, states=states) + _RANKED.format(columns=_COLUMNS)
    given = {"terms": terms, "near": 1.0 - GAP, "limit": limit}
    found = connection.execute(statement, given)
    moment = time.time()
    scored = [_scored(rows.row_of(values[:-1]), values[-1], moment) for values in found]
    # Stable sorts, the last of which counts most.
    scored.sort(key=lambda hit: hit[0]["id"], reverse=True)
    scored.sort(key=lambda hit: hit[0]["updated_at"], reverse=True)
    scored.sort(key=lambda hit: (hit[2], hit[1]), reverse=True)
    return scored[:limit]


def _scored(row: rows.Row, fit: float, moment: float) -> tuple[rows.Row, float, float]:
    gap = min(1.0, (1.0 - fit) / GAP)
    fade = 1 - gap * gap * (3 - 2 * gap)
    used = row["access_count"]
    days = max(0.0, moment - _seconds(row["last_accessed_at"] or row["updated_at"])) / 86_400
    weight = fit * row["importance_score"] * row["reliability_score"]
    sum_ = 0.25 * math.exp(-0.1 * days) + 0.05 * used / (used + 8) + 0.2 * weight
    return row, fit, fit + BONUS * min(1.0, sum_ / 0.5) * fade


def _seconds(text: str) -> float:
    try:
        return timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0.0


def _used(connection: sqlite3.Connection, ids: list[str]) -> None:
    if not ids:
        return
    moment = rows.now()
    with transaction(connection):
        connection.executemany(
            "UPDATE memories SET access_count = access_count + 1, last_accessed_at = ?"
            " WHERE id = ?",
            [(moment, memory_id) for memory_id in ids],
        )


def _result(row: rows.Row, fit: float, score: float, *, whole: bool) -> dict[str, Any]:
    shown = {
        "id": row["id"],
        "score": single(score),
        "similarity": single(fit),
        "state": flag(row["state"]),
        "memoryType": flag(row["memory_type"]),
        "preview": preview(row["content"]),
    }
    return {**shown, "memory": rows.full(row)} if whole else shown
