"""Anchors of chains: kept beside the records, so that a cut shows and recovery reads little."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from holon_core.store.chains import (
    CHAIN_SHIFT,
    MAX_SEQ,
    NO_CHAIN,
    Anchor,
    Head,
    OpenCall,
    anchor_of,
    chain_number,
    genesis,
    last_row,
    line,
    open_calls,
    opened,
)
from holon_core.store.rows import damaged

# An anchor is moved with every so many records, which is also what a recovery reads at most of
# a chain (of one process; more where a process died just then).
ANCHOR_EVERY = 128
_ANCHORS = "select chain, number, seq, hash, open from live"


class AnchorTables:
    """Statements of anchors and heads, inside a transaction or a read.

    The last record of a chain is its head. Beside the records an *anchor* stands for each chain:
    the position and hash of an earlier head, and the calls that were open there. It is moved
    with every 128th record, with each that is flushed to the disk, and at close. A chain that
    ends before its anchor was cut.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sql = connection.execute
        self._many = connection.executemany
        # Where this connection saw each chain end; an append tells when that is stale.
        self._heads: dict[str, Head] = {}
        # Calls that are known to be open; of others it is read.
        self._open: dict[str, OpenCall] = {}
        # Chains of which all open calls are known since the anchor at this position.
        self._followed: dict[str, int] = {}

    def forget(self) -> None:
        """Drop what is remembered, after a rollback."""
        self._heads.clear()
        self._open.clear()
        self._followed.clear()

    def _follow(self, chain: str, head: Head) -> Head:
        """Learn what others appended since: where the chain ends, and which calls they ended."""
        place = head[0] << CHAIN_SHIFT
        ended = self._sql(
            "select call from evidence where seq>? and seq<=? and closes is not null",
            (place | head[1], place | MAX_SEQ),
        )
        for (call,) in ended:
            self._open.pop(call, None)
        # They may have opened some, too.
        self._followed.pop(chain, None)
        return self._load_head(chain)

    def _load_head(self, chain: str) -> Head:
        anchor = self._anchor(chain) or self._first_anchor(chain)
        base = anchor.number << CHAIN_SHIFT
        seq, link_here = self._last(anchor)
        if seq < anchor.seq:
            raise damaged(f"the chain {chain}", ": it ends before its anchor")
        kept = self._sql("select hash from evidence where seq=?", (base + anchor.seq,)).fetchone()
        if (genesis(chain) if kept is None else kept[0]) != anchor.hash:
            raise damaged(f"the chain {chain}", ": its anchor is of another record")
        head = self._heads[chain] = (anchor.number, seq, link_here)
        return head

    def _anchor(self, chain: str) -> Anchor | None:
        row = self._sql(f"{_ANCHORS} where key=?", ("h:" + chain,)).fetchone()
        return None if row is None else anchor_of(row)

    def _anchors(self) -> list[Anchor]:
        return list(map(anchor_of, self._sql(f"{_ANCHORS} where key glob 'h:*' order by key")))

    def _first_anchor(self, chain: str) -> Anchor:
        # Not the number of a chain whose anchor was removed and whose records are still here.
        named, used = self._sql(
            "select (select max(number) from live), (select max(seq) from evidence)"
        ).fetchone()
        last = max(named, -1 if used is None else used >> CHAIN_SHIFT)
        anchor = Anchor(chain, last + 1, 0, genesis(chain), "")
        self._sql(
            "insert into live(key, chain, number, seq, hash) values(?,?,?,?,?)",
            ("h:" + chain, chain, *anchor[1:4]),
        )
        return anchor

    def _last(self, anchor: Anchor) -> tuple[int, str]:
        """Return position and hash of a chain's last record."""
        base = anchor.number << CHAIN_SHIFT
        row = self._sql(
            "select seq, hash from evidence where seq>? and seq<=? order by seq desc limit 1",
            (base, base + MAX_SEQ),
        ).fetchone()
        return (0, genesis(anchor.chain)) if row is None else last_row(row)

    def _open_after(self, anchor: Anchor, to: int = MAX_SEQ) -> list[OpenCall]:
        """Return the calls that are open at a position, by those at the anchor before it."""
        base = anchor.number << CHAIN_SHIFT
        found = {call.seq: call for call in open_calls(anchor.chain, anchor.open)}
        rows = self._sql(
            "select seq, call, opens, closes from evidence where seq>? and seq<=?"
            " and (opens is not null or closes is not null) order by seq",
            (base + anchor.seq, base + to),
        )
        for row in rows:
            if row[3] is None:
                call = opened(anchor.chain, row)
                found[call.seq] = call
            else:
                found.pop(row[3], None)
        return list(found.values())

    def _drop_anchor(self, chain: str) -> None:
        """Move a chain's anchor to its end, as this connection knows it."""
        number, seq, link_here = self._heads[chain]
        # The record is there already: an anchor that cannot be moved now is moved later.
        with contextlib.suppress(sqlite3.Error):
            anchor = self._anchor(chain)
            if anchor is None or anchor.seq >= seq:
                return
            still = self._still_open(anchor, seq)
            # One that is not of its record was tampered with, and is left for who verifies it.
            moved = self._sql(
                "update live set seq=?, hash=?, open=? where number=? and seq=? and (seq=0 or"
                " hash=(select hash from evidence where seq=?))",
                (
                    seq,
                    link_here,
                    "".join(line(call.call, call.seq, call.runtime) for call in still),
                    number,
                    anchor.seq,
                    number << CHAIN_SHIFT | anchor.seq,
                ),
            )
            if moved.rowcount == 1:
                self._open.update({call.call: call for call in still})
                self._followed[chain] = seq

    def _still_open(self, anchor: Anchor, to: int) -> list[OpenCall]:
        """Return the calls that are open at this connection's head; read where others wrote."""
        if self._followed.get(anchor.chain) != anchor.seq:
            return self._open_after(anchor, to)
        return sorted(
            (call for call in self._open.values() if call.chain == anchor.chain),
            key=lambda call: call.seq,
        )

    def drop_anchors(self) -> None:
        """Move the anchors of all chains that this connection wrote to."""
        for chain in self._heads:
            self._drop_anchor(chain)

    def _base(self, chain: str) -> int:
        """Return what a position of a chain is added to; a chain without records has no rows."""
        row = self._sql("select number from live where key=?", ("h:" + chain,)).fetchone()
        return (NO_CHAIN if row is None else chain_number(row)) << CHAIN_SHIFT

    def open_calls(self) -> list[OpenCall]:
        """Return all calls that are open, of every runtime on this store."""
        return [call for anchor in self._anchors() for call in self._open_after(anchor)]

    def heads(self) -> list[tuple[str, int, str]]:
        """Return chain, position and hash of every head, by chain."""
        return [(anchor.chain, *self._last(anchor)) for anchor in self._anchors()]

    def check_heads(self) -> None:
        """Refuse anchors and heads that no record can follow, before anything relies on them."""
        self.heads()

    def head(self, chain: str) -> tuple[int, str] | None:
        """Return position and hash of one head."""
        anchor = self._anchor(chain)
        return None if anchor is None else self._last(anchor)

    def stored_anchor(self, chain: str) -> tuple[Any, Any, Any] | None:
        """Return an anchor for who verifies it: position, hash, and the hash of that record."""
        row = self._sql(
            "select l.seq, l.hash, e.hash from live l"
            f" left join evidence e on e.seq=(l.number<<{CHAIN_SHIFT})+l.seq where l.key=?",
            ("h:" + chain,),
        )
        return row.fetchone()  # type: ignore[no-any-return]
