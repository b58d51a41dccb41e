"""Releasing a held operation: asked again as it was held, by whoever may ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.errors import FAILURES, Refused
from holon_core.governed import OPERATION_LANE
from holon_core.operations.door import not_allowed
from holon_core.operations.governing import Asked
from holon_core.operations.table import row_of
from holon_core.operations.trail import trail
from holon_core.records.failure import failure
from holon_core.records.result import ToolResult
from holon_core.records.words import Authority, Status
from holon_core.session import Session

if TYPE_CHECKING:
    from holon_core.operations.door import Door
    from holon_core.records.approval import HeldCall
    from holon_core.records.operation import Operation


def held_operation(door: Door, call_id: str) -> HeldCall | None:
    """Return what is held under an id if it is an operation."""
    held = door.runtime._guard.store.read(lambda tables: tables.held(call_id))
    return held if held is not None and held.tool["lane"] == OPERATION_LANE else None


def release_operation(door: Door, held: HeldCall) -> ToolResult:
    """Do a held operation that was approved, on its stored parameters and for its caller.

    Returns:
        Its answer as ``output``; a refusal, also that it is held still, is a failure of it.

    Raises:
        StoreError: The store does not answer.
    """
    try:
        operation = _released(door, held)
    except Refused as error:
        return _refused(held, error)
    guard = door.runtime._guard
    runtime = door.runtime
    session = Session(
        guard, held.caller, lambda: runtime._open, agents=lambda: runtime._parts.agents
    )
    inner = evolve(door, session=session)
    try:
        with trail(guard, operation, held.caller, call_id=held.call_id) as made:
            asked = Asked(
                operation=operation,
                caller=held.caller,
                authorities=door.authorities,
                params=held.arguments,
                held=held,
            )
            output = door.runtime._parts.governing.run(
                asked, made, lambda: operation.handler(inner, held.arguments)
            )
    except Refused as error:
        return _refused(held, error)
    own = made.approval is not None and made.approval.self_approved
    return ToolResult(
        status=Status.COMPLETED, output=output, call_id=held.call_id, self_approved=own
    )


def _released(door: Door, held: HeldCall) -> Operation:
    """Return the row of a held operation, of somebody who may release it.

    Raises:
        Refused: It is another's, or whoever releases it may not ask it.
    """
    mine = door.owns(principal=held.caller.principal, workspace=held.caller.workspace)
    if not mine and not door.may(Authority.APPROVER):
        raise not_allowed("held for another principal or workspace")
    method = str(held.tool["id"])
    operation = row_of(door.runtime, method)
    if operation is None:
        text = f"{method} is not offered in this process; it is still held"
        raise Refused(failure("unknown_tool", text))
    if not operation.open_to(door.authorities):
        needed = operation.authority.value
        raise not_allowed(f"{method} needs the authority {needed}", authority=needed)
    return operation


def _refused(held: HeldCall, error: Refused) -> ToolResult:
    problem = error.failure
    row = FAILURES.get(problem.code)
    return ToolResult(
        status=Status.BLOCKED if row is None else row[1],
        failure=problem,
        held=problem.details.get("held"),
        call_id=held.call_id,
    )
