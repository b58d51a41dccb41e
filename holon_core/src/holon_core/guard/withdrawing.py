"""Taking back a held call that nobody needs any more, so that nobody can release it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.guard.evidence import RUNTIME_CHAIN
from holon_core.guard.idempotency import free_held_key
from holon_core.records.words import ApprovalState, HeldState

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.records.approval import HeldCall
    from holon_core.store.protocol import Tables

_UNSPENT = frozenset({ApprovalState.PENDING, ApprovalState.APPROVED})


def withdraw(guard: Guard, call_id: str, *, by: str, reason: str) -> bool:
    """Take a held call back; see ``Workbench.withdraw``."""
    at, recorder = int(guard.clock.now()), guard.recorder

    def work(tables: Tables) -> bool:
        held = tables.held(call_id)
        if held is None or held.state is not HeldState.HELD:
            return False
        tables.set_held_state(call_id, HeldState.WITHDRAWN)
        free_held_key(tables, held)
        _revoke(tables, held, by=by, reason=reason, at=at)
        fields = {
            "by": recorder.quoted(by),
            "reason": recorder.quoted(reason, limit=2000),
            "approval": recorder.safe_json(held.approval_id),
            "host": recorder.host_fragment(),
        }
        chain = held.caller.workspace or RUNTIME_CHAIN
        tables.append(recorder.draft(chain, call_id, "withdrawn", fields))
        return True

    done = guard.store.transact(work, full=True)
    guard.pump.notify()
    return done


def _revoke(tables: Tables, held: HeldCall, *, by: str, reason: str, at: int) -> None:
    """Revoke the approval of a call, unless others wait for it or it is a grant."""
    approval = tables.approval(held.approval_id)
    waits = any(each.state is HeldState.HELD for each in tables.held_for(held.approval_id))
    if approval is None or waits or approval.pattern or approval.state not in _UNSPENT:
        return
    tables.put_approval(
        evolve(
            approval,
            state=ApprovalState.REVOKED,
            decided_by=by,
            decided_at_unix_seconds=at,
            reason=reason,
        )
    )
