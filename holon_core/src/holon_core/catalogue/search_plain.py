"""The search index in plain Python, where SQLite has no FTS5: the same BM25, simpler stems."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from holon_core.catalogue.search_rows import WEIGHTS, Hit, Row
from holon_core.catalogue.words import tokens

_K1, _B = 1.2, 0.75
_SUFFIX = re.compile(r"(?<=[a-z]{3})(?:ations?|ings?|ies|ied|es|ed|ers?|ly|s|e|y)$")


def stem(word: str) -> str:
    """Cut the endings that English words are bent by."""
    return _SUFFIX.sub("", word.lower())


class PlainIndex:
    """Tools by their words. Not safe for threads: its owner takes turns."""

    def __init__(self) -> None:
        self._lanes: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._words: dict[str, dict[str, float]] = {}
        self._postings: dict[str, set[str]] = {}
        self._order: list[str] = []

    def replace(self, rows: Iterable[Row], gone: Iterable[str]) -> None:
        """Put rows in, each instead of an earlier one of its id, and take others out."""
        for tool_id in gone:
            self._remove(tool_id)
        for row in rows:
            self._remove(row.id)
            self._add(row)
        self._order = sorted(self._lanes)

    def _add(self, row: Row) -> None:
        weights: Counter[str] = Counter()
        size = 0
        for weight, text in zip(WEIGHTS, row[2:], strict=True):
            stems = [stem(word) for word in tokens(text)]
            size += len(stems)
            for each in stems:
                weights[each] += weight  # type: ignore[assignment]
        self._lanes[row.id], self._sizes[row.id] = row.lane, size
        self._words[row.id] = dict(weights)
        for each in weights:
            self._postings.setdefault(each, set()).add(row.id)

    def _remove(self, tool_id: str) -> None:
        if self._lanes.pop(tool_id, None) is None:
            return
        del self._sizes[tool_id]
        for each in self._words.pop(tool_id):
            self._postings[each].discard(tool_id)
            if not self._postings[each]:
                del self._postings[each]

    def match(
        self, terms: Sequence[str], *, lanes: Sequence[str], after: Hit | None, limit: int
    ) -> list[Hit]:
        """Return the tools that hold any of the terms, best first, after a given hit."""
        found = sorted(self._scored(terms, lanes), key=_place)
        start = 0 if after is None else bisect_right(list(map(_place, found)), _place(after))
        return found[start : start + limit]

    def _scored(self, terms: Sequence[str], lanes: Sequence[str]) -> list[Hit]:
        scores: dict[str, float] = {}
        total = len(self._lanes)
        mean = sum(self._sizes.values()) / total if total else 1.0
        for term in dict.fromkeys(map(stem, terms)):
            holding = self._postings.get(term, ())
            idf = log(1 + (total - len(holding) + 0.5) / (len(holding) + 0.5))
            for tool_id in holding:
                if lanes and self._lanes[tool_id] not in lanes:
                    continue
                weight = self._words[tool_id][term]
                length = _K1 * (1 - _B + _B * self._sizes[tool_id] / mean)
                scores[tool_id] = scores.get(tool_id, 0) + idf * weight * (_K1 + 1) / (
                    weight + length
                )
        return [Hit(score, tool_id) for tool_id, score in scores.items()]

    def count_matches(self, terms: Sequence[str], *, lanes: Sequence[str]) -> int:
        """Count the tools that hold any of the terms."""
        return len(self._scored(terms, lanes))

    def by_id(self, *, lanes: Sequence[str], after: str, limit: int) -> list[str]:
        """Return ids in order, after a given one."""
        start = bisect_right(self._order, after)
        wanted = (i for i in self._order[start:] if not lanes or self._lanes[i] in lanes)
        return [tool_id for tool_id, _ in zip(wanted, range(limit), strict=False)]

    def count(self, *, lanes: Sequence[str]) -> int:
        """Count all tools."""
        return sum(1 for lane in self._lanes.values() if not lanes or lane in lanes)

    def close(self) -> None:
        """Do nothing: all of it is memory."""


def _place(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.id
