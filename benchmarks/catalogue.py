"""What a large catalogue costs: registering, starting, paging, finding. CPU time.

Tools are made up: dotted names of systems, verbs and nouns, a sentence or two, a schema.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pairs import paired, report

import holon_core as holon
from holon_core.catalogue import catalogue as catalogue_module
from holon_core.catalogue import registry as registry_module
from holon_core.catalogue.catalogue import Catalogue
from holon_core.catalogue.registry import Registry
from holon_core.clock import SystemClock
from holon_core.records.lane import CapabilityLane
from holon_core.records.tool import Limits, Provenance, RuntimeToolDescriptor
from holon_core.records.words import Effect, Origin, Posture
from holon_core.store.sqlite import SqliteStore

_SYSTEMS = """
billing crm calendar chat cloud contracts deploy docs email fleet forms helpdesk hr inventory
issues ledger logs mail maps metrics notes orders payments pipeline repo reports search secrets
shipping storage surveys tasks tickets travel users vault video warehouse weather wiki
"""
SYSTEMS = _SYSTEMS.split()
_VERBS = """
add approve archive assign cancel close compare convert copy create delete describe export fetch
filter get import insert invite list lock merge move open plan publish read refund remove rename
render reopen replace report reset restore run schedule search send share sort start stop
summarise sync translate update upload verify watch
"""
VERBS = _VERBS.split()
_NOUNS = """
account address alert answer archive article asset attachment backup branch budget build card
cart channel claim comment commit contact contract coupon customer dashboard dataset device
document draft event expense feed field file folder form goal graph group image incident index
invoice item job key label lead license line link log message metric mission model note order
page parcel payment permission plan policy project query quota record release request review
role route rule sample schedule session shipment ticket token user version webhook
"""
NOUNS = _NOUNS.split()
_FILLER = """
the of in for with a given by its all one from until current latest selected related open
pending remote local shared user's team's system's then returns what changed as JSON object
"""
FILLER = _FILLER.split()
SOURCE = "acme-tools"


def tools(count: int) -> Iterator[RuntimeToolDescriptor]:
    """Make up tools, each with a schema of its own."""
    dice = random.Random(7)
    for number in range(count):
        system, verb, noun = dice.choice(SYSTEMS), dice.choice(VERBS), dice.choice(NOUNS)
        text = " ".join(dice.choices((*FILLER, *NOUNS), k=18))
        yield RuntimeToolDescriptor(
            id=f"{SOURCE}/{system}.{verb}-{noun}-{number}",
            lane="acme",
            origin=Origin.PLUGIN,
            posture=Posture.LANE_LIVE,
            version="1",
            name=f"{system}.{verb}_{noun}",
            description=f"{verb.capitalize()} {noun} of {system}: {text}.",
            input_schema={
                "type": "object",
                "additionalProperties": False,
                "required": [f"{noun}_id"],
                "properties": {
                    f"{noun}_id": {"type": "string", "description": f"Which {noun}, by id."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100 + number},
                    "note": {"type": "string", "description": "A remark for the record."},
                },
            },
            output_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}},
            effects=frozenset({Effect.NONE}),
        )


def queries(count: int) -> list[str]:
    """Make up requests of two to four words, some of them in a sentence."""
    dice = random.Random(11)
    made = []
    for _ in range(count):
        words = [dice.choice(VERBS), dice.choice(NOUNS), dice.choice(SYSTEMS), dice.choice(NOUNS)]
        asked = " ".join(words[: dice.randint(2, 4)])
        made.append(f"please {asked} for me" if dice.random() < 0.3 else asked)
    return made


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of one run, all threads included."""
    began = time.process_time()
    work()
    return time.process_time() - began


def registry_of(store: SqliteStore) -> Registry:
    """Make a registry that knows the lane of the made-up tools."""
    lane = CapabilityLane(kind="acme", postures=frozenset({Posture.LANE_LIVE}))
    return Registry(
        store, SystemClock(), lanes={"acme": lane}, reviewers=[], limits=Limits(timeout_s=30)
    )


def fill(store: SqliteStore, count: int) -> float:
    """Register tools; CPU seconds, the making of them left out."""
    made = list(tools(count))
    registry = registry_of(store)
    provenance = Provenance(distribution="acme-tools", version="1", plugin="acme")

    def register() -> None:
        done = registry.register(SOURCE, made, origin=Origin.PLUGIN, provenance=provenance)
        assert len(done.added) + len(done.changed) in (0, count)

    return cpu_s(register)


