"""Tables of the evidence log: records appended and read, cursors of sinks, effects of runs."""

from __future__ import annotations

import sqlite3
from typing import Any

from holon_core.records.words import Effect
from holon_core.store.anchors import ANCHOR_EVERY, AnchorTables
from holon_core.store.chains import (
    CHAIN_SHIFT,
    COLUMNS,
    MAX_SEQ,
    CatalogueMoved,
    Draft,
    NotOpen,
    OpenCall,
    Row,
    link,
    place,
    row_of,
)
from holon_core.store.rows import damaged, decodes, number

# The primary key is what keeps two records from one place: the append of a writer that does not
# know the chain's end fails. So one statement on one page is all that an append is. What is null
# is not named: binding a null costs the driver as much as a text.
_PLAIN = "seq, call, kind, at, body, hash, payload"
_MARKS = "?,?,?,?,?,?,?"


def _statements(more: str = "") -> tuple[str, str]:
    """Return how a record is appended, at any revision of the catalogue and at a certain one."""
    columns, marks = (f"{_PLAIN}, {more}", f"{_MARKS},?") if more else (_PLAIN, _MARKS)
    into = f"insert into evidence({columns})"
    return (
        f"{into} values({marks})",
        f"{into} select {marks} from live where number=-1 and rev=?",
    )


_APPEND, _OPENING, _CLOSING = _statements(), _statements("opens"), _statements("closes")


@decodes("a catalogue revision")
def _number(row: tuple[Any, ...]) -> int:
    return number(row[0])


@decodes("an effect")
def _effect(row: tuple[Any, ...]) -> str:
    return Effect(row[0]).value


class EvidenceTables(AnchorTables):
    """Statements of the evidence log, inside a transaction or a read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        # One cursor for all appends, which are never under way at the same time.
        self._append = connection.cursor().execute

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
            closes: The open call that ends with this record, which then opens none.
            anchor: Move the chain's anchor here, so that a cut before this record shows.

        Returns:
            The record's position in its chain, from 1.

        Raises:
            CatalogueMoved: The catalogue changed since ``revision``.
            NotOpen: The call to be closed is not open any more; nothing is appended.
        """
        chain, call, body, payload = draft.chain, draft.call, draft.body, draft.payload
        # Bytes go through the driver's adapters, which is dearer than a copy.
        kept, beside = bytearray(body), None if payload is None else bytearray(payload)
        head = self._heads.get(chain) or self._load_head(chain)
        while True:
            if closes is not None and call not in self._open:
                self._check_open(closes)
            number, seq, previous = head
            seq += 1
            new = link(previous, seq, body)
            row: tuple[Any, ...]
            row = (number << CHAIN_SHIFT | seq, call, draft.kind, draft.at, kept, new, beside)
            statements = _APPEND
            if opens:
                statements, row = _OPENING, (*row, opens)
            elif closes is not None:
                statements, row = _CLOSING, (*row, closes.seq)
            try:
                if revision is None:
                    self._append(statements[0], row)
                elif self._append(statements[1], (*row, revision)).rowcount != 1:
                    raise self._moved(revision)
            except sqlite3.IntegrityError:
                before, head = head, self._follow(chain, head)
                if head == before:
                    why = ": a record stands where its next one goes"
                    raise damaged(f"the chain {chain}", why) from None
                continue
            self._heads[chain] = (number, seq, new)
            if opens:
                # As ``OpenCall(…)``, without the function that the class would be made in.
                self._open[call] = tuple.__new__(OpenCall, (call, chain, seq, opens))
            elif closes is not None:
                self._open.pop(call, None)
            if anchor or not seq % ANCHOR_EVERY:
                self._drop_anchor(chain)
            return seq

    def _moved(self, revision: int) -> Exception:
        """Say why a record was refused that depends on a revision of the catalogue."""
        if self.revision() != revision:
            return CatalogueMoved()
        return damaged("the catalogue's revision", ": it is not in its place")

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
        self._open[call.call] = call

    def revision(self) -> int:
        """Return the catalogue's revision."""
        return _number(self._sql("select rev from live where key='revision'").fetchone())

    def bump_revision(self) -> int:
        """Move the catalogue's revision; each append that depends on it notices."""
        self._sql("update live set rev=rev+1 where key='revision'")
        return self.revision()

    def records(self, chain: str, *, after: int, limit: int, to: int | None = None) -> list[Row]:
        """Return up to ``limit`` records of a chain after a position, in order."""
        base = self._base(chain)
        last = MAX_SEQ if to is None else min(to, MAX_SEQ)
        rows = self._sql(
            f"select {COLUMNS} from evidence where seq>? and seq<=? order by seq limit ?",
            (base + max(0, min(after, MAX_SEQ)), base + last, limit),
        )
        return [row_of(chain, base, row) for row in rows]

    def records_before(self, chain: str, *, before: int, limit: int) -> list[Row]:
        """Return up to ``limit`` records of a chain before a position, newest first."""
        base = self._base(chain)
        rows = self._sql(
            f"select {COLUMNS} from evidence where seq<? and seq>? order by seq desc limit ?",
            (base + min(before, MAX_SEQ), base, limit),
        )
        return [row_of(chain, base, row) for row in rows]

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
            found.append(row_of(names.get(number, ""), number << CHAIN_SHIFT, row))
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
        return 0 if row is None else place(row)

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
