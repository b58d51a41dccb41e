"""Numbered migrations of the SQLite store. Never edit one that was released; add the next."""

from __future__ import annotations

import sqlite3

from holon_core.errors import StoreError

# Marks a file as a store of Holon ("HLN1"), so that another SQLite file is never taken for one.
APPLICATION_ID = 0x484C4E31

V1 = (
    # The catalogue's revision, and an anchor for each chain of evidence (see EvidenceTables).
    """create table live(
        number integer primary key, key text not null unique, chain text, seq integer, hash text,
        rev integer, open text not null default '')""",
    # An append is one statement that changes one page, and so its own transaction: each further
    # page costs about a tenth of a guarded call. Hence no table of heads, open calls or payloads
    # that moves with each record. `seq` carries the number of its chain in its high bits; an
    # integer key makes an append a quarter cheaper than a key of chain and position.
    """create table evidence(
        seq integer primary key, call text not null, kind text not null, at integer not null,
        opens text, closes integer, body blob not null, hash text not null, payload blob)""",
    """create table evidence_calls(
        call text not null, seq integer not null, primary key(call, seq)) without rowid""",
    """create table cursors(
        name text not null, chain text not null, seq integer not null,
        primary key(name, chain)) without rowid""",
    """create table approvals(
        id text primary key, state text not null, tool text not null, definition text not null,
        fingerprint text not null, arguments_digest text not null, workspace text,
        principal text not null, role text, profile text, pattern text, uses_left integer not null,
        requested_at integer not null, expires_at integer not null, decided_at integer,
        decided_by text, reason text, self_approved integer not null default 0,
        used_by text not null default '[]') without rowid""",
    "create index approvals_fingerprint on approvals(fingerprint, requested_at)",
    "create index approvals_scope on approvals(tool, principal, workspace, state)",
    "create index approvals_state on approvals(state, workspace, principal, requested_at)",
    """create table held(
        call text primary key, approval text not null, state text not null, workspace text,
        principal text not null, idempotency_key text, at integer not null, replaced_by text,
        body blob not null) without rowid""",
    "create index held_approval on held(approval)",
    "create index held_state on held(state, at)",
    """create table idempotency(
        key text primary key, call text not null, fingerprint text not null, state text not null,
        expires_at integer not null, result blob) without rowid""",
    "create index idempotency_call on idempotency(call)",
    "create index idempotency_expiry on idempotency(expires_at)",
    """create table run_effects(
        run text not null, effect text not null, primary key(run, effect)) without rowid""",
    # With a rowid: bodies of a kilobyte in the tree of the key made writing three times and
    # counting twenty times dearer, and the file three times as large.
    """create table documents(
        collection text not null, id text not null, revision integer not null, at integer not null,
        body blob not null, primary key(collection, id))""",
    """create table revisions(
        collection text not null, id text not null, revision integer not null,
        at integer not null, body blob, primary key(collection, id, revision))""",
    # What the search index has to look at again: each change of a tool's definition, in order.
    "create table tool_changes(seq integer primary key autoincrement, id text not null)",
    """create trigger tool_put after insert on documents when new.collection='holon.tools' begin
        insert into tool_changes(id) values(new.id); end""",
    """create trigger tool_removed after delete on documents when old.collection='holon.tools' begin
        insert into tool_changes(id) values(old.id); end""",
    """create table leases(
        name text primary key, owner text not null, fence integer not null,
        expires_at real not null) without rowid""",
    "create table blobs(digest text primary key, size integer not null, body blob not null)",
    """create table circuits(
        tool text primary key, failures integer not null, opened_at integer not null,
        call text not null, cleared_at integer not null) without rowid""",
    """create table seen_outputs(
        tool text not null, input text not null, output text not null, call text not null,
        primary key(tool, input)) without rowid""",
    "insert into live(number, key, rev) values(-1, 'revision', 0)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (V1,)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the store to ``VERSION``: each step is one transaction, whole or not at all.

    Args:
        connection: In autocommit mode, not inside a transaction.

    Raises:
        StoreError: ``store_incompatible`` where the store is of a newer version.
    """
    while True:
        connection.execute("begin immediate")
        try:
            version = connection.execute("pragma user_version").fetchone()[0]
            refuse_newer(version)
            if version == VERSION:
                connection.execute("rollback")
                return
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(f"pragma application_id={APPLICATION_ID}")
            connection.execute(f"pragma user_version={version + 1}")
            connection.execute("commit")
        except BaseException:
            # SQLite itself rolls back on some faults, such as a full disk.
            if connection.in_transaction:
                connection.execute("rollback")
            raise


def refuse_newer(version: int) -> None:
    """Refuse a store of a newer version than this library knows, naming both."""
    if version > VERSION:
        raise StoreError(
            "store_incompatible",
            f"the store has version {version}, this library knows {VERSION}",
        )
