"""What somebody with the store's file could do to it: one byte, then one byte and every hash."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from holon_core.store.chains import CHAIN_SHIFT, MAX_SEQ, genesis, link
from holon_core.wire.canonical import canonical


def copy_store(store: Path, root: Path) -> Path:
    """Copy a store that is in use into a new storage root."""
    root.mkdir()
    copy = root / store.name
    with (
        closing(sqlite3.connect(store)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    return copy


def edit_one_byte(store: Path, chain: str, seq: int, *, before: bytes, after: bytes) -> None:
    """Change one byte in the payload of one record, and nothing else."""
    with closing(sqlite3.connect(store)) as connection, connection:
        key, payload = connection.execute(
            "select seq, payload from evidence where seq = ?", (_first(connection, chain) + seq,)
        ).fetchone()
        edited = payload.replace(before, after)
        assert sum(a != b for a, b in zip(payload, edited, strict=True)) == 1
        connection.execute("update evidence set payload=? where seq=?", (edited, key))


def forge_hashes(store: Path, chain: str) -> None:
    """Make an edited chain fit itself again: digests, every link, and the head."""
    with closing(sqlite3.connect(store)) as connection, connection:
        first = _first(connection, chain)
        rows = connection.execute(
            "select seq, body, payload from evidence where seq between ? and ? order by seq",
            (first, first + MAX_SEQ),
        ).fetchall()
        previous = genesis(chain)
        for key, body, payload in rows:
            said = json.loads(body)
            if payload is not None:
                said["payload"] = {"bytes": len(payload), "sha256": sha256(payload).hexdigest()}
            forged = canonical(said)
            previous = link(previous, key & MAX_SEQ, forged)
            connection.execute(
                "update evidence set body=?, hash=? where seq=?", (forged, previous, key)
            )
        connection.execute(
            "update live set seq=?, hash=? where chain=?", (key & MAX_SEQ, previous, chain)
        )


def _first(connection: sqlite3.Connection, chain: str) -> int:
    """Return where the keys of a chain's records begin."""
    [number] = connection.execute("select number from live where chain=?", (chain,)).fetchone()
    return int(number) << CHAIN_SHIFT
