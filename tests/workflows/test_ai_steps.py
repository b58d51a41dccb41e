"""Live AI steps: gates, budgets, fallbacks, bounded repair; over a service on loopback."""

from __future__ import annotations

import json
from typing import Any

import pytest

import holon_core as holon
from flows import call, definition, node

TITLE = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
PLAN = {"goal": "Double", "steps": [{"id": "a", "summary": "Double", "tool": "host.app/double"}]}


def asked(flows: Any, ann: Any, config: dict[str, Any], **more: Any) -> Any:
    """Run one AI step."""
    flows.create(definition(node("a", "ai-step", config, **more)), by="olga")
    return flows.run("demo", session=ann)


def test_an_answer_passes_its_class_and_its_schema(flows: Any, ann: Any, model: Any) -> None:
    """The class is asked first; the schema narrows what it gives."""
    model.answers = [json.dumps(PLAN)]
    goal = {"type": "object", "properties": {"goal": {"const": "Double"}}}
    config = model.config(output_class="planner_output", output_schema=goal)

    run = asked(flows, ann, config)

    assert (run.state, run.step("a").output["goal"]) == ("completed", "Double")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (json.dumps({**PLAN, "steps": []}), "schema_mismatch"),
        (json.dumps({**PLAN, "goal": "Other"}), "output_schema"),
        ("I would double it.", "extraction_failure"),
    ],
    ids=["class", "schema", "no-json"],
)
def test_an_answer_that_breaks_either_is_seen_by_nobody(
    flows: Any, ann: Any, model: Any, answer: str, code: str
) -> None:
    """What was refused is the failure, and the step has no output."""
    model.answers = [answer]
    goal = {"type": "object", "properties": {"goal": {"const": "Double"}}}

    run = asked(flows, ann, model.config(output_class="planner_output", output_schema=goal))

    assert run.state == "failed"
    assert run.failure["code"] == code
    assert run.step("a").output is None


def test_a_wrong_answer_is_corrected_within_its_attempts(flows: Any, ann: Any, model: Any) -> None:
    """Each further request holds the answer before and why it was refused; the third fits."""
    model.answers = ["no", '{"title": 1}', '{"title": "Three"}']

    run = asked(flows, ann, model.config(output_schema=TITLE, budget={"max_attempts": 3}))

    assert run.step("a").output == {"title": "Three"}
    second, third = (request["input"] for request in model.asked[1:])
    assert second[-2]["content"] == "no"
    assert "not accepted" in second[-1]["content"]
    assert third[-2]["content"] == '{"title": 1}'
    assert "/title" in third[-1]["content"] or "string" in third[-1]["content"]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_attempts_are_bounded(flows: Any, ann: Any, model: Any, most: int) -> None:
    """No request is made beyond them, and the last reason is the failure."""
    model.answers = ["no"] * 9

    run = asked(flows, ann, model.config(output_schema=TITLE, budget={"max_attempts": most}))

    assert (run.state, run.failure["code"]) == ("failed", "extraction_failure")
    assert len(model.asked) == most


def test_more_attempts_than_three_are_refused(flows: Any, model: Any) -> None:
    """A definition cannot ask for an unbounded loop."""
    config = model.config(output_schema=TITLE, budget={"max_attempts": 4})

    findings = flows.validate(definition(node("a", "ai-step", config)))

    assert any(each.path.startswith("/nodes/0/config") for each in findings)


@pytest.mark.parametrize(
    "limit",
    [
        ("max_tokens", 1000, "tokens"),
        ("max_cost_micros", 2000, "cost"),
        ("max_duration_ms", 150, "time"),
    ],
    ids=lambda each: each[2],
)
def test_a_budget_that_is_used_up_ends_the_step(
    flows: Any, ann: Any, model: Any, clock: Any, limit: tuple[str, int, str]
) -> None:
    """Tokens and cost are what the service says was used; time is measured here."""
    model.answers, model.tokens = ['{"title": "Dear"}'] * 2, (900, 200)
    model.answering = lambda: setattr(clock, "at", clock.at + 0.2)
    price = {"input_micros_per_token": 2, "output_micros_per_token": 3}
    config = model.config(output_schema=TITLE, price=price)
    config["budget"] = {"max_attempts": 2, limit[0]: limit[1]}

    run = asked(flows, ann, config)

    assert (run.state, run.failure["code"]) == ("failed", "budget_exceeded")
    assert limit[2] in run.failure["message"]
    assert run.failure["details"]["cost_micros"] == 900 * 2 + 200 * 3
    assert run.step("a").output is None
    assert len(model.asked) == 1


