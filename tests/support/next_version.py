"""A next version of the store, for tests of its migrations."""

from __future__ import annotations

from holon_core.store import migrations

# Tables, an index, and a change of every record.
NEXT = (
    *(f"create table next_{n}(a integer primary key, b text)" for n in range(12)),
    *(f"insert into next_{n} select seq, hash from evidence" for n in range(12)),
    "alter table evidence add column note text",
    "update evidence set note='moved'",
    "create index next_index on evidence(note)",
)


def install() -> None:
    """Let this process know one version more."""
    migrations.MIGRATIONS = (migrations.V1, NEXT)
    migrations.VERSION = 2
