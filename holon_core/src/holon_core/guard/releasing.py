"""The attempt that releases a held call, or the recorded refusal to do so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.governed import OPERATION_LANE
from holon_core.guard.attempt import Attempt
from holon_core.guard.results import record_refusal
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.records.approval import HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.result import ToolResult


def release_attempt(
    guard: Guard,
    held: HeldCall | None,
    *,
    allowed: bool,
    caller: CallerContext,
    call_id: str,
) -> tuple[Attempt, ToolResult | None]:
    """Make the attempt that releases a held call, or the recorded refusal to do so."""
    if held is None or not allowed:
        attempt = Attempt("", {}, caller)
        text = None if held is None else "held for another principal or workspace"
        code = "not_held" if held is None else "not_allowed"
        problem = failure(code, text, call=call_id[:200])
        return attempt, record_refusal(guard, attempt, problem, wait=True)
    if held.tool["lane"] == OPERATION_LANE:
        attempt = Attempt("", {}, caller)
        text = "it is an operation: ask it again as it was asked, or by runtime-tool/release"
        problem = failure("not_allowed", text, call=call_id)
        return attempt, record_refusal(guard, attempt, problem, wait=True)
    attempt = Attempt(
        str(held.tool["id"]),
        dict(held.arguments),
        held.caller,
        mode="release",
        key=held.idempotency_key,
        held=held,
    )
    if caller.principal != held.caller.principal:
        attempt.released_by = caller.principal
    return attempt, None
