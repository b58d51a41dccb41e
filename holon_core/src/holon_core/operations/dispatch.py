"""From a method's name and its parameters to its answer: one way for every door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Refused
from holon_core.operations.door import Door, not_allowed
from holon_core.operations.faults import BadRequest, UnknownOperation
from holon_core.operations.table import row_of
from holon_core.records.failure import failure
from holon_core.records.words import READ_ONLY

if TYPE_CHECKING:
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.operation import Operation

# These say themselves what an agent's session that has ended, or can't be, comes to.
OWN_END = frozenset({"agent-session/open", "agent-session/finish", "agent-session/close"})
SCHEMA_DOMAIN = "holon-operation/1"


def dispatch(door: Door, method: object, params: object) -> Any:
    """Answer one request.

    Args:
        door: The runtime, who asks, and what they may.
        method: ``noun/verb``.
        params: A JSON object, already parsed; never says who asks.

    Returns:
        JSON that fits the operation's response schema. A governed call that was refused or held
        is an answer, not an exception.

    Raises:
        UnknownOperation: No row has this name.
        BadRequest: The parameters do not fit; ``details`` name path and rule.
        Refused: The operation was refused: ``not_allowed`` where the caller lacks its authority,
            ``lane_protocol`` where a plugin's handler broke its promise; ``policy_denied`` or
            ``approval_required`` where it has effects and policy did not let it.
        Rejected: With every finding.
        StoreError: The store does not answer.

    Source: design, section 8.
    """
    operation = row_of(door.runtime, method) if isinstance(method, str) else None
    if operation is None:
        raise UnknownOperation(f"no operation {method!r:.100}; protocol/list names those there are")
    if operation.effects <= READ_ONLY:
        return operation.handler(door, _admitted(door, operation, params))
    return _governed(door, operation, params)


def _governed(door: Door, operation: Operation, params: object) -> Any:
    from holon_core.operations.governing import Asked, is_governed
    from holon_core.operations.trail import trail

    if not is_governed(operation):
        return operation.handler(door, _admitted(door, operation, params))
    with trail(door.runtime._guard, operation, door.caller) as made:
        given = _admitted(door, operation, params)
        asked = Asked(
            operation=operation, caller=door.caller, authorities=door.authorities, params=given
        )
        return door.runtime._parts.governing.run(
            asked, made, lambda: operation.handler(door, given)
        )


def _admitted(door: Door, operation: Operation, params: object) -> dict[str, Any]:
    if not operation.open_to(door.authorities):
        needed = operation.authority.value
        raise not_allowed(f"{operation.method} needs the authority {needed}", authority=needed)
    problem = refused_by_standing(door, operation)
    if problem is not None:
        raise Refused(problem)
    return read_params(operation, params)


def refused_by_standing(door: Door, operation: Operation) -> StructuredFailure | None:
    """Say that a caller does not belong where it asks, or may do nothing any more.

    Of a governed call the guard says so itself, and in the call's own record. Operators and
    approvers act for the host, whose workspaces all of them are.
    """
    from holon_core.guard.standing import misplaced, unfit
    from holon_core.operations.trail import CALLS

    if door.sees_all or operation.method in CALLS:
        return None
    reads = operation.effects <= READ_ONLY or operation.method in OWN_END
    return (misplaced if reads else unfit)(door.runtime._guard, door.caller)


def read_params(operation: Operation, params: object) -> dict[str, Any]:
    """Check parameters against the schema of their operation, and copy them.

    Raises:
        BadRequest: They are not JSON within the limits, or do not fit.
    """
    from holon_core.wire.canonical import digest
    from holon_core.wire.schema_engine import compiled
    from holon_core.wire.values import normalise

    if not isinstance(params, Mapping):
        raise BadRequest(failure("arguments_invalid", "parameters are a JSON object", path=""))
    unread = {name: params[name] for name in operation.unread if name in params}
    try:
        # What the guarded call judges itself stands here as nothing.
        copy: Any = normalise({**params, **{name: {} for name in unread}}).value
    except JsonRefused as error:
        details = {"path": error.path, "rule": error.rule}
        raise BadRequest(failure("arguments_invalid", str(error), **details)) from None
    schema = operation.request
    errors = compiled(schema, digest(schema, domain=SCHEMA_DOMAIN)).errors(copy)
    if errors:
        shown = [{"path": e.path, "rule": e.rule, "message": e.message} for e in errors]
        first = errors[0]
        message = f"{first.message} at {first.path or '/'}"
        raise BadRequest(
            failure("arguments_invalid", message, path=first.path, rule=first.rule, errors=shown)
        )
    return {**copy, **unread}
