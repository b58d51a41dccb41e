"""How well and how fast discovery finds the right tool, beside what one would take instead.

Two public data sets, MetaTool and the Berkeley Function-Calling Leaderboard, are put to the public
API, with a caller who may see everything, and to three rankers: SQLite's FTS5, bm25s with Snowball
stems, and the BM25 search of FastMCP. Times are of the CPU clock.

    discovery_quality.py --data FOLDER [--short] [--json]

FOLDER has `metatool/` and `bfcl/`, each with `tools.jsonl` and `queries.jsonl`; without it the
folder `shared/discovery-bench` beside the repository is taken.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from _discovery_peers import bm25s_ranker, fastmcp_ranker, fts5_ranker
from catalogue import queries as made_queries
from catalogue import tools as made_tools
from pairs import report as table

import holon_core as holon
from holon_core.records.discovery import MIN_CONFIDENCE
from holon_core.records.lane import CapabilityLane
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Effect, Origin, Posture

SOURCE = "acme-tools"
Tool = Mapping[str, Any]
Ranker = Callable[[str], Sequence[str]]
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "discovery-bench"


class Catalogue:
    """A plugin whose one source holds the tools of a data set."""

    name = SOURCE

    def __init__(self, tools: Sequence[RuntimeToolDescriptor]) -> None:
        self.tools = tools
        self.descriptor = SkillSourceDescriptor(
            id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN
        )

    @holon.hookimpl
    def holon_capability_lanes(self, host: Any) -> list[CapabilityLane]:
        """Offer the lane."""
        return [CapabilityLane(kind="acme", postures=frozenset({Posture.LANE_LIVE}))]

    @holon.hookimpl
    def holon_skill_sources(self, host: Any) -> list[Catalogue]:
        """Offer itself as the source."""
        return [self]

    def signal(self) -> str:
        """Return what changes with the tools."""
        return str(len(self.tools))

    def read(self) -> Sequence[RuntimeToolDescriptor]:
        """Return the tools."""
        return self.tools


def descriptor(tool: Tool, examples: Sequence[str] = ()) -> RuntimeToolDescriptor:
    """Make a definition of a tool of a data set."""
    return RuntimeToolDescriptor(
        id=f"{SOURCE}/{quote(tool['id'], safe='')}",
        lane="acme",
        origin=Origin.PLUGIN,
        posture=Posture.LANE_LIVE,
        version="1",
        name=tool["name"],
        description=tool["description"],
        examples=tuple(examples),
        input_schema=tool.get("input_schema") or {"type": "object"},
        effects=frozenset({Effect.NONE}),
    )


def opened(folder: Path, tools: Sequence[RuntimeToolDescriptor], *plugins: object) -> holon.Runtime:
    """Open a runtime on a new root with some tools."""
    root = Path(tempfile.mkdtemp(dir=folder))
    return holon.Runtime.open(root, plugins=[Catalogue(tools), *plugins], discover=False)


def read(path: Path) -> list[Any]:
    """Read lines of JSON."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def report(title: str, rows: list[dict[str, object]]) -> None:
    """Print rows with four digits: the bounds are told apart by the third."""
    table(
        title,
        [{k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows],
    )


def scores(gold: Sequence[Any], ranked: Sequence[str]) -> dict[str, float]:
    """Score one ranking: recall, nDCG and reciprocal rank, interchangeable tools counted once."""
    entries = [set(each) if isinstance(each, list) else {each} for each in gold]
    ranks: dict[int, int] = {}
    rank = 0
    for tool in dict.fromkeys(ranked):
        of = next((at for at, entry in enumerate(entries) if tool in entry), None)
        if of is not None and of in ranks:
            continue
        rank += 1
        if of is not None:
            ranks[of] = rank
    best = sum(1 / math.log2(at + 2) for at in range(min(len(entries), 10)))
    return {
        **{f"recall@{k}": sum(r <= k for r in ranks.values()) / len(entries) for k in (1, 5, 10)},
        "ndcg@10": sum(1 / math.log2(r + 1) for r in ranks.values() if r <= 10) / best,
        "mrr": 1 / min(ranks.values()) if ranks else 0.0,
    }


def quality(name: str, ranker: Ranker, queries: Sequence[Any]) -> dict[str, object]:
    """Score a ranker on a data set, with its standard error and what a query costs."""
    began = time.process_time()
    rows = [scores(each["gold"], ranker(each["query"])) for each in queries]
    spent = (time.process_time() - began) / len(queries) * 1000
    of = {metric: statistics.fmean(row[metric] for row in rows) for metric in rows[0]}
    error = statistics.stdev(row["ndcg@10"] for row in rows) / math.sqrt(len(rows))
    return {"ranker": name, **of, "error": error, "ms": spent}


def holon_ranker(session: holon.Session) -> Ranker:
    """Rank through the public API, whatever the threshold."""

    def rank(query: str) -> list[str]:
        page = session.discover(query, limit=10, min_confidence=0)
        return [unquote(tool.id.partition("/")[2]) for tool in page.items]

    return rank


def ranking(folder: Path, data: Path, *, every: int) -> None:
    """Report quality on both sets, and on MetaTool with example requests."""
    for of in ("metatool", "bfcl"):
        tools, queries = read(data / of / "tools.jsonl"), read(data / of / "queries.jsonl")[::every]
        with opened(folder, [descriptor(tool) for tool in tools]) as runtime:
            session = runtime.session(principal="bench")
            rows = [quality("holon", holon_ranker(session), queries)]
        rows += _by_meaning(folder, tools, queries)
        rows += [
            quality(name, made(tools), queries)
            for name, made in (
                ("SQLite FTS5", fts5_ranker),
                ("bm25s, Snowball stems", bm25s_ranker),
                ("FastMCP BM25", fastmcp_ranker),
            )
        ]
        report(f"{of}: {len(tools)} tools, {len(queries)} queries", rows)
        more = data / of / "examples.jsonl"
        if more.exists():
            examples = {each["id"]: each["examples"] for each in read(more)}
            given = [descriptor(tool, examples.get(tool["id"], ())) for tool in tools]
            with opened(folder, given) as runtime:
                session = runtime.session(principal="bench")
                rows = [quality("holon", holon_ranker(session), queries)]
            report(f"{of} with example requests", rows)


def _by_meaning(
    folder: Path, tools: Sequence[Tool], queries: Sequence[Any]
) -> list[dict[str, object]]:
    """Score what the embedder of the extra adds, where it is installed."""
    from holon_core.embeddings import StaticEmbeddings

    try:
        plugin = StaticEmbeddings()
    except ImportError:
        return []
    with opened(folder, [descriptor(tool) for tool in tools], plugin) as runtime:
        session = runtime.session(principal="bench")
        return [quality("holon, with its embedder", holon_ranker(session), queries)]


def none_fits(folder: Path, data: Path, *, every: int) -> None:
    """Report how often a catalogue offers something for what no tool of it can do."""
    names = ("metatool", "bfcl")
    queries = {of: read(data / of / "queries.jsonl")[::every] for of in names}
    best: dict[str, dict[str, list[float]]] = {}
    theirs: dict[str, dict[str, float]] = {}
    for of, other in (names, names[::-1]):
        tools = read(data / of / "tools.jsonl")
        best[of] = _sure(folder, [descriptor(tool) for tool in tools], queries, of, other)
        more = data / of / "examples.jsonl"
        if more.exists():
            examples = {each["id"]: each["examples"] for each in read(more)}
            given = [descriptor(tool, examples.get(tool["id"], ())) for tool in tools]
            best[f"{of} with examples"] = _sure(folder, given, queries, of, other)
        rank = fastmcp_ranker(tools)
        theirs[of] = {
            "its own": _answered(bool(rank(each["query"])) for each in queries[of]),
            "the other's": _answered(bool(rank(each["query"])) for each in queries[other]),
            "right tools out": _answered(
                bool(set(rank(each["query"])) - {unquote(t) for t in _golden(each)})
                for each in queries[of]
            ),
        }
    rows: list[dict[str, object]] = []
    for of, sure in best.items():
        kept = sorted(sure["its own"])
        least = kept[int(len(kept) * 0.05)]
        for threshold, said in ((least, "95 % of its own kept"), (MIN_CONFIDENCE, "as delivered")):
            rows.append(
                {"catalogue": of, "ranker": f"holon, {said}", "threshold": f"{threshold:.3f}"}
                | {kind: _offered(found, threshold) for kind, found in sure.items()}
            )
        if of in theirs:
            rows.append(
                {"catalogue": of, "ranker": "FastMCP BM25, offers anything", "threshold": ""}
                | dict(theirs[of])
            )
    report("none fits: share of queries that are offered something", rows)
    steps = sorted({MIN_CONFIDENCE, *(at / 20 for at in range(3, 14))})
    report(
        "none fits: the curve",
        [
            {
                "threshold": f"{step:g}",
                **{f"{of}, {k}": _offered(v, step) for of in best for k, v in best[of].items()},
            }
            for step in steps
        ],
    )


def _sure(
    folder: Path,
    tools: Sequence[RuntimeToolDescriptor],
    queries: Mapping[str, Sequence[Any]],
    of: str,
    other: str,
) -> dict[str, list[float]]:
    """Return how sure the best tool for each query is, by what the catalogue can do for it."""
    with opened(folder, tools) as runtime:
        session = runtime.session(principal="bench")
        return {
            "its own": [_best(session, each["query"]) for each in queries[of]],
            "the other's": [_best(session, each["query"]) for each in queries[other]],
            "right tools out": [
                _best(session, each["query"], _golden(each)) for each in queries[of]
            ],
        }


def _answered(found: Iterable[bool]) -> float:
    return statistics.fmean(found)


def _golden(query: Any) -> set[str]:
    gold = query["gold"]
    return {quote(t, safe="") for e in gold for t in (e if isinstance(e, list) else [e])}


def _best(session: holon.Session, query: str, without: set[str] = frozenset()) -> float:  # type: ignore[assignment]
    page = session.discover(query, limit=10, min_confidence=0)
    left = [t.confidence for t in page.items if t.id.partition("/")[2] not in without]
    return max(left, default=0.0)


def _offered(found: Sequence[float], threshold: float) -> float:
    return sum(each >= threshold for each in found) / len(found)


def speed(folder: Path, data: Path, *, sizes: Sequence[int], peer: bool) -> None:
    """Report what a request costs by size, and against FastMCP's search through its client."""
    dice = random.Random(3)
    long = [each["query"] for each in read(data / "bfcl" / "queries.jsonl")]
    asked = {
        "two to four words": made_queries(300),
        "requests of users": dice.sample(long, 200),
        "a word that most hold": ["record"] * 20,
        "1 MB": [" ".join(long)[:1_000_000]] * 5,
        "operators, quotes, NUL": [
            f"\"{q}\" OR NOT ({q}*) AND '\0' NEAR/3 --; %" for q in made_queries(20)
        ],
    }
    rows: list[dict[str, object]] = []
    for size in sizes:
        with opened(folder, list(made_tools(size))) as runtime:
            session = runtime.session(principal="bench")
            before = _memory()
            first = _spent(lambda s=session: s.discover("create an invoice"))  # type: ignore[misc]
            rows.append(
                {"tools": size, "case": "the first request: index made", "p50_ms": first * 1000,
                 "p95_ms": "", "grown_mb": (_memory() - before) / 1e6,
                 "file_mb": _size(runtime)}
            )  # fmt: skip
            search = runtime._guard.catalogue.search
            ranked = lambda q, s=search: s.rank(q, lanes=(), deep=False)  # noqa: E731
            for case, texts in asked.items():
                rows.append(
                    {
                        "tools": size,
                        "case": f"{case}, ranking",
                        **_spread(ranked, texts),
                        "grown_mb": (_memory() - before) / 1e6,
                        "file_mb": "",
                    }
                )
            page = lambda q, s=session: s.discover(q, limit=10)  # noqa: E731
            rows.append(
                {"tools": size, "case": "two to four words, a page of 10",
                 **_spread(page, asked["two to four words"]),
                 "grown_mb": (_memory() - before) / 1e6, "file_mb": ""}
            )  # fmt: skip
    report("speed", rows)
    if peer:
        _against_fastmcp(folder, asked["two to four words"])


def _against_fastmcp(folder: Path, texts: Sequence[str]) -> None:
    from _discovery_peers import fastmcp_client_ranker

    tools = list(made_tools(10_000))
    with fastmcp_client_ranker(tools) as search, opened(folder, tools) as runtime:
        session = runtime.session(principal="bench")
        search(texts[0])
        session.discover(texts[0], limit=5)
        ratios = []
        for text in texts[:25]:
            theirs = _spent(lambda text=text: search(text))  # type: ignore[misc]
            ours = _spent(lambda text=text: session.discover(text, limit=5))  # type: ignore[misc]
            ratios.append((ours / theirs, ours * 1000, theirs * 1000))
    middle = [statistics.median(column) for column in zip(*ratios, strict=True)]
    report(
        "a page of 5 of 10,000 tools, against FastMCP's search through its client",
        [{"ratio": middle[0], "holon_ms": middle[1], "fastmcp_ms": middle[2]}],
    )


def changing(folder: Path, *, size: int) -> None:
    """Report what it costs to take in one changed tool."""
    from holon_core.catalogue.codec import descriptor_json
    from holon_core.catalogue.search_index import Index
    from holon_core.catalogue.search_rows import row_of

    index = Index(str(folder / "changing.db"))
    rows = [row_of(descriptor_json(tool)) for tool in made_tools(size)]
    with index.changing():
        index.put(rows)

    def change(at: int) -> None:
        with index.changing():
            index.put([rows[at]])

    costs = sorted(_spent(lambda at=at: change(at * 37 % size)) * 1000 for at in range(60))  # type: ignore[misc]
    file = (folder / "changing.db").stat().st_size / 1e6
    report(
        "one tool changed",
        [{"tools": size, "p50_ms": costs[30], "p95_ms": costs[56], "file_mb": file}],
    )
    index.close()


def _spread(work: Callable[[str], object], texts: Sequence[str]) -> dict[str, object]:
    work(texts[0])
    costs = sorted(_spent(lambda text=text: work(text)) * 1000 for text in texts)  # type: ignore[misc]
    return {"p50_ms": statistics.median(costs), "p95_ms": costs[int(len(costs) * 0.95)]}


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _size(runtime: holon.Runtime) -> float:
    """Return the size of the index beside the store, with what is not yet folded into it."""
    path = runtime._guard.store.path
    files = path.parent.glob("search.db*") if path is not None else ()
    return sum(file.stat().st_size for file in files) / 1e6


def _memory() -> int:
    """Return the memory that the process holds."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=BESIDE)
    parser.add_argument("--short", action="store_true", help="every tenth query, small catalogues")
    parser.add_argument("--every", type=int, default=1, help="of the queries, take every so many")
    parser.add_argument("--only", choices=("quality", "none-fits", "speed", "changing"))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.data.is_dir():
        sys.exit(f"no data at {given.data}; name its folder with --data")
    every = 10 if given.short else given.every
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if given.only in (None, "quality"):
            ranking(folder, given.data, every=every)
        if given.only in (None, "none-fits"):
            none_fits(folder, given.data, every=every)
        if given.only in (None, "speed"):
            sizes = (1_000,) if given.short else (10_000, 100_000)
            speed(folder, given.data, sizes=sizes, peer=not given.short)
        if given.only in (None, "changing"):
            changing(folder, size=2_000 if given.short else 100_000)


if __name__ == "__main__":
    main()
