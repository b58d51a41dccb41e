"""Kinds of nodes: bodies, gates, timers, AI steps, plans, repairs, bridges."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon
from flows import call, definition, line, node


def body(*nodes: Any, **more: Any) -> dict[str, Any]:
    """Make the body of a node."""
    return {"nodes": list(nodes), "edges": line(*(each["id"] for each in nodes)), **more}


def test_a_map_runs_its_body_for_each_item(flows: Any, ann: Any, shop: Any) -> None:
    """Outputs come in the order of the items, whatever ran first."""
    inner = body(call("d", n={"from": "inputs.item"}), outputs={"n": "steps.d.output.result"})
    flows.create(
        definition(
            node("m", "map", {"over": "inputs.list", "body": inner, "max_parallel": 3}),
            inputs={"type": "object", "properties": {"list": {"type": "array"}}},
            outputs={"all": "steps.m.output.items[].n"},
        ),
        by="olga",
    )

    run = flows.run("demo", {"list": [1, 2, 3, 4, 5]}, session=ann)

    assert run.outputs == {"all": [2, 4, 6, 8, 10]}
    assert sorted(shop.seen) == [1, 2, 3, 4, 5]


def test_a_failed_item_fails_its_map_and_names_the_run(flows: Any, ann: Any, shop: Any) -> None:
    """By default one item that fails ends the map."""
    shop.failures = 1
    inner = body(call("d", "shaky"))
    config = {"over": "[`1`,`2`]", "body": inner, "max_parallel": 1}
    flows.create(definition(node("m", "map", config)), by="olga")

    run = flows.run("demo", session=ann)

    assert run.state == "failed"
    assert run.failure["code"] == "tool_raised"
    assert ":m.0" in run.failure["details"]["run"]


def test_a_sub_workflow_is_bound_to_the_version_of_the_start(flows: Any, ann: Any) -> None:
    """A newer version of what is used changes nothing in a run that has begun."""
    inner = definition(call("d", n={"value": 1}), outputs={"n": "steps.d.output.result"}, id="in")
    flows.create(inner, by="olga")
    sub = node("s", "sub-workflow", {"workflow": "in"})
    flows.create(definition(sub, outputs={"n": "steps.s.output.n"}), by="olga")
    run = flows.start("demo", session=ann)
    newer = definition(
        call("d", n={"value": 50}), outputs={"n": "steps.d.output.result"}, id="in", version="2"
    )
    flows.create(newer, by="olga")

    run = flows.ready_run(run.id)

    assert run.outputs == {"n": 2}


def test_a_timer_fires_once_its_time_has_come(flows: Any, ann: Any, clock: Any) -> None:
    """It waits for its time, which was settled when it began, and then goes on once."""
    flows.create(definition(node("t", "wait-timer", {"after_s": 60}), call("a")), by="olga")
    run = flows.start("demo", session=ann)
    assert flows.ready_run(run.id).due_at == clock.at + 60
    clock.at += 59
    assert flows.ready_run(run.id).state == "waiting"
    clock.at -= 1000
    assert flows.ready_run(run.id).state == "waiting"

    clock.at += 1001
    run = flows.ready_run(run.id)

    assert run.state == "completed"
    kinds = [each["kind"] for each in flows.events(run.id) if each["step"] == "t"]
    assert kinds.count("step_completed") == 1


def test_a_gate_takes_what_its_form_asks_for(flows: Any, ann: Any) -> None:
    """A form is a JSON Schema, and an answer that breaks it is refused with its path."""
    form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    gate = node("g", "human-gate", {"question": "How many?", "form": form, "assignee": "boss"})
    flows.create(definition(gate, outputs={"n": "steps.g.output.values.n"}), by="olga")
    run = flows.run("demo", session=ann)
    gate_id = run.waits_for[0]["gate"]

    with pytest.raises(holon.Refused) as wrong:
        flows.answer(gate_id, by="boss", values={"n": "many"})
    with pytest.raises(holon.Refused) as other:
        flows.answer(gate_id, by="somebody", values={"n": 1})
    flows.answer(gate_id, by="boss", values={"n": 7})

    assert wrong.value.failure.details["path"] == "/values/n"
    assert other.value.failure.code == "not_allowed"
    assert flows.ready_run(run.id).outputs == {"n": 7}


def test_who_started_a_run_does_not_answer_for_it(flows: Any, ann: Any) -> None:
    """A gate without an assignee is somebody else's to answer."""
    gate = node("g", "human-gate", {"question": "Go?"})
    flows.create(definition(gate), by="olga")
    run = flows.run("demo", session=ann)

    with pytest.raises(holon.Refused) as refused:
        flows.answer(run.waits_for[0]["gate"], by="ann")

    assert refused.value.failure.code == "self_approval"


