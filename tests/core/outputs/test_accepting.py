"""Accepting outputs: what passes each gate, what is refused with which path, who may have it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

import holon_core as holon
from support import label

K = holon.StructuredFailureKind

PLAN: dict[str, Any] = {"goal": "tidy", "steps": [{"id": "look", "summary": "list it"}]}
REVIEW: dict[str, Any] = {"verdict": "approve", "summary": "fine", "findings": []}
RESULT: dict[str, Any] = {"status": "completed", "output": {"sum": 3}}
STEP: dict[str, Any] = {
    "output": {"text": "hi"},
    "attempts": 2,
    "usage": {"input_tokens": 70, "output_tokens": 30, "duration_ms": 50, "cost_micros": 4},
    "fallback": {"policy": "human_gate", "used": False},
}
SCRIPT: dict[str, Any] = {
    "name": "count-lines",
    "purpose": "count the lines of a text",
    "inputs": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "outputs": {"type": "object", "required": ["lines"]},
    "command": ["python3", "main.py"],
    "files": {"main.py": "print(1)\n"},
    "side_effects": ["none"],
    "validation": [
        {
            "name": "one",
            "input": {"text": "a"},
            "expect": {"status": "completed", "output": {"lines": 1}},
        }
    ],
}
REPAIR: dict[str, Any] = {
    "step": "add",
    "failure": {"kind": "timeout", "code": "timeout"},
    "action": "call",
    "tool": "host.app/add",
    "arguments": {"a": 1, "b": 2},
    "reason": "try again with less",
}
ADDED = {"type": "object", "required": ["sum"]}
FACTS = holon.OutputFacts(
    declared_schema={"type": "object", "required": ["text"]},
    budget=holon.OutputBudget(
        max_tokens=100, max_attempts=2, max_duration_ms=50, max_cost_micros=4
    ),
    fallback_policy="human_gate",
)


ADDS = holon.OutputFacts(declared_schema=ADDED)
# A value of each class that passes, and what the runtime says of it.
GOOD: dict[str, tuple[dict[str, Any], holon.OutputFacts | None]] = {
    "planner_output": (PLAN, None),
    "reviewer_output": (REVIEW, None),
    "tool_result": (RESULT, ADDS),
    "ai_step_result": (STEP, FACTS),
    "script_artifact_proposal": (SCRIPT, None),
    "repair_fallback_proposal": (REPAIR, None),
}


def changed(value: dict[str, Any], path: str, new: Any) -> dict[str, Any]:
    """Return a copy with one place changed, or left out where the new value is `...`."""
    made = deepcopy(value)
    *way, last = path.strip("/").split("/")
    at: Any = made
    for part in way:
        at = at[int(part)] if isinstance(at, list) else at[part]
    key: Any = int(last) if isinstance(at, list) else last
    if new is ...:
        del at[key]
    else:
        at[key] = new
    return made


def frozen(session: holon.Session) -> dict[str, Any]:
    """Make a frozen-tool proposal that rests on a call that completed."""
    done = session.call("host.app/add", {"a": 1, "b": 2})
    chain, seq = done.evidence_refs[-1]
    evidence = [{"chain": chain, "seq": seq}]
    return {
        "name": "adder",
        "kind": "script-artifact",
        "purpose": "add",
        "input_schema": SCRIPT["inputs"],
        "output_schema": ADDED,
        "provenance": {"evidence": evidence},
        "validation_evidence": evidence,
        "policy": {"effects": ["none"], "approval": "none"},
        "fallback": {"policy": "manual_handoff"},
    }


@pytest.mark.parametrize(
    ("output_class", "consumer"),
    [
        ("planner_output", "workflow_runner"),
        ("reviewer_output", "plan_approval_gate"),
        ("tool_result", "frozen_tool_caller"),
        ("ai_step_result", "workflow_runner"),
        ("script_artifact_proposal", "frozen_tool_promotion_gate"),
        ("repair_fallback_proposal", "failing_deterministic_step"),
    ],
)
def test_what_passes_its_gate_is_kept_for_its_consumer(session, output_class, consumer):
    """An accepted output is there under its id, as it was given."""
    value, facts = GOOD[output_class]

    made = session.accept_output(output_class, value, facts=facts)

    assert made.failure is None
    assert session.hand_output(made.output_id, consumer=consumer).value == value


def test_a_frozen_tool_proposal_rests_on_evidence_that_is_there(session):
    """Provenance and validation evidence are records of the workspace."""
    made = session.accept_output("frozen_tool_proposal", frozen(session))

    assert made.failure is None


@pytest.mark.parametrize(
    ("path", "ref"),
    [
        ("/provenance/evidence/0/seq", 999),
        ("/provenance/evidence/0/chain", "_runtime"),
        ("/validation_evidence/0/seq", 1),
    ],
    ids=str,
)
def test_evidence_that_is_not_there_or_not_of_a_completed_call_refuses(session, path, ref):
    """A proposal can't point at records that nobody wrote, or at the beginning of a call."""
    made = session.accept_output("frozen_tool_proposal", changed(frozen(session), path, ref))

    assert made.failure.code == "schema_mismatch"
    assert path.startswith(made.failure.details["path"])


