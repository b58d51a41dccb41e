"""The stems of a search index: which tools hold each, and how much it says of them.

Each stem has its tools and impacts in blocks, five bytes for each; tools are only ever appended,
so that a change touches the last block of a tool's own stems and nothing else.
"""

from __future__ import annotations

import sqlite3
from array import array
from typing import NamedTuple

BLOCK = 1024
MAX_CACHED = 2000
# One wrong letter of four makes another word more often than of seven.
SLIP = 0.2
# Words with more wrong letters than this share are not alike.
STRANGE = 0.35
TABLES = (
    """create table if not exists stems(
        number integer primary key, stem text not null unique, blocks integer not null,
        held integer not null)""",
    "create table if not exists blocks(key integer primary key, body blob not null)",
    """create table if not exists grams(
        gram text not null, number integer not null, primary key(gram, number)) without rowid""",
)


class Postings(NamedTuple):
    """Which tools hold a stem, in ascending order, and how much it says of each."""

    tools: array[int]
    impacts: bytes


NONE = Postings(array("I"), b"")


def grams(word: str) -> set[str]:
    """Return the runs of three characters of a word between blanks."""
    text = f" {word} "
    return {text[at : at + 3] for at in range(len(text) - 2)}


def alike(one: str, other: str) -> float:
    """Return how much alike two words are, 1 for equal: by letters put in, left out or swapped.

    Words that differ in more letters than ``STRANGE`` allows are not compared to the end: 0.
    """
    longer = max(len(one), len(other))
    most = longer * STRANGE
    letters, others = set(one), set(other)
    # Each letter that only one of them has is at least one that was put in, left out or changed.
    if max(abs(len(one) - len(other)), len(letters - others), len(others - letters)) > most:
        return 0.0
    if abs(len(one) - len(other)) > 3 or longer > 40:
        return 0.0
    above: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        above, before, row = row, above, [i + 1]
        cost = i + 1
        for j, another in enumerate(other):
            cost = min(above[j] + (letter != another), above[j + 1] + 1, cost + 1)
            if i and j and letter == other[j - 1] and one[i - 1] == another:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        # What follows is never less than the least of two rows.
        if min(row) > most and min(above) > most:
            return 0.0
    return 1 - row[-1] / longer


class Stems:
    """The stems of one index, over its connection. What was read of them is kept until forgotten.

    Args:
        db: The connection of the index.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._postings: dict[str, Postings] = {}

    def forget(self) -> None:
        """Forget what was read: it may have changed."""
        self._postings.clear()

    def append(self, stem: str, tools: array[int], impacts: bytearray) -> None:
        """Add tools to a stem, of higher numbers than it has; inside a transaction."""
        found = self._db.execute(
            "select number, blocks, held from stems where stem=?", (stem,)
        ).fetchone()
        if found is None:
            number, blocks, held = self._new_stem(stem), 0, 0
        else:
            number, blocks, held = found
        at = 0
        while at < len(tools):
            room = BLOCK - held if blocks else 0
            if room <= 0:
                blocks, held, room = blocks + 1, 0, BLOCK
            key = number << 20 | blocks
            part, of_part = tools[at : at + room], impacts[at : at + room]
            if held:
                body = self._db.execute("select body from blocks where key=?", (key,)).fetchone()[0]
                part, of_part = _read(body, part, of_part)
            self._db.execute(
                "insert or replace into blocks values(?,?)", (key, part.tobytes() + of_part)
            )
            at += room
            held = len(part)
        self._db.execute("update stems set blocks=?, held=? where number=?", (blocks, held, number))

    def _new_stem(self, stem: str) -> int:
        number = int(
            self._db.execute(
                "insert into stems(stem, blocks, held) values(?,0,0)", (stem,)
            ).lastrowid
            or 0
        )
        if not stem.isdigit():
            self._db.executemany(
                "insert or ignore into grams values(?,?)", [(gram, number) for gram in grams(stem)]
            )
        return number

    def postings(self, stem: str) -> Postings:
        """Return the tools that hold a stem; those that went may be among them."""
        known = self._postings.get(stem)
        if known is None:
            if len(self._postings) >= MAX_CACHED:
                self._postings.clear()
            known = self._postings[stem] = self._load(stem)
        return known

    def _load(self, stem: str) -> Postings:
        found = self._db.execute(
            "select number, blocks from stems where stem=?", (stem,)
        ).fetchone()
        if found is None:
            return NONE
        tools, impacts = array("I"), bytearray()
        low = found[0] << 20
        for (body,) in self._db.execute(
            "select body from blocks where key between ? and ? order by key", (low, low + found[1])
        ):
            size = len(body) // 5 * 4
            tools.frombytes(body[:size])
            impacts += body[size:]
        return Postings(tools, bytes(impacts))

    def like(self, word: str, limit: int) -> list[tuple[str, float]]:
        """Return stems that are written much like a word, best first, with how much, 0 to 1."""
        wanted = grams(word)
        marks = ",".join("?" * len(wanted))
        rows = self._db.execute(
            f"select stem, n from (select number, count(*) as n from grams where gram in ({marks})"  # noqa: S608
            " group by number order by n desc, number limit 16) join stems using(number)",
            sorted(wanted),
        )
        near = [
            (stem, max(2 * n / (len(wanted) + len(grams(stem))), alike(word, stem) - SLIP))
            for stem, n in rows
        ]
        return sorted(near, key=lambda each: (-each[1], each[0]))[:limit]


def _read(body: bytes, tools: array[int], impacts: bytearray) -> tuple[array[int], bytearray]:
    size = len(body) // 5 * 4
    whole = array("I")
    whole.frombytes(body[:size])
    whole.extend(tools)
    return whole, bytearray(body[size:]) + impacts
