"""What is found about definitions: each problem with its path, all at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows import NUMBER, call, definition, line, node
from holon_workflows.drawing import mermaid
from holon_workflows.elegy_graph import export_graph, import_graph
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


def test_elegys_minimal_graph_is_read_and_its_fixture_found() -> None:
    """The published fixture becomes a definition with its inputs, retries and mapping."""
    path = (
        Path(__file__).parents[3]
        / "shared/elegy-corpus/fixtures/canonical-workflow-graph.minimal.json"
    )
    if not path.exists():
        pytest.skip("the published fixtures are not beside this repository")

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
