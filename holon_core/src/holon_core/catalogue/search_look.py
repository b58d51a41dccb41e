"""The second pass: what is seen in the texts of the best tools, one after the other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from holon_core.catalogue.search_query import Query
from holon_core.catalogue.search_rows import (
    DATES,
    FIELDS,
    MAX_WORDS,
    PLACES,
    SCHEMA,
    Field,
    Row,
    saturation,
)

# The weightiest words of a query, of which whole words and runs of characters are looked for.
WORDS, SHAPES = 24, 5
GRAM_SLOPE, GRAM_USUAL = 0.6, 12


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


class Look:
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
        """Look at one tool, of which the stems and the share of the query that is met are known."""
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


def shares_met(query: Query, at: int, numbers: Sequence[int]) -> dict[int, float]:
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
