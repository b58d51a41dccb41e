"""What policy says of an operation, as `policy/explain` answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.operations.answers import to_json
from holon_core.operations.dispatch import read_params, refused_by_standing
from holon_core.operations.faults import BadRequest
from holon_core.operations.governing import OPEN_OPERATION, Asked
from holon_core.operations.trail import CALLS
from holon_core.records.explanation import ExplainStep
from holon_core.records.words import READ_ONLY

if TYPE_CHECKING:
    from holon_core.operations.door import Door
    from holon_core.records.operation import Operation


def explain_operation(door: Door, operation: Operation, params: object) -> dict[str, Any]:
    """Say what policy decides of an operation, and by which rule; nothing is recorded."""
    said: dict[str, Any] = {"tool": operation.method, "decision": None, "decided_by": None}
    stopped = _stopped(door, operation)
    if stopped is not None:
        return {**said, "stopped": stopped, "rules": []}
    try:
        given = read_params(operation, params)
    except BadRequest as error:
        return {**said, "stopped": str(error), "rules": []}
    asked = Asked(
        operation=operation, caller=door.caller, authorities=door.authorities, params=given
    )
    outcome = door.runtime._parts.governing.decide(asked)
    rules = [
        ExplainStep(
            step="policy rule",
            verdict=verdict.decision.value,
            detail=verdict.detail,
        )
        for verdict in outcome.trail
    ]
    by = next(rule.detail for rule in rules if rule.verdict == outcome.decision)
    said |= {"decision": outcome.decision.value, "decided_by": by}
    stopped = OPEN_OPERATION if outcome.confined else None
    return {**said, "stopped": stopped, "rules": to_json(rules)}


def _stopped(door: Door, operation: Operation) -> str | None:
    if not operation.open_to(door.authorities):
        return f"{operation.method} needs the authority {operation.authority.value}"
    problem = refused_by_standing(door, operation)
    if problem is not None:
        return f"{problem.code}: {problem.message}"
    if operation.effects <= READ_ONLY:
        return "it only reads, so that policy is not asked"
    if operation.method in CALLS:
        return "policy is asked about the tool that it names"
    return None
