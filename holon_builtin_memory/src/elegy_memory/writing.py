"""Adding a memory: validation, the gate without embeddings, one transaction (section 12.4)."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from elegy_memory import rows
from elegy_memory.faults import InvalidInput
from elegy_memory.words import PROVENANCE, column

SALIENCE = 0.2
INFERRED = 0.5


def new_row(
    content: str,
    *,
    scope: str,
    memory_type: str,
    provenance: str,
    importance: float,
    tags: list[str],
) -> rows.Row:
    """Make the row of a new memory, past the gate.

    Raises:
        InvalidInput: The content is empty or the importance outside 0 to 1.
    """
    if not content.strip():
        raise InvalidInput("content is empty")
    if not 0.0 <= importance <= 1.0:
        raise InvalidInput("importance is a number from 0 to 1")
    dormant = importance < SALIENCE or (provenance == "agent-inferred" and importance < INFERRED)
    moment = rows.now()
    return {
        "id": rows.new_id(),
        "content": content,
        "summary": None,
        "scope": scope,
        "memory_type": memory_type,
        "provenance": column(provenance),
        "importance_score": importance,
        "reliability_score": PROVENANCE[provenance],
        "sensitivity": "low",
        "state": "dormant" if dormant else "active",
        "tags": json.dumps(tags, ensure_ascii=False),
        "status": None,
        "custom_metadata": "{}",
        "access_count": 0,
        "corroboration_count": 0,
        "embedding_stale": 1,
        "created_at": moment,
        "updated_at": moment,
        "last_accessed_at": None,
        "tenant_id": None,
        "user_id": None,
        "agent_id": None,
    }


def add(connection: sqlite3.Connection, row: rows.Row) -> dict[str, Any]:
    """Write it; what the gate finds unimportant is kept dormant."""
    with transaction(connection):
        rows.insert(connection, row)
    gate = "archived" if row["state"] == "dormant" else "accepted"
    return {"action": "added", "gateResult": gate, "memory": rows.full(row)}


class transaction:  # noqa: N801 - reads as a statement
    """Write all of the block or nothing; waits for other writers up to the busy timeout."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
