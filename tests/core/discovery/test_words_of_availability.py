"""`executable` and `blocked` come from discovery alone, and change no verdict of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import holon_core as holon
from holon_core.operations.table import ROWS
from holon_core.records.rule import Rule
from holon_core.records.words import Authority, Availability, Decision, Effect, Readiness

Make = Callable[..., Any]
Open = Callable[..., holon.Runtime]
DISCOVER = "runtime-capability/discover"
WORDS = {word.value for word in Availability}


def schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and every schema inside it."""
    if isinstance(schema, Mapping):
        yield schema
        for inner in schema.values():
            yield from schemas(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from schemas(inner)


def texts(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.method)
def test_only_discovery_has_a_word_for_availability(row: Any) -> None:
    """No other answer has a field for it, or could say that a tool is executable."""
    says = any(
        "availability" in schema.get("properties", {}) or "executable" in schema.get("enum", ())
        for schema in schemas(row.response)
    )
    assert says is (row.method == DISCOVER)


@pytest.fixture
def runtime(lane: Any, make: Make, open_runtime: Open) -> holon.Runtime:
    """A catalogue with tools that may run, that ask, that are denied, and that cannot run."""

    @holon.tool(id="read", effects={"none"})
    def read() -> int:
        """Read a number."""
        return 1

    @holon.tool(id="write", effects={"machine_write"})
    def write() -> int:
        """Write a number."""
        return 1

    lane.definitions = [
        make("go"),
        make("denied"),
        make("odd", effects=frozenset({Effect.UNKNOWN})),
        make("hidden", projections=()),
        make("here", effects=frozenset({Effect.WORKSPACE_READ})),
    ]
    rule = Rule(decision=Decision.DENY, id="acme-tools/denied")
    return open_runtime(read, write, config={"rules": [rule]})


def test_listings_and_reads_show_base_readiness_alone(runtime: holon.Runtime) -> None:
    """Whoever asks, and after discovery was asked: the same words of the definition."""
    session = runtime.session(principal="ann")
    session.discover()
    caller = session.caller
    listed = runtime.dispatch("runtime-tool/list", {}, caller=caller)
    authorities = frozenset(Authority)
    answers = [
        listed,
        *(
            runtime.dispatch("runtime-tool/read", {"tool": tool["id"]}, caller=caller)
            for tool in listed["tools"]
        ),
        *(
            runtime.dispatch(method, {}, caller=caller, authorities=authorities)
            for method in ("runtime-tool/list", "workspace/list", "execution-approval/list")
        ),
        *(tool._repr_html_() for tool in runtime.tools.list()),
    ]

    assert {tool["readiness"] for tool in listed["tools"]} == {
        Readiness.CATALOG_ONLY,
        Readiness.CONTEXT_LOADABLE,
        Readiness.MODEL_CALLABLE,
    }
    assert not WORDS & set(texts(answers))
    assert not any("executable" in text for text in texts(answers))
    shown = runtime.dispatch(DISCOVER, {}, caller=caller)
    assert set(texts(shown)) >= WORDS


def test_discovery_says_the_same_however_often_tools_were_listed(runtime: holon.Runtime) -> None:
    """It starts from the definitions and the context, not from what was said before."""
    session = runtime.session(principal="ann")
    before = session.discover()
    runtime.tools.list()

    assert session.discover() == before


def outcome(result: holon.ToolResult) -> tuple[Any, ...]:
    """Return what a call decided, without its own ids."""
    return (
        result.status,
        result.output,
        None if result.failure is None else result.failure.code,
        [reason.code for reason in result.blocking_reasons],
        result.held is not None,
    )


def test_nothing_that_was_said_changes_a_verdict_of_a_call(
    runtime: holon.Runtime, lane: Any, make: Make, open_runtime: Open
) -> None:
    """Every tool answers alike, found before or not, and only executable ones run."""
    tools = [tool.id for tool in runtime.tools.list()]
    plain = runtime.session(principal="ann")
    asking = runtime.session(principal="bob")
    without = {tool: outcome(plain.call(tool)) for tool in tools}
    said = {item.id: item.availability for item in asking.discover().items}
    with_it = {}
    for tool in tools:
        asking.discover(tool)
        with_it[tool] = outcome(asking.call(tool))

    assert with_it == without
    ran = {tool for tool, (status, *_) in with_it.items() if status is holon.Status.COMPLETED}
    assert ran == {tool for tool, word in said.items() if word is Availability.EXECUTABLE}


def test_a_discovery_between_a_change_and_a_call_hides_the_change_from_neither(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """A call that began on the old definition is refused as without it."""
    lane.definitions = [make("go", "One.")]
    runtimes = {name: open_runtime() for name in ("asks", "does not ask", "changes")}
    sessions = {name: rt.session(principal="ann") for name, rt in runtimes.items()}
    for session in sessions.values():
        assert session.call("acme-tools/go").status is holon.Status.COMPLETED

    lane.definitions = [make("go", "Another.")]
    runtimes["changes"].tools.refresh()
    assert sessions["asks"].discover("another").total_hint == 1

    codes = {
        name: outcome(sessions[name].call("acme-tools/go"))[2] for name in ("asks", "does not ask")
    }
    assert codes == {"asks": "definition_changed", "does not ask": "definition_changed"}
