"""Ranking: every tool by its stems, then the best of them by all that is known of each.

The first pass adds up, for each stem of the query, how much it says of each tool and how rare it
is: BM25 over weighted fields. The second looks at the texts of the best of them: whole words,
pairs of words, runs of characters, the share of the query that is met at all, and whether the
tool takes the kinds of values that the query holds. Scores of both are joined as a weighted sum.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import nlargest

from attrs import frozen

from holon_core.catalogue.search_index import Index
from holon_core.catalogue.search_look import Look, Seen, shares_met
from holon_core.catalogue.search_query import Part, Query, Term, read
from holon_core.catalogue.search_rows import STEPS, Hit
from holon_core.catalogue.search_score import weighed
from holon_core.records.base import Record

BEST = 32
# Stems are taken from the rarest on while together they touch no more tools than this; the
# others count for the best of what was found.
MAX_TOUCHED = 4_000
LATE = 128


@frozen(kw_only=True, eq=False, repr=False)
class Ranking(Record):
    """What a query found: the best by everything, then all others by their stems alone."""

    best: Sequence[Hit] = ()
    rest: Sequence[dict[int, float]] = ()
    total: int = 0


def rank(parts: Sequence[Part], text: str, *, lanes: Sequence[str] = ()) -> Ranking:
    """Rank all tools by a query.

    Args:
        parts: Where they are indexed.
        text: The query, in any words.
        lanes: Only tools of these lanes; of all where empty.
    """
    query = read(parts, text)
    touched = _found(parts, query, text, lanes)
    total = sum(map(len, touched))
    best = weighed(query, _looked(parts, query, touched), text)
    return Ranking(best=best, rest=touched if total > BEST else (), total=total)


def looks(parts: Sequence[Part], text: str) -> list[Seen]:
    """Return what a ranking by a query would see of the best tools, to weigh it otherwise."""
    query = read(parts, text)
    return _looked(parts, query, _found(parts, query, text, ()))


def _found(
    parts: Sequence[Part], query: Query, text: str, lanes: Sequence[str]
) -> list[dict[int, float]]:
    among = [part.tools.of_lanes(lanes) if lanes else None for part in parts]
    return [
        _allowed(part.tools, _touched(query, at), among[at], text) for at, part in enumerate(parts)
    ]


def _allowed(
    index: Index, found: dict[int, float], among: set[int] | None, text: str
) -> dict[int, float]:
    """Add what is named exactly; leave out what went and what is of other lanes."""
    for n in index.named(text[:300].strip()):
        found.setdefault(n, 0.0)
    gone = index.gone
    if among is not None:
        return {n: score for n, score in found.items() if n in among}
    if gone:
        return {n: score for n, score in found.items() if n not in gone}
    return found


def _best(touched: Sequence[dict[int, float]], count: int) -> list[tuple[float, int, int]]:
    """Return the best of what was found, in a fixed order."""
    values = [score for found in touched for score in found.values()]
    least = nlargest(count, values)[-1] if len(values) > count else 0.0
    over = [
        (score, at, n)
        for at, found in enumerate(touched)
        for n, score in found.items()
        if score >= least
    ]
    return sorted(over, key=_by_score)[:count]


def _by_score(found: tuple[float, int, int]) -> tuple[float, int, int]:
    return -found[0], found[1], found[2]


def beyond(parts: Sequence[Part], ranking: Ranking) -> list[Hit]:
    """Return all tools beyond the best, by their stems alone; none scores above those."""
    known = {hit.id for hit in ranking.best}
    low = ranking.best[-1] if ranking.best else Hit(0.0, "")
    most = max((max(found.values(), default=0.0) for found in ranking.rest), default=0.0) or 1.0
    hits: list[Hit] = []
    for part, mine in zip(parts, ranking.rest, strict=False):
        hits += [
            Hit(round(low.score * mine[n] / most, 4), each, low.confidence)
            for n, each in part.tools.ids(list(mine)).items()
            if each not in known and each not in part.hidden
        ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _touched(query: Query, at: int) -> dict[int, float]:
    found: dict[int, float] = {}
    get = found.get
    touched = 0
    for term in query.terms:
        if touched and touched + term.held > MAX_TOUCHED:
            break
        touched += term.held
        worth = term.weight / STEPS
        tools, impacts = term.postings[at]
        if not found:
            found = dict(zip(tools, [worth * impact for impact in impacts], strict=True))
            get = found.get
            continue
        for n, impact in zip(tools, impacts, strict=True):
            found[n] = get(n, 0.0) + worth * impact
    return found


def _late(query: Query) -> Sequence[Term]:
    """Return the stems that the first pass left out."""
    touched = 0
    for at, term in enumerate(query.terms):
        if touched and touched + term.held > MAX_TOUCHED:
            return query.terms[at:]
        touched += term.held
    return ()


def _with_late(query: Query, top: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    late = _late(query)
    if not late:
        return top
    return [
        (score + sum(term.weight * _impact(term, at, n) for term in late), at, n)
        for score, at, n in top
    ]


def _impact(term: Term, at: int, n: int) -> float:
    tools, impacts = term.postings[at]
    place = bisect_left(tools, n)
    return impacts[place] / STEPS if place < len(tools) and tools[place] == n else 0.0


def _looked(parts: Sequence[Part], query: Query, touched: Sequence[dict[int, float]]) -> list[Seen]:
    """Look at the best of what was found."""
    late = _late(query)
    top = _best(touched, LATE if late else BEST)
    if late:
        top = sorted(_with_late(query, top), key=_by_score)[:BEST]
    look = Look(query)
    seen: list[Seen] = []
    for at, part in enumerate(parts):
        mine = {n: score for score, of, n in top if of == at}
        rows = part.tools.rows(list(mine))
        met = shares_met(query, at, sorted(rows))
        seen += [
            look.at(row, mine[n], met[n]) for n, row in rows.items() if row.id not in part.hidden
        ]
    return seen
