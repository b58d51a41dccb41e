"""What is found about definitions: each problem with its path, all at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows import NUMBER, call, definition, line, node
from holon_workflows.drawing import mermaid
from holon_workflows.elegy_export import export_graph
from holon_workflows.elegy_graph import import_graph
from holon_workflows.expressions import ExpressionError, evaluate


def found(flows: Any, document: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the errors of a definition, by code and path."""
    findings = flows.validate(document)
    return {(each.code, each.path) for each in findings if each.severity == "error"}


@pytest.mark.parametrize(
    ("nodes", "more", "expected"),
    [
        ([call("a", "duoble")], {}, ("unknown_tool", "/nodes/0/config/tool")),
        ([call("a", n={"value": "x"})], {}, ("workflow_mismatch", "/nodes/0/inputs/n/value")),
        (
            [call("a"), call("b", n={"from": "steps.a.output"})],
            {},
            ("workflow_mismatch", "/nodes/1/inputs/n/from"),
        ),
        (
            [call("a"), call("b", n={"from": "steps.a.output.reslut"})],
            {},
            ("workflow_mismatch", "/nodes/1/inputs/n/from"),
        ),
        (
            [call("a", n={"from": "steps.b.output.result"}), call("b")],
            {},
            ("workflow_input", "/nodes/0/inputs/n/from"),
        ),
        (
            [call("a", n={"from": "steps.z.output.result"})],
            {},
            ("unresolved_ref", "/nodes/0/inputs/n/from"),
        ),
        (
            [call("a", n={"from": "inputs.["})],
            {},
            ("workflow_expression", "/nodes/0/inputs/n/from"),
        ),
        ([call("a", n={"from": "other.n"})], {}, ("workflow_expression", "/nodes/0/inputs/n/from")),
        ([node("a", "capabilty")], {}, ("workflow_kind_unknown", "/nodes/0/kind")),
        (
            [
                node("a", "ai-step", {"mode": "deterministic", "answer": {"n": 1}}),
                call("b", n={"from": "steps.a.output.n"}),
            ],
            {},
            ("workflow_gate_missing", "/nodes/1/inputs/n/from"),
        ),
        (
            [node("m", "map", {"over": "`[]`", "body": {"nodes": [call("x", "ghost")]}})],
            {},
            ("unknown_tool", "/nodes/0/config/body/nodes/0/config/tool"),
        ),
    ],
)
def test_a_mistake_is_told_with_its_path(
    flows: Any, nodes: list[Any], more: dict[str, Any], expected: tuple[str, str]
) -> None:
    """Each mistake is a finding where it was made."""
    assert expected in found(flows, definition(*nodes, **more))


def test_a_step_behind_a_branch_may_not_have_run(flows: Any) -> None:
    """An input from one way of a branch is an error at the join, unless it may be left out."""
    branch = node(
        "q", "branch-condition", {"cases": [{"when": "`true`", "to": "x"}], "default": "y"}
    )
    given = {"from": "steps.x.output.result"}
    edges = [*line("x", "end"), *line("y", "end")]

    def document(**optional: Any) -> dict[str, Any]:
        end = call("end", n={**given, **optional})
        return definition(branch, call("x"), call("y"), end, edges=edges)

    assert ("workflow_input", "/nodes/3/inputs/n/from") in found(flows, document())
    assert found(flows, document(optional=True)) == set()


def test_what_both_ways_of_a_branch_pass_is_certain_at_the_join(flows: Any) -> None:
    """A step before the branch, and the branch itself, have run whatever it chose."""
    branch = node(
        "q", "branch-condition", {"cases": [{"when": "`true`", "to": "x"}], "default": "y"}
    )
    end = call("end", n={"from": "steps.a.output.result"})
    edges = [*line("a", "q"), *line("x", "end"), *line("y", "end")]

    assert (
        found(flows, definition(call("a"), branch, call("x"), call("y"), end, edges=edges)) == set()
    )


def test_a_branch_without_a_default_is_a_warning(flows: Any) -> None:
    """It may fail the run, and is kept all the same."""
    branch = node("q", "branch-condition", {"cases": [{"when": "`true`", "to": "x"}]})

    findings = flows.validate(definition(branch, call("x"), edges=[]))

    assert [(each.code, each.severity) for each in findings] == [("workflow_branch", "warning")]


