"""Memories as rows of the file, and as the objects that answers show."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from typing import Any

from elegy_memory.envelope import single
from elegy_memory.texts import indexed, preview
from elegy_memory.words import flag, title

COLUMNS = (
    "id",
    "content",
    "summary",
    "scope",
    "memory_type",
    "provenance",
    "importance_score",
    "reliability_score",
    "sensitivity",
    "state",
    "tags",
    "status",
    "custom_metadata",
    "access_count",
    "corroboration_count",
    "embedding_stale",
    "created_at",
    "updated_at",
    "last_accessed_at",
    "tenant_id",
    "user_id",
    "agent_id",
)
SELECT = f"SELECT {', '.join(COLUMNS)} FROM memories"  # noqa: S608 - names of columns
_INSERT = f"INSERT INTO memories VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_SHOWN = {
    "memory_type": "memoryType",
    "importance_score": "importanceScore",
    "reliability_score": "reliabilityScore",
    "custom_metadata": "customMetadata",
    "access_count": "accessCount",
    "corroboration_count": "corroborationCount",
    "embedding_stale": "embeddingStale",
    "created_at": "createdAt",
    "updated_at": "updatedAt",
    "last_accessed_at": "lastAccessedAt",
    "tenant_id": "tenantId",
    "user_id": "userId",
    "agent_id": "agentId",
}
_WORDS = ("scope", "memory_type", "provenance", "sensitivity", "state")
_LEFT_OUT_WHEN_EMPTY = (
    "summary",
    "tags",
    "status",
    "custom_metadata",
    "last_accessed_at",
    "tenant_id",
    "user_id",
    "agent_id",
)

Row = dict[str, Any]


def now() -> str:
    """Return the time in UTC, RFC 3339 to the microsecond."""
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    shown = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{shown}.{rest // 1000:06d}Z"


def new_id() -> str:
    """Return a UUID of version 4."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def read(connection: sqlite3.Connection, memory_id: str) -> Row | None:
    """Return a memory of any scope."""
    found = connection.execute(f"{SELECT} WHERE id = ?", (memory_id,)).fetchone()
    return None if found is None else row_of(found)


def row_of(values: tuple[Any, ...]) -> Row:
    """Name the columns of a row that ``SELECT`` gave."""
    return dict(zip(COLUMNS, values, strict=True))


def insert(connection: sqlite3.Connection, row: Row) -> None:
    """Write a new memory and index it."""
    cursor = connection.execute(_INSERT, [row[name] for name in COLUMNS])
    _index(connection, cursor.lastrowid, row)


def rewrite(connection: sqlite3.Connection, old: Row, new: Row, *, by: str, reason: str) -> None:
    """Change a memory and keep the old content as its next version."""
    (rowid,) = connection.execute(
        "SELECT rowid FROM memories WHERE id = ?", (old["id"],)
    ).fetchone()
    number = connection.execute(
        "SELECT 1 + coalesce(max(version_number), 0) FROM memory_versions WHERE memory_id = ?",
        (old["id"],),
    ).fetchone()[0]
    connection.execute(
        "INSERT INTO memory_versions VALUES (?, ?, ?, ?, ?, ?, ?)",
        (new_id(), old["id"], number, old["content"], now(), by, reason),
    )
    connection.execute(
        "INSERT INTO memories_fts (memories_fts, rowid, content, summary, tags)"
        " VALUES ('delete', ?, ?, ?, ?)",
        (rowid, *_words(old)),
    )
    changed = [name for name in COLUMNS if name != "id"]
    assignments = ", ".join(f"{name} = ?" for name in changed)
    connection.execute(
        f"UPDATE memories SET {assignments} WHERE id = ?",  # noqa: S608 - names of columns
        [*(new[name] for name in changed), old["id"]],
    )
    _index(connection, rowid, new)


def _index(connection: sqlite3.Connection, rowid: int | None, row: Row) -> None:
    connection.execute(
        "INSERT INTO memories_fts (rowid, content, summary, tags) VALUES (?, ?, ?, ?)",
        (rowid, *_words(row)),
    )


def _words(row: Row) -> tuple[str, str, str]:
    tags = " ".join(json.loads(row["tags"]))
    return indexed(row["content"]), row["summary"] or "", tags


def full(row: Row, *, widened: bool = True) -> dict[str, Any]:
    """Return the full memory object; ``widened`` shows numbers as kept in 32 bits."""
    shown: dict[str, Any] = {}
    for name in COLUMNS:
        value = row[name]
        if name in _WORDS:
            value = title(value)
        elif name in ("tags", "custom_metadata"):
            value = json.loads(value)
        elif name == "embedding_stale":
            value = bool(value)
        elif widened and name.endswith("_score"):
            value = single(value)
        if value or name not in _LEFT_OUT_WHEN_EMPTY:
            shown[_SHOWN.get(name, name)] = value
    return shown


def short(row: Row) -> dict[str, Any]:
    """Return the short row of a list."""
    return {
        "id": row["id"],
        "state": flag(row["state"]),
        "memoryType": flag(row["memory_type"]),
        "provenance": flag(row["provenance"]),
        "importance": single(row["importance_score"]),
        "updatedAt": row["updated_at"].removesuffix("Z") + "+00:00",
        "preview": preview(row["content"]),
    }
