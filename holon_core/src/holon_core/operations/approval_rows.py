"""Operations on approvals and the calls held for them: ask, see, decide, wait."""

from __future__ import annotations

from typing import Any

from holon_core.operations.answers import answer, listed, page, paged, schema_of, to_json
from holon_core.operations.door import Door, Params, not_allowed
from holon_core.operations.schemas import (
    AFTER_ID,
    ARGUMENTS,
    CALL_ID,
    EITHER_ID,
    LIMIT,
    MAX_NAME,
    REASON,
    TOOL,
    WORKSPACE,
    choice,
    nullable,
    params,
    text,
    whole,
)
from holon_core.operations.tool_rows import READS, RESULT, WRITES
from holon_core.records.approval import ApprovalRecord
from holon_core.records.approval_view import ApprovalView
from holon_core.records.operation import Operation
from holon_core.records.words import ApprovalState, Authority, HeldState

NOUN = "execution-approval"
APPROVAL = schema_of(ApprovalRecord)
_ALL = "all"
_STATES = [*(state.value for state in ApprovalState), _ALL]
_HELD = answer(
    call_id={"type": "string"},
    state=schema_of(HeldState),
    held_at_unix_seconds={"type": "integer"},
    replaced_by={"type": ["string", "null"]},
)
_DECISION = params(("id", "reason"), id=EITHER_ID, reason=REASON)


def request(door: Door, given: Params) -> Any:
    """Ask for an approval ahead of the call."""
    return to_json(door.session.request_approval(given["tool"], given.get("arguments")))


def list_approvals(door: Door, given: Params) -> Any:
    """Answer a page of approvals; a caller's own where it sees no others."""
    state = given.get("state", ApprovalState.PENDING.value)
    limit, after = given.get("limit", 50), given.get("after", "")
    workspace = door.workspace_of(given) if "workspace" in given or not door.sees_all else None
    found = door.runtime.approvals.list(
        state=None if state == _ALL else ApprovalState(state),
        workspace=workspace,
        after=after,
        limit=limit,
    )
    return paged("approvals", found, limit, visible=lambda each: _visible(door, each))


def read_approval(door: Door, given: Params) -> Any:
    """Answer one approval, the calls held for it, and what its approver sees."""
    approvals = door.runtime.approvals
    approval = approvals.read(given["id"])
    if not _visible(door, approval):
        raise not_allowed("a caller sees its own approvals")
    held = approvals.held_for(approval.id)
    chosen = [call for call in held if call.call_id == given["id"]] or held
    shown = [
        {
            "call_id": call.call_id,
            "state": call.state.value,
            "held_at_unix_seconds": call.held_at_unix_seconds,
            "replaced_by": call.replaced_by,
        }
        for call in held
    ]
    view = approvals.view(chosen[0].call_id).to_json() if chosen else None
    return {"approval": to_json(approval), "held": shown, "view": view}


def approve(door: Door, given: Params) -> Any:
    """Let a held call run, once."""
    by = door.caller.principal
    return to_json(door.runtime.approvals.approve(given["id"], by=by, reason=given["reason"]))


def deny(door: Door, given: Params) -> Any:
    """Refuse a held call."""
    by = door.caller.principal
    return to_json(door.runtime.approvals.deny(given["id"], by=by, reason=given["reason"]))


def edit(door: Door, given: Params) -> Any:
    """Replace a held call by one with other arguments."""
    return to_json(
        door.runtime.approvals.edit(
            given["call_id"],
            given.get("arguments", {}),
            by=door.caller.principal,
            reason=given["reason"],
        )
    )


def grant(door: Door, given: Params) -> Any:
    """Approve calls ahead, within a pattern, a number and a time."""
    return to_json(
        door.runtime.approvals.grant(
            given["tool"],
            given["pattern"],
            principal=given["principal"],
            workspace=door.workspace_of(given),
            role=given.get("role"),
            profile=given.get("profile"),
            uses=given["uses"],
            ttl_s=given["ttl_s"],
            by=door.caller.principal,
            reason=given["reason"],
        )
    )


def revoke(door: Door, given: Params) -> Any:
    """Take back an approval."""
    by = door.caller.principal
    return to_json(door.runtime.approvals.revoke(given["id"], by=by, reason=given["reason"]))


def wait(door: Door, given: Params) -> Any:
    """Wait until an approval is decided."""
    approvals = door.runtime.approvals
    if not _visible(door, approvals.read(given["id"])):
        raise not_allowed("a caller waits for its own approvals")
    waited = approvals.wait(given["id"], timeout_s=given["timeout_s"], cancel=door.cancel)
    return to_json(waited)


