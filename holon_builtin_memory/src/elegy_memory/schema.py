"""The SQLite file: opened, made where it is new, and its parameters (contract, section 12.5)."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from elegy_memory.faults import RuntimeFailure

VERSION = "1"
BUSY_MS = 5_000

_TABLES = """
CREATE TABLE IF NOT EXISTS memories (
    id TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    summary TEXT,
    scope TEXT NOT NULL,
    memory_type TEXT NOT NULL DEFAULT 'fact',
    provenance TEXT NOT NULL DEFAULT 'imported',
    importance_score REAL NOT NULL DEFAULT 0.5,
    reliability_score REAL NOT NULL DEFAULT 0.5,
    sensitivity TEXT NOT NULL DEFAULT 'low',
    state TEXT NOT NULL DEFAULT 'active',
    tags TEXT NOT NULL DEFAULT '[]',
    status TEXT,
    custom_metadata TEXT NOT NULL DEFAULT '{}',
    access_count INTEGER NOT NULL DEFAULT 0,
    corroboration_count INTEGER NOT NULL DEFAULT 0,
    embedding_stale INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_accessed_at TEXT,
    tenant_id TEXT,
    user_id TEXT,
    agent_id TEXT
);
CREATE INDEX IF NOT EXISTS memories_by_scope ON memories (scope, state, created_at);
CREATE VIRTUAL TABLE IF NOT EXISTS memories_fts USING fts5(
    content, summary, tags, content='memories', content_rowid='rowid'
);
CREATE TABLE IF NOT EXISTS memory_embeddings (
    memory_id TEXT PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    vec_rowid INTEGER UNIQUE,
    content_sha256 TEXT
);
CREATE TABLE IF NOT EXISTS memory_links (
    id TEXT PRIMARY KEY,
    source_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    target_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    relation_type TEXT NOT NULL,
    weight REAL NOT NULL DEFAULT 1.0,
    created_at TEXT NOT NULL,
    UNIQUE (source_id, target_id, relation_type)
);
CREATE TABLE IF NOT EXISTS memory_versions (
    id TEXT PRIMARY KEY,
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    version_number INTEGER NOT NULL,
    content TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    change_reason TEXT NOT NULL,
    UNIQUE (memory_id, version_number)
);
CREATE TABLE IF NOT EXISTS contradictions (
    id TEXT PRIMARY KEY,
    memory_a_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    memory_b_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    detected_at TEXT NOT NULL,
    description TEXT NOT NULL,
    resolution_status TEXT NOT NULL DEFAULT 'unresolved',
    resolved_at TEXT,
    resolution_note TEXT
);
CREATE TABLE IF NOT EXISTS memory_corrections (
    id TEXT PRIMARY KEY,
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    previous_content TEXT NOT NULL,
    corrected_content TEXT NOT NULL,
    corrected_by TEXT NOT NULL,
    reason TEXT,
    disposition TEXT NOT NULL DEFAULT 'applied',
    related_memory_id TEXT,
    corrected_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS scope_config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
DEFAULTS = {
    "schema_version": VERSION,
    "budget_active_max": "500",
    "storage_cap_mb": "100",
    "decay_lambda_base": "0.10",
    "salience_threshold": "0.20",
    "agent_inferred_importance_threshold": "0.50",
}


def open_file(path: str) -> sqlite3.Connection:
    """Open the file and make what it lacks; parent folders, too.

    Raises:
        RuntimeFailure: It cannot be made or is of a newer version.
        sqlite3.Error: It is no database, or SQLite refuses.
    """
    place = Path(path).expanduser()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RuntimeFailure(f"cannot make {place.parent}: {error.strerror}") from None
    _make_private(place)
    connection = sqlite3.connect(place, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(place: Path) -> None:
    """Make the file its owner's alone, where it is not there; what SQLite adds follows it."""
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        # It is there, or SQLite says better what is wrong with the place.
        return


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # What was acknowledged is on the disk, also after a power failure.
    connection.execute("PRAGMA synchronous = FULL")
    _bound_pages(connection)
    if not connection.execute("PRAGMA user_version").fetchone()[0]:
        _make(connection)
    found = connection.execute(
        "SELECT value FROM scope_config WHERE key = 'schema_version'"
    ).fetchone()
    if found is None or found[0] != VERSION:
        version = "no version" if found is None else f"version {found[0]}"
        raise RuntimeFailure(f"the store is of {version}; this program reads {VERSION}")


def _bound_pages(connection: sqlite3.Connection) -> None:
    """Keep the file within a number of pages, where the environment gives one."""
    pages = os.environ.get("ELEGY_MEMORY_MAX_PAGES", "")
    if pages.isascii() and pages.isdigit() and int(pages):
        connection.execute(f"PRAGMA max_page_count = {int(pages)}")


def _make(connection: sqlite3.Connection) -> None:
    # Changing the journal takes no waiting of SQLite's: whoever comes second finds it changed.
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            raise
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _TABLES.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.executemany("INSERT OR IGNORE INTO scope_config VALUES (?, ?)", DEFAULTS.items())
        connection.execute("PRAGMA user_version = 1")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
