"""Tables of the evidence log: chains, heads, open calls, cursors of sinks."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from typing import Any, NamedTuple

from holon_core.records.words import Effect
from holon_core.store.rows import damaged, decodes, link_hash, number, text

GENESIS_DOMAIN = b"holon-evidence-chain/1\0"
RECORD_DOMAIN = "holon-evidence-record/1\0"


# A chain's number is above these bits of a stored position: a million chains of a trillion each.
CHAIN_SHIFT = 40
MAX_SEQ = (1 << CHAIN_SHIFT) - 1
_NO_CHAIN = 1 << 22
# An anchor is moved with every so many records, which is also what a recovery reads at most of
# a chain (of one process; more where a process died just then).
ANCHOR_EVERY = 128
# The primary key is what keeps two records from one place: the append of a writer that does not
# know the chain's end fails. So one statement on one page is all that an append is.
APPEND = "insert into evidence values(?,?,?,?,?,?,?,?,?)"
APPEND_AT = "insert into evidence select ?,?,?,?,?,?,?,?,? from live where number=-1 and rev=?"
_ANCHORS = "select chain, number, seq, hash, open from live"
COLUMNS = "seq, call, kind, at, body, hash, payload"

# Number of a chain, position and hash of its last record.
_Head = tuple[int, int, str]


class _Anchor(NamedTuple):
    """What is known of a chain beside its records: where it was, and which calls were open."""

    chain: str
    number: int
    seq: int
    hash: str
    open: str


class CatalogueMoved(Exception):
    """The catalogue's revision is not the one that the call was prepared with."""


class NotOpen(Exception):
    """The call that a record would close is not open any more."""


class Row(NamedTuple):
    """One stored record."""

    chain: str
    seq: int
    call: str
    kind: str
    at: int
    body: bytes
    hash: str
    payload: bytes | None


class Draft:
    """One record, ready to be appended: everything but its place in the chain.

    Args:
        chain: The workspace id, or ``_runtime``.
        call: The call id the record belongs to.
        kind: What the record says happened.
        at: Wall-clock time in Unix seconds.
        body: Canonical JSON of the record.
        payload: What the body's payload digest covers; ``None`` where there is none.
    """

    __slots__ = ("at", "body", "call", "chain", "kind", "payload")

    def __init__(
        self, chain: str, call: str, kind: str, *, at: int, body: bytes, payload: bytes | None
    ) -> None:
        self.chain, self.call, self.kind, self.at = chain, call, kind, at
        self.body, self.payload = body, payload


class OpenCall(NamedTuple):
    """A call that was accepted and has no closing record yet."""

    call: str
    chain: str
    seq: int
    runtime: str


def genesis(chain: str) -> str:
    """Return what the first record of a chain links to; it binds the chain's name."""
    return hashlib.sha256(GENESIS_DOMAIN + chain.encode()).hexdigest()


def link(previous: str, seq: int, body: bytes) -> str:
    """Return the hash of a record from its predecessor's, its position and its body."""
    place = f"{RECORD_DOMAIN}{previous}:{seq}:"
    return hashlib.sha256(place.encode() + body).hexdigest()


def _row(chain: str, base: int, row: tuple[Any, ...]) -> Row:
    return Row(chain, row[0] - base, *row[1:])


# An open call as an anchor lists it.
_line = "{} {} {}\n".format


@decodes("a chain's anchor")
def _anchor(row: tuple[Any, ...]) -> _Anchor:
    return _Anchor(
        chain=text(row[0]),
        number=number(row[1], most=_NO_CHAIN - 1),
        seq=number(row[2], most=MAX_SEQ - 1),
        hash=link_hash(row[3]),
        open=text(row[4]),
    )


@decodes("a chain's last record")
def _last_row(row: tuple[Any, ...]) -> tuple[int, str]:
    return number(row[0]) & MAX_SEQ, link_hash(row[1])


@decodes("an open call")
def _opened(chain: str, row: tuple[Any, ...]) -> OpenCall:
    return OpenCall(text(row[1]), chain, number(row[0]) & MAX_SEQ, text(row[2]))