def _visible(door: Door, approval: ApprovalRecord) -> bool:
    return door.sees_all or door.owns(principal=approval.principal, workspace=approval.workspace)


ROWS = (
    Operation(
        noun=NOUN,
        verb="request",
        request=params(("tool",), tool=TOOL, arguments=ARGUMENTS),
        response=RESULT,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=request,
        positional=("tool",),
        unread=("arguments",),
        doc=(
            "Ask for an approval of exactly this payload ahead of the call. The failure's details "
            "name the approval; `failure` is null where none is needed."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="list",
        request=params(
            state=choice(_STATES, "Which of them.", default="pending"),
            workspace=WORKSPACE,
            after=AFTER_ID,
            limit=LIMIT,
        ),
        response=page("approvals", APPROVAL),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_approvals,
        listing="approvals",
        columns=("id", "state", "tool", "principal", "workspace", "expires_at_unix_seconds"),
        doc=(
            "List approvals by id, oldest first. A caller sees its own in its workspace, approver "
            "and operator all. A page may hold fewer than `limit`; only `next_after` null ends it."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="read",
        request=params(("id",), id=EITHER_ID),
        response=answer(
            approval=APPROVAL,
            held=listed(_HELD),
            view={"anyOf": [schema_of(ApprovalView), {"type": "null"}]},
        ),
        authority=Authority.CALLER,
        effects=READS,
        handler=read_approval,
        positional=("id",),
        doc=(
            "Read one approval, the calls held for it, and the view that its approver decides by: "
            "facts first, the payload, its difference from the last approved one, flags, and what "
            "the tool says of itself, which nobody vouches for."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="approve",
        request=_DECISION,
        response=APPROVAL,
        authority=Authority.APPROVER,
        effects=WRITES,
        handler=approve,
        positional=("id",),
        doc="Let a held call run, once, exactly as it was held. Its caller then releases it.",
    ),
    Operation(
        noun=NOUN,
        verb="deny",
        request=_DECISION,
        response=APPROVAL,
        authority=Authority.APPROVER,
        effects=WRITES,
        handler=deny,
        positional=("id",),
        doc="Refuse a held call; the same payload is refused until the approval would expire.",
    ),
    Operation(
        noun=NOUN,
        verb="edit",
        request=params(
            ("call_id", "arguments", "reason"),
            call_id=CALL_ID,
            arguments={**ARGUMENTS, "description": "All arguments of the new call."},
            reason=REASON,
        ),
        response=RESULT,
        authority=Authority.APPROVER,
        effects=WRITES,
        handler=edit,
        positional=("call_id",),
        unread=("arguments",),
        doc=(
            "Replace a held call by one with other arguments, validated, gated and held anew; "
            "the new one is approved like any other."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="grant",
        request=params(
            ("tool", "pattern", "principal", "uses", "ttl_s", "reason"),
            tool=TOOL,
            pattern={
                "type": "object",
                "description": (
                    'Argument name to {"equals": v}, {"one_of": [v]} or {"glob": "text*"}. Only '
                    "calls with exactly these arguments are covered."
                ),
            },
            principal=text("Whose calls."),
            workspace=WORKSPACE,
            role=nullable(text("Role that the calls have.", limit=MAX_NAME)),
            profile=nullable(text("Profile that the calls have.", limit=MAX_NAME)),
            uses=whole("How many calls.", least=1, most=10_000),
            ttl_s=whole("Seconds until it expires, 30 days at most.", least=1, most=30 * 86_400),
            reason=REASON,
        ),
        response=APPROVAL,
        authority=Authority.APPROVER,
        effects=WRITES,
        handler=grant,
        positional=("tool",),
        doc=(
            "Approve calls of one tool ahead, within an argument pattern, a number and a time. "
            "A destructive tool is never granted."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="revoke",
        request=_DECISION,
        response=APPROVAL,
        authority=Authority.APPROVER,
        effects=WRITES,
        handler=revoke,
        positional=("id",),
        doc="Take back an approval that is not used up, also while a run waits for it.",
    ),
    Operation(
        noun=NOUN,
        verb="wait",
        request=params(
            ("id", "timeout_s"),
            id=EITHER_ID,
            timeout_s={
                "type": "number",
                "minimum": 0,
                "maximum": 86_400,
                "description": "Seconds; the approval as it is then is the answer.",
            },
        ),
        response=APPROVAL,
        authority=Authority.CALLER,
        effects=READS,
        handler=wait,
        positional=("id",),
        doc="Wait until an approval is decided, by whichever process.",
    ),
)
