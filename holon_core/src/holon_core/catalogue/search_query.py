"""A query read against what is indexed: its words, its stems, and how telling each of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

from attrs import frozen

from holon_core.catalogue.common_words import share_of_stem, share_of_word
from holon_core.catalogue.search_index import Index
from holon_core.catalogue.search_postings import Postings
from holon_core.catalogue.search_rows import kinds_of_query
from holon_core.catalogue.stems import stem
from holon_core.catalogue.words import terms as terms_of
from holon_core.records.base import Record

# What the first word of a request counts more than the last, halved; not where there are few.
EARLY, FEW = 0.1, 3
# How many tools in general a catalogue is counted together with (see `common_words`).
PRIOR = 400
# A word that no tool holds may be misspelt: how alike another has to be, and how many are tried.
ALIKE, TRIED, MAX_STRANGE = 0.45, 4, 3


class Part(NamedTuple):
    """An index, and the ids in it that something else stands before."""

    tools: Index
    hidden: frozenset[str]


class Term(NamedTuple):
    """A stem of the query: how rare it is, where, in how many tools, what it stands for."""

    stem: str
    weight: float
    postings: tuple[Postings, ...]
    held: int
    instead_of: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Query(Record):
    """A query as it is ranked by: its words, its stems, the weight of all it asks for.

    ``kinds`` are those of the values it holds, ``size`` is how many tools it is put to.
    """

    words: Mapping[str, float]
    terms: Sequence[Term]
    asked: float
    kinds: int = 0
    size: int = 0


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
        size=size,
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
    return Term(each, _rarity(held, size, share_of_stem(each)), postings, held)


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
