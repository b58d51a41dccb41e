"""Idempotency keys: one logical call, one execution, its result kept beside the key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holon_core.errors import StructuredFailureKind
from holon_core.records.failure import BlockingReason, StructuredFailure, failure
from holon_core.records.result import ToolResult
from holon_core.records.words import Status
from holon_core.store.rows import decodes

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.records.approval import HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.store.approval_tables import Key
    from holon_core.store.protocol import Tables


# A call of a provider is one call whichever tool it names, so that its key is of no tool.
OF_PROVIDER = "function-call:"


def key_of(attempt: Attempt) -> str:
    """Return the stored name of a key: it belongs to principal, workspace and, mostly, tool."""
    assert attempt.key is not None
    return stored_name(attempt.caller, attempt.entry.tool.id, attempt.key)


def stored_name(caller: CallerContext, tool: str, key: str) -> str:
    """Return the stored name of a caller's key for a tool."""
    of = "" if key.startswith(OF_PROVIDER) else tool
    return json.dumps([caller.principal, caller.workspace, of, key])


def free_held_key(tables: Tables, held: HeldCall) -> None:
    """Let the key of a held call be used again, which will never run."""
    if held.idempotency_key is not None:
        name = stored_name(held.caller, held.tool["id"], held.idempotency_key)
        tables.free_key(name, held.call_id)


def look_up(tables: Tables, attempt: Attempt, now: int) -> Key | None:
    """Return who uses the attempt's key; an expired finished call does not any more."""
    found = tables.key(key_of(attempt))
    if found is None:
        return None
    if found.state in ("done", "interrupted") and now >= found.expires_at:
        return None
    return found


def conflict(found: Key, attempt: Attempt) -> StructuredFailure | None:
    """Say why a key in use keeps an attempt from running; ``None`` where it may be replayed."""
    if found.fingerprint != attempt.fingerprint:
        return failure("conflict", "the key belongs to another payload", call=found.call)
    if found.state == "running":
        return failure("conflict", "the first call with this key still runs", call=found.call)
    if found.state == "interrupted":
        return failure("interrupted", call=found.call)
    return None


def pack(result: ToolResult) -> bytes:
    """Encode a result to keep it whole beside its key."""
    problem = result.failure
    return json.dumps(
        {
            "status": result.status.value,
            "output": result.output,
            "failure": None
            if problem is None
            else [problem.kind.value, problem.code, problem.message, dict(problem.details)],
            "reasons": [
                [r.kind.value, r.code, r.message, r.next_action] for r in result.blocking_reasons
            ],
        }
    ).encode()


def unpack(found: Key, attempt: Attempt) -> ToolResult:
    """Return the kept result as the answer of a later call."""
    return _unpacked(found, attempt)


@decodes("a kept result")
def _unpacked(found: Key, attempt: Attempt) -> ToolResult:
    data: dict[str, Any] = json.loads(found.result or b"{}")
    problem = data["failure"]
    return ToolResult(
        status=Status(data["status"]),
        output=data["output"],
        failure=None if problem is None else _failure(*problem),
        blocking_reasons=tuple(
            BlockingReason(
                kind=StructuredFailureKind(r[0]), code=r[1], message=r[2], next_action=r[3]
            )
            for r in data["reasons"]
        ),
        call_id=attempt.call_id,
        notices=attempt.entry.notices,
        replayed_from=found.call,
    )


def _failure(kind: str, code: str, message: str, details: dict[str, Any]) -> StructuredFailure:
    return StructuredFailure(
        kind=StructuredFailureKind(kind), code=code, message=message, details=details
    )