@pytest.mark.parametrize(
    ("then", "state"), [("fail", "failed"), ({"choose": "no"}, "completed")], ids=["fail", "choose"]
)
def test_a_gate_that_nobody_answers_expires(
    flows: Any, ann: Any, clock: Any, then: Any, state: str
) -> None:
    """What then is part of the definition; a late answer is refused."""
    config = {"question": "Go?", "choices": ["yes", "no"], "expires_after_s": 60, "on_expiry": then}
    flows.create(definition(node("g", "human-gate", config)), by="olga")
    run = flows.run("demo", session=ann, timeout_s=0)
    gate_id = f"{run.id}/g/1"
    clock.at += 60

    with pytest.raises(holon.Refused):
        flows.answer(gate_id, by="boss", choice="yes")
    run = flows.ready_run(run.id)

    assert run.state == state
    assert flows.gates.read(gate_id)["state"] == "expired"


def test_a_live_step_gives_the_answer_that_fits(
    flows: Any, ann: Any, model: Any, rt: holon.Runtime
) -> None:
    """The answer passes its schema, and its key is in no record."""
    model.answers = ['{"title": "Two"}']
    config = model.config(output_schema={"type": "object", "required": ["title"]})
    given = {"text": {"value": "sk-loopback-0123456789abcdef"}}
    flows.create(definition(node("a", "ai-step", config, inputs=given)), by="olga")

    run = flows.run("demo", session=ann)

    assert run.state == "completed"
    assert run.step("a").output == {"title": "Two"}
    assert model.keys == ["Bearer sk-loopback-0123456789abcdef"]
    records = [each for each in rt.evidence.read(run.id) if each.kind == "workflow_ai"]
    assert len(records) == 1
    assert "sk-loopback" not in repr(records)


@pytest.mark.parametrize(
    ("fallback", "state"),
    [
        ("fail", "failed"),
        ({"answer": {"title": "None"}}, "completed"),
        ({"ask": "Title?"}, "waiting"),
    ],
    ids=["fail", "answer", "ask"],
)
def test_a_service_that_fails_leads_to_the_fallback(
    flows: Any, ann: Any, model: Any, fallback: Any, state: str
) -> None:
    """Fail, a fixed answer, or a person, as the definition says."""
    model.answers = [500, 500, 500]
    config = model.config(output_schema={"type": "object"}, fallback=fallback)
    flows.create(definition(node("a", "ai-step", config)), by="olga")

    run = flows.run("demo", session=ann)

    assert run.state == state
    assert len(model.asked) == 1
    if state == "waiting":
        flows.answer(run.waits_for[0]["gate"], by="boss", values={"answer": {"title": "Mine"}})
        assert flows.ready_run(run.id).step("a").output == {"title": "Mine"}


def test_a_step_that_used_more_tokens_than_its_budget_fails(
    flows: Any, ann: Any, model: Any
) -> None:
    """A budget counts what the service says was used."""
    model.answers, model.tokens = ["{}"], (900, 200)
    config = model.config(output_schema={"type": "object"}, budget={"max_tokens": 1000})
    flows.create(definition(node("a", "ai-step", config)), by="olga")

    run = flows.run("demo", session=ann)

    assert run.failure["code"] == "budget_exceeded"


def test_a_recorded_answer_is_found_by_the_digest_of_the_inputs(flows: Any, ann: Any) -> None:
    """The same inputs give the same answer; others none."""
    from holon_workflows.kinds.ai import input_digest

    recorded = {input_digest({"n": 1}): {"said": "one"}}
    config = {"mode": "deterministic", "recorded": recorded, "output_schema": {"type": "object"}}
    step = node("a", "ai-step", config, inputs={"n": {"from": "inputs.n"}})
    inputs = {"type": "object", "properties": {"n": {"type": "integer"}}}
    flows.create(definition(step, inputs=inputs), by="olga")

    assert flows.run("demo", {"n": 1}, session=ann).step("a").output == {"said": "one"}
    assert flows.run("demo", {"n": 2}, session=ann).failure["code"] == "ai_no_answer"


def repair(action: str, **more: Any) -> dict[str, Any]:
    """Make the repair of a step `a`, by a fixed proposal."""
    proposal = {
        "step": "a",
        "failure": {"kind": "tool_failed", "code": "tool_raised"},
        "action": action,
        "reason": "it may work",
        **more,
    }
    return {"ai": {"mode": "deterministic", "answer": proposal}}


