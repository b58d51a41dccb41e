"""Nodes of other lanes: a script artifact, and an operation of an API, through the guard."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

import holon_core as holon
from flows import definition, node
from frozen_tools import shout
from holon_adapters.records import Binding
from holon_core.testing import EvidenceReader
from hostile_http import Hostile, hostile
from scripts import activate, script

PLUGINS = ["holon-workflows", "holon-script-tools", "holon-adapters"]
OPERATION = "holon-adapters.shop/fine"
SHOP = {
    "adapter": "holon-adapter/v1",
    "operations": [
        {
            "id": "fine",
            "method": "GET",
            "path": "/fine",
            "description": "Ask how it is.",
            "parameters": [{"name": "X-Note", "in": "header", "schema": {"type": "string"}}],
            "responses": {"200": {"schema": {"type": "object"}}},
        }
    ],
}


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[holon.Runtime]:
    """A runtime with workflows, scripts and adapters, found as they are installed."""
    root = tmp_path_factory.mktemp("lanes") / "root"
    with holon.Runtime.open(root, tools=[shout], config={"plugins": PLUGINS}) as opened:
        yield opened


@pytest.fixture(scope="module")
def bob(lanes: holon.Runtime, tmp_path_factory: pytest.TempPathFactory) -> holon.Session:
    """Who starts runs, in a workspace."""
    return lanes.session(principal="bob", workspace=tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    """An API on loopback."""
    with hostile() as made:
        yield made


@pytest.fixture(scope="module")
def shop(lanes: holon.Runtime) -> Any:
    """The adapters, with one registered and bound to nothing."""
    adapters = lanes.service("adapters")
    adapters.register("shop", SHOP, by="olga")
    return adapters


def records_of(rt: holon.Runtime, run: Any, step: str) -> Any:
    """Return the records that the call of a step left."""
    return EvidenceReader(rt).records(run.step(step).note.removeprefix("call "))


def bind(adapters: Any, server: Hostile) -> None:
    """Let the adapter call the API."""
    binding = Binding(
        origin=server.url,
        allow_addresses=("loopback",),
        by="olga",
        reason="ours",
        at_unix_seconds=1,
    )
    adapters.bind("shop", binding)


@pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")
def test_a_script_artifact_is_a_step(lanes: holon.Runtime, bob: holon.Session) -> None:
    """A promoted script runs sealed, with the step's input, under guard and with evidence."""
    read = "import json, os\nn = json.loads(os.environ['HOLON_INPUT_JSON'])['n']\n"
    text = read + "print(json.dumps({'n': n * 2}))"
    number = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    fixtures = [{"name": "two", "input": {"n": 2}, "expect": {"output": {"n": 4}}}]
    given = script(text, name="twice", input_schema=number, output_schema=number, fixtures=fixtures)
    tool = activate(lanes, bob, given)
    flows = lanes.service("workflows")
    first = node("a", "frozen-tool", {"tool": tool.id}, inputs={"n": {"value": 3}})
    second = node("b", "frozen-tool", {"tool": tool.id}, inputs={"n": {"from": "steps.a.output.n"}})
    flows.create(
        definition(first, second, outputs={"n": "steps.b.output.n"}, id="script"), by="olga"
    )

    run = flows.run("script", session=bob)

    assert (run.state, run.outputs) == ("completed", {"n": 12})
    accepted, ended = records_of(lanes, run, "b")
    assert (accepted.kind, ended.kind) == ("accepted", "completed")
    assert accepted.body["posture"] == "frozen_tool_live"
    assert accepted.body["caller"]["plan_step"] == "b"


@pytest.mark.parametrize(
    ("kind", "tool", "said"),
    [
        ("frozen-tool", "host.app/shout", "is not a frozen tool"),
        ("frozen-tool", OPERATION, "is not a frozen tool"),
        ("adapter-operation", "host.app/shout", "is not an operation of an adapter"),
    ],
)
def test_a_node_insists_on_its_kind_of_tool(
    lanes: holon.Runtime, shop: Any, kind: str, tool: str, said: str
) -> None:
    """What a definition calls frozen, or of an adapter, has to be that."""
    findings = lanes.service("workflows").validate(definition(node("a", kind, {"tool": tool})))

    assert said in " ".join(each.message for each in findings if each.severity == "error")


def test_an_operation_is_shown_then_called(
    lanes: holon.Runtime, bob: holon.Session, shop: Any, server: Hostile
) -> None:
    """Unbound, a dry run shows its request and the run is blocked; bound, it is called live."""
    flows = lanes.service("workflows")
    step = node("a", "adapter-operation", {"tool": OPERATION}, inputs={"X-Note": {"value": "hi"}})
    flows.create(definition(step, outputs={"ok": "steps.a.output.body.ok"}, id="shop"), by="olga")

    [shown] = flows.dry_run("shop", session=bob)
    run = flows.run("shop", session=bob)
    assert shown["preview"]["request"]["method"] == "GET"
    assert "X-Note: hi" in shown["preview"]["request"]["headers"]
    assert shown["blocking_reasons"][0]["code"] == "live_execution_blocked"
    assert (run.state, run.waits_for[0]["code"]) == ("blocked", "live_execution_blocked")
    assert server.seen == []

    bind(shop, server)
    # Binding made it another definition than the one that the run started with.
    assert flows.resume(run.id).waits_for[0]["code"] == "definition_changed"
    run = flows.resume(run.id, accept=[OPERATION], by="olga")
    assert server.seen == []
    lanes.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ours")
    run = flows.ready_run(run.id)

    assert (run.state, run.outputs) == ("completed", {"ok": True})
    assert len(server.seen) == 1
    assert "X-Note: hi" in server.seen[0]
    kinds = [each.kind for each in records_of(lanes, run, "a")]
    assert kinds == ["held", "approved", "accepted", "completed"]
    [accepted] = [e for e in flows.events(run.id) if e["kind"] == "definition_accepted"]
    assert (accepted["by"], accepted["note"]) == ("olga", OPERATION)
