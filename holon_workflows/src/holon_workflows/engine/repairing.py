"""What to do about a step that failed, as an AI step proposes it: gates and policy decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.records.failure import StructuredFailure, failure
from holon_workflows.records import Outcome, StepState, completed, failed

if TYPE_CHECKING:
    from holon_workflows.engine.step import Step

CLASS = "repair_fallback_proposal"
MAX_REPAIRS = 3


def wants_repair(step: Step) -> bool:
    """Tell whether another proposal may be asked for."""
    repair = step.node.repair
    if repair is None or step.cancelled:
        return False
    most: int = min(repair.get("max_attempts", 1), MAX_REPAIRS)
    return step._record.repairs < most


def repaired(step: Step, problem: StructuredFailure) -> Outcome:
    """Ask for a proposal, and do what it says as far as gates and policy let it.

    A proposal to call is a governed call of its own: other arguments, another tool or other
    effects need their own approval. A retry of what may have had an effect is refused.

    Args:
        step: The step that failed.
        problem: With what.

    Returns:
        What came of it; the failure itself where the proposal gives up or is refused.
    """
    from holon_workflows.kinds.ai import propose

    repair = step.node.repair
    assert repair is not None, "asked only where there is one"
    step._record.repairs += 1
    asked = _asking(step, problem)
    found = propose(asked, {**repair["ai"], "output_class": CLASS})
    if found.state is not StepState.COMPLETED:
        return failed(problem)
    proposal: Any = found.output
    named = (proposal["step"], proposal["failure"]["code"])
    if named != (step.node.id, problem.code):
        text = "the proposal is for another step or another failure"
        return failed(failure("schema_mismatch", text, step=step.node.id))
    action = proposal["action"]
    if action == "answer":
        return _answered(step, proposal)
    if action == "call":
        return step.call_again(proposal["tool"], proposal["arguments"])
    if action == "retry" and step.repeatable:
        config = step.node.config
        return step.call_again(config["tool"], step.inputs)
    return failed(problem)


def _answered(step: Step, proposal: Any) -> Outcome:
    """Hold a proposed output against the schema that the step's own would have."""
    from holon_core.wire.canonical import digest
    from holon_core.wire.schema_engine import compiled
    from holon_workflows.definition.mappings import output_schema_of
    from holon_workflows.engine.applying import OUTPUT_DOMAIN

    schema = output_schema_of(step.node, step.driver.engine.definitions.checking())
    if schema is not None:
        errors = compiled(schema, digest(schema, domain=OUTPUT_DOMAIN)).errors(proposal["output"])
        if errors:
            text = f"the proposed output: {errors[0].message} at {errors[0].path or '/'}"
            return failed(failure("output_schema", text))
    return completed(proposal["output"], note=f"by a proposal: {proposal['reason'][:200]}")


def _asking(step: Step, problem: StructuredFailure) -> Step:
    from holon_workflows.engine.step import Step as Made

    inputs = {
        "step": step.node.id,
        "kind": step.node.kind,
        "tool": step.node.config.get("tool"),
        "arguments": step.inputs,
        "failure": {
            "kind": problem.kind.value,
            "code": problem.code,
            "message": problem.message,
        },
    }
    return Made(step.driver, step.place, step._record, inputs=inputs, recovering=False)
