"""Tables of approvals, held calls and idempotency keys."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import evolve, fields

from holon_core.records.caller import CallerContext
from holon_core.records.words import ApprovalState, HeldState, Surface
from holon_core.store.rows import decodes, number, number_or_none, text, text_or_none

if TYPE_CHECKING:
    from holon_core.records.approval import ApprovalRecord, HeldCall

COLUMNS = (
    "id, state, tool, definition, fingerprint, arguments_digest, workspace, principal, role,"
    " profile, pattern, uses_left, requested_at, expires_at, decided_at, decided_by, reason,"
    " self_approved, used_by"
)
HELD_COLUMNS = "call, approval, state, workspace, principal, idempotency_key, at, replaced_by, body"


class Key(NamedTuple):
    """One idempotency key in use."""

    call: str
    fingerprint: str
    state: str
    expires_at: int
    result: bytes | None


@decodes("an approval")
def _approval(row: tuple[Any, ...]) -> ApprovalRecord:
    from holon_core.records.approval import ApprovalRecord

    return ApprovalRecord(
        id=text(row[0]),
        state=ApprovalState(row[1]),
        tool=text(row[2]),
        definition=text(row[3]),
        fingerprint=text(row[4]),
        arguments_digest=text(row[5]),
        workspace=text_or_none(row[6]),
        principal=text(row[7]),
        role=text_or_none(row[8]),
        profile=text_or_none(row[9]),
        pattern=None if row[10] is None else _object(json.loads(row[10])),
        uses_left=number(row[11]),
        requested_at_unix_seconds=number(row[12]),
        expires_at_unix_seconds=number(row[13]),
        decided_at_unix_seconds=number_or_none(row[14]),
        decided_by=text_or_none(row[15]),
        reason=text_or_none(row[16]),
        self_approved=bool(number(row[17], most=1)),
        used_by=tuple(map(text, _list(json.loads(row[18])))),
    )


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise TypeError
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def aged(approval: ApprovalRecord, now: int) -> ApprovalRecord:
    """Return an approval as it is at a time: one that still waits or serves may have expired."""
    live = approval.state in (ApprovalState.PENDING, ApprovalState.APPROVED)
    if not live or now < approval.expires_at_unix_seconds:
        return approval
    return evolve(approval, state=ApprovalState.EXPIRED)


def _approval_row(a: ApprovalRecord) -> tuple[Any, ...]:
    pattern = None if a.pattern is None else json.dumps(a.pattern, sort_keys=True)
    return (
        a.id,
        a.state.value,
        a.tool,
        a.definition,
        a.fingerprint,
        a.arguments_digest,
        a.workspace,
        a.principal,
        a.role,
        a.profile,
        pattern,
        a.uses_left,
        a.requested_at_unix_seconds,
        a.expires_at_unix_seconds,
        a.decided_at_unix_seconds,
        a.decided_by,
        a.reason,
        int(a.self_approved),
        json.dumps(a.used_by),
    )


_CALLER_FIELDS = tuple(field.name for field in fields(CallerContext))


def caller_json(caller: CallerContext) -> dict[str, Any]:
    """Return a caller as plain JSON, absent fields left out."""
    given = {name: getattr(caller, name) for name in _CALLER_FIELDS}
    return {name: str(value) for name, value in given.items() if value is not None}


def caller_from(data: dict[str, Any]) -> CallerContext:
    """Return the caller that ``caller_json`` described."""
    given: dict[str, Any] = {name: text(value) for name, value in data.items()}
    return CallerContext(**{**given, "surface": Surface(given["surface"])})


@decodes("a held call")
def _held(row: tuple[Any, ...]) -> HeldCall:
    body = json.loads(text(row[8]))
    preview = body["preview"]
    from holon_core.records.approval import HeldCall

    return HeldCall(
        call_id=text(row[0]),
        approval_id=text(row[1]),
        state=HeldState(row[2]),
        caller=caller_from(body["caller"]),
        tool=_object(body["tool"]),
        arguments=_object(body["arguments"]),
        preview=None if preview is None else _object(preview),
        flags=tuple(map(_object, _list(body["flags"]))),
        idempotency_key=text_or_none(row[5]),
        held_at_unix_seconds=number(row[6]),
        replaced_by=text_or_none(row[7]),
    )


@decodes("an idempotency key")
def _key(row: tuple[Any, ...]) -> Key:
    call, fingerprint, state, expires_at, result = row
    if result is not None and type(result) is not bytes:
        raise TypeError
    return Key(text(call), text(fingerprint), text(state), number(expires_at), result)


@decodes("an approval")
def _used_last(row: tuple[Any, ...]) -> str | None:
    used = _list(json.loads(row[0]))
    return text(used[-1]) if used else None


class ApprovalTables:
    """Statements of approvals, held calls and idempotency keys."""

    _sql: Any
    _connection: sqlite3.Connection

    def put_approval(self, approval: ApprovalRecord) -> None:
        """Store an approval, or its next state."""
        marks = ",".join("?" * 19)
        self._sql(f"insert or replace into approvals values({marks})", _approval_row(approval))

    def approval(self, approval_id: str) -> ApprovalRecord | None:
        """Return one approval."""
        row = self._sql(f"select {COLUMNS} from approvals where id=?", (approval_id,)).fetchone()
        return None if row is None else _approval(row)

    def approvals_for(self, fingerprint: str, *, limit: int = 20) -> list[ApprovalRecord]:
        """Return the newest approvals of exactly this payload, newest first."""
        rows = self._sql(
            f"select {COLUMNS} from approvals where fingerprint=?"
            " order by requested_at desc, id desc limit ?",
            (fingerprint, limit),
        )
        return [_approval(row) for row in rows]

    def approvals_in_scope(
        self, tool: str, principal: str, state: ApprovalState, *, limit: int = 100
    ) -> list[ApprovalRecord]:
        """Return approvals of one tool and principal in one state, in any workspace."""
        rows = self._sql(
            f"select {COLUMNS} from approvals where tool=? and principal=? and state=? limit ?",
            (tool, principal, state.value, limit),
        )
        return [_approval(row) for row in rows]

    def list_approvals(
        self,
        *,
        state: ApprovalState | None,
        workspace: str | None,
        after: str,
        limit: int,
        now: int,
    ) -> list[ApprovalRecord]:
        """Return approvals by id, after a given id; what has expired by ``now`` is expired."""
        wanted = {
            None: "(? is null)",
            ApprovalState.PENDING: "state=? and expires_at>:now",
            ApprovalState.APPROVED: "state=? and expires_at>:now",
            ApprovalState.EXPIRED: "(state=? or state in ('pending','approved')"
            " and expires_at<=:now)",
        }.get(state, "state=?")
        rows = self._sql(
            f"select {COLUMNS} from approvals where {wanted.replace('?', ':state')} and id>:after"
            " and (:workspace is null or workspace=:workspace) order by id limit :limit",
            {"state": state, "now": now, "after": after, "workspace": workspace, "limit": limit},
        )
        return [aged(_approval(row), now) for row in rows]

    def count_pending(self, workspace: str | None, principal: str, now: int) -> int:
        """Count the approvals of one principal in one workspace that can still be decided."""
        row = self._sql(
            "select count(*) from approvals where state='pending' and workspace is ?"
            " and principal=? and expires_at>?",
            (workspace, principal, now),
        ).fetchone()
        return int(row[0])

    def last_consumed(self, tool: str, workspace: str | None) -> str | None:
        """Return the call that used an approval of this tool last, for the approver's view."""
        row = self._sql(
            "select used_by from approvals where tool=? and workspace is ? and state='consumed'"
            " order by decided_at desc limit 1",
            (tool, workspace),
        ).fetchone()
        return None if row is None else _used_last(row)

    def put_held(self, held: HeldCall) -> None:
        """Store a held call, or its next state."""
        body = {
            "caller": caller_json(held.caller),
            "tool": held.tool,
            "arguments": held.arguments,
            "preview": held.preview,
            "flags": list(held.flags),
        }
        self._sql(
            "insert or replace into held values(?,?,?,?,?,?,?,?,?)",
            (
                held.call_id,
                held.approval_id,
                held.state.value,
                held.caller.workspace,
                held.caller.principal,
                held.idempotency_key,
                held.held_at_unix_seconds,
                held.replaced_by,
                json.dumps(body, ensure_ascii=False),
            ),
        )

    def held(self, call: str) -> HeldCall | None:
        """Return one held call, whatever became of it."""
        row = self._sql(f"select {HELD_COLUMNS} from held where call=?", (call,)).fetchone()
        return None if row is None else _held(row)

    def is_held(self, call: str) -> bool:
        """Tell whether a call still waits."""
        row = self._sql("select state from held where call=?", (call,)).fetchone()
        return row is not None and row[0] == HeldState.HELD.value

    def set_held_state(self, call: str, state: HeldState, replaced_by: str | None = None) -> None:
        """Move a held call to another state."""
        self._sql(
            "update held set state=?, replaced_by=? where call=?", (state.value, replaced_by, call)
        )

    def held_for(self, approval_id: str) -> list[HeldCall]:
        """Return the calls that wait, or waited, for one approval."""
        rows = self._sql(
            f"select {HELD_COLUMNS} from held where approval=? order by at, call", (approval_id,)
        )
        return [_held(row) for row in rows]

    def list_held(self, *, state: HeldState, after: str, limit: int) -> list[HeldCall]:
        """Return held calls in one state by call id, after a given id."""
        rows = self._sql(
            f"select {HELD_COLUMNS} from held where state=? and call>? order by call limit ?",
            (state.value, after, limit),
        )
        return [_held(row) for row in rows]

    def key(self, key: str) -> Key | None:
        """Return who uses an idempotency key."""
        row = self._sql(
            "select call, fingerprint, state, expires_at, result from idempotency where key=?",
            (key,),
        ).fetchone()
        return None if row is None else _key(row)

    def reserve_key(
        self, key: str, call: str, *, fingerprint: str, state: str, expires_at: int
    ) -> None:
        """Give an idempotency key to a call."""
        self._sql(
            "insert or replace into idempotency values(?,?,?,?,?,null)",
            (key, call, fingerprint, state, expires_at),
        )

    def finish_key(self, key: str, call: str, *, state: str, result: bytes | None) -> None:
        """Keep the result of the call that holds a key beside it."""
        self._sql(
            "update idempotency set state=?, result=? where key=? and call=?",
            (state, result, key, call),
        )

    def free_key(self, key: str, call: str) -> None:
        """Give a key back; nothing happens where another call holds it."""
        self._sql("delete from idempotency where key=? and call=?", (key, call))

    def free_interrupted(self, key: str) -> None:
        """Give back the key of a call that was interrupted; any other stays."""
        self._sql("delete from idempotency where key=? and state='interrupted'", (key,))

    def interrupt_keys(self, call: str) -> None:
        """Mark the keys of a call that was interrupted."""
        self._sql("update idempotency set state='interrupted' where call=?", (call,))

    def purge_keys(self, now: int, *, limit: int) -> int:
        """Remove expired keys that no running call holds; return how many."""
        done = self._sql(
            "delete from idempotency where key in (select key from idempotency"
            " where expires_at<? and state not in ('running', 'held') limit ?)",
            (now, limit),
        )
        return int(done.rowcount)