def test_a_service_that_is_silent_is_left_in_time(flows: Any, ann: Any, model: Any) -> None:
    """The request itself ends by the step's time, whatever the service does."""
    import threading
    import time

    over = threading.Event()
    model.answering = lambda: over.wait(20)
    config = model.config(output_schema=TITLE, budget={"max_duration_ms": 200})
    begun = time.monotonic()
    run = asked(flows, ann, config)
    took = time.monotonic() - begun
    over.set()

    assert (run.state, run.failure["code"]) == ("failed", "timeout")
    assert took < 15


@pytest.mark.parametrize(
    ("fallback", "becomes"),
    [
        ("fail", ("failed", None)),
        ({"answer": {"title": "None"}}, ("completed", {"title": "None"})),
        ({"answer": {"title": 7}}, ("failed", None)),
        ({"ask": "Title?", "assignee": "boss"}, ("waiting", None)),
    ],
    ids=["fail", "answer", "answer-that-breaks-the-schema", "ask"],
)
def test_a_used_up_budget_leads_to_the_fallback(
    flows: Any, ann: Any, model: Any, fallback: Any, becomes: tuple[str, Any]
) -> None:
    """Every failure of the model has the policy of the definition, and no way around the gate."""
    model.answers, model.tokens = ['{"title": "Dear"}'], (900, 200)
    config = model.config(output_schema=TITLE, budget={"max_tokens": 10}, fallback=fallback)

    run = asked(flows, ann, config)

    assert (run.state, run.step("a").output) == becomes
    if run.state == "waiting":
        gate = run.waits_for[0]["gate"]
        with pytest.raises(holon.Refused):
            flows.answer(gate, by="boss", values={"answer": {"title": 3}})
        flows.answer(gate, by="boss", values={"answer": {"title": "Mine"}})
        assert flows.ready_run(run.id).step("a").output == {"title": "Mine"}


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"api_key": "env:NO_SUCH_KEY"}, "secret_unresolved"),
        ({"base_url": "http://127.0.0.1:9"}, "ai_failed"),
    ],
    ids=["no-key", "no-service"],
)
def test_what_the_model_needs_is_missing(
    flows: Any, ann: Any, model: Any, config: dict[str, str], code: str
) -> None:
    """A typed failure says which."""
    run = asked(flows, ann, model.config(output_schema=TITLE, **config))

    assert (run.state, run.failure["code"]) == ("failed", code)
    assert model.asked == []


def test_prompts_and_answers_are_in_evidence_redacted_and_bounded(
    flows: Any, ann: Any, model: Any, rt: holon.Runtime
) -> None:
    """Each request has its record; the key is in none, and long texts are cut."""
    secret = "sk-loopback-0123456789abcdef"
    model.answers = ["x" * 50_000 + secret, json.dumps({"title": secret})]
    given = {"text": {"value": "y" * 50_000 + secret}}

    asked(flows, ann, model.config(output_schema=TITLE, budget={"max_attempts": 2}), inputs=given)

    run = flows.list()[0]
    records = [each for each in rt.evidence.read(run.id) if each.kind == "workflow_ai"]
    assert [each.body["attempt"] for each in records] == [1, 2]
    assert secret not in repr(records)
    assert all(len(repr(each)) < 60_000 for each in records)
    assert secret not in repr(flows.read(run.id))


def picky(sent: list[int]) -> Any:
    """Make a tool with side effects that takes ten and more."""

    @holon.tool(effects={"network_write"}, name="picky")
    def picky(n: int) -> str:
        """Send a number, if it is large enough."""
        if n < 10:
            raise ValueError("too small")
        sent.append(n)
        return f"sent {n}"

    return picky


