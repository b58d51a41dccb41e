"""Finding and spending approvals inside the transaction that lets a call run."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.guard.fingerprint import arguments_digest
from holon_core.records.failure import failure
from holon_core.records.words import ApprovalState, Effect
from holon_core.store.approval_tables import aged

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.records.approval import ApprovalRecord
    from holon_core.records.failure import StructuredFailure
    from holon_core.store.protocol import Tables


def spend(tables: Tables, attempt: Attempt, now: int) -> ApprovalRecord | StructuredFailure:
    """Consume one use of an approval that covers the attempt, or say why there is none.

    Args:
        tables: The open transaction: the one that also accepts the call.
        attempt: Its fingerprint is set.
        now: Unix seconds.

    Returns:
        The approval as it was consumed, or a failure: ``approval_denied`` is final for this
        payload, the other codes mean that the call has to be held.
    """
    exact, alive = _candidates(tables, attempt, now)
    for approval in (*exact, *alive):
        # Stored at once: an approval seen as expired stays so when the clock is set back.
        if approval.state is ApprovalState.EXPIRED:
            tables.put_approval(approval)
    found = _usable(exact, alive, attempt, now)
    if found is None:
        return _reason(exact, alive, attempt, now)
    return _consume(tables, found, attempt.call_id)


def reason_without_spending(tables: Tables, attempt: Attempt, now: int) -> StructuredFailure | None:
    """Say why no approval covers an attempt, or ``None`` where one does; nothing is used."""
    exact, alive = _candidates(tables, attempt, now)
    if _usable(exact, alive, attempt, now) is not None:
        return None
    return _reason(exact, alive, attempt, now)


def _candidates(
    tables: Tables, attempt: Attempt, now: int
) -> tuple[list[ApprovalRecord], list[ApprovalRecord]]:
    """Return the approvals of exactly this payload, newest first, and those near to it."""
    assert attempt.fingerprint is not None
    tool, principal = attempt.entry.tool.id, attempt.caller.principal
    approved = tables.approvals_in_scope(tool, principal, ApprovalState.APPROVED)
    exact = tables.approvals_for(attempt.fingerprint)
    return [aged(a, now) for a in exact], [aged(a, now) for a in approved]


def _usable(
    exact: list[ApprovalRecord], alive: list[ApprovalRecord], attempt: Attempt, now: int
) -> ApprovalRecord | None:
    # A person's no to exactly this payload outweighs what was approved before or by pattern.
    if _denied(exact, now) is not None:
        return None
    for approval in exact:
        if _has_uses(approval):
            return approval
    for grant in alive:
        if _has_uses(grant) and covers(grant, attempt):
            return grant
    return None


def _has_uses(approval: ApprovalRecord) -> bool:
    return approval.state is ApprovalState.APPROVED and approval.uses_left >= 1


def covers(grant: ApprovalRecord, attempt: Attempt) -> bool:
    """Tell whether a grant covers a call: its whole scope, and every argument by name.

    Each argument of the call must be named by the pattern, so that no arguments never widen
    to any; ``destructive`` is never covered.
    """
    if not _is_grant_for(grant, attempt) or grant.pattern is None:
        return False
    if set(attempt.arguments) - set(grant.pattern):
        return False
    return all(
        name in attempt.arguments and matches(condition, attempt.arguments[name])
        for name, condition in grant.pattern.items()
    )


def _is_grant_for(grant: ApprovalRecord, attempt: Attempt) -> bool:
    caller, tool = attempt.caller, attempt.entry.tool
    if attempt.entry.always_asks:
        return False
    scope = (grant.definition, grant.workspace, grant.role, grant.profile)
    if scope != (tool.digest, caller.workspace, caller.role, caller.profile):
        return False
    return grant.pattern is not None and Effect.DESTRUCTIVE not in tool.effects


def may_cover(tables: Tables, attempt: Attempt, now: int) -> bool:
    """Tell whether a grant would cover calls of this tool and caller, with fitting arguments."""
    tool, principal = attempt.entry.tool.id, attempt.caller.principal
    alive = tables.approvals_in_scope(tool, principal, ApprovalState.APPROVED)
    return any(
        aged(grant, now).state is ApprovalState.APPROVED and _is_grant_for(grant, attempt)
        for grant in alive
    )


def matches(condition: Any, value: Any) -> bool:
    """Tell whether a value meets one condition of a grant's pattern.

    A condition is ``{"equals": v}``, ``{"one_of": [v, …]}`` or ``{"glob": "pattern"}`` (for
    strings). Values are compared as JSON: ``true`` is not ``1``.
    """
    if "equals" in condition:
        return _same(condition["equals"], value)
    if "one_of" in condition:
        return any(_same(item, value) for item in condition["one_of"])
    return isinstance(value, str) and fnmatchcase(value, condition["glob"])


def _same(one: Any, other: Any) -> bool:
    from holon_core.wire.canonical import canonical

    return canonical(one) == canonical(other)


def _consume(tables: Tables, approval: ApprovalRecord, call: str) -> ApprovalRecord:
    left = approval.uses_left - 1
    used = evolve(
        approval,
        uses_left=left,
        state=ApprovalState.CONSUMED if left < 1 else ApprovalState.APPROVED,
        used_by=(*approval.used_by, call)[-100:],
    )
    tables.put_approval(used)
    return used


def give_back(tables: Tables, approval_id: str, call: str) -> None:
    """Return the use of an approval whose call never started."""
    approval = tables.approval(approval_id)
    if approval is None or call not in approval.used_by:
        return
    state = approval.state
    tables.put_approval(
        evolve(
            approval,
            uses_left=approval.uses_left + 1,
            state=ApprovalState.APPROVED if state is ApprovalState.CONSUMED else state,
            used_by=tuple(used for used in approval.used_by if used != call),
        )
    )


def denial(tables: Tables, attempt: Attempt, now: int) -> StructuredFailure | None:
    """Return a person's no to exactly this payload that still stands, or ``None``."""
    exact, _ = _candidates(tables, attempt, now)
    said_no = _denied(exact, now)
    return None if said_no is None else _denial(said_no)


