"""What is seen of the best tools joined to one score, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

from holon_core.catalogue.search_look import Seen
from holon_core.catalogue.search_query import Query
from holon_core.catalogue.search_rows import DATES, PLACES, Hit

# As cross-validation chooses them (`benchmarks/discovery_tuning.py`). Runs of characters and pairs
# of words add nothing to English requests beside stems; they stay, small, for what has no stems.
EXACT, GRAMS, MET, PAIRS, NAME, SPACE = 0.2, 0.02, 0.1, 0.01, 0.05, 0.2
DATES_GIVEN, PLACES_GIVEN = 0.16, 0.08
# As `benchmarks/discovery_confidence.py` fits them.
EVIDENCE, VALUES, LENGTH, UNSURE = 6.46, 0.70, 0.37, 1.16
# Of fewer tools than these chance finds no less: they are counted with tools in general.
FEW_TOOLS = 100


# What a score is the sum of, in this order.
PARTS = (
    "stems", "whole words", "characters", "name", "share of the query", "neighbouring words",
    "kinds of values", "namespace", "named exactly",
)  # fmt: skip
_FULL = (1 + EXACT + GRAMS + NAME + MET + 4 * PAIRS + DATES_GIVEN + PLACES_GIVEN) * (1 + SPACE)


def weighed(query: Query, seen: Sequence[Seen], text: str) -> list[Hit]:
    """Return the tools that were looked at, best first, each with its score and how sure it is."""
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


def signs(query: Query, seen: Seen) -> tuple[float, float, float]:
    """Return what tells whether a tool answers a query at all.

    How much its stems say of it, against what chance reaches, which is more for a longer query
    and among more tools; whether it takes a kind of value that the query holds; how much text it
    has, in which chance finds more.
    """
    row = seen.row
    chance = sqrt(query.asked or 1.0) * log(max(query.size, FEW_TOOLS))
    words = row.name.count(" ") + row.description.count(" ") + row.schema.count(" ") - 3
    return seen.stems / chance, float(bool(seen.values)), log(max(words, 1))


def confidence_of(query: Query, seen: Seen) -> float:
    """Return how likely a tool answers a query, 0 to 1: a logistic model of its signs.

    It takes it for as likely as not that some tool does.
    """
    evidence, values, text = signs(query, seen)
    sure = EVIDENCE * evidence + VALUES * values - LENGTH * text - UNSURE
    return 1 / (1 + exp(-sure))