@pytest.mark.parametrize(
    "expression",
    ["|".join(["[@,@][]"] * 60), "join('', [" + ",".join(["@.t"] * 90) + "])", "a" * 1001],
    ids=["doubling", "text", "long"],
)
def test_an_expression_that_costs_too_much_is_refused(expression: str) -> None:
    """Nothing that an expression says makes it take for ever."""
    with pytest.raises(ExpressionError):
        evaluate(expression, {"t": "x" * 20_000})


def test_elegys_minimal_graph_is_read_and_its_fixture_found(shared: Path) -> None:
    """The published fixture becomes a definition with its inputs, retries and mapping."""
    path = shared / "elegy-corpus/fixtures/canonical-workflow-graph.minimal.json"

    made, findings = import_graph(json.loads(path.read_text()), definition="collect", version="1")

    assert [each for each in findings if each.severity == "error"] == []
    assert made["entry"] == "step.collect"
    assert made["nodes"][0]["config"] == {"tool": "tool.collect"}
    assert made["nodes"][0]["inputs"] == {"payload": {"from": "inputs.payload"}}
    assert made["nodes"][0]["retry"]["max_attempts"] == 4


def test_a_definition_comes_back_from_elegys_graph(flows: Any) -> None:
    """What was written as Elegy's graph is read as it was: nodes, edges, inputs, mappings."""
    before = definition(call("a", n={"from": "inputs.n"}), call("b", n={"value": 2}), inputs=NUMBER)
    graph, _ = export_graph(before)

    after, findings = import_graph(graph, definition="demo", version="1")

    assert [each for each in findings if each.severity == "error"] == []
    assert found(flows, after) == set()
    for name in ("id", "edges", "inputs"):
        assert after[name] == before[name]
    kept = ("id", "kind", "config", "inputs")
    assert [{k: each[k] for k in kept} for each in after["nodes"]] == [
        {k: each[k] for k in kept} for each in before["nodes"]
    ]


def test_a_graph_is_drawn_with_its_ways(flows: Any) -> None:
    """Nodes have their shapes, edges of branches say which case they are."""
    branch = node(
        "q", "branch-condition", {"cases": [{"when": "`true`", "to": "x"}], "default": "y"}
    )
    flows.create(definition(branch, call("x"), call("y"), edges=[]), by="olga")
    graph = flows.definitions.version("demo", "1").graph

    drawn = mermaid(graph)

    assert drawn.startswith("flowchart TD\n")
    assert 'n0 -- "1" --> n1' in drawn
    assert 'n0 -- "default" --> n2' in drawn


def test_a_dry_run_shows_requests_and_what_would_block(flows: Any, ann: Any, shop: Any) -> None:
    """Nothing starts; what depends on an output that nobody knows says so, or is assumed."""
    flows.create(
        definition(call("a"), call("s", "send", n={"from": "steps.a.output.result"})), by="olga"
    )

    unknown = flows.dry_run("demo", session=ann)
    assumed = flows.dry_run("demo", session=ann, assume={"a": {"result": 9}})

    assert [each["unknown"] for each in unknown] == [[], ["n"]]
    assert assumed[1]["inputs"] == {"n": 9}
    assert [each["code"] for each in assumed[1]["blocking_reasons"]] == ["approval_required"]
    assert shop.seen == shop.sent == []
    assert flows.list() == []


def uses(workflow: str, **config: Any) -> dict[str, Any]:
    """Make a node that runs another workflow."""
    return node(f"run_{workflow}", "sub-workflow", {"workflow": workflow, **config})


def test_workflows_that_start_one_another_are_a_ring(flows: Any) -> None:
    """The version that would close the ring is refused, with the whole way written out."""
    flows.create(definition(call("x"), id="a"), by="olga")
    flows.create(definition(uses("a"), id="b"), by="olga")
    flows.create(definition(uses("b"), id="c"), by="olga")
    closing = definition(uses("c"), id="a", version="2")

    [found] = [each for each in flows.validate(closing) if each.severity == "error"]

    assert (found.code, found.path) == ("workflow_cycle", "/nodes/0/config/workflow")
    assert "a -> c -> b -> a" in found.message


