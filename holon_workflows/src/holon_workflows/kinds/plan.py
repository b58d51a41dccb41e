"""`plan-approval`: a named person releases the run of a plan that a review approved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure
from holon_core.records.words import Status
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.definition.form import MAX_SECONDS
from holon_workflows.gates import ANSWERED, CLOSED, EXPIRED
from holon_workflows.kinds.gate import ask, gate_id, gate_of
from holon_workflows.records import NodeKind, Outcome, completed, failed, waiting

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step
    from holon_workflows.gates import Gates

RELEASE, REFUSE = "release", "refuse"
CONFIG = {
    "type": "object",
    "properties": {
        "assignee": {"type": "string", "minLength": 1, "maxLength": 200},
        "question": {"type": "string", "minLength": 1, "maxLength": 4000},
        "expires_after_s": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS},
    },
    "required": ["assignee"],
    "additionalProperties": False,
}
TAKES = {
    "type": "object",
    "properties": {"plan": {"type": "string"}, "review": {"type": "string"}},
    "required": ["plan", "review"],
    "additionalProperties": False,
}


def plan_kind(gates: Gates) -> NodeKind:
    """Make the kind, on the gates of one runtime."""

    def run(step: Step) -> Outcome:
        found = _read(step)
        if isinstance(found, Outcome):
            return found
        plan, digest, review = found
        config: dict[str, Any] = {"question": f"Release the run of this plan: {plan['goal'][:500]}"}
        config = {**config, **step.node.config, "choices": [RELEASE, REFUSE]}
        gate = gate_of(step, config, plan_digest=digest)
        gate["shown"] = {"plan": plan, "plan_digest": digest, "review": review}
        gate = ask(step, gates, gate)
        if gate.get("plan_digest") != digest:
            text = "the gate was opened for another plan"
            return failed(failure("approval_mismatch", text))
        if gate["state"] == EXPIRED:
            return failed(failure("gate_expired", f"nobody answered {gate['id']} in time"))
        if gate["state"] == CLOSED:
            return failed(failure("cancelled", "the gate was closed"))
        if gate["state"] != ANSWERED:
            text = f"asks {gate['assignee']} to release the plan"
            wait = {"for": "person", "gate": gate["id"]}
            return waiting(wait, due_at=gate["expires_at"], note=text)
        answer = gate["answer"]
        if answer["choice"] != RELEASE:
            text = f"{answer['by']} refused the plan: {answer['reason']}"
            return failed(failure("gate_rejected", text))
        output = {"plan_digest": digest, "by": answer["by"], "at": answer["at"]}
        return completed(output, note=f"released by {answer['by']}")

    def closes(step: Step) -> None:
        gates.end(gate_id(step), CLOSED)

    return NodeKind(
        kind="plan-approval",
        description="Waits for a named person to release a plan that a review approved.",
        config=CONFIG,
        run=run,
        check=_check,
        preview=lambda step: {"would ask": step.node.config["assignee"], "shown": step.inputs},
        input_schema=lambda _node, _about: TAKES,
        output_schema=lambda _node, _about: {
            "type": "object",
            "properties": {
                "plan_digest": {"type": "string"},
                "by": {"type": "string"},
                "at": {"type": "number"},
            },
            "additionalProperties": False,
        },
        repeatable=True,
        closes=closes,
    )


def _read(step: Step) -> Outcome | tuple[Any, str, Any]:
    """Take plan and review, which both passed their gates, and hold them against one another."""
    session = step.session()
    plan = session.hand_output(step.inputs["plan"], consumer="workflow_runner")
    review = session.hand_output(step.inputs["review"], consumer="plan_approval_gate")
    for each in (plan, review):
        if each.status is not Status.COMPLETED:
            assert each.failure is not None, "what was not handed over says why"
            return failed(each.failure)
    bound = step.place.definition.document.get("plan_digest")
    reviewed = review.value.get("plan_digest")
    if reviewed != plan.digest or bound not in (None, plan.digest):
        text = "the review, the plan and the definition are not of one plan"
        details = {"plan": plan.digest, "reviewed": reviewed, "definition": bound}
        return failed(failure("approval_mismatch", text, **details))
    if review.value["verdict"] != "approve":
        text = f"the review says {review.value['verdict']}: {review.value['summary'][:500]}"
        return failed(failure("gate_rejected", text))
    return plan.value, str(plan.digest), review.value


def _check(node: Node, _about: Checking) -> Iterable[Finding]:
    for name in ("plan", "review"):
        if name not in node.inputs:
            text = f"the id of an accepted output is needed: {name}"
            yield wrong("workflow_input", text, "/inputs")
