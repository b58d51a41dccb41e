"""The search index of a set of tools: an inverted index in plain tables of SQLite.

It needs no extension of SQLite. Tools are only ever appended, and those that went are named in a
table of their own; their stems lie beside (see `search_postings`).
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from holon_core.catalogue.search_postings import TABLES, Postings, Stems
from holon_core.catalogue.search_rows import Row

# Of another version, also of the rules by which rows are made, an index is made anew.
VERSION = f"4-{sys.byteorder}"
# How long a turn to change the index is waited for.
BUSY_S = 60.0
_TABLES = (
    "create table if not exists meta(key text primary key, value text not null)",
    """create table if not exists tools(
        n integer primary key autoincrement, id text not null unique, lane text not null,
        label text not null, namespace text not null, same text not null,
        digest text not null, kinds integer not null,
        name text not null, description text not null, schema text not null,
        examples text not null, keywords text not null)""",
    "create index if not exists tools_label on tools(label)",
    "create table if not exists gone(n integer primary key)",
    "create table if not exists bound(id text primary key, workspace text not null)",
    "create index if not exists bound_workspace on bound(workspace)",
    """create table if not exists vectors(
        embedder text not null, digest text not null, body blob not null,
        primary key(embedder, digest))""",
    *TABLES,
)
_NAMES = ("vectors", "bound", "gone", "grams", "blocks", "stems", "tools", "meta")


class Index:
    """Not safe for threads: its owner takes turns.

    Args:
        path: A file; without one the index is in memory.
    """

    def __init__(self, path: str | None = None) -> None:
        self._db = sqlite3.connect(
            path or ":memory:", isolation_level=None, check_same_thread=False, timeout=BUSY_S
        )
        self._stems = Stems(self._db)
        self._count: int | None = None
        self._gone: frozenset[int] | None = None
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise
        self._seen = self._signal()

    def _prepare(self) -> None:
        self._db.execute("pragma journal_mode=wal")
        self._db.execute("pragma synchronous=normal")
        self._db.execute("pragma cache_size=-16000")
        # Whoever only reads waits for nobody who writes.
        if self._version() != VERSION:
            with self.changing():
                if self._version() != VERSION:
                    self.clear()

    def _version(self) -> str | None:
        if self._db.execute("select 1 from sqlite_master where name='meta'").fetchone() is None:
            return None
        return self.meta("version")

    def clear(self) -> None:
        """Take everything out; inside ``changing``."""
        for name in _NAMES:
            self._db.execute(f"drop table if exists {name}")
        for statement in _TABLES:
            self._db.execute(statement)
        self.set_meta("version", VERSION)
        self._forget()

    def meta(self, key: str) -> str | None:
        """Return what is noted under a key."""
        found = self._db.execute("select value from meta where key=?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def set_meta(self, key: str, value: str) -> None:
        """Note something beside the tools."""
        self._db.execute("insert or replace into meta values(?,?)", (key, value))

    def drop_meta(self, key: str) -> None:
        """Forget what is noted under a key."""
        self._db.execute("delete from meta where key=?", (key,))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the one turn to change the index; all of it is kept, or nothing."""
        self._db.execute("begin immediate")
        try:
            yield
            self._db.execute("commit")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise
        finally:
            self._forget()

    def _forget(self) -> None:
        self._stems.forget()
        self._count = self._gone = None

    def _signal(self) -> Any:
        return self._db.execute("pragma data_version").fetchone()[0]

    def refresh(self) -> None:
        """Notice what another process changed."""
        signal = self._signal()
        if signal != self._seen:
            self._seen = signal
            self._forget()

    def put(self, rows: Iterable[tuple[Row, dict[str, int]]]) -> None:
        """Put tools in, each instead of an earlier one of its id; inside ``changing``."""
        added: dict[str, tuple[array[int], bytearray]] = {}
        marks = ",".join("?" * len(Row._fields))
        statement = f"insert into tools({','.join(Row._fields)}) values({marks})"
        for row, impacts in rows:
            self.remove(row.id)
            n = int(self._db.execute(statement, row).lastrowid or 0)
            for stem, impact in impacts.items():
                held = added.get(stem)
                if held is None:
                    held = added[stem] = (array("I"), bytearray())
                held[0].append(n)
                held[1].append(impact)
        for stem, (tools, bytes_) in added.items():
            self._stems.append(stem, tools, bytes_)

    def remove(self, tool_id: str) -> None:
        """Take a tool out, if it is there; inside ``changing``."""
        found = self._db.execute("select n from tools where id=?", (tool_id,)).fetchone()
        if found is not None:
            self._db.execute("delete from tools where n=?", found)
            self._db.execute("insert into gone values(?)", found)

    def bind(self, tool_id: str, workspace: str) -> None:
        """Note a tool of one workspace, which is not searched here; inside ``changing``."""
        self.remove(tool_id)
        self._db.execute("insert or replace into bound values(?,?)", (tool_id, workspace))

    def loose(self, tool_id: str) -> None:
        """Forget that a tool is of one workspace; inside ``changing``."""
        self._db.execute("delete from bound where id=?", (tool_id,))

    def bound(self, workspace: str, *, limit: int = -1) -> list[str]:
        """Return the ids of the tools that are of a workspace alone."""
        statement = "select id from bound where workspace=? order by id limit ?"
        return [each for (each,) in self._db.execute(statement, (workspace, limit))]

    def postings(self, stem: str) -> Postings:
        """Return the tools that hold a stem; those that went may be among them."""
        return self._stems.postings(stem)

    def like(self, word: str, limit: int) -> list[tuple[str, float]]:
        """Return stems that are written much like a word, best first, with how much, 0 to 1."""
        return self._stems.like(word, limit)

    @property
    def gone(self) -> frozenset[int]:
        """The numbers of tools that went."""
        if self._gone is None:
            self._gone = frozenset(n for (n,) in self._db.execute("select n from gone"))
        return self._gone

    def size(self) -> int:
        """Count the tools."""
        if self._count is None:
            self._count = int(self._db.execute("select count(*) from tools").fetchone()[0])
        return self._count

    def rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        """Return tools by their numbers; those that went are left out."""
        fields = ",".join(Row._fields)
        statement = f"select n,{fields} from tools where n in ({','.join('?' * len(numbers))})"  # noqa: S608
        return {row[0]: Row(*row[1:]) for row in self._db.execute(statement, numbers)}

    def ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of tools by their numbers."""
        found: dict[int, str] = {}
        for at in range(0, len(numbers), 500):
            part = numbers[at : at + 500]
            statement = f"select n,id from tools where n in ({','.join('?' * len(part))})"  # noqa: S608
            found.update(self._db.execute(statement, part))
        return found

    def named(self, text: str) -> list[int]:
        """Return the tools that have a text for their id or name."""
        rows = self._db.execute(
            "select n from tools where id=? union select n from tools where label=? limit 20",
            (text, text.casefold()[:200]),
        )
        return sorted(n for (n,) in rows)

    def of_lanes(self, lanes: Sequence[str]) -> set[int]:
        """Return the numbers of the tools of some lanes."""
        marks = ",".join("?" * len(lanes))
        statement = f"select n from tools where lane in ({marks})"  # noqa: S608
        return {n for (n,) in self._db.execute(statement, lanes)}

    def by_id(self, *, lanes: Sequence[str], after: str, limit: int) -> list[str]:
        """Return ids in order, after a given one."""
        among = f"lane in ({','.join('?' * len(lanes))}) and" if lanes else ""
        found = self._db.execute(
            f"select id from tools where {among} id > ? order by id limit ?",  # noqa: S608
            (*lanes, after, limit),
        )
        return [row[0] for row in found]

    def with_ids(self, tool_ids: Sequence[str]) -> list[Row]:
        """Return tools by their ids."""
        statement = (
            f"select {','.join(Row._fields)} from tools"  # noqa: S608
            f" where id in ({','.join('?' * len(tool_ids))})"
        )
        return [Row(*row) for row in self._db.execute(statement, tuple(tool_ids))]

    def count(self, lanes: Sequence[str]) -> int:
        """Count the tools of some lanes; all where none are given."""
        return len(self.of_lanes(lanes)) if lanes else self.size()

    def holds(self, tool_id: str) -> bool:
        """Tell whether a tool is in it."""
        found = self._db.execute("select 1 from tools where id=?", (tool_id,)).fetchone()
        return found is not None

    def worn(self) -> bool:
        """Tell whether so many tools went that making the index anew pays."""
        return len(self.gone) > 1000 + self.size()

    def vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, array[float]]:
        """Return the vectors that an embedder made of definitions."""
        marks = ",".join("?" * len(digests))
        rows = self._db.execute(
            f"select digest, body from vectors where embedder=? and digest in ({marks})",  # noqa: S608
            (embedder, *digests),
        )
        return {digest: array("f", body) for digest, body in rows}

    def keep_vectors(self, embedder: str, made: Mapping[str, array[float]]) -> None:
        """Keep vectors by definition digest."""
        rows = [(embedder, digest, vector.tobytes()) for digest, vector in made.items()]
        self._db.executemany("insert or replace into vectors values(?,?,?)", rows)

    def close(self) -> None:
        """Free the memory and the file; a second call does nothing."""
        self._db.close()