def _denied(exact: list[ApprovalRecord], now: int) -> ApprovalRecord | None:
    """Find a no that still stands: one that no person took back by a later yes."""
    for approval in exact:
        if approval.state is ApprovalState.DENIED and now < approval.expires_at_unix_seconds:
            return approval
        if approval.state in (ApprovalState.APPROVED, ApprovalState.CONSUMED):
            return None
    return None


def _denial(approval: ApprovalRecord) -> StructuredFailure:
    text = f"{approval.decided_by} said no: {approval.reason}"
    return failure("approval_denied", text, approval=approval.id)


_ENDED = {
    ApprovalState.CONSUMED: "approval_consumed",
    ApprovalState.EXPIRED: "approval_expired",
    ApprovalState.REVOKED: "approval_revoked",
}


def _reason(
    exact: list[ApprovalRecord], alive: list[ApprovalRecord], attempt: Attempt, now: int
) -> StructuredFailure:
    newest = exact[0] if exact else None
    if newest is not None:
        said_no = _denied(exact, now)
        if said_no is not None:
            return _denial(said_no)
        if newest.state in _ENDED:
            return _ended(newest)
        if newest.state is ApprovalState.PENDING:
            return failure("approval_required", approval=newest.id)
    return _elsewhere(alive, attempt) or failure("approval_required")


def _ended(approval: ApprovalRecord) -> StructuredFailure:
    code = _ENDED[approval.state]
    message = None
    if code == "approval_consumed":
        message = f"the approval {approval.id} was used by call {approval.used_by[-1]}"
    return failure(code, message, approval=approval.id, used_by=list(approval.used_by))


def _elsewhere(alive: list[ApprovalRecord], attempt: Attempt) -> StructuredFailure | None:
    payload = arguments_digest(attempt.canonical)
    alive = [a for a in alive if a.state is ApprovalState.APPROVED]
    for approval in alive:
        if approval.arguments_digest == payload:
            return failure("approval_wrong_scope", approval=approval.id)
    for approval in alive:
        if approval.workspace == attempt.caller.workspace and approval.pattern is None:
            return failure(
                "approval_mismatch",
                approval=approval.id,
                approved_fingerprint=approval.fingerprint,
                fingerprint=attempt.fingerprint,
            )
    return None
