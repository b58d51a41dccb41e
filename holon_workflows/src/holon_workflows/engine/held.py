"""A step whose call is held: what became of the approval that it waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure
from holon_core.records.words import ApprovalState, HeldState
from holon_workflows.records import Outcome, StepState, failed, waiting

if TYPE_CHECKING:
    from holon_core.records.approval import ApprovalRecord
    from holon_workflows.engine.step import Step


def look_at_held(step: Step, wait: Mapping[str, Any], ask: Callable[[], Outcome]) -> Outcome:
    """Look at the call that a step waits for.

    Args:
        step: The step.
        wait: What it waits for: the call, and whether that was edited.
        ask: Makes the call anew, under the key that the step has then.

    Returns:
        What came of it, where it was released here or by somebody else; or that the step still
        waits, also for the call that an edit put in its place.
    """
    found = step.driver.engine.bench.held(wait["call"])
    if found is None:
        return ask()
    held, approval = found
    if held.state is HeldState.REPLACED and held.replaced_by is not None:
        text = f"edited: waits for an approval of {held.replaced_by}"
        return waiting({"for": "approval", "call": held.replaced_by, "edited": True}, note=text)
    if held.state is HeldState.DENIED or approval.state is ApprovalState.DENIED:
        text = f"denied by {approval.decided_by}: {approval.reason}"
        return failed(failure("approval_denied", text, call=held.call_id))
    if held.state is HeldState.RELEASED:
        # By somebody else, or by a process that died: the key says what became of it.
        return step.indeterminate(held.call_id) if wait.get("edited") else ask()
    if held.state is HeldState.WITHDRAWN or _is_late(step, approval):
        step.needs_new_key()
        return ask()
    if approval.state is ApprovalState.APPROVED:
        return step.outcome_of(step.session().release(held.call_id))
    if approval.state is ApprovalState.REVOKED:
        return failed(failure("approval_revoked", call=held.call_id))
    return Outcome(state=StepState.WAITING, wait=wait)


def _is_late(step: Step, approval: ApprovalRecord) -> bool:
    """Tell whether nobody decided in time."""
    if approval.state is ApprovalState.PENDING:
        return step.now >= approval.expires_at_unix_seconds
    return approval.state is ApprovalState.EXPIRED
