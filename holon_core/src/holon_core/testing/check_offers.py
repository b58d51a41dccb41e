"""Checks of what a lane offers: that it loads, is understood, and is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from holon_core.errors import Rejected
from holon_core.plugins import hookspecs
from holon_core.plugins.first_party import FIRST_PARTY
from holon_core.plugins.markers import PROJECT
from holon_core.plugins.metadata import installed
from holon_core.records.finding import has_errors
from holon_core.records.words import LaneKind, Origin
from holon_core.testing.offering import definitions, loaded, offered
from holon_core.testing.report import Result, Verdict
from holon_core.wire.schema_check import check_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.testing.bench import Bench

# Where pluggy's marker leaves its options on a function.
MARK = f"{PROJECT}_impl"
_REGISTERED = frozenset({Origin.REGISTERED, Origin.IMPORTED_STATE})
RESERVED_KINDS = frozenset(kind.value for kind in LaneKind)


def ok(reason: str = "", *, tool: str = "") -> Result:
    """Make a row that passed; the runner fills in the check's name."""
    return Result(check="", tool=tool, verdict=Verdict.PASS, reason=reason)


def bad(reason: str, *, tool: str = "") -> Result:
    """Make a row that failed."""
    return Result(check="", tool=tool, verdict=Verdict.FAIL, reason=reason)


def skip(reason: str, *, tool: str = "") -> Result:
    """Make a row that could not be checked."""
    return Result(check="", tool=tool, verdict=Verdict.SKIP, reason=reason)


def loads(bench: Bench) -> Iterator[Result]:
    """Its entry points import, and its requirement on the core fits."""
    found = loaded(bench)
    if not found:
        yield bad(f"no installed distribution {bench.lane.distribution} has a plugin")
    claims = {} if bench.lane.plugin is not None else _claims_of_others(bench.lane.distribution)
    for each in found:
        if not each.problem and each.name in claims:
            yield bad(f"the plugin name {each.name} is also claimed by {claims[each.name]}")
        else:
            yield bad(each.problem) if each.problem else ok(f"plugin {each.name}")


def _claims_of_others(distribution: str) -> dict[str, str]:
    """Return the plugin names that others have here, with who they are; ours never lose."""
    if distribution in FIRST_PARTY:
        return {}
    others = (each for each in installed() if each.name != distribution)
    return {point.name: each.name for each in others for point in each.points}


def hooks_match(bench: Bench) -> Iterator[Result]:
    """Every function named like a hook is marked, is a hook, and has its arguments."""
    for each in loaded(bench):
        yield from (bad(text) for text in _unmarked(each.plugin))
    try:
        with bench.open() as runtime:
            for state in runtime.plugins.list():
                problems = " ".join("; ".join(state.problems).split())
                # What is only deprecated works, and is told.
                yield ok("; ".join(state.deprecations)) if state.active else bad(problems)
    except Rejected as rejected:
        yield from (bad(finding.message) for finding in rejected.findings)


def _unmarked(plugin: object) -> list[str]:
    specified = {name for name in dir(hookspecs) if name.startswith("holon_")}
    return [
        f"{name} is not marked with @holon_core.hookimpl"
        for name in sorted(specified & set(dir(plugin)))
        if getattr(getattr(plugin, name), MARK, None) is None
    ]


def ids_belong(bench: Bench) -> Iterator[Result]:
    """Kinds, sources and tools carry names that are the distribution's to give."""
    owner = bench.lane.distribution
    if owner not in FIRST_PARTY:
        for lane in offered(bench, "holon_capability_lanes"):
            kind = str(getattr(lane, "kind", ""))
            yield (
                bad(f"the kind {kind} is reserved")
                if kind in RESERVED_KINDS
                else ok(f"kind {kind}")
            )
        yield from (_own(source, owner) for source in _sources(bench))
    for each in definitions(bench):
        for item in each.items:
            tool_id = str(getattr(item, "id", ""))
            good = tool_id.startswith(f"{each.source}/")
            text = f"the id is not of the source {each.source}"
            yield ok(tool=tool_id) if good else bad(text, tool=tool_id)
    yield from _registered(bench)


