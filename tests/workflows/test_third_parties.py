"""Kinds of nodes of other distributions, by their hook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_workflows.plugin as lane
from flows import definition, node
from holon_core.records.finding import Finding
from holon_core.testing import named
from holon_workflows.records import NodeKind, Outcome, completed, failed, waiting

TO = {
    "type": "object",
    "properties": {"to": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}


def kind(name: str = "acme-messages.notify", **more: Any) -> NodeKind:
    """Make a kind that sends its input, and then waits until it has been read."""

    def run(step: Any) -> Outcome:
        if step.wait is None or step.wait["for"] == "approval":
            sent = step.call("host.app/send", step.inputs)
            return sent if sent.state != "completed" else waiting({"for": "reading"})
        return completed({"read_by": step.node.config["to"]}) if READ else waiting(step.wait)

    def check(given: Any, about: Any) -> Iterator[Finding]:
        if given.config["to"] == "nobody":
            yield Finding(code="record_invalid", message="nobody reads it", path="/config/to")

    made = {"kind": name, "config": TO, "run": run, "check": check, "repeatable": True}
    return NodeKind(**{**made, **more})


READ: list[str] = []


class Offers:
    """Offers kinds."""

    def __init__(self, *kinds: Any) -> None:
        self.kinds = kinds

    @holon.hookimpl(optionalhook=True)
    def holon_workflow_node_kinds(self, host: holon.PluginHost) -> Any:
        return self.kinds


@pytest.fixture
def opened(tmp_path: Path, shop: Any) -> Iterator[Any]:
    """Open a runtime with plugins that offer kinds."""
    made: list[holon.Runtime] = []
    READ.clear()

    def opened(*plugins: Any) -> holon.Runtime:
        rt = holon.Runtime.open(
            tmp_path / "root", discover=False, plugins=[lane, *plugins], tools=shop.tools()
        )
        made.append(rt)
        return rt

    yield opened
    for rt in made:
        rt.close()


def test_a_kind_of_another_distribution_runs_as_any_other(opened: Any, shop: Any) -> None:
    """Its config is checked, its call is guarded, it waits, survives a restart and completes."""
    rt = opened(named(Offers(kind()), "acme-messages"))
    flows, ann = rt.service("workflows"), rt.session(principal="ann")
    step = node("n", "acme-messages.notify", {"to": "bo"}, inputs={"n": {"value": 3}})
    flows.create(definition(step, outputs={"who": "steps.n.output.read_by"}), by="olga")
    run = flows.run("demo", session=ann)
    assert run.waits_for[0]["for"] == "approval"
    rt.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ok")
    run = flows.ready_run(run.id)
    assert (run.waits_for[0]["for"], shop.sent) == ("reading", [3])
    rt.close()

    READ.append("bo")
    again = opened(named(Offers(kind()), "acme-messages")).service("workflows")
    run = again.ready_run(run.id)

    assert (run.state, run.outputs, shop.sent) == ("completed", {"who": "bo"}, [3])


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({}, "/nodes/0/config"),
        ({"to": "nobody"}, "/nodes/0/config/to"),
        ({"to": 3}, "/nodes/0/config/to"),
    ],
)
def test_its_mistakes_are_findings(opened: Any, config: dict[str, Any], path: str) -> None:
    """By its schema and by its own check, at their place in the definition."""
    flows = opened(named(Offers(kind()), "acme-messages")).service("workflows")

    findings = flows.validate(definition(node("n", "acme-messages.notify", config)))

    assert path in {each.path for each in findings if each.severity == "error"}


def test_a_run_whose_kind_is_gone_waits_for_it(opened: Any) -> None:
    """It is blocked, says what is missing, and goes on where it is there again."""
    plugin = named(Offers(kind(run=lambda step: completed({}))), "acme-messages")
    rt = opened(plugin)
    flows = rt.service("workflows")
    flows.create(definition(node("n", "acme-messages.notify", {"to": "bo"})), by="olga")
    run = flows.start("demo", session=rt.session(principal="ann"))
    rt.close()
    without = opened()
    blocked = without.service("workflows").ready_run(run.id)
    assert (blocked.state, blocked.waits_for[0]["code"]) == ("blocked", "dependency_missing")
    without.close()

    assert opened(plugin).service("workflows").resume(run.id).state == "completed"


@pytest.mark.parametrize(
    ("offered", "kept"),
    [
        ({"acme": [kind("capability")]}, set()),
        ({"acme": [kind("other.notify")]}, set()),
        ({"acme": ["no kind"]}, set()),
        ({"acme": [kind("acme.x"), kind("acme.x")]}, set()),
        ({"acme": [kind("acme-two.x")], "acme-two": [kind("acme-two.x")]}, {"acme-two.x"}),
        ({"acme": [kind("acme.x")], "two": [kind("two.x")]}, {"acme.x", "two.x"}),
    ],
    ids=["of-this-lane", "of-another", "no-kind", "twice", "of-a-longer-name", "of-two"],
)
def test_only_a_kind_of_its_own_name_counts(
    opened: Any, offered: dict[str, list[Any]], kept: set[str]
) -> None:
    """Those of this distribution never lose; one that is offered twice counts for neither."""
    plugins = [named(Offers(*kinds), name) for name, kinds in offered.items()]

    kinds = opened(*plugins).service("workflows").kinds

    assert kinds["capability"].description.startswith("Calls a tool")
    assert {name for name in kinds if "." in name} == kept


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (lambda step: 1 / 0, "lane_protocol"),
        (lambda step: "done", "lane_protocol"),
        (lambda step: completed(object()), "output_not_json"),
        (lambda step: failed(holon.failure("tool_failed", "no")), "tool_failed"),
    ],
    ids=["raises", "no-outcome", "no-json", "fails"],
)
def test_a_kind_that_is_broken_fails_its_step(opened: Any, run: Any, code: str) -> None:
    """Whatever it does, the run ends with a typed failure."""
    rt = opened(named(Offers(kind(run=run)), "acme-messages"))
    flows = rt.service("workflows")
    flows.create(definition(node("n", "acme-messages.notify", {"to": "bo"})), by="olga")

    made = flows.run("demo", session=rt.session(principal="ann"))

    assert (made.state, made.failure["code"]) == ("failed", code)
