"""Tools of other workspaces: those of which a gate of their lane says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.errors import StructuredFailureKind
from holon_core.guard import call as guarded
from holon_core.guard.attempt import Attempt

if TYPE_CHECKING:
    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure


def refusal_elsewhere(guard: Guard, attempt: Attempt) -> StructuredFailure | None:
    """Return what the lane of a tool says where the tool is of another workspace."""
    if attempt.entry.tool.lane not in guard.gates:
        return None
    wrong = StructuredFailureKind.WRONG_WORKSPACE
    return next((each for each in guarded.gates(guard, attempt) if each.kind is wrong), None)


def is_elsewhere(guard: Guard, entry: Entry, caller: CallerContext) -> bool:
    """Tell whether a tool is of another workspace than a caller's, who is not to see it."""
    attempt = Attempt(entry.tool.id, {}, caller, mode="explain")
    attempt.entry, attempt.limits = entry, entry.tool.limits
    attempt.posture = entry.tool.posture
    attempt.arguments, attempt.canonical = {}, b"{}"
    if caller.workspace is not None:
        attempt.workspace = guard.workspaces.usable(caller.workspace, caller.principal)
    return refusal_elsewhere(guard, attempt) is not None