def _registered(bench: Bench) -> Iterator[Result]:
    """Say whose the sources are that were registered, and the tools that came with them."""
    tools = [tool for tool in bench.tools.values() if tool.origin in _REGISTERED]
    sources = {tool.id.partition("/")[0] for tool in tools}
    with bench.open(frozen=False) as runtime:
        states = runtime.tools.sources()
    sources |= {state.id for state in states if state.state == "registered"}
    for source in sorted(sources):
        ours = source.startswith("holon.") and bench.lane.distribution in FIRST_PARTY
        yield ok(f"source {source}") if ours else _own(source, bench.lane.distribution)
    yield from (ok(tool=tool.id) for tool in tools)
    for tool in bench.tools.values():
        if tool.origin is Origin.FROZEN:
            yield ok("the core names frozen tools", tool=tool.id)


def _made(bench: Bench) -> dict[str, str]:
    """Return the tools that no source is read for, each with the digest of its definition."""
    made = {*_REGISTERED, Origin.FROZEN}
    return {tool.id: tool.digest for tool in bench.tools.values() if tool.origin in made}


def _sources(bench: Bench) -> list[str]:
    sources = [each.descriptor.id for each in offered(bench, "holon_skill_sources")]
    executors = [str(each.source) for each in offered(bench, "holon_executors")]
    return sorted({*sources, *executors})


def _own(source: str, owner: str) -> Result:
    if source == owner or source.startswith((f"{owner}.", f"{owner}-")):
        return ok(f"source {source}")
    return bad(f"the source id {source} does not begin with {owner}")


def offers_accepted(bench: Bench) -> Iterator[Result]:
    """The runtime takes everything that is offered, and no hook raises."""
    with bench.open() as runtime:
        for state in runtime.plugins.list():
            yield from (bad(problem) for problem in state.problems)
            if not state.problems:
                yield ok(f"plugin {state.name}")


def definitions_accepted(bench: Bench) -> Iterator[Result]:
    """Every source is read in time, and every definition comes in without an error."""
    with bench.open() as runtime:
        states = runtime.tools.sources()
    if not states and not _made(bench):
        yield skip("it offers no source of definitions")
    yield from (ok("it came in", tool=tool_id) for tool_id in _made(bench))
    for state in states:
        if state.problem:
            yield bad(f"the source {state.id}: {state.problem}")
        for label, findings in state.findings.items():
            text = "; ".join(f"{f.path or '/'}: {f.message}" for f in findings)
            yield bad(text, tool=label) if has_errors(findings) else ok(text, tool=label)
        if state.added:
            yield ok(f"{len(state.added)} tools of the source {state.id}")


def definitions_stable(bench: Bench) -> Iterator[Result]:
    """Read twice under one signal, a source gives the same: else each start makes revisions."""
    # A frozen tool comes in once, by its proposal; what was built for it is part of it.
    frozen = {tool.id for tool in bench.tools.values() if tool.origin is Origin.FROZEN}
    registered = {name: digest for name, digest in _made(bench).items() if name not in frozen}
    with bench.open() as runtime:
        states = runtime.tools.refresh()
        again = {name: runtime.tools.read(name).digest for name in registered}
    if not states and not again:
        yield skip("it offers no source of definitions")
    for name, digest in registered.items():
        text = "brought in once more it is another definition"
        yield ok(tool=name) if again[name] == digest else bad(text, tool=name)
    for state in states:
        moved = (*state.added, *state.changed, *state.removed)
        text = f"a second reading changed {', '.join(moved[:5])}"
        yield bad(text) if moved else ok(f"the source {state.id}")


def operations_own(bench: Bench) -> Iterator[Result]:
    """Operations stand under nouns of the lane's own, with usable schemas and a text."""
    from holon_core.operations.offered import GRANTED
    from holon_core.operations.table import ROWS

    taken = {row.noun for row in ROWS}
    rows = offered(bench, "holon_operations")
    if not rows:
        yield skip("it offers no operation")
    for row in rows:
        granted = GRANTED.get(row.method) == bench.lane.distribution
        taken_here = row.noun in taken and not granted
        faults = [f"the noun {row.noun} is the core's"] if taken_here else []
        faults += [] if callable(row.handler) and row.doc else ["it has no handler or no text"]
        roles: tuple[tuple[object, Literal["input", "output"]], ...]
        roles = ((row.request, "input"), (row.response, "output"))
        for schema, role in roles:
            found = check_schema(schema, role=role).findings
            faults += [f"{role}{f.path}: {f.message}" for f in found if has_errors([f])]
        yield bad("; ".join(faults)) if faults else ok(row.method)
