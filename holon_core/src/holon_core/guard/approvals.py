"""Approvals as people and hosts handle them (`rt.approvals`): decide, grant, revoke, wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import Misuse, Refused
from holon_core.governed import OPERATION_LANE, Facet, operation
from holon_core.guard.attempt import Attempt
from holon_core.guard.evidence import RUNTIME_CHAIN
from holon_core.guard.grants import checked_pattern
from holon_core.guard.idempotency import free_held_key
from holon_core.ids import new_id
from holon_core.names import (
    MAX_NAME,
    MAX_TOOL_ID,
    optional_name,
    optional_text,
    page,
    required_name,
    required_text,
    same_person,
    whole,
)
from holon_core.records.approval import ApprovalRecord, HeldCall
from holon_core.records.failure import failure
from holon_core.records.listing import Listing
from holon_core.records.words import ApprovalState, Effect, HeldState
from holon_core.store.approval_tables import aged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holon_core.cancel import CancelToken
    from holon_core.guard.guard import Guard
    from holon_core.records.approval_view import ApprovalView
    from holon_core.records.result import ToolResult
    from holon_core.store.protocol import Tables

MAX_GRANT_USES = 10_000
MAX_TTL_S = 30 * 86_400
POLL_S = 0.05


class Approvals(Facet):
    """Pending, decided and granted approvals, and the calls held for them."""

    def __init__(self, guard: Guard, drive: Callable[[Guard, Attempt], ToolResult]) -> None:
        self._guard = guard
        self._drive = drive

    def list(
        self,
        *,
        state: ApprovalState | None = ApprovalState.PENDING,
        workspace: str | None = None,
        after: str = "",
        limit: int = 50,
    ) -> tuple[ApprovalRecord, ...]:
        """Return approvals by id, oldest first; ``state=None`` for all. At most 1,000."""
        page(after, limit)
        optional_text(workspace, "workspace", MAX_NAME)
        if state is not None and type(state) is not ApprovalState:
            raise Misuse("state is a word of ApprovalState, or None")
        return Listing.page(
            self._guard.store.read(
                lambda tables: tables.list_approvals(
                    state=state, workspace=workspace, after=after, limit=limit, now=self._now()
                )
            ),
            limit,
        )

    def held(
        self, *, state: HeldState = HeldState.HELD, after: str = "", limit: int = 50
    ) -> tuple[HeldCall, ...]:
        """Return held calls by call id, oldest first. At most 1,000."""
        page(after, limit)
        if type(state) is not HeldState:
            raise Misuse("state is a word of HeldState")
        return Listing.page(
            self._guard.store.read(
                lambda tables: tables.list_held(state=state, after=after, limit=limit)
            ),
            limit,
        )

    def read(self, approval_or_call: str) -> ApprovalRecord:
        """Return an approval by its id or by the id of a call held for it.

        Raises:
            Refused: ``not_held``: there is none.
        """
        found = self._guard.store.read(lambda tables: _find(tables, approval_or_call))
        return aged(found, self._now())

    def held_call(self, call_id: str) -> HeldCall:
        """Return a held call, whatever became of it.

        Raises:
            Refused: ``not_held``: no such call was held.
        """
        required_text(call_id, "a call id", MAX_NAME)
        found = self._guard.store.read(lambda tables: tables.held(call_id))
        if found is None:
            raise Refused(failure("not_held", f"no call {call_id} was held"))
        return found

    def held_for(self, approval_id: str) -> tuple[HeldCall, ...]:
        """Return the calls that wait, or waited, for one approval, oldest first."""
        required_text(approval_id, "an id", MAX_NAME)
        return Listing(self._guard.store.read(lambda tables: tables.held_for(approval_id)))

    def view(self, call_id: str) -> ApprovalView:
        """Return what a person sees who decides about a held call.

        Raises:
            Refused: ``not_held``: no such call was held.
        """
        from holon_core.guard.approval_view import build_view

        held, approval = self.held_call(call_id), self.read(call_id)

        def last(tables: Tables) -> HeldCall | None:
            used = tables.last_consumed(approval.tool, approval.workspace)
            return None if used is None else tables.held(used)

        before = self._guard.store.read(last)
        return build_view(
            held,
            approval,
            last_arguments=None if before is None else before.arguments,
            now=self._now(),
            operator=self._guard.operator,
        )

    @operation("execution-approval/approve", approval_or_call="id")
    def approve(self, approval_or_call: str, *, by: str, reason: str) -> ApprovalRecord:
        """Let a held call run, once, exactly as it was held.

        Args:
            approval_or_call: Id of the approval or of a call held for it.
            by: Who decides, stated by the host's authentication.
            reason: Why, for the record.

        Raises:
            Refused: ``self_approval``, ``already_decided``, ``approval_expired``, ``not_held``.
        """
        return self._decide(approval_or_call, ApprovalState.APPROVED, by=by, reason=reason)

    @operation("execution-approval/deny", approval_or_call="id")
    def deny(self, approval_or_call: str, *, by: str, reason: str) -> ApprovalRecord:
        """Refuse a held call; the same payload is refused until the approval would expire.

        Args:
            approval_or_call: Id of the approval or of a call held for it.
            by: Who decides; who asked may say no to an own call.
            reason: Why; the caller is told.

        Raises:
            Refused: ``already_decided``, ``approval_expired``, ``not_held``.
        """
        return self._decide(approval_or_call, ApprovalState.DENIED, by=by, reason=reason)

    @operation("execution-approval/edit")
    def edit(
        self, call_id: str, arguments: Mapping[str, Any], *, by: str, reason: str
    ) -> ToolResult:
        """Replace a held call by one with other arguments, validated, gated and held anew.

        Args:
            call_id: A call that is held.
            arguments: All arguments of the new one.
            by: Who decides, stated by the host's authentication.
            reason: Why, for the record.

        Returns:
            The result of the new attempt: held, or refused by a step before.

        Raises:
            Refused: ``self_approval``, ``already_decided``, ``not_held``.
        """
        _check_said(by, reason)
        held = self.held_call(call_id)
        if held.state is not HeldState.HELD:
            raise Refused(failure("already_decided", f"call {call_id} is {held.state}"))
        if held.tool["lane"] == OPERATION_LANE:
            text = "an operation is not edited: deny it, and ask it with other parameters"
            raise Refused(failure("not_allowed", text))
        self._self_approved(held.caller.principal, by)
        tool_id = str(held.tool["id"])
        attempt = Attempt(tool_id, arguments, held.caller, mode="edit", key=None, held=held)
        result = self._drive(self._guard, attempt)
        if result.held is not None:
            self._guard.store.transact(
                lambda tables: self._replace(tables, held, result.call_id, by, reason)
            )
            self._guard.pump.notify()
        return result

    def _replace(self, tables: Tables, held: HeldCall, new_call: str, by: str, reason: str) -> None:
        current = tables.held(held.call_id)
        if current is None or current.state is not HeldState.HELD:
            raise Refused(failure("already_decided", f"call {held.call_id} was decided meanwhile"))
        tables.set_held_state(held.call_id, HeldState.REPLACED, replaced_by=new_call)
        free_held_key(tables, held)
        approval = tables.approval(held.approval_id)
        others = [h for h in tables.held_for(held.approval_id) if h.state is HeldState.HELD]
        if approval is not None and approval.state is ApprovalState.PENDING and not others:
            tables.put_approval(
                evolve(
                    approval,
                    state=ApprovalState.EDITED,
                    decided_by=by,
                    decided_at_unix_seconds=self._now(),
                    reason=reason,
                )
            )
        self._record(
            tables,
            held.caller.workspace,
            held.call_id,
            "edited",
            by=by,
            reason=reason,
            replaced_by=new_call,
        )

    @operation("execution-approval/grant")
    def grant(
        self,
        tool: str,
        pattern: Mapping[str, Any],
        *,
        principal: str,
        workspace: str | None = None,
        role: str | None = None,
        profile: str | None = None,
        uses: int,
        ttl_s: int,
        by: str,
        reason: str,
    ) -> ApprovalRecord:
        """Approve calls of one tool ahead, within an argument pattern, a number and a time.

        Args:
            tool: Tool id; its definition now is the one granted.
            pattern: Argument name to ``{"equals": v}``, ``{"one_of": [v]}`` or
                ``{"glob": "text*"}``. Only calls with exactly these arguments are covered; an
                empty pattern covers calls without arguments and no others.
            principal: Whose calls; with workspace, role and profile the scope.
            workspace: Workspace id.
            role: Role of the caller.
            profile: Profile of the caller.
            uses: 1 to 10,000.
            ttl_s: Seconds until it expires, at most 30 days.
            by: Who grants.
            reason: Why.

        Raises:
            Refused: ``unknown_tool``, ``self_approval``, ``not_allowed`` for a destructive tool.
            Misuse: A pattern, number or time outside its bounds, or a pattern that names an
                argument that the tool does not take.
        """
        _check_said(by, reason)
        required_name(principal, "principal")
        for what, text in (("workspace", workspace), ("role", role), ("profile", profile)):
            optional_name(text, what)
        whole(uses, "uses", least=1, most=MAX_GRANT_USES)
        whole(ttl_s, "ttl_s", least=1, most=MAX_TTL_S)
        entry = self._guard.catalogue.get(required_text(tool, "a tool id", MAX_TOOL_ID))
        if entry is None:
            raise Refused(failure("unknown_tool", f"no tool {tool}"))
        if Effect.DESTRUCTIVE in entry.tool.effects:
            raise Refused(failure("not_allowed", "a destructive tool is never granted ahead"))
        if entry.always_asks:
            text = "each call of this tool needs an approval of its own"
            raise Refused(failure("not_allowed", text))
        pattern = checked_pattern(pattern, entry.tool)
        now = self._now()
        made = ApprovalRecord(
            id=new_id("g"),
            state=ApprovalState.APPROVED,
            tool=tool,
            definition=entry.tool.digest,
            fingerprint="",
            arguments_digest="",
            workspace=workspace,
            principal=principal,
            role=role,
            profile=profile,
            pattern=pattern,
            uses_left=uses,
            requested_at_unix_seconds=now,
            expires_at_unix_seconds=now + ttl_s,
            decided_at_unix_seconds=now,
            decided_by=by,
            reason=reason,
            self_approved=self._self_approved(principal, by),
        )
        self._guard.store.transact(lambda tables: self._put_grant(tables, made), full=True)
        self._guard.pump.notify()
        return made

    def _put_grant(self, tables: Tables, made: ApprovalRecord) -> None:
        tables.put_approval(made)
        self._record(
            tables,
            made.workspace,
            made.id,
            "granted",
            by=str(made.decided_by),
            reason=str(made.reason),
            tool=made.tool,
        )

    @operation("execution-approval/revoke", approval_or_call="id")
    def revoke(self, approval_or_call: str, *, by: str, reason: str) -> ApprovalRecord:
        """Take back an approval that is not used up, also while a run waits for it.

        Args:
            approval_or_call: Id of the approval, the grant or a call held for it.
            by: Who takes it back.
            reason: Why, for the record.

        Raises:
            Refused: ``already_decided``: it is spent or was never given; ``not_held``.
        """
        _check_said(by, reason)

        def work(tables: Tables) -> ApprovalRecord:
            approval = _find(tables, approval_or_call)
            if approval.state not in (ApprovalState.APPROVED, ApprovalState.PENDING):
                raise Refused(failure("already_decided", f"it is {approval.state}"))
            revoked = evolve(
                approval,
                state=ApprovalState.REVOKED,
                decided_by=by,
                decided_at_unix_seconds=self._now(),
                reason=reason,
            )
            tables.put_approval(revoked)
            self._record(tables, approval.workspace, approval.id, "revoked", by=by, reason=reason)
            return revoked

        answer = self._guard.store.transact(work, full=True)
        self._guard.pump.notify()
        return answer

    def wait(
        self, approval_or_call: str, *, timeout_s: float, cancel: CancelToken | None = None
    ) -> ApprovalRecord:
        """Wait until an approval is decided, by whichever process.

        Args:
            approval_or_call: Id of the approval or of a call held for it.
            timeout_s: 0 to 86,400; the approval as it is then is returned.
            cancel: Ends the waiting early, as the end of the time does.
        """
        import time

        if type(timeout_s) not in (int, float) or not 0 <= timeout_s <= 86_400:
            raise Misuse("timeout_s is 0 to 86400")
        deadline = time.monotonic() + timeout_s
        while True:
            approval = self.read(approval_or_call)
            left = deadline - time.monotonic()
            if cancel is not None and cancel.cancelled:
                return approval
            if approval.state is not ApprovalState.PENDING or left <= 0:
                return approval
            time.sleep(min(POLL_S, left))

    def _decide(
        self, approval_or_call: str, state: ApprovalState, *, by: str, reason: str
    ) -> ApprovalRecord:
        _check_said(by, reason)

        def work(tables: Tables) -> ApprovalRecord | Refused:
            approval = _find(tables, approval_or_call)
            held = tables.held(approval_or_call)
            if held is not None and held.state is not HeldState.HELD:
                raise Refused(failure("already_decided", f"call {held.call_id} is {held.state}"))
            if approval.state is not ApprovalState.PENDING:
                raise Refused(failure("already_decided", f"it is {approval.state}"))
            now = self._now()
            if now >= approval.expires_at_unix_seconds:
                tables.put_approval(evolve(approval, state=ApprovalState.EXPIRED))
                return Refused(failure("approval_expired", approval=approval.id))
            decided = evolve(
                approval,
                state=state,
                decided_by=by,
                decided_at_unix_seconds=now,
                reason=reason,
                self_approved=self._self_approved(approval.principal, by, state),
            )
            tables.put_approval(decided)
            self._after(tables, decided)
            return decided

        answer = self._guard.store.transact(work, full=True)
        if isinstance(answer, Refused):
            raise answer
        self._guard.pump.notify()
        return answer

    def _after(self, tables: Tables, decided: ApprovalRecord) -> None:
        waiting = [h for h in tables.held_for(decided.id) if h.state is HeldState.HELD]
        if decided.state is ApprovalState.DENIED:
            for held in waiting:
                tables.set_held_state(held.call_id, HeldState.DENIED)
                free_held_key(tables, held)
        call = waiting[0].call_id if waiting else decided.id
        self._record(
            tables,
            decided.workspace,
            call,
            str(decided.state),
            by=str(decided.decided_by),
            reason=str(decided.reason),
            approval=decided.id,
            fingerprint=decided.fingerprint,
            self_approved=decided.self_approved,
        )

    def _self_approved(
        self, principal: str, by: str, state: ApprovalState = ApprovalState.APPROVED
    ) -> bool:
        """Tell whether somebody decides an own call; refuse unless this is a runtime for one."""
        if not same_person(by, principal):
            return False
        if state is ApprovalState.APPROVED and by != self._guard.operator:
            raise Refused(failure("self_approval", f"{by} asked and may not approve"))
        return True

    def _record(
        self,
        tables: Tables,
        workspace: str | None,
        call: str,
        kind: str,
        *,
        by: str,
        reason: str,
        **more: Any,
    ) -> None:
        recorder = self._guard.recorder
        fields = {
            "by": recorder.quoted(by),
            "reason": recorder.quoted(reason, limit=2000),
            "host": recorder.host_fragment(),
        }
        fields.update({name: recorder.safe_json(value) for name, value in more.items()})
        tables.append(recorder.draft(workspace or RUNTIME_CHAIN, call, kind, fields))

    def _now(self) -> int:
        return int(self._guard.clock.now())


def _check_said(by: object, reason: object) -> None:
    """Refuse a decision of nobody, or without a reason."""
    required_name(by, "by")
    required_text(reason, "reason")


def _find(tables: Tables, approval_or_call: str) -> ApprovalRecord:
    required_text(approval_or_call, "an id", MAX_NAME)
    approval = tables.approval(approval_or_call)
    if approval is None:
        held = tables.held(approval_or_call)
        approval = None if held is None else tables.approval(held.approval_id)
    if approval is None:
        raise Refused(failure("not_held", f"no approval or held call {approval_or_call}"))
    return approval
