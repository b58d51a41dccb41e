"""Ranking: every tool by its stems, then the best of them by all that is known of each.

The first pass adds up, for each stem of the query, how much it says of each tool and how rare it
is: BM25 over weighted fields. The second looks at the texts of the best of them: whole words,
pairs of words, runs of characters, the share of the query that is met at all, and whether the
tool takes the kinds of values that the query holds. Scores of both are joined as a weighted sum.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from heapq import nlargest
from itertools import pairwise
from math import exp, log
from typing import NamedTuple

from attrs import frozen

from holon_core.catalogue.common_words import share_of_stem, share_of_word
from holon_core.catalogue.search_index import Index, Postings
from holon_core.catalogue.search_rows import (
    DATES,
    FIELDS,
    MAX_WORDS,
    PLACES,
    SCHEMA,
    STEPS,
    Field,
    Hit,
    Row,
    kinds_of_query,
    saturation,
)
from holon_core.catalogue.stems import stem
from holon_core.catalogue.words import terms as terms_of
from holon_core.records.base import Record

BEST = 32
# Stems are taken from the rarest on while together they touch no more tools than this; the
# others count for the best of what was found.
MAX_TOUCHED = 4_000
LATE = 128
# What the first word of a request counts more than the last, halved; not where there are few.
EARLY, FEW = 0.1, 3
# How many tools in general a catalogue is counted together with (see `common_words`).
PRIOR = 400
# A word that no tool holds may be misspelt: how alike another has to be, and how many are tried.
ALIKE, TRIED, MAX_STRANGE = 0.45, 4, 3

# As cross-validation chooses them (`benchmarks/discovery_tuning.py`). Runs of characters and pairs
# of words add nothing to English requests beside stems; they stay, small, for what has no stems.
EXACT, GRAMS, MET, PAIRS, NAME, SPACE = 0.2, 0.02, 0.1, 0.01, 0.05, 0.2
DATES_GIVEN, PLACES_GIVEN = 0.16, 0.08
GRAM_SLOPE, GRAM_USUAL = 0.6, 12
CONFIDENCE, UNSURE = (1.1, 1.7, 0.9), 1.1
# The weightiest words of a query, of which whole words and runs of characters are looked for.
WORDS, SHAPES = 24, 5


class Part(NamedTuple):
    """An index, and the ids in it that something else stands before."""

    tools: Index
    hidden: frozenset[str]


class Term(NamedTuple):
    """A stem of the query: how rare it is, where it is found, whether it stands for another."""

    stem: str
    weight: float
    postings: tuple[Postings, ...]
    instead_of: str = ""

    @property
    def held(self) -> int:
        """In how many tools it is found."""
        return sum(len(each.tools) for each in self.postings)


@frozen(kw_only=True, eq=False, repr=False)
class Query(Record):
    """A query as it is ranked by: its words, its stems, the weight of all it asks for."""

    words: Mapping[str, float]
    terms: Sequence[Term]
    asked: float
    kinds: int = 0


@frozen(kw_only=True, eq=False, repr=False)
class Ranking(Record):
    """What a query found: the best by everything, then all others by their stems alone."""

    best: Sequence[Hit] = ()
    rest: Sequence[dict[int, float]] = ()
    total: int = 0


def read(parts: Sequence[Part], text: str) -> Query:
    """Read a query against what is indexed."""
    words = terms_of(text)
    size = sum(part.tools.size() for part in parts)
    stems: dict[str, str] = {}
    for word in words:
        stems.setdefault(stem(word), word)
    terms: list[Term] = []
    asked = 0.0
    strange = 0
    early = _early(words)
    for each, word in stems.items():
        term = _term(parts, each, size)
        asked += term.weight
        term = term._replace(weight=term.weight * early[word])
        if term.held:
            terms.append(term)
        elif len(word) > 3 and not word.isdigit() and strange < MAX_STRANGE:
            strange += 1
            terms += _instead(parts, term, size, early[word])
    weights = {word: _word_weight(parts, word, size) * early[word] for word in words}
    return Query(
        words=weights,
        terms=sorted(terms, key=lambda term: (term.held, term.stem)),
        asked=asked,
        kinds=kinds_of_query(text[:4000]),
    )


def _early(words: Sequence[str]) -> dict[str, float]:
    """Return what each word counts by its place: a request says first what it is for."""
    last = len(words) - 1
    if last < FEW:
        return dict.fromkeys(words, 1.0)
    return {word: 1 + EARLY * (1 - 2 * at / last) for at, word in enumerate(words)}


def _term(parts: Sequence[Part], each: str, size: int) -> Term:
    postings = tuple(part.tools.postings(each) for part in parts)
    held = sum(len(found.tools) for found in postings)
    return Term(each, _rarity(held, size, share_of_stem(each)), postings)


def _rarity(held: int, size: int, share: float) -> float:
    found = min(held, size) + PRIOR * share
    return log(1 + (size + PRIOR - found + 0.5) / (found + 0.5))


def _word_weight(parts: Sequence[Part], word: str, size: int) -> float:
    held = sum(len(part.tools.postings(stem(word)).tools) for part in parts)
    return _rarity(held, size, share_of_word(word))


def _instead(parts: Sequence[Part], term: Term, size: int, early: float) -> list[Term]:
    """Return stems that may be meant by one that no tool holds."""
    near: dict[str, float] = {}
    for part in parts:
        near.update(found for found in part.tools.like(term.stem, TRIED) if found[1] >= ALIKE)
    best = sorted(near.items(), key=lambda each: (-each[1], each[0]))[:TRIED]
    found = []
    for each, alike in best:
        other = _term(parts, each, size)
        found.append(other._replace(weight=other.weight * alike * early, instead_of=term.stem))
    return found


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
    best = _weighed(query, _looked(parts, query, touched), text)
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
        worth = [term.weight / STEPS * impact for impact in range(256)]
        tools, impacts = term.postings[at]
        for n, impact in zip(tools, impacts, strict=True):
            found[n] = get(n, 0.0) + worth[impact]
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


class Seen(NamedTuple):
    """What the second pass sees of one tool."""

    row: Row
    stems: float
    words: float
    grams: float
    name: float
    met: float
    pairs: int
    values: int


def _looked(parts: Sequence[Part], query: Query, touched: Sequence[dict[int, float]]) -> list[Seen]:
    """Look at the best of what was found."""
    late = _late(query)
    top = _best(touched, LATE if late else BEST)
    if late:
        top = sorted(_with_late(query, top), key=_by_score)[:BEST]
    look = _Look(query)
    seen: list[Seen] = []
    for at, part in enumerate(parts):
        mine = {n: score for score, of, n in top if of == at}
        rows = part.tools.rows(list(mine))
        met = _met(query, at, sorted(rows))
        seen += [
            look.at(row, mine[n], met[n]) for n, row in rows.items() if row.id not in part.hidden
        ]
    return seen


def _weighed(query: Query, seen: Sequence[Seen], text: str) -> list[Hit]:
    sums = _summed(seen)
    spaces: dict[str, float] = {}
    for each, of in zip(seen, sums, strict=True):
        spaces[each.row.namespace] = max(sum(of), spaces.get(each.row.namespace, 0.0))
    asked = text.strip()
    label = asked.casefold()
    hits = []
    for each, of in zip(seen, sums, strict=True):
        row = each.row
        named = asked == row.id or label == row.label
        of = (*of, SPACE * spaces[row.namespace], _FULL * named)
        confidence = 1.0 if named else round(confidence_of(query, each), 3)
        hits.append(Hit(round(sum(of) / _FULL, 4), row.id, confidence, row.same, row.digest, of))
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


# What a score is the sum of, in this order.
PARTS = (
    "stems", "whole words", "characters", "name", "share of the query", "neighbouring words",
    "kinds of values", "namespace", "named exactly",
)  # fmt: skip
_FULL = (1 + EXACT + GRAMS + NAME + MET + 4 * PAIRS + DATES_GIVEN + PLACES_GIVEN) * (1 + SPACE)


def _summed(seen: Sequence[Seen]) -> list[tuple[float, ...]]:
    if not seen:
        return []
    stems, words, shapes, names = (
        max(column) or 1.0
        for column in (
            [each.stems for each in seen],
            [each.words for each in seen],
            [each.grams for each in seen],
            [each.name for each in seen],
        )
    )
    return [
        (
            each.stems / stems,
            EXACT * each.words / words,
            GRAMS * each.grams / shapes,
            NAME * each.name / names,
            MET * each.met,
            PAIRS * each.pairs,
            DATES_GIVEN * bool(each.values & DATES) + PLACES_GIVEN * bool(each.values & PLACES),
        )
        for each in seen
    ]


def _met(query: Query, at: int, numbers: Sequence[int]) -> dict[int, float]:
    """Return the share of the query that each tool meets, by weight."""
    met = dict.fromkeys(numbers, 0.0)
    for term in query.terms:
        tools = term.postings[at].tools
        weight, size, place = term.weight, len(tools), 0
        for n in numbers:
            place = bisect_left(tools, n, place)
            if place == size:
                break
            if tools[place] == n:
                met[n] += weight
    whole = query.asked or 1.0
    return {n: min(weight / whole, 1.0) for n, weight in met.items()}


class _Look:
    """Looks at the texts of one tool after the other."""

    def __init__(self, query: Query) -> None:
        self._kinds = query.kinds
        weighty = sorted(query.words.items(), key=lambda each: -each[1])
        self._words = [(f" {word} ", weight) for word, weight in weighty[:WORDS]]
        self._runs = [
            (weight / len(word), weight / len(word) * 1.5, _runs(word))
            for word, weight in weighty[:SHAPES]
            if len(word) > 2
        ]
        words = list(query.words)[:WORDS]
        self._pairs = [f" {a} {b} " for a, b in pairwise(words)]

    def at(self, row: Row, stems: float, met: float) -> Seen:
        text = row.name + row.description
        has_schema = row.kinds & SCHEMA
        words, name = self._whole(row, text, saturation(has_schema=bool(has_schema)))
        shape = 0.0
        for weight, least, runs in self._runs:
            found = 0.0
            for run in runs:
                if run in text:
                    found += weight
            # One run of characters in common is chance.
            if found > least:
                shape += found
        shape /= 1 - GRAM_SLOPE + GRAM_SLOPE * text.count(" ") / GRAM_USUAL
        pairs = 0
        for pair in self._pairs:
            if pair in text:
                pairs += 1
        given = self._kinds & row.kinds
        # Where there are parameters, they repeat what the name says.
        return Seen(
            row,
            stems,
            words,
            shape,
            0.0 if has_schema else name,
            met,
            min(pairs, 4),
            given & (DATES | PLACES),
        )

    def _whole(self, row: Row, text: str, k: float) -> tuple[float, float]:
        words = name = 0.0
        everything = f"{text}{row.schema}{row.examples}{row.keywords}"
        of_name = _OF_NAME[row.name.count(" ")]
        of_description = _OF_DESCRIPTION[row.description.count(" ")]
        of_schema = _OF_SCHEMA[row.schema.count(" ")]
        of_examples = _OF_EXAMPLES[row.examples.count(" ")]
        of_keywords = _OF_KEYWORDS[row.keywords.count(" ")]
        for whole, weight in self._words:
            if whole in everything:
                in_name = whole in row.name
                held = (
                    of_name * in_name
                    + of_description * (whole in row.description)
                    + of_schema * (whole in row.schema)
                    + of_examples * (whole in row.examples)
                    + of_keywords * (whole in row.keywords)
                )
                words += weight * held * (k + 1) / (held + k)
                name += weight * in_name
        return words, name


def _runs(word: str) -> list[str]:
    """Return the runs of four characters of a word between blanks."""
    text = f" {word} "
    return sorted({text[at : at + 4] for at in range(max(1, len(text) - 3))})


def _shares(field: Field) -> tuple[float, ...]:
    """Return what one word of a field counts, by the number of its blanks."""
    weight, usual, slope = field
    return tuple(
        weight / (1 - slope + slope * max(blanks - 1, 0) / usual) for blanks in range(MAX_BLANKS)
    )


MAX_BLANKS = 4 * MAX_WORDS
_OF_NAME = _shares(FIELDS["name"])
_OF_DESCRIPTION = _shares(FIELDS["description"])
_OF_EXAMPLES = _shares(FIELDS["examples"])
_OF_KEYWORDS = _shares(FIELDS["keywords"])
# Parameters, their texts and their values in one.
_OF_SCHEMA = _shares(Field(0.5, 40.0, 0.3))


def confidence_of(query: Query, seen: Seen) -> float:
    """Return how likely a tool of these scores answers the query at all, 0 to 1.

    A logistic model of three shares of the query's weight: what the tool meets at all, how much
    it says of it, and whole words. It takes it for as likely as not that some tool fits.
    """
    asked = query.asked or 1.0
    met, strength, words = CONFIDENCE
    sure = met * seen.met + strength * seen.stems / asked + words * seen.words / asked
    return 1 / (1 + exp(-(sure - UNSURE)))