def test_a_ring_in_a_body_is_found(flows: Any) -> None:
    """Also where a workflow is used within a loop or a map."""
    flows.create(definition(call("x"), id="a"), by="olga")
    inner = {"nodes": [uses("a")]}
    flows.create(definition(node("m", "map", {"over": "`[]`", "body": inner}), id="b"), by="olga")
    closing = definition(
        node("m", "map", {"over": "`[]`", "body": {"nodes": [uses("b")]}}), id="a", version="2"
    )

    codes = {code for code, _ in found(flows, closing)}

    assert codes == {"workflow_cycle"}


def test_a_way_to_an_earlier_version_is_no_ring(flows: Any, ann: Any) -> None:
    """What is bound to a version that does not come back ends there."""
    first = definition(call("x"), id="a", outputs={"n": "steps.x.output.result"})
    flows.create(first, by="olga")
    flows.create(definition(uses("a", version="1"), id="b"), by="olga")
    second = definition(uses("b"), id="a", version="2")

    assert found(flows, second) == set()
    flows.create(second, by="olga")
    assert flows.run("a", session=ann).state == "completed"


def test_a_written_graph_fits_elegys_schema(flows: Any, shared: Path) -> None:
    """Calls, gates, timers, branches, bodies, failures and retries: all of it is valid there."""
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    folder = shared / "elegy-corpus/schemas"
    schemas = [json.loads(path.read_text()) for path in folder.glob("canonical-workflow*.json")]
    registry = Registry().with_resources(
        (each["$id"], Resource.from_contents(each)) for each in schemas
    )
    [schema] = [each for each in schemas if each["$id"].endswith("graph.schema.json")]
    branch = node(
        "q", "branch-condition", {"cases": [{"when": "`true`", "to": "x"}], "default": "g"}
    )
    body = {"nodes": [call("d", n={"from": "inputs.item"})]}
    document = definition(
        call("a", n={"from": "inputs.n"}, retry={"max_attempts": 3, "delay_s": 2}),
        branch,
        call("x", on_failure={"go_to": "t"}, timeout_s=30),
        node("g", "human-gate", {"question": "Go?", "choices": ["yes"], "expires_after_s": 60}),
        node("t", "wait-timer", {"after_s": 1}),
        node("m", "map", {"over": "variables.list", "body": body}, on_failure="continue"),
        inputs=NUMBER,
        variables={"list": [1, 2], "word": "w", "half": 0.5, "on": True, "none": None},
        entry="a",
        edges=line("a", "q"),
    )

    graph, _ = export_graph(document)

    # As published, a value is of exactly one type, and every integer is a number as well: no
    # integer would fit. All else is held against the schema as it is.
    schema = json.loads(json.dumps(schema).replace('"oneOf"', '"anyOf"'))
    validator = Draft202012Validator(schema, registry=registry)
    assert [(list(e.absolute_path), e.message) for e in validator.iter_errors(graph)] == []


def test_a_run_is_drawn_for_a_notebook(flows: Any, ann: Any) -> None:
    """A table of steps with their bars; nothing that people or models wrote is markup in it."""
    from html.parser import HTMLParser

    gate = node("g", "human-gate", {"question": "<b>Go?</b>", "choices": ["<i>"]})
    flows.create(definition(call("a"), gate), by="olga")
    run = flows.run("demo", session=ann)
    flows.answer(run.waits_for[0]["gate"], by="<script>x</script>", choice="<i>", reason="<img>")
    run = flows.ready_run(run.id)
    tags: list[str] = []
    text: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.append(tag)

        def handle_data(self, data: str) -> None:
            text.append(data)

    Reader().feed(run._repr_html_())

    assert set(tags) == {"table", "caption", "tr", "th", "td", "div"}
    assert tags.count("tr") == 3
    assert "demo@1: completed" in text
    assert "answered by <script>x</script>" in text


