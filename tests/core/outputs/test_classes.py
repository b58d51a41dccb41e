"""Classes: the seven, those of hosts and plugins, and the operations on them."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def own(**changes: Any) -> holon.OutputClass:
    """Make a class of a host's."""
    given: dict[str, Any] = {
        "id": "shop.number",
        "schema": SCHEMA,
        "producer": "counter",
        "consumers": ("till",),
    }
    return holon.OutputClass(**{**given, **changes})


def test_the_core_has_the_seven_classes_of_the_taxonomy(runtime):
    """Each names schema, version, producer, consumers and gate."""
    found = {each.id: each for each in runtime.agents.outputs.list()}

    assert sorted(found) == [
        "ai_step_result",
        "frozen_tool_proposal",
        "planner_output",
        "repair_fallback_proposal",
        "reviewer_output",
        "script_artifact_proposal",
        "tool_result",
    ]
    assert found["reviewer_output"].consumers == ("plan_approval_gate",)
    assert all(each.version and each.producer and each.schema for each in found.values())


# Words of the taxonomy's table, as this project's identifiers say them.
SAID = {
    "Planner output": "planner_output",
    "Reviewer output": "reviewer_output",
    "Tool result": "tool_result",
    "AI step result": "ai_step_result",
    "Script artifact proposal": "script_artifact_proposal",
    "Frozen-tool proposal": "frozen_tool_proposal",
    "Repair/fallback proposal": "repair_fallback_proposal",
    "Planning agent": "planning_agent",
    "Review agent": "review_agent",
    "Capability executor": "capability_executor",
    "Model-backed workflow node": "model_backed_workflow_node",
    "Agent generating scripts": "script_generating_agent",
    "Crystallization process": "crystallization_process",
    "AI fallback agent": "ai_fallback_agent",
    "Workflow runner": ("workflow_runner",),
    "Plan approval gate": ("plan_approval_gate",),
    "Workflow/frozen-tool caller": ("workflow", "frozen_tool_caller"),
    "Frozen-tool promotion gate": ("frozen_tool_promotion_gate",),
    "Promotion validator": ("promotion_validator",),
    "Failing deterministic step": ("failing_deterministic_step",),
    "Schema validation": ("schema",),
    "Declared output schema or typed failure": ("schema", "declared_output_schema"),
    "Schema + budget + fallback policy": ("schema", "budget", "fallback_policy"),
    "Purpose, inputs, command, side effects, validation": (
        "schema",
        "purpose",
        "inputs",
        "command",
        "side_effects",
        "validation",
    ),
    "Schema + provenance + evidence": ("schema", "provenance", "evidence"),
    "Schema + policy gate": ("schema", "policy"),
}


def table(text: str) -> list[list[str]]:
    """Return the rows of the taxonomy's table of output classes."""
    lines = text.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("Output class\t"))
    rows = [line.split("\t") for line in lines[begin + 1 : begin + 8]]
    assert all(len(row) == 4 for row in rows)
    return rows


def test_each_class_is_what_the_taxonomy_says_of_it_word_by_word(runtime, shared):
    """Class, producer, consumer and required gate, and no class beside the seven."""
    rows = table((shared / "source-documents/tooling-taxonomy.md").read_text(encoding="utf-8"))
    wanted = {SAID[row[0]]: tuple(SAID[word] for word in row[1:]) for row in rows}

    found = {
        each.id: (each.producer, each.consumers, tuple(gate.value for gate in each.gate))
        for each in runtime.agents.outputs.list()
    }

    assert found == wanted


@pytest.mark.parametrize("class_id", [SAID[name] for name in list(SAID)[:7]])
def test_each_of_the_seven_has_a_schema_of_use_and_a_version(runtime, class_id):
    """The schema is a JSON Schema of an object, closed, that an empty object does not fit."""
    found = runtime.agents.outputs.read(class_id)

    assert found.version == "1"
    assert found.schema["additionalProperties"] is False
    assert found.schema["required"]
    judged = runtime.agents.outputs.check(class_id, {})
    assert judged.failure.kind is holon.StructuredFailureKind.SCHEMA_MISMATCH


def test_a_class_of_the_host_is_closed_and_used(runtime, session):
    """It is registered once, and its schema counts."""
    made = runtime.agents.outputs.register(own())

    assert made.schema["additionalProperties"] is False
    assert session.accept_output("shop.number", {"n": 1}).output_id
    assert session.accept_output("shop.number", {"n": 1, "x": 2}).failure


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"id": "number"}, "/id"),
        ({"id": "planner_output"}, "/id"),
        ({"id": "Shop.Number"}, "/id"),
        ({"schema": {"type": "integer"}}, "/schema"),
        (
            {"schema": {"type": "object", "properties": {"a": {"$ref": "#/x"}}}},
            "/schema/properties/a/$ref",
        ),
        ({"consumers": ()}, "/consumers"),
        ({"consumers": "till"}, "/consumers"),
        ({"gate": ()}, "/gate"),
        ({"gate": (holon.OutputGate.SCHEMA, holon.OutputGate.BUDGET)}, "/gate"),
        ({"producer": ""}, "/producer"),
        ({"check": 1}, "/check"),
    ],
    ids=str,
)
def test_a_class_that_is_not_sound_is_rejected_with_the_place(runtime, changes, path):
    """All findings at once, and nothing registered."""
    before = runtime.agents.outputs.list()

    with pytest.raises(holon.Rejected) as caught:
        runtime.agents.outputs.register(own(**changes))

    assert path in [finding.path for finding in caught.value.findings]
    assert runtime.agents.outputs.list() == before


