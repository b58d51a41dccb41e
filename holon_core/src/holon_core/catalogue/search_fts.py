"""The search index on SQLite FTS5, in memory: BM25 by column, with stems."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from holon_core.catalogue.search_rows import WEIGHTS, Hit, Row

# Terms are taken from the rarest on while together they touch no more rows than this.
MAX_ROWS = 1000
_WEIGHTS = ", ".join(map(str, WEIGHTS))


def available() -> bool:
    """Tell whether this Python's SQLite has FTS5."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table t using fts5(x)")
    except sqlite3.OperationalError:
        return False
    else:
        return True
    finally:
        connection.close()


class FtsIndex:
    """Tools by their words. Not safe for threads: its owner takes turns."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._db.execute("create table tools(n integer primary key, id text unique, lane text)")
        self._db.execute(
            "create virtual table words using fts5(name, title, description, examples, parameters,"
            " source, tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._counts: dict[str, int] = {}

    def replace(self, rows: Iterable[Row], gone: Iterable[str]) -> None:
        """Put rows in, each instead of an earlier one of its id, and take others out."""
        self._counts.clear()
        execute = self._db.execute
        execute("begin")
        for tool_id in gone:
            self._remove(tool_id)
        for row in rows:
            self._remove(row.id)
            n = execute("insert into tools(id, lane) values(?, ?)", row[:2]).lastrowid
            execute(
                "insert into words(rowid, name, title, description, examples, parameters, source)"
                " values(?, ?, ?, ?, ?, ?, ?)",
                (n, *row[2:]),
            )
        execute("commit")

    def _remove(self, tool_id: str) -> None:
        found = self._db.execute("select n from tools where id=?", (tool_id,)).fetchone()
        if found is not None:
            self._db.execute("delete from words where rowid=?", found)
            self._db.execute("delete from tools where n=?", found)

    def match(
        self, terms: Sequence[str], *, lanes: Sequence[str], after: Hit | None, limit: int
    ) -> list[Hit]:
        """Return the tools that hold any of the terms, best first, after a given hit."""
        # FTS5 ranks the best lowest; ties go by id, so that each tool has one place.
        score, tool_id = (float("-inf"), "") if after is None else (-after.score, after.id)
        found = self._db.execute(
            f"select -r, id from (select rowid as n, bm25(words, {_WEIGHTS}) as r from words"  # noqa: S608
            f" where words match ?) join tools using(n) where {_among(lanes)}"
            " (r > ? or (r = ? and id > ?)) order by r, id limit ?",
            (self._expression(terms), *lanes, score, score, tool_id, limit),
        )
        return [Hit(*row) for row in found]

    def count_matches(self, terms: Sequence[str], *, lanes: Sequence[str]) -> int:
        """Count the tools that hold any of the terms."""
        if not lanes:
            return self._count(self._expression(terms))
        found = self._db.execute(
            f"select count(*) from words join tools on n=words.rowid where {_among(lanes)}"  # noqa: S608
            " words match ?",
            (*lanes, self._expression(terms)),
        )
        return int(found.fetchone()[0])

    def by_id(self, *, lanes: Sequence[str], after: str, limit: int) -> list[str]:
        """Return ids in order, after a given one."""
        found = self._db.execute(
            f"select id from tools where {_among(lanes)} id > ? order by id limit ?",  # noqa: S608
            (*lanes, after, limit),
        )
        return [row[0] for row in found]

    def count(self, *, lanes: Sequence[str]) -> int:
        """Count all tools."""
        found = self._db.execute(
            f"select count(*) from tools where {_among(lanes)} true",  # noqa: S608
            tuple(lanes),
        )
        return int(found.fetchone()[0])

    def close(self) -> None:
        """Free the memory; a second call does nothing."""
        self._db.close()

    def _expression(self, terms: Sequence[str]) -> str:
        """Join terms by OR: each quoted, so that none of it is read as an operator."""
        quoted = [f'"{term}"' for term in terms]
        if len(quoted) == 1:
            return quoted[0]
        rare_first = sorted((self._count(term), term) for term in quoted)
        kept: list[str] = []
        total = 0
        for count, term in rare_first:
            total += count
            if kept and total > MAX_ROWS:
                break
            if count:
                kept.append(term)
        return " OR ".join(kept or quoted[:1])

    def _count(self, expression: str) -> int:
        known = self._counts.get(expression)
        if known is None:
            if len(self._counts) > 4096:
                self._counts.clear()
            known = self._counts[expression] = int(
                self._db.execute(
                    "select count(*) from words where words match ?", (expression,)
                ).fetchone()[0]
            )
        return known


def _among(lanes: Sequence[str]) -> str:
    return f"lane in ({', '.join('?' * len(lanes))}) and" if lanes else ""