def registering(folder: Path) -> list[dict[str, object]]:
    """Register 10,000 new tools, and once more without a change."""
    store = SqliteStore(folder / "registered.db")
    first, again = fill(store, 10_000), fill(store, 10_000)
    store.close()
    return [
        {"case": "register 10,000 new tools", "cpu_s": first, "us_each": first * 100},
        {"case": "register the same again", "cpu_s": again, "us_each": again * 100},
    ]


def paging(folder: Path) -> list[dict[str, object]]:
    """A page of 50 from the middle, in catalogues of three sizes; each against the smallest."""
    sizes = (100, 10_000, 100_000)
    stores = [SqliteStore(folder / f"page-{size}.db") for size in sizes]
    for store, size in zip(stores, sizes, strict=True):
        fill(store, size)
    pages = [partial(Catalogue(store).page, after=f"{SOURCE}/h", limit=50) for store in stores]
    rows: list[dict[str, object]] = []
    for size, page in zip(sizes, pages, strict=True):
        assert len(page()) == 50
        found = paired(pages[0], page)
        rows.append({"stored": size, "page_us": found.other_us, "ratio": found.ratio})
    for store in stores:
        store.close()
    return rows


class _Source:
    """The made-up tools as a source of a plugin."""

    def __init__(self, count: int) -> None:
        from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind

        self.count = count
        self.descriptor = SkillSourceDescriptor(
            id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN
        )

    def signal(self) -> str:
        return str(self.count)

    def read(self) -> Iterator[RuntimeToolDescriptor]:
        return tools(self.count)


class _Plugin:
    """A plugin of many tools."""

    name = SOURCE

    def __init__(self, count: int) -> None:
        self.count = count

    @holon.hookimpl
    def holon_capability_lanes(self, host: Any) -> list[CapabilityLane]:
        return [CapabilityLane(kind="acme", postures=frozenset({Posture.LANE_LIVE}))]

    @holon.hookimpl
    def holon_skill_sources(self, host: Any) -> list[_Source]:
        return [_Source(self.count)]


def _open(root: Path, count: int) -> holon.Runtime:
    return holon.Runtime.open(root, plugins=[_Plugin(count)], discover=False)


def counted(work: Callable[[], object]) -> int:
    """Run something and count the stored descriptors that it reads."""
    read = 0
    true = catalogue_module.descriptor_from

    def counting(body: bytes) -> RuntimeToolDescriptor:
        nonlocal read
        read += 1
        return true(body)

    modules: tuple[Any, ...] = (catalogue_module, registry_module)
    for module in modules:
        module.descriptor_from = counting
    try:
        work()
    finally:
        for module in modules:
            module.descriptor_from = true
    return read


def starting(folder: Path) -> list[dict[str, object]]:
    """Open a root whose definitions are stored already."""
    rows: list[dict[str, object]] = []
    for size in (0, 10_000):
        root = folder / f"start-{size}"
        _open(root, size).close()
        costs = [cpu_s(lambda root=root, size=size: _open(root, size).close()) for _ in range(7)]  # type: ignore[misc]
        rows.append(
            {
                "stored": size,
                "open_and_close_ms": min(costs) * 1000,
                "descriptors_read": counted(lambda root=root, size=size: _open(root, size).close()),  # type: ignore[misc]
            }
        )
    return rows


def finding(folder: Path) -> list[dict[str, object]]:
    """Discover among 10,000 tools: the first request, then many."""
    with _open(folder / "start-10000", 10_000) as runtime:
        session = runtime.session(principal="bench")
        rows: list[dict[str, object]] = []
        first = cpu_s(lambda: session.discover("create an invoice"))
        rows.append({"case": "first request, index made", "p50_ms": first * 1000, "p95_ms": ""})
        rows.append(_spread("a page of 20, two to four words", session, queries(400)))
        rows.append(_spread("a page of 5, two to four words", session, queries(400), limit=5))
        rows.append(_spread("one word that most tools hold", session, ["record"] * 50))
        rows.append(_spread("without a query, by id", session, [""] * 100))
        rows.append(_spread("1 MB of words", session, [" ".join(NOUNS) * 2000] * 20))
    return rows


def _spread(case: str, session: Any, asked: list[str], **options: int) -> dict[str, object]:
    session.discover(asked[0], **options)
    costs = sorted(
        cpu_s(lambda text=text: session.discover(text, **options))  # type: ignore[misc]
        for text in asked
    )
    return {
        "case": case,
        "p50_ms": statistics.median(costs) * 1000,
        "p95_ms": costs[int(len(costs) * 0.95)] * 1000,
    }


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        report("registering through the registry", registering(folder))
        if "--short" not in sys.argv:
            report("a page of 50", paging(folder))
        report("a warm start", starting(folder))
        report("discovering among 10,000", finding(folder))


if __name__ == "__main__":
    main()
