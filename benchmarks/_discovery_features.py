"""What the ranking sees of the best tools for each query of a data set, as arrays.

The score of a tool is a weighted sum of what is seen of it, so that any weights can be tried on
these arrays in milliseconds, by the same arithmetic as the ranking's own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from holon_core.catalogue import search_rank, search_score
from holon_core.catalogue.search_index import Index
from holon_core.catalogue.search_query import Part
from holon_core.catalogue.search_rows import row_of

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "discovery-bench"
# In the order of the columns: what is divided by the best of the query, then what counts as it is.
SHARES = ("EXACT", "GRAMS", "NAME")
PLAIN = ("MET", "PAIRS", "DATES_GIVEN", "PLACES_GIVEN")
WEIGHTS = (*SHARES, *PLAIN, "SPACE")


class Track(NamedTuple):
    """A data set as arrays: columns of what was seen, namespaces, gold entries, ideal gains."""

    seen: Any
    space: Any
    gold: Any
    ideal: Any
    groups: Any


def delivered() -> dict[str, float]:
    """Return the weights that the ranking uses."""
    return {name: float(getattr(search_score, name)) for name in WEIGHTS}


def read(path: Path) -> list[Any]:
    """Read lines of JSON."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def indexed(tools: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> Index:
    """Index the tools of a data set in memory."""
    index = Index()
    with index.changing():
        index.put(
            row_of(
                {
                    "id": f"acme-tools/{quote(tool['id'], safe='')}",
                    "lane": "acme",
                    "name": tool["name"],
                    "title": "",
                    "description": tool["description"],
                    "examples": examples.get(tool["id"], ()),
                    "input_schema": tool.get("input_schema") or {},
                }
            )
            for tool in tools
        )
    return index


def track(folder: Path, *, with_examples: bool = False, every: int = 1) -> Track:
    """Read a data set and put its queries to the first pass and to the looks of the second."""
    tools, queries = read(folder / "tools.jsonl"), read(folder / "queries.jsonl")[::every]
    more = read(folder / "examples.jsonl") if with_examples else []
    index = indexed(tools, {each["id"]: each["examples"] for each in more})
    parts = [Part(index, frozenset())]
    shape = (len(queries), search_rank.BEST)
    seen = np.zeros((*shape, 1 + len(SHARES) + len(PLAIN)))
    space, gold = np.full(shape, -1), np.full(shape, -2)
    ideal, groups = np.zeros(len(queries)), []
    for at, query in enumerate(queries):
        entries = [each if isinstance(each, list) else [each] for each in query["gold"]]
        entry_of = {quote(t, safe=""): n for n, names in enumerate(entries) for t in names}
        ideal[at] = sum(1 / np.log2(n + 2) for n in range(min(len(entries), 10)))
        groups.append(entries[0][0])
        spaces: dict[str, int] = {}
        for place, each in enumerate(search_rank.looks(parts, query["query"])):
            seen[at, place] = (
                each.stems, each.words, each.grams, each.name, each.met,
                each.pairs, bool(each.values & 1), bool(each.values & 2),
            )  # fmt: skip
            space[at, place] = spaces.setdefault(each.row.namespace, len(spaces))
            gold[at, place] = entry_of.get(each.row.id.partition("/")[2], -1)
    index.close()
    most = seen[:, :, : 1 + len(SHARES)].max(axis=1, keepdims=True)
    seen[:, :, : 1 + len(SHARES)] /= np.where(most > 0, most, 1.0)
    return Track(seen, space, gold, ideal, np.array(groups))


def scored(of: Track, weights: Mapping[str, float]) -> Any:
    """Return nDCG@10 of each query under some weights."""
    row = np.array([1.0, *(weights[name] for name in (*SHARES, *PLAIN))])
    sums = of.seen @ row
    if weights["SPACE"]:
        sums = sums + weights["SPACE"] * _best_of_space(sums, of.space)
    sums = np.where(of.gold == -2, -1.0, sums)
    order = np.argsort(-np.round(sums, 9), axis=1, kind="stable")
    return _ndcg(np.take_along_axis(of.gold, order, axis=1), of.ideal)


def _best_of_space(sums: Any, space: Any) -> Any:
    """Return for each tool the best sum of its namespace, of the tools of one query."""
    wide = sums.shape[1] + 1
    at = np.arange(len(sums))[:, None] * wide + space + 1
    best = np.zeros(len(sums) * wide)
    np.maximum.at(best, at.ravel(), sums.ravel())
    return best[at]


def _ndcg(gold: Any, ideal: Any) -> Any:
    """Score rankings; a further tool of an entry that was already found takes no rank."""
    kept = np.ones(gold.shape, dtype=bool)
    for entry in range(int(gold.max()) + 1):
        of_entry = gold == entry
        kept &= ~(of_entry & (np.cumsum(of_entry, axis=1) > 1))
    ranks = np.cumsum(kept, axis=1)
    counted = kept & (gold >= 0) & (ranks <= 10)
    return np.where(counted, 1 / np.log2(ranks + 1), 0.0).sum(axis=1) / ideal


def options(doc: str) -> argparse.Namespace:
    """Read the options of a script that cuts queries into folds; it ends where there is no data."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--data", type=Path, default=BESIDE)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, help="of the queries, take every so many")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.data.is_dir():
        sys.exit(f"no data at {given.data}; name its folder with --data")
    return given