def proposed(action: str, **more: Any) -> str:
    """Write a proposal about a failure of step `a`."""
    problem = {"kind": "tool_failed", "code": "tool_raised"}
    made = {"step": "a", "failure": problem, "action": action, "reason": "large enough", **more}
    return json.dumps(made)


def test_changed_arguments_are_a_new_call_with_an_approval_of_their_own(
    flows: Any, ann: Any, rt: holon.Runtime, model: Any
) -> None:
    """The failure goes to the model; what it proposes is held anew, for exactly its arguments."""
    sent: list[int] = []
    rt.register(picky(sent))
    model.answers = [proposed("call", tool="host.app/picky", arguments={"n": 12})]
    repair = {"ai": model.config(), "max_attempts": 1}
    flows.create(definition(call("a", "picky", repair=repair)), by="olga")

    first = flows.run("demo", session=ann)
    held = first.waits_for[0]["call"]
    rt.approvals.approve(held, by="boss", reason="ok")
    second = flows.ready_run(first.id)

    told = model.asked[0]["input"][0]["content"]
    assert '"arguments": {"n": 1}' in told
    assert "too small" in told
    again = second.waits_for[0]["call"]
    assert again != held
    assert rt.approvals.held_call(again).arguments == {"n": 12}
    assert sent == []
    assert flows.ready_run(first.id).state == "waiting"
    rt.approvals.approve(again, by="boss", reason="this one, too")
    done = flows.ready_run(first.id)

    assert (done.state, done.step("a").output) == ("completed", {"result": "sent 12"})
    assert sent == [12]
    assert len(model.asked) == 1


def test_a_denied_proposal_fails_the_step(
    flows: Any, ann: Any, rt: holon.Runtime, model: Any
) -> None:
    """Nothing of it runs, and no further proposal is asked for."""
    sent: list[int] = []
    rt.register(picky(sent))
    model.answers = [proposed("call", tool="host.app/picky", arguments={"n": 12})]
    repair = {"ai": model.config(), "max_attempts": 1}
    flows.create(definition(call("a", "picky", repair=repair)), by="olga")
    run = flows.run("demo", session=ann)
    rt.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ok")
    run = flows.ready_run(run.id)

    rt.approvals.deny(run.waits_for[0]["call"], by="boss", reason="no")
    run = flows.ready_run(run.id)

    assert (run.state, run.failure["code"]) == ("failed", "approval_denied")
    assert (sent, len(model.asked)) == ([], 1)


def test_proposals_are_bounded(flows: Any, ann: Any, model: Any, shop: Any) -> None:
    """Each that fails as well leads to the next, up to the definition's limit."""
    shop.failures = 9
    model.answers = [proposed("call", tool="host.app/shaky", arguments={"n": 5})] * 9
    repair = {"ai": model.config(), "max_attempts": 2}
    flows.create(definition(call("a", "shaky", repair=repair)), by="olga")

    run = flows.run("demo", session=ann)

    assert (run.state, run.failure["code"]) == ("failed", "tool_raised")
    assert len(model.asked) == 2
    assert shop.failures == 9 - 3


@pytest.mark.parametrize(
    "answer",
    [
        "try again",
        proposed("call", tool="host.app/no_such", arguments={}),
        proposed("call", tool="host.app/double", arguments={"n": "many"}),
        proposed("call", tool="host.app/double", arguments={"n": 1}).replace('"a"', '"b"'),
    ],
    ids=["no-proposal", "unknown-tool", "wrong-arguments", "of-another-step"],
)
def test_a_proposal_that_passes_no_gate_runs_nothing(
    flows: Any, ann: Any, model: Any, shop: Any, answer: str
) -> None:
    """The schema of the class, the catalogue and strict arguments decide, not the model."""
    shop.failures = 1
    model.answers = [answer]
    repair = {"ai": model.config(), "max_attempts": 1}
    flows.create(definition(call("a", "shaky", repair=repair)), by="olga")

    run = flows.run("demo", session=ann)

    assert run.state in ("failed", "blocked")
    assert shop.seen == []
    assert run.step("a").output is None