def test_the_bars_of_a_notebook_lie_where_the_steps_ran(flows: Any, ann: Any, clock: Any) -> None:
    """Each begins and ends at its share of the run, in the colour of how it ended."""
    import re

    gate = node("g", "human-gate", {"question": "Go?"})
    flows.create(definition(node("t", "wait-timer", {"after_s": 30}), gate), by="olga")
    run = flows.run("demo", session=ann, timeout_s=0)
    clock.at += 30
    flows.ready_run(run.id)
    clock.at += 90
    flows.answer(f"{run.id}/g/1", by="boss", reason="back\u202ewards")
    run = flows.ready_run(run.id)

    drawn = run._repr_html_()

    bars = re.findall(r"left:([0-9.]+)%;width:([0-9.]+)%;height:1em;background:(#\w+)", drawn)
    assert bars == [("0.0", "25.0", "#4caf50"), ("25.0", "75.0", "#4caf50")]
    assert "\u202e" not in drawn


@pytest.mark.parametrize(
    "expression",
    [
        "values(steps)[0].output.n",
        "steps | ai | output | n",
        "steps.*.output | [0].n",
        "[steps][0].ai.output.n",
        "@.steps.ai.output.n",
        "* | [0].ai.output.n",
        "(steps | ai).output.n",
        "steps.[ai.output.n] | [0]",
        "{all: @}.all.steps.ai.output.n",
        "not_null(steps.ghost, steps.ai.output.n)",
    ],
)
def test_no_other_way_to_a_step_leads_past_the_gate(flows: Any, expression: str) -> None:
    """What takes the steps as a whole uses each of them."""
    ai = node("ai", "ai-step", {"mode": "deterministic", "answer": {"n": 1}})

    found = flows.validate(definition(ai, call("b", n={"from": expression})))

    gates = [each.path for each in found if each.code == "workflow_gate_missing"]
    assert gates == ["/nodes/1/inputs/n/from"]


def test_what_takes_all_steps_is_told_of_those_beside_it(flows: Any) -> None:
    """Of a step on another way nobody knows whether it has ended by then."""
    nodes = [call("a"), call("b"), call("c", n={"from": "length(keys(steps))"})]
    edges = [{"from": "a", "to": "c"}]

    [found] = flows.validate(definition(*nodes, edges=edges))

    assert (found.code, found.severity) == ("workflow_input", "warning")
    assert "b may or may not have ended" in found.message


def test_mistakes_of_all_sorts_are_told_at_once(flows: Any) -> None:
    """A graph with faults is judged as far as it can be: one mistake hides no other."""
    nodes = [
        call("a"),
        node("wait", "wait-timer", {"after_s": 1e12}),
        call("b", n={"from": "steps.late.output.n"}),
        node("late", "wait-timer", {"after_s": -1}),
        node("x", "xyz", on_failure="stopp"),
        {**call("g"), "inputs": {"n": {"from": 1}, "m": {"value": 1, "optional": True}}},
    ]
    edges = [*line("a", "wait", "b"), {"from": "b", "to": "nowhere"}]

    formal = flows.validate(definition(*nodes, edges=edges))
    nodes[4:] = [node("x", "xyz")]
    found = flows.validate(definition(*nodes, edges=edges))

    assert {each.path for each in formal} == {
        "/nodes/4/on_failure",
        "/nodes/5/inputs/n/from",
        "/nodes/5/inputs/m",
    }
    assert {(each.code, each.path) for each in found} == {
        ("unresolved_ref", "/edges/2/to"),
        ("workflow_invalid", "/nodes/1/config/after_s"),
        ("workflow_input", "/nodes/2/inputs/n/from"),
        ("workflow_invalid", "/nodes/3/config/after_s"),
        ("workflow_kind_unknown", "/nodes/4/kind"),
    }
    [long] = [each.message for each in found if each.path == "/nodes/1/config/after_s"]
    assert "maximum" in long


def test_of_what_a_missing_node_leads_to_nothing_is_guessed(flows: Any) -> None:
    """Nobody knows whether a step comes before it; the missing node is told."""
    nodes = [call("a"), call("b", n={"from": "steps.a.output.result"})]

    found = flows.validate(definition(*nodes, edges=[{"from": "aa", "to": "b"}]))

    codes = [each.code for each in found]
    assert codes == ["unresolved_ref", "workflow_unreachable"]