@pytest.mark.parametrize(
    ("output_class", "path", "new", "told"),
    [
        ("planner_output", "/goal", 1, "/goal"),
        ("planner_output", "/steps/0/depends_on", ["x"], "/steps/0/depends_on/0"),
        ("planner_output", "/steps/0/arguments", {}, "/steps/0/arguments"),
        ("planner_output", "/steps", [*PLAN["steps"], *PLAN["steps"]], "/steps/1/id"),
        ("reviewer_output", "/verdict", "maybe", "/verdict"),
        ("tool_result", "/output", {}, "/output"),
        ("tool_result", "/status", "failed", "/failure"),
        ("ai_step_result", "/output", {}, "/output"),
        ("ai_step_result", "/fallback/policy", "fail", "/fallback/policy"),
        ("script_artifact_proposal", "/purpose", " ", "/purpose"),
        ("script_artifact_proposal", "/inputs", {"type": "text"}, "/inputs"),
        ("script_artifact_proposal", "/command/0", "perl", "/command/0"),
        ("script_artifact_proposal", "/command/1", "x.py", "/command/1"),
        ("script_artifact_proposal", "/files", {"main.py": "", "../x": ""}, "/files"),
        ("script_artifact_proposal", "/side_effects", ["unknown"], "/side_effects"),
        ("script_artifact_proposal", "/side_effects", ["none", "process"], "/side_effects"),
        ("script_artifact_proposal", "/validation", [], "/validation"),
        ("script_artifact_proposal", "/validation/0/input", {}, "/validation/0/input"),
        (
            "script_artifact_proposal",
            "/validation/0/expect/output",
            {},
            "/validation/0/expect/output",
        ),
        ("repair_fallback_proposal", "/arguments", ..., "/tool"),
        ("repair_fallback_proposal", "/action", "retry", "/action"),
    ],
    ids=label,
)
def test_what_a_gate_refuses_says_where(session, output_class, path, new, told):
    """Each failure names the place in the answer."""
    value, facts = GOOD[output_class]

    made = session.accept_output(output_class, changed(value, path, new), facts=facts)

    assert (made.failure.code, made.failure.details["path"]) == ("schema_mismatch", told)
    assert made.output_id is None
    assert made.value is None


@pytest.mark.parametrize(
    ("limit", "most"),
    [("max_tokens", 99), ("max_attempts", 1), ("max_duration_ms", 49), ("max_cost_micros", 3)],
)
def test_each_limit_of_a_budget_holds(session, limit, most):
    """One more than allowed is too much."""
    facts = holon.OutputFacts(
        budget=holon.OutputBudget(**{limit: most}), fallback_policy="human_gate"
    )

    made = session.accept_output("ai_step_result", STEP, facts=facts)

    assert made.failure.kind is K.BUDGET_EXCEEDED
    assert made.failure.details["limit"] == limit


@pytest.mark.parametrize(
    ("output_class", "gate"),
    [("tool_result", "declared_output_schema"), ("ai_step_result", "budget")],
)
def test_a_gate_without_its_fact_is_not_passed(session, output_class, gate):
    """What the runtime does not say is not assumed."""
    made = session.accept_output(output_class, GOOD[output_class][0])

    assert (made.failure.code, made.failure.details["gate"]) == ("gate_unmet", gate)