def test_a_proposed_call_needs_its_own_approval(
    flows: Any, ann: Any, rt: holon.Runtime, shop: Any
) -> None:
    """A proposal that changes tool or effects is a new guarded call."""
    shop.failures = 1
    proposal = repair("call", tool="host.app/send", arguments={"n": 5})
    flows.create(definition(call("a", "shaky", repair=proposal)), by="olga")

    run = flows.run("demo", session=ann)
    assert run.state == "waiting"
    assert rt.approvals.held_call(run.waits_for[0]["call"]).arguments == {"n": 5}
    rt.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ok")
    run = flows.ready_run(run.id)

    assert run.step("a").output == {"result": "sent 5"}
    assert shop.sent == [5]


@pytest.mark.parametrize(
    ("proposal", "state"),
    [
        (repair("answer", output={"result": 3}), "completed"),
        (repair("answer", output={"result": "three"}), "failed"),
        (repair("retry"), "completed"),
        (repair("fail"), "failed"),
    ],
    ids=["answer", "answer-of-other-type", "retry", "fail"],
)
def test_a_proposal_is_held_against_schema_and_gate(
    flows: Any, ann: Any, shop: Any, proposal: dict[str, Any], state: str
) -> None:
    """Only what fits the step's own output schema takes the place of its output."""
    shop.failures = 1
    flows.create(definition(call("a", "shaky", repair=proposal)), by="olga")

    assert flows.run("demo", session=ann).state == state


PLAN = {
    "goal": "Send a number",
    "steps": [
        {"id": "look", "summary": "Double", "tool": "host.app/double", "arguments": {"n": 2}},
        {"id": "ask", "summary": "Ask", "question": "Sure?"},
    ],
}


def test_a_plan_that_passed_its_gate_becomes_a_definition(flows: Any, ann: Any) -> None:
    """Tools become calls, questions become gates; the definition keeps the plan's digest."""
    accepted = ann.accept_output("planner_output", PLAN).raise_for_failure()

    made, findings = flows.from_plan(accepted.output_id, "planned", session=ann)

    assert [each for each in findings if each.severity == "error"] == []
    assert made["plan_digest"] == accepted.digest
    assert [each["kind"] for each in made["nodes"]] == ["capability", "human-gate"]
    flows.create(made, by="olga")
    assert flows.run("planned", session=ann).state == "waiting"


def test_a_step_that_only_instructs_has_no_place_without_an_ai_step(flows: Any, ann: Any) -> None:
    """What would be lost is an error finding with its path."""
    plan = {"goal": "Write", "steps": [{"id": "w", "summary": "Write", "instruction": "Write it"}]}
    accepted = ann.accept_output("planner_output", plan).raise_for_failure()

    _, findings = flows.from_plan(accepted.output_id, "planned", session=ann)

    assert ("workflow_unmapped", "/steps/0") in {(each.code, each.path) for each in findings}


@pytest.mark.parametrize(
    ("verdict", "choice", "state"),
    [
        ("approve", "release", "completed"),
        ("approve", "refuse", "failed"),
        ("reject", None, "failed"),
    ],
    ids=["released", "refused", "rejected-by-review"],
)
def test_a_named_person_releases_the_run_of_a_reviewed_plan(
    flows: Any, ann: Any, verdict: str, choice: str | None, state: str
) -> None:
    """The review is of exactly this plan, and shown with it."""
    plan = ann.accept_output("planner_output", PLAN).raise_for_failure()
    said = {"verdict": verdict, "summary": "fine", "findings": [], "plan_digest": plan.digest}
    review = ann.accept_output("reviewer_output", said).raise_for_failure()
    inputs = {"plan": {"value": plan.output_id}, "review": {"value": review.output_id}}
    gate = node("p", "plan-approval", {"assignee": "boss"}, inputs=inputs)
    flows.create(definition(gate, call("a"), plan_digest=plan.digest), by="olga")

    run = flows.run("demo", session=ann)
    if choice is not None:
        shown = flows.gates.read(run.waits_for[0]["gate"])["shown"]
        assert shown["plan"]["goal"] == "Send a number"
        flows.answer(run.waits_for[0]["gate"], by="boss", choice=choice)
        run = flows.ready_run(run.id)

    assert run.state == state


def test_a_review_of_another_plan_releases_nothing(flows: Any, ann: Any) -> None:
    """The digests of plan, review and definition have to be one."""
    plan = ann.accept_output("planner_output", PLAN).raise_for_failure()
    said = {"verdict": "approve", "summary": "fine", "findings": [], "plan_digest": "0" * 64}
    review = ann.accept_output("reviewer_output", said).raise_for_failure()
    inputs = {"plan": {"value": plan.output_id}, "review": {"value": review.output_id}}
    flows.create(
        definition(node("p", "plan-approval", {"assignee": "boss"}, inputs=inputs)), by="olga"
    )

    assert flows.run("demo", session=ann).failure["code"] == "approval_mismatch"
