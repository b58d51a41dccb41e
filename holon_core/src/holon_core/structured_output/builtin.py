"""The seven classes of the core, as the taxonomy of tools names them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holon_core.records.finding import Finding
from holon_core.records.output import OutputClass, OutputGate
from holon_core.structured_output import schemas

G = OutputGate


def _plan(value: dict[str, Any]) -> Iterator[Finding]:
    """A step is named once, depends on steps before it, and is of one kind."""
    before: set[str] = set()
    for at, step in enumerate(value["steps"]):
        path = f"/steps/{at}"
        if step["id"] in before:
            yield _wrong(f"{path}/id", f"a step {step['id']} was there before")
        for n, needed in enumerate(step.get("depends_on", ())):
            if needed not in before:
                yield _wrong(f"{path}/depends_on/{n}", f"no step {needed} comes before this one")
        kinds = [word for word in ("tool", "instruction", "question") if word in step]
        if len(kinds) > 1:
            yield _wrong(path, f"a step has one of {', '.join(kinds)}")
        if "arguments" in step and "tool" not in step:
            yield _wrong(f"{path}/arguments", "arguments need a tool")
        before.add(step["id"])


def _tool_result(value: dict[str, Any]) -> Iterator[Finding]:
    done = value["status"] == "completed"
    if done == ("failure" in value):
        yield _wrong("/failure", "there is a failure where it did not complete, and only there")
    if done and "output" not in value:
        yield _wrong("/output", "a completed result has an output")


def _repair(value: dict[str, Any]) -> Iterator[Finding]:
    action = value["action"]
    if action == "call" and not ("tool" in value and "arguments" in value):
        yield _wrong("/tool", "to call needs tool and arguments")
    if action != "call" and ("tool" in value or "arguments" in value):
        yield _wrong("/action", "tool and arguments belong to the action call")
    if (action == "answer") != ("output" in value):
        yield _wrong("/output", "an output belongs to the action answer, which needs one")


def _wrong(path: str, message: str) -> Finding:
    return Finding(code="schema_mismatch", message=message, path=path)


CLASSES = (
    OutputClass(
        id="planner_output",
        description="A plan: its goal and the steps that lead to it, in an order that works.",
        schema=schemas.PLANNER_OUTPUT,
        producer="planning_agent",
        consumers=("workflow_runner",),
        check=_plan,
    ),
    OutputClass(
        id="reviewer_output",
        description="A verdict on a plan, with what was found.",
        schema=schemas.REVIEWER_OUTPUT,
        producer="review_agent",
        consumers=("plan_approval_gate",),
    ),
    OutputClass(
        id="tool_result",
        description="What a capability gave: its output, or a typed failure.",
        schema=schemas.TOOL_RESULT,
        producer="capability_executor",
        consumers=("workflow", "frozen_tool_caller"),
        gate=(G.SCHEMA, G.DECLARED_OUTPUT_SCHEMA),
        check=_tool_result,
    ),
    OutputClass(
        id="ai_step_result",
        description="What a model-backed node of a workflow gave, and what it used.",
        schema=schemas.AI_STEP_RESULT,
        producer="model_backed_workflow_node",
        consumers=("workflow_runner",),
        gate=(G.SCHEMA, G.BUDGET, G.FALLBACK_POLICY),
    ),
    OutputClass(
        id="script_artifact_proposal",
        description="A script that an agent proposes as a frozen tool.",
        schema=schemas.SCRIPT_ARTIFACT_PROPOSAL,
        producer="script_generating_agent",
        consumers=("frozen_tool_promotion_gate",),
        gate=(G.SCHEMA, G.PURPOSE, G.INPUTS, G.COMMAND, G.SIDE_EFFECTS, G.VALIDATION),
    ),
    OutputClass(
        id="frozen_tool_proposal",
        description="A frozen tool that is proposed, with where it comes from and what proves it.",
        schema=schemas.FROZEN_TOOL_PROPOSAL,
        producer="crystallization_process",
        consumers=("promotion_validator",),
        gate=(G.SCHEMA, G.PROVENANCE, G.EVIDENCE),
    ),
    OutputClass(
        id="repair_fallback_proposal",
        description="What to do about a deterministic step that failed.",
        schema=schemas.REPAIR_FALLBACK_PROPOSAL,
        producer="ai_fallback_agent",
        consumers=("failing_deterministic_step",),
        gate=(G.SCHEMA, G.POLICY),
        check=_repair,
    ),
)