def test_a_cost_that_is_not_told_passes_no_budget_of_costs(session):
    """Leaving the cost out is no way around its limit."""
    made = session.accept_output(
        "ai_step_result", changed(STEP, "/usage/cost_micros", ...), facts=FACTS
    )

    assert made.failure.code == "gate_unmet"


def test_a_typed_failure_needs_no_declared_schema(session):
    """A tool result is its output, or a failure of a known kind."""
    failed: dict[str, Any] = {
        "status": "failed",
        "failure": {"kind": "timeout", "code": "timeout", "message": "-"},
    }

    assert session.accept_output("tool_result", failed).failure is None
    failed["failure"]["kind"] = "bad luck"
    assert session.accept_output("tool_result", failed).failure.details["path"] == "/failure/kind"


def test_a_repair_that_policy_denies_is_refused(session):
    """A proposal is no way to a call that the step itself may not make."""
    proposal = {**REPAIR, "tool": "host.app/wipe", "arguments": {"what": "all"}}

    made = session.accept_output("repair_fallback_proposal", proposal)

    assert made.failure.kind is K.POLICY_DENIED
    assert made.status is holon.Status.BLOCKED


def test_a_repair_that_lacks_something_is_refused(session):
    """A gate that would block the call speaks before policy does."""
    proposal = {**REPAIR, "tool": "host.app/pay", "arguments": {"cents": 1}}

    made = session.accept_output("repair_fallback_proposal", proposal)

    assert (made.output_id, made.failure.code) == (None, "secret_unresolved")


def test_another_consumer_is_denied_and_recorded(runtime, session):
    """What was accepted for one is not handed to another."""
    made = session.accept_output("planner_output", PLAN)

    handed = session.hand_output(made.output_id, consumer="plan_approval_gate")

    assert handed.failure.kind is K.POLICY_DENIED
    assert handed.value is None
    record = next(iter(runtime.evidence.list(workspace=session.caller.workspace, newest=True)))
    assert record.body["source"] == "holon-structured-output"
    assert record.body["outcome"] == "refused"


def test_an_output_for_a_consumer_that_is_not_of_the_class_is_not_accepted(session):
    """The consumer can be named at once, and is checked then."""
    made = session.accept_output("planner_output", PLAN, consumer="plan_approval_gate")

    assert made.failure.kind is K.POLICY_DENIED


def test_outputs_stay_in_their_workspace(runtime, session, tmp_path):
    """Another workspace, or none, does not have them; nor does it learn that they are there."""
    made = session.accept_output("planner_output", PLAN)
    other = tmp_path / "other"
    other.mkdir()

    for stranger in (
        runtime.session(principal="ann", workspace=other),
        runtime.session(principal="ann"),
    ):
        handed = stranger.hand_output(made.output_id, consumer="workflow_runner")
        assert handed.failure.code == "unknown_output"
        assert handed.value is None


def test_outputs_outside_of_workspaces_are_their_principals(runtime):
    """Without a workspace an output is handed to whom it was accepted for alone."""
    made = runtime.session(principal="ann").accept_output("planner_output", PLAN)

    other = runtime.session(principal="eve").hand_output(made.output_id, consumer="workflow_runner")

    assert other.failure.code == "unknown_output"


def test_acceptance_and_refusal_are_in_evidence(runtime, session):
    """Both leave one record with the class, the gate and the outcome."""
    good = session.accept_output("planner_output", PLAN)
    bad = session.accept_output("planner_output", "{}")

    first, second = runtime.evidence.list(workspace=session.caller.workspace)

    assert [first.seq, second.seq] == [made.evidence_refs[0].seq for made in (good, bad)]
    assert first.body["output"]["digest"] == good.digest
    assert first.body["output"]["gate"] == ["schema"]
    assert (first.body["outcome"], second.body["outcome"]) == ("accepted", "refused")
    assert second.body["failure"]["code"] == "schema_mismatch"


def test_an_output_survives_the_runtime(runtime, session, place, tmp_path):
    """It is in the store, for whoever opens it next."""
    made = session.accept_output("planner_output", PLAN)
    runtime.close()

    with holon.Runtime.open(tmp_path / "root", discover=False) as again:
        later = again.session(principal="bo", workspace=place)
        assert later.hand_output(made.output_id, consumer="workflow_runner").value == PLAN
