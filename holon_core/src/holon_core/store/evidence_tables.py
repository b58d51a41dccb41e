"""Tables of the evidence log: chains, heads, open calls, cursors of sinks."""

from __future__ import annotations

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
APPEND = "insert into appending values(?,?,?,?,?,?,?,?,?,?,?,?,?)"
COLUMNS = "seq, call, kind, at, body, hash, payload"

# Number, position, hash and catalogue revision of a chain's head.
_Head = tuple[int, int, str, int]


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


def _line(call: str, seq: int, runtime: str) -> str:
    """Write an open call as the head's row lists it: a list costs less than rows of its own."""
    return f"{call} {seq} {runtime}\n"


@decodes("a chain's head")
def _head_row(row: tuple[Any, ...]) -> _Head:
    return (
        number(row[0], most=_NO_CHAIN - 1),
        number(row[1], most=MAX_SEQ - 1),
        link_hash(row[2]),
        number(row[3]),
    )


@decodes("a chain's head")
def _named_head(row: tuple[Any, ...]) -> tuple[str, int, str]:
    return text(row[0]), number(row[1], most=MAX_SEQ), link_hash(row[2])


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
    """Statements of the evidence log, inside a transaction or a read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sql = connection.execute
        # What this connection committed last; a conditional update tells when it is stale.
        self._heads: dict[str, _Head] = {}

    def forget(self) -> None:
        """Drop cached heads, after a rollback."""
        self._heads.clear()

    def append(
        self,
        chain: str,
        call: str,
        *,
        kind: str,
        at: int,
        body: bytes,
        payload: bytes | None,
        revision: int | None = None,
        opens: str = "",
        closes: OpenCall | None = None,
    ) -> int:
        """Append one record, move the chain's head, and open or close its call with it.

        Args:
            chain: The workspace id, or ``_runtime``.
            call: The call id the record belongs to.
            kind: What the record says happened.
            at: Wall-clock time in Unix seconds.
            body: Canonical JSON of the record.
            payload: What the body's payload digest covers; ``None`` where there is none.
            revision: Catalogue revision that the call was prepared with, where it matters.
            opens: The runtime that is about to run the call; empty where none is.
            closes: The open call that ends with this record.

        Returns:
            The record's position in its chain, from 1.

        Raises:
            CatalogueMoved: The catalogue changed since ``revision``.
            NotOpen: The call to be closed is not open any more; nothing is appended.
        """
        head = self._heads.get(chain) or self._load_head(chain)
        closed = _line(closes.call, closes.seq, closes.runtime) if closes is not None else ""
        while True:
            number, seq, previous, rev = head
            if revision is not None and rev != revision:
                head = self._load_head(chain)
                if head[3] != revision:
                    raise CatalogueMoved
                continue
            new = link(previous, seq + 1, body)
            row = (number, previous, rev, seq + 1, number << CHAIN_SHIFT | seq + 1)
            opened = _line(call, seq + 1, opens) if opens else ""
            try:
                self._sql(APPEND, (*row, call, kind, at, body, new, payload, opened, closed))
            except sqlite3.IntegrityError:
                before, head = head, self._load_head(chain)
                if head == before:
                    raise self._unmoved(chain, closed) from None
                continue
            self._heads[chain] = (number, seq + 1, new, rev)
            return seq + 1

    def _unmoved(self, chain: str, closed: str) -> Exception:
        """Say why a record was refused although the head is where the writer saw it."""
        row = self._sql("select open from live where key=?", ("h:" + chain,)).fetchone()
        if closed and row is not None and closed not in str(row[0]):
            return NotOpen()
        # A record stands already where the head says that the next one goes.
        return damaged(f"the chain {chain}", ": its head is not at its last record")

    def _load_head(self, chain: str) -> _Head:
        key = "h:" + chain
        row = self._sql("select number, seq, hash, rev from live where key=?", (key,)).fetchone()
        if row is None:
            last = self._sql("select max(number) from live where key glob 'h:*'").fetchone()
            row = (self._next_number(last), 0, genesis(chain), self.revision())
            self._sql(
                "insert into live(key, chain, number, seq, hash, at, rev) values(?,?,?,?,?,0,?)",
                (key, chain, *row),
            )
        head = self._heads[chain] = _head_row(row)
        return head

    @staticmethod
    def _next_number(last: tuple[Any, ...]) -> int:
        return 0 if last[0] is None else _number(last) + 1

    def _base(self, chain: str) -> int:
        """Return what a position of a chain is added to; a chain without records has no rows."""
        row = self._sql("select number from live where key=?", ("h:" + chain,)).fetchone()
        return (_NO_CHAIN if row is None else _chain_number(row)) << CHAIN_SHIFT

    def revision(self) -> int:
        """Return the catalogue's revision."""
        return _number(self._sql("select rev from live where key='revision'").fetchone())

    def bump_revision(self) -> int:
        """Move the catalogue's revision, in every head too, so that each append notices."""
        self._sql("update live set rev=rev+1 where key='revision' or key glob 'h:*'")
        self._heads.clear()
        return self.revision()

    def open_calls(self) -> list[OpenCall]:
        """Return all calls that are open, of every runtime on this store."""
        rows = self._sql("select chain, open from live where key glob 'h:*' and open<>''")
        return [call for chain, lines in rows for call in _open_calls(chain, lines)]

    def heads(self) -> list[tuple[str, int, str]]:
        """Return chain, position and hash of every head, by chain."""
        rows = self._sql("select chain, seq, hash from live where key glob 'h:*' order by key")
        return list(map(_named_head, rows))

    def check_heads(self) -> None:
        """Refuse heads that no record can follow, before anything relies on them."""
        for row in self._sql("select number, seq, hash, rev from live where key glob 'h:*'"):
            _head_row(row)

    def head(self, chain: str) -> tuple[int, str] | None:
        """Return position and hash of one head."""
        found = self.stored_head(chain)
        return None if found is None else _named_head((chain, *found))[1:]

    def stored_head(self, chain: str) -> tuple[Any, Any] | None:
        """Return position and hash of one head as they stand there, for who verifies them."""
        found = self._sql("select seq, hash from live where key=?", ("h:" + chain,))
        return found.fetchone()  # type: ignore[no-any-return]

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