def test_a_class_is_not_replaced(runtime):
    """Another class of the same id is refused; the same once more is not."""
    runtime.agents.outputs.register(own())

    runtime.agents.outputs.register(own())
    with pytest.raises(holon.Rejected):
        runtime.agents.outputs.register(own(consumers=("till", "thief")))


@pytest.mark.parametrize(
    "answer", [[1], None, RuntimeError("no")], ids=["garbage", "none", "raises"]
)
def test_a_check_that_misbehaves_refuses(runtime, session, answer):
    """What a check says that is no finding is no yes."""

    def check(value: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    runtime.agents.outputs.register(own(check=check))

    assert session.accept_output("shop.number", {"n": 1}).failure.code == "lane_protocol"


def test_a_check_cannot_change_what_is_accepted(runtime, session):
    """It looks at a copy."""

    def check(value: Any) -> Any:
        value["n"] = 2
        return ()

    runtime.agents.outputs.register(own(check=check))

    assert session.accept_output("shop.number", {"n": 1}).value == {"n": 1}


def test_plugins_offer_classes_under_their_own_name():
    """What has another's name, or is none, is reported and left out."""

    class Shop:
        name = "acme-shop"

        @holon.hookimpl
        def holon_output_classes(self, host):
            yield own(id="acme-shop.number")
            yield own(id="other.number")
            yield "no class"

    with holon.Runtime.in_memory(plugins=[Shop()]) as runtime:
        assert [each.id for each in runtime.agents.outputs.list()][7:] == ["acme-shop.number"]
        problems = runtime.plugins.list()[0].problems

    assert len(problems) == 2


def test_an_unknown_class_is_refused_with_what_is_near(session):
    """A mistyped name is told."""
    with pytest.raises(holon.Refused) as caught:
        session.accept_output("planer_output", {})

    assert caught.value.failure.code == "unknown_output_class"
    assert "planner_output" in caught.value.failure.message


def test_checking_alone_keeps_and_records_nothing(runtime):
    """It judges, for whoever only wants to know."""
    judged = runtime.agents.outputs.check("planner_output", '{"goal": "g"}')

    assert judged.failure.details["path"] == ""
    assert runtime.evidence.list(workspace=None) == ()


def test_the_operations_list_and_validate(runtime, session):
    """Over every protocol an answer gets its id, or its failure."""
    plan = {"goal": "g", "steps": [{"id": "a", "summary": "s"}]}
    params = {"output_class": "planner_output", "answer": plan}

    listed = runtime.dispatch("structured-output/classes", {}, caller=session.caller)
    made = runtime.dispatch("structured-output/validate", params, caller=session.caller)

    assert len(listed["classes"]) == 7
    assert session.hand_output(made["output_id"], consumer="workflow_runner").value == plan


def test_the_operation_takes_the_declared_schema_from_the_catalogue(runtime, session):
    """A tool result is judged by what its tool declares, not by what the request says."""
    for output, good in (({"sum": 3}, True), ({"sum": "3"}, False)):
        params = {
            "output_class": "tool_result",
            "answer": {"status": "completed", "output": output},
            "tool": "host.app/add",
        }
        made = runtime.dispatch("structured-output/validate", params, caller=session.caller)
        assert (made["failure"] is None) is good


def test_an_output_of_another_version_of_its_class_is_not_handed_on(tmp_path):
    """Who takes it now expects what the class is now."""
    with holon.Runtime.open(tmp_path / "root", discover=False) as first:
        first.agents.outputs.register(own())
        made = first.session(principal="ann").accept_output("shop.number", {"n": 1})
    with holon.Runtime.open(tmp_path / "root", discover=False) as later:
        later.agents.outputs.register(own(version="2"))

        handed = later.session(principal="ann").hand_output(made.output_id, consumer="till")

    assert handed.failure.code == "definition_changed"
    assert handed.value is None


def test_an_output_that_was_changed_in_the_store_is_not_handed_on(runtime):
    """What is handed on is what was accepted."""
    runtime.agents.outputs.register(own())
    ann = runtime.session(principal="ann")
    made = ann.accept_output("shop.number", {"n": 1})
    changed = "cast(replace(cast(body as text), '\"n\":1', '\"n\":2') as blob)"
    runtime._guard.store.transact(lambda t: t._sql(f"update documents set body={changed}"))

    handed = ann.hand_output(made.output_id, consumer="till")

    assert handed.failure.code == "evidence_tampered"
    assert handed.value is None