@decodes("a list of open calls")
def _open_calls(chain: Any, lines: Any) -> list[OpenCall]:
    parts = [line.split(" ") for line in text(lines).splitlines()]
    return [OpenCall(call, text(chain), int(seq), runtime) for call, seq, runtime in parts]


@decodes("a chain's head")
def _chain_number(row: tuple[Any, ...]) -> int:
    return number(row[0], most=_NO_CHAIN - 1)


@decodes("a catalogue revision")
def _number(row: tuple[Any, ...]) -> int:
    return number(row[0])


@decodes("an effect")
def _effect(row: tuple[Any, ...]) -> str:
    return Effect(row[0]).value


@decodes("a place in a chain")
def _place(row: tuple[Any, ...]) -> int:
    return number(row[0], most=MAX_SEQ)


class EvidenceTables:
    """Statements of the evidence log, inside a transaction or a read.

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
        self._heads: dict[str, _Head] = {}
        # Calls that are known to be open; of others it is read.
        self._opened: set[str] = set()

    def forget(self) -> None:
        """Drop what is remembered, after a rollback."""
        self._heads.clear()
        self._opened.clear()

    def append(
        self,
        draft: Draft,
        *,
        revision: int | None = None,
        opens: str = "",
        closes: OpenCall | None = None,
        anchor: bool = False,
    ) -> int:
        """Append one record, and open or close its call with it.

        Args:
            draft: The record.
            revision: Catalogue revision that the call was prepared with, where it matters.
            opens: The runtime that is about to run the call; empty where none is.
            closes: The open call that ends with this record.
            anchor: Move the chain's anchor here, so that a cut before this record shows.

        Returns:
            The record's position in its chain, from 1.

        Raises:
            CatalogueMoved: The catalogue changed since ``revision``.
            NotOpen: The call to be closed is not open any more; nothing is appended.
        """
        chain, call, body = draft.chain, draft.call, draft.body
        head = self._heads.get(chain) or self._load_head(chain)
        while True:
            if closes is not None and call not in self._opened:
                self._check_open(closes)
            number, seq, previous = head
            seq += 1
            new = link(previous, seq, body)
            closed = None if closes is None else closes.seq
            row = (
                number << CHAIN_SHIFT | seq,
                call,
                draft.kind,
                draft.at,
                opens or None,
                closed,
                body,
                new,
                draft.payload,
            )
            try:
                if revision is None:
                    self._sql(APPEND, row)
                elif self._sql(APPEND_AT, (*row, revision)).rowcount != 1:
                    raise self._moved(revision)
            except sqlite3.IntegrityError:
                before, head = head, self._follow(chain, head)
                if head == before:
                    why = ": a record stands where its next one goes"
                    raise damaged(f"the chain {chain}", why) from None
                continue
            self._heads[chain] = (number, seq, new)
            if opens:
                self._opened.add(call)
            elif closed:
                self._opened.discard(call)
            if anchor or not seq % ANCHOR_EVERY:
                self._drop_anchor(chain)
            return seq

    def _moved(self, revision: int) -> Exception:
        """Say why a record was refused that depends on a revision of the catalogue."""
        if self.revision() != revision:
            return CatalogueMoved()
        return damaged("the catalogue's revision", ": it is not in its place")

    def _follow(self, chain: str, head: _Head) -> _Head:
        """Learn what others appended since: where the chain ends, and which calls they ended."""
        place = head[0] << CHAIN_SHIFT
        ended = self._sql(
            "select call from evidence where seq>? and seq<=? and closes is not null",
            (place | head[1], place | MAX_SEQ),
        )
        self._opened.difference_update([call for (call,) in ended])
        return self._load_head(chain)

    def _check_open(self, call: OpenCall) -> None:
        """Raise ``NotOpen`` unless a call was opened where it says, and not closed since."""
        base = self._base(call.chain)
        opened = self._sql(
            "select call, opens from evidence where seq=?", (base + call.seq,)
        ).fetchone()
        closed = self._sql(
            "select 1 from evidence where seq>? and seq<=? and closes=? limit 1",
            (base + call.seq, base + MAX_SEQ, call.seq),
        ).fetchone()
        if opened != (call.call, call.runtime) or closed is not None:
            raise NotOpen
        self._opened.add(call.call)

    def _load_head(self, chain: str) -> _Head:
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

    def _anchor(self, chain: str) -> _Anchor | None:
        row = self._sql(f"{_ANCHORS} where key=?", ("h:" + chain,)).fetchone()
        return None if row is None else _anchor(row)

    def _anchors(self) -> list[_Anchor]:
        return list(map(_anchor, self._sql(f"{_ANCHORS} where key glob 'h:*' order by key")))

    def _first_anchor(self, chain: str) -> _Anchor:
        # Not the number of a chain whose anchor was removed and whose records are still here.
        named, used = self._sql(
            "select (select max(number) from live), (select max(seq) from evidence)"
        ).fetchone()
        last = max(named, -1 if used is None else used >> CHAIN_SHIFT)
        anchor = _Anchor(chain, last + 1, 0, genesis(chain), "")
        self._sql(
            "insert into live(key, chain, number, seq, hash) values(?,?,?,?,?)",
            ("h:" + chain, chain, *anchor[1:4]),
        )
        return anchor

    def _last(self, anchor: _Anchor) -> tuple[int, str]:
        """Return position and hash of a chain's last record."""
        base = anchor.number << CHAIN_SHIFT
        row = self._sql(
            "select seq, hash from evidence where seq>? and seq<=? order by seq desc limit 1",
            (base, base + MAX_SEQ),
        ).fetchone()
        return (0, genesis(anchor.chain)) if row is None else _last_row(row)

    def _open_after(self, anchor: _Anchor, to: int = MAX_SEQ) -> list[OpenCall]:
        """Return the calls that are open at a position, by those at the anchor before it."""
        base = anchor.number << CHAIN_SHIFT
        found = {call.seq: call for call in _open_calls(anchor.chain, anchor.open)}
        rows = self._sql(
            "select seq, call, opens, closes from evidence where seq>? and seq<=?"
            " and (opens is not null or closes is not null) order by seq",
            (base + anchor.seq, base + to),
        )
        for row in rows:
            if row[3] is None:
                opened = _opened(anchor.chain, row)
                found[opened.seq] = opened
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
            still = "".join(
                _line(call.call, call.seq, call.runtime) for call in self._open_after(anchor, seq)
            )
            # One that is not of its record was tampered with, and is left for who verifies it.
            self._sql(
                "update live set seq=?, hash=?, open=? where number=? and seq=? and (seq=0 or"
                " hash=(select hash from evidence where seq=?))",
                (seq, link_here, still, number, anchor.seq, number << CHAIN_SHIFT | anchor.seq),
            )

    def drop_anchors(self) -> None:
        """Move the anchors of all chains that this connection wrote to."""
        for chain in self._heads:
            self._drop_anchor(chain)

    def _base(self, chain: str) -> int:
        """Return what a position of a chain is added to; a chain without records has no rows."""
        row = self._sql("select number from live where key=?", ("h:" + chain,)).fetchone()
        return (_NO_CHAIN if row is None else _chain_number(row)) << CHAIN_SHIFT

    def revision(self) -> int:
        """Return the catalogue's revision."""
        return _number(self._sql("select rev from live where key='revision'").fetchone())

    def bump_revision(self) -> int:
        """Move the catalogue's revision; each append that depends on it notices."""
        self._sql("update live set rev=rev+1 where key='revision'")
        return self.revision()

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

    def records(self, chain: str, *, after: int, limit: int, to: int | None = None) -> list[Row]:
        """Return up to ``limit`` records of a chain after a position, in order."""
        base = self._base(chain)
        last = MAX_SEQ if to is None else min(to, MAX_SEQ)
        rows = self._sql(
            f"select {COLUMNS} from evidence where seq>? and seq<=? order by seq limit ?",
            (base + max(0, min(after, MAX_SEQ)), base + last, limit),
        )
        return [_row(chain, base, row) for row in rows]

    def records_before(self, chain: str, *, before: int, limit: int) -> list[Row]:
        """Return up to ``limit`` records of a chain before a position, newest first."""
        base = self._base(chain)
        rows = self._sql(
            f"select {COLUMNS} from evidence where seq<? and seq>? order by seq desc limit ?",
            (base + min(before, MAX_SEQ), base, limit),
        )
        return [_row(chain, base, row) for row in rows]

    def index_calls(self, chain: str, *, limit: int) -> bool:
        """Extend the index from call id to records; false when nothing was left to index.

        Kept by reads and not by calls: one more index in each commit costs a tenth of a call.
        """
        base, done = self._base(chain), self.cursor("calls", chain)
        rows = list(
            self._sql(
                "select call, seq from evidence where seq>? and seq<=? order by seq limit ?",
                (base + done, base + MAX_SEQ, limit),
            )
        )
        if not rows:
            return False
        self._connection.executemany("insert or ignore into evidence_calls values(?,?)", rows)
        self.move_cursor("calls", chain, rows[-1][1] - base)
        return True

    def records_of(self, call: str) -> list[Row]:
        """Return the records of one call, as far as they are indexed."""
        rows = self._sql(
            "select e.seq, e.call, e.kind, e.at, e.body, e.hash, e.payload from evidence_calls c"
            " join evidence e on e.seq=c.seq where c.call=? order by c.seq",
            (call,),
        ).fetchall()
        names = self._names() if rows else {}
        found = []
        for row in rows:
            number = row[0] >> CHAIN_SHIFT
            found.append(_row(names.get(number, ""), number << CHAIN_SHIFT, row))
        return found

    def _names(self) -> dict[int, str]:
        rows = self._sql("select number, chain from live where key glob 'h:*'")
        return dict(rows.fetchall())

    def has_strays(self) -> bool:
        """Tell whether records lie here that no chain's head accounts for: a head was removed."""
        names, place = self._names(), -1
        while True:
            row = self._sql("select min(seq) from evidence where seq>?", (place,)).fetchone()
            if row[0] is None:
                return False
            number = row[0] >> CHAIN_SHIFT
            if number not in names:
                return True
            place = number << CHAIN_SHIFT | MAX_SEQ

    def erase_payload(self, chain: str, seq: int) -> bool:
        """Remove one payload; the record and its digest stay. False where none was there."""
        self._overwrite_freed()
        done = self._sql(
            "update evidence set payload=null where seq=? and payload is not null",
            (self._base(chain) + seq,),
        )
        return done.rowcount == 1

    def erase_payloads_before(self, chain: str, at: int, *, after: int, to: int) -> int:
        """Remove payloads of records older than a time, in a range of positions.

        Args:
            chain: The workspace id, or ``_runtime``.
            at: Unix seconds; a record of this very second is kept.
            after: The last position before the range.
            to: The last position in the range.

        Returns:
            How many payloads were removed.
        """
        self._overwrite_freed()
        base = self._base(chain)
        done = self._sql(
            "update evidence set payload=null where seq>? and seq<=? and at<?"
            " and payload is not null",
            (base + after, base + min(to, MAX_SEQ), at),
        )
        return done.rowcount

    def _overwrite_freed(self) -> None:
        # What is erased must not stay readable in the free space of the file's pages.
        self._sql("pragma secure_delete=on")

    def cursor(self, name: str, chain: str) -> int:
        """Return how far a reader of a chain came; 0 at first."""
        row = self._sql(
            "select seq from cursors where name=? and chain=?", (name, chain)
        ).fetchone()
        return 0 if row is None else _place(row)

    def move_cursor(self, name: str, chain: str, seq: int) -> None:
        """Note how far a reader of a chain came."""
        self._sql("insert or replace into cursors values(?,?,?)", (name, chain, seq))

    def run_effects(self, run: str) -> frozenset[str]:
        """Return the effects that calls of one run were allowed so far."""
        rows = self._sql("select effect from run_effects where run=?", (run,))
        return frozenset(map(_effect, rows))

    def add_run_effects(self, run: str, effects: frozenset[str]) -> None:
        """Add effects that a call of a run is allowed."""
        for effect in effects:
            self._sql("insert or ignore into run_effects values(?,?)", (run, effect))
