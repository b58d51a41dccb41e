"""Fit how sure discovery is that a tool answers a query, and show what that tells elsewhere.

Each set's queries are put to its own catalogue, to it without the tools that answer them, and to
the other catalogue. A logistic model of what the ranking sees of the best tool is fitted to tell
the first from the others, each catalogue and each kind counting the same. The queries are cut into
folds by the tool that answers them; those of a fold are judged by a model that did not see them.

    discovery_confidence.py [--data FOLDER] [--folds 5] [--every N]

Needs numpy.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from _discovery_features import indexed, options, read
from pairs import report

from holon_core.catalogue import search_query, search_rank, search_score
from holon_core.records.discovery import MIN_CONFIDENCE

SETS = ("metatool", "bfcl")
KINDS = ("its own", "the other's", "right tools out")
SIGNS = ("EVIDENCE", "VALUES", "LENGTH")


class Case(NamedTuple):
    """A query put to a catalogue: signs of the best tool (none: nothing was found), the fold."""

    catalogue: str
    kind: str
    fold: int
    signs: tuple[float, float, float] | None


def cases(data: Path, folds: int, every: int) -> Iterator[Case]:
    """Yield each query of both sets as it is put to both catalogues."""
    asked = {of: read(data / of / "queries.jsonl")[::every] for of in SETS}
    for catalogue in SETS:
        index = indexed(read(data / catalogue / "tools.jsonl"), {})
        parts = [search_query.Part(index, frozenset())]
        for of in SETS:
            for query in asked[of]:
                golden = _golden(query)
                fold = zlib.crc32(f"{of}{min(golden)}".encode()) % folds
                if of != catalogue:
                    yield Case(catalogue, KINDS[1], fold, _signs(parts, query["query"], set()))
                else:
                    yield Case(catalogue, KINDS[0], fold, _signs(parts, query["query"], set()))
                    yield Case(catalogue, KINDS[2], fold, _signs(parts, query["query"], golden))
        index.close()


def _golden(query: Any) -> set[str]:
    gold = query["gold"]
    return {quote(t, safe="") for e in gold for t in (e if isinstance(e, list) else [e])}


def _signs(
    parts: Sequence[search_query.Part], text: str, without: set[str]
) -> tuple[float, float, float] | None:
    query = search_query.read(parts, text)
    seen = search_rank.looks(parts, text)
    left = [each for each in seen if each.row.id.partition("/")[2] not in without]
    hits = search_score.weighed(query, left, text)
    return next((search_score.signs(query, s) for s in left if s.row.id == hits[0].id), None)


def fitted(signs: Any, fits: Any, weights: Any) -> Any:
    """Return the weights of a logistic model, by Newton's method, and what is taken off."""
    middle, spread = signs.mean(axis=0), signs.std(axis=0) + 1e-9
    columns = np.c_[(signs - middle) / spread, np.ones(len(signs))]
    found = np.zeros(columns.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-columns @ found))
        bend = columns.T @ (columns * (weights * chance * (1 - chance))[:, None])
        slope = columns.T @ (weights * (fits - chance))
        found = found + np.linalg.solve(bend + 1e-9 * np.eye(len(found)), slope)
    return np.r_[found[:-1] / spread, found[-1] - (found[:-1] * middle / spread).sum()]


def sure(model: Any, signs: Any) -> Any:
    """Return the confidence that a model gives."""
    return 1 / (1 + np.exp(-(signs @ model[:-1] + model[-1])))


def main() -> None:
    """Fit and print."""
    given = options(__doc__)
    found = list(cases(given.data, given.folds, given.every))
    of = {
        (catalogue, kind): np.array([c.catalogue == catalogue and c.kind == kind for c in found])
        for catalogue in SETS
        for kind in KINDS
    }
    nothing = np.array([case.signs is None for case in found])
    signs = np.array([case.signs or (0.0, 0.0, 0.0) for case in found])
    fits = np.array([case.kind == KINDS[0] for case in found], float)
    fold = np.array([case.fold for case in found])
    held = np.zeros(len(found))
    for each in range(given.folds):
        known, asked = (fold != each) & ~nothing, (fold == each) & ~nothing
        model = fitted(signs[known], fits[known], _weights(of, known)[known])
        held[asked] = sure(model, signs[asked])
    offered = lambda key, least: f"{(held[of[key]] >= least).mean():.3f}"  # noqa: E731
    rows = []
    for catalogue in SETS:
        kept = np.sort(held[of[catalogue, KINDS[0]]])
        least = kept[int(len(kept) * 0.05)]
        rows.append(
            {"catalogue": catalogue, "threshold": f"{least:.3f}"}
            | {kind: offered((catalogue, kind), least) for kind in KINDS}
        )
    report("offered something, held out, where 95 % of servable queries are", rows)
    steps = sorted({MIN_CONFIDENCE, *(at / 20 for at in range(3, 14))})
    report(
        "offered something, held out, by threshold",
        [
            {"threshold": f"{step:g}"} | {f"{c}, {k}": offered((c, k), step) for c, k in of}
            for step in steps
        ],
    )
    known = ~nothing
    model = fitted(signs[known], fits[known], _weights(of, known)[known])
    delivered = (
        search_score.EVIDENCE, search_score.VALUES, -search_score.LENGTH, -search_score.UNSURE
    )  # fmt: skip
    names = (*SIGNS, "UNSURE")
    report(
        "weights",
        [
            {"of": "fitted on all", **{n: f"{v:.2f}" for n, v in zip(names, model, strict=True)}},
            {"of": "delivered", **{n: f"{v:.2f}" for n, v in zip(names, delivered, strict=True)}},
        ],
    )


def _weights(of: Any, known: Any) -> Any:
    """Let each catalogue count the same, and what a tool answers as much as what none does."""
    weights = np.zeros(len(known))
    for (_, kind), cases_ in of.items():
        which = cases_ & known
        weights[which] = (1.0 if kind == KINDS[0] else 0.5) / max(which.sum(), 1)
    return weights


if __name__ == "__main__":
    main()
