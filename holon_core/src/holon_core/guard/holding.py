"""Holding a call that needs a person: approval, held row, key and record in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve

from holon_core.guard.attempt import Refusal
from holon_core.guard.fingerprint import arguments_digest
from holon_core.guard.idempotency import key_of
from holon_core.guard.results import refusal_draft, refused
from holon_core.ids import new_id
from holon_core.plugins.faults import kind_of
from holon_core.records.approval import ApprovalRecord, HeldCall
from holon_core.records.failure import failure
from holon_core.records.words import ApprovalState, HeldState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.protocol import Tables

MAX_PENDING = 100
# What a preview may refuse: arguments that make no request, or that hold a secret.
OF_ARGUMENTS = frozenset({"arguments_invalid", "secret_in_content"})


def hold(
    guard: Guard, attempt: Attempt, tables: Tables, problem: StructuredFailure, now: int
) -> ToolResult:
    """Keep an attempt until a person decides.

    Args:
        guard: The parts.
        attempt: Past policy; its fingerprint and preview are set.
        tables: The open transaction.
        problem: Why no approval covered it.
        now: Unix seconds.

    Returns:
        A blocked result whose ``held`` is the call id, or ``approval_limit``.
    """
    approval = _pending(guard, attempt, tables, now)
    if approval is None:
        problem = failure("approval_limit")
        draft = refusal_draft(guard, attempt, problem, "refused")
        attempt.seqs.append(tables.append(draft))
        return refused(attempt, problem)
    attempt.approval_id = approval.id
    problem = evolve(problem, details={**problem.details, "pending": approval.id})
    waits = attempt.mode != "request"
    if waits:
        tables.put_held(_held(attempt, approval.id, now))
        if attempt.key is not None:
            assert attempt.fingerprint is not None
            tables.reserve_key(
                key_of(attempt),
                attempt.call_id,
                fingerprint=attempt.fingerprint,
                state="held",
                expires_at=now + guard.config.key_ttl_s,
            )
    draft = refusal_draft(guard, attempt, problem, "held" if waits else "approval_requested")
    attempt.seqs.append(tables.append(draft))
    return refused(attempt, problem, held=waits)


def _pending(guard: Guard, attempt: Attempt, tables: Tables, now: int) -> ApprovalRecord | None:
    assert attempt.fingerprint is not None
    for approval in tables.approvals_for(attempt.fingerprint):
        if approval.state is ApprovalState.PENDING and now < approval.expires_at_unix_seconds:
            return approval
    caller = attempt.caller
    if tables.count_pending(caller.workspace, caller.principal, now) >= MAX_PENDING:
        return None
    made = ApprovalRecord(
        id=new_id("a"),
        state=ApprovalState.PENDING,
        tool=attempt.entry.tool.id,
        definition=attempt.entry.tool.digest,
        fingerprint=attempt.fingerprint,
        arguments_digest=arguments_digest(attempt.canonical),
        workspace=caller.workspace,
        principal=caller.principal,
        role=caller.role,
        profile=caller.profile,
        requested_at_unix_seconds=now,
        expires_at_unix_seconds=now + guard.config.approval_ttl_s,
    )
    tables.put_approval(made)
    return made


def _held(attempt: Attempt, approval_id: str, now: int) -> HeldCall:
    return HeldCall(
        call_id=attempt.call_id,
        approval_id=approval_id,
        state=HeldState.HELD,
        caller=attempt.caller,
        tool=tool_json(attempt.entry.tool),
        arguments=attempt.arguments,
        preview=attempt.preview,
        idempotency_key=attempt.key,
        held_at_unix_seconds=now,
    )


def tool_json(tool: RuntimeToolDescriptor) -> dict[str, Any]:
    """Return a descriptor as plain JSON, complete enough to show it without its process."""
    data: dict[str, Any] = asdict(tool, recurse=True)
    data["effects"] = sorted(effect.value for effect in tool.effects)
    data["side_effect_class"] = str(tool.side_effect_class)
    return _plain(data)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def make_preview(guard: Guard, attempt: Attempt) -> Mapping[str, Any]:
    """Ask the executor for the exact request it would make; a fault becomes a note.

    Raises:
        Refusal: It says that the arguments make no request: nobody is asked to approve that.
    """
    from holon_core.errors import Refused
    from holon_core.guard.sealed import mint
    from holon_core.wire.strict_json import parse
    from holon_core.wire.values import normalise

    preview = attempt.entry.preview
    if preview is None:
        return {}
    # Its own arguments: what a preview changes in them must not reach what runs.
    arguments: Any = parse(attempt.canonical)
    shadow = attempt.shadow(arguments)
    try:
        shown = preview(mint(shadow, guard.services))
        value = normalise(dict(shown)).value
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = _of_arguments(guard, error) if type(error) is Refused else None
        if problem is not None:
            raise Refusal(problem) from None
        return {"preview_failed": kind_of(error)}
    return value if isinstance(value, dict) else {}


def _of_arguments(guard: Guard, refused: BaseException) -> StructuredFailure | None:
    """Return what a preview says is wrong with the arguments; of anything else nothing."""
    from holon_core.guard.results import foreign_failure

    try:
        problem = foreign_failure(guard, refused.failure)  # type: ignore[attr-defined]
    except Exception:
        return None
    return problem if problem is not None and problem.code in OF_ARGUMENTS else None
