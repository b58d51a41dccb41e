"""Steps 6 and 7, in the transaction that accepts a call: its key, and the approval it needs."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.guard import idempotency
from holon_core.guard.attempt import NeedsPreview
from holon_core.guard.holding import hold
from holon_core.guard.results import common_fields, refs, refuse_in, refused
from holon_core.guard.spending import denial, reason_without_spending, spend
from holon_core.records.approval import ApprovalRecord
from holon_core.records.failure import failure
from holon_core.records.result import ToolResult
from holon_core.records.words import Decision, Status

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.failure import StructuredFailure
    from holon_core.store.protocol import Tables


def check_key(guard: Guard, attempt: Attempt, tables: Tables, now: int) -> ToolResult | None:
    """Step 6: the same key and payload get the first call's answer, and nothing runs."""
    found = idempotency.look_up(tables, attempt, now)
    if found is None or (attempt.mode == "release" and found.call == attempt.call_id):
        return None
    problem = idempotency.conflict(found, attempt)
    if problem is not None:
        return refuse_in(guard, attempt, tables, problem)
    if found.state == "held":
        return _same_held(guard, attempt, tables, found.call)
    fields = common_fields(guard, attempt)
    fields["replayed_from"] = quote(found.call)
    draft = guard.recorder.draft(attempt.chain, attempt.call_id, "replayed", fields)
    attempt.seqs.append(tables.append(draft))
    return evolve(idempotency.unpack(found, attempt), evidence_refs=refs(attempt))


def _same_held(guard: Guard, attempt: Attempt, tables: Tables, call: str) -> ToolResult:
    fields = common_fields(guard, attempt)
    fields["held_as"] = quote(call)
    draft = guard.recorder.draft(attempt.chain, attempt.call_id, "replayed", fields)
    attempt.seqs.append(tables.append(draft))
    return evolve(refused(attempt, failure("approval_required")), held=call, replayed_from=call)


def check_approval(guard: Guard, attempt: Attempt, tables: Tables, now: int) -> ToolResult | None:
    """Step 7: only a stored, explicit approval of exactly this payload lets it pass."""
    found = _find_approval(attempt, tables, now)
    if found is None:
        return None
    if isinstance(found, ApprovalRecord):
        attempt.approval_id = found.id
        attempt.self_approved = found.self_approved
        return None
    if found.code == "approval_denied":
        return refuse_in(guard, attempt, tables, found)
    if attempt.preview is None:
        raise NeedsPreview
    return hold(guard, attempt, tables, found, now)


def _find_approval(
    attempt: Attempt, tables: Tables, now: int
) -> ApprovalRecord | StructuredFailure | None:
    """Consume what covers a call; an edit is always held, a request uses nothing up."""
    if attempt.mode == "edit":
        return denial(tables, attempt, now) or failure("approval_required")
    if attempt.mode == "request":
        asks = attempt.verdict.decision is Decision.ASK
        return reason_without_spending(tables, attempt, now) if asks else None
    return spend(tables, attempt, now)


def not_needed(guard: Guard, attempt: Attempt, tables: Tables) -> ToolResult:
    """Answer a request for an approval that is there already, or that nobody asks for."""
    fields = {**common_fields(guard, attempt), "needed": "false"}
    draft = guard.recorder.draft(attempt.chain, attempt.call_id, "approval_requested", fields)
    attempt.seqs.append(tables.append(draft))
    return ToolResult(status=Status.COMPLETED, evidence_refs=refs(attempt), call_id=attempt.call_id)
