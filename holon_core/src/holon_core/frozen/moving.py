"""Making moves: gates asked and the record changed in one transaction, with its evidence."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.catalogue.catalogue import Entry
from holon_core.errors import Refused, Rejected
from holon_core.frozen import store as stored
from holon_core.frozen.gates import GATES, JUDGES, Asked, refuse_first
from holon_core.frozen.lifecycle import find
from holon_core.guard.execute import failed
from holon_core.guard.secrecy import kept_secret
from holon_core.records.failure import failure
from holon_core.records.frozen import FrozenState, FrozenToolRecord, LifecycleMove
from holon_core.records.outcome import completed
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import ApprovalRequirement, Effect, LaneKind, Origin, Posture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.frozen.kinds import Kinds
    from holon_core.frozen.store import FrozenStore
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.store.protocol import Tables

# A call of its own kind: held, shown, approved and released as every other, and in no listing.
MOVE_TOOL = "holon.frozen-tools/move"
RECORD_KIND = "lifecycle"
_ARGUMENTS = {
    "type": "object",
    "properties": {
        "proposal": {"type": "string", "minLength": 1, "maxLength": 400},
        "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "artifact": {"type": "string", "maxLength": 64},
        "target": {"enum": ["validated", "frozen", "active"]},
        "reason": {"type": "string", "maxLength": 2000},
    },
    "required": ["proposal", "digest", "artifact", "target", "reason"],
    "additionalProperties": False,
}
_ANSWER = {
    "type": "object",
    "properties": {
        "proposal": {"type": "string"},
        "state": {"type": "string"},
        "revision": {"type": "integer"},
    },
    "required": ["proposal", "state", "revision"],
    "additionalProperties": False,
}


class Mover:
    """Moves tools through their lifecycle; the executor of the moves that need an approval.

    Args:
        guard: The parts.
        records: Where the tools are.
        kinds: Asked by the gates.
    """

    def __init__(self, guard: Guard, records: FrozenStore, kinds: Kinds) -> None:
        self._guard, self._records, self._kinds = guard, records, kinds

    def entry(self) -> Entry:
        """Return the entry under which moves that need an approval are called."""
        from holon_core.wire.canonical import digest

        tool = RuntimeToolDescriptor(
            id=MOVE_TOOL,
            lane=LaneKind.BUILT_IN.value,
            origin=Origin.BUILT_IN,
            posture=Posture.BUILT_IN_SAFE,
            version="1",
            name="move",
            title="Move a frozen tool",
            description="Move a frozen tool of exactly this digest to a state of its lifecycle.",
            input_schema=_ARGUMENTS,
            output_schema=_ANSWER,
            effects=frozenset({Effect.HOST_STATE_WRITE}),
            approval=ApprovalRequirement.REQUIRED,
            projections=(),
        )
        tool = tool.with_digest(digest(tool.definition(), domain="holon-definition/1"))
        entry = Entry(tool, self)
        entry.always_asks = True
        return entry

    def execute(self, call: SealedCall) -> ExecutorOutcome:
        """Make a move that was approved, if what was approved is still what is there."""
        given = call.arguments
        try:
            moved = self._approved(call, given)
        except Refused as refused:
            return failed(refused.failure, started=False, blocked=True)
        except Rejected as rejected:
            problem = failure("move_not_allowed", str(rejected)[:500])
            return failed(problem, started=False, blocked=True)
        answer = {"proposal": moved.id, "state": moved.state.value, "revision": moved.revision}
        return completed(answer)

    def _approved(self, call: SealedCall, given: Mapping[str, Any]) -> FrozenToolRecord:
        target = FrozenState(given["target"])
        approval_id = call._attempt.approval_id or ""

        def check(tables: Tables, record: FrozenToolRecord) -> LifecycleMove:
            built = "" if record.artifact is None else record.artifact.sha256
            if record.workspace != call.caller.workspace:
                raise Refused(failure("wrong_workspace"))
            if (record.digest, built) != (given["digest"], given["artifact"]):
                text = f"{record.id} is not what was approved any more"
                raise Refused(failure("definition_changed", text, found=record.digest))
            approval = tables.approval(approval_id)
            by = "" if approval is None else approval.decided_by or ""
            if not by:
                raise Refused(failure("approval_required", "nobody is named who approved it"))
            return self._move(
                record,
                target,
                by=call.caller.principal,
                reason=given["reason"],
                approval_id=approval_id,
                approved_by=by,
                call_id=call.call_id,
            )

        verb = "unblock" if target is FrozenState.VALIDATED else "promote"
        return self._change(given["proposal"], verb, target, check=check, needs_approval=True)

    def preview(self, call: SealedCall) -> Mapping[str, Any]:
        """Show what would be moved, and how it differs from the active version."""
        record = self._records.get(str(call.arguments["proposal"]))
        if record is None:
            return {}
        from holon_core.frozen.difference import difference, shown

        active = self._records.store.read(lambda tables: active_of(tables, record))
        view = {"moves": f"{record.state} to {call.arguments['target']}", **shown(record)}
        if active is not None and active.id != record.id:
            view["differs_from"] = active.id
            view["changes"] = difference(active, record)
        return view

    def move(
        self,
        record_id: str,
        verb: str,
        target: FrozenState | None = None,
        *,
        by: str,
        reason: str = "",
        expected: int | None = None,
        call_id: str = "",
        changed: Any = None,
    ) -> FrozenToolRecord:
        """Make a move that needs no approval.

        Args:
            record_id: The tool.
            verb: The operation.
            target: Where to, where several are possible.
            by: Who moves it.
            reason: Why; required where the move asks for one.
            expected: The revision that it is based on.
            call_id: The call that it belongs to.
            changed: Changes the record before the gates look at it.

        Raises:
            Refused: ``move_not_allowed``, ``conflict``, or what a gate says.
            Rejected: With every finding of its definition.
        """

        def check(_: Tables, record: FrozenToolRecord) -> LifecycleMove:
            stored.check_revision(record, expected)
            wanted = find(record.state, verb, target).target
            return self._move(record, wanted, by=by, reason=reason, call_id=call_id)

        return self._change(record_id, verb, target, check=check, changed=changed)

    def _move(self, record: FrozenToolRecord, target: FrozenState, **facts: Any) -> LifecycleMove:
        now = int(self._guard.clock.now())
        return LifecycleMove(source=record.state, target=target, at_unix_seconds=now, **facts)

    def _change(
        self,
        record_id: str,
        verb: str,
        target: FrozenState | None,
        *,
        check: Any,
        changed: Any = None,
        needs_approval: bool = False,
    ) -> FrozenToolRecord:
        judged = self._judge(record_id, verb, target)

        def work(tables: Tables, record: FrozenToolRecord) -> FrozenToolRecord:
            row = find(record.state, verb, target)
            if row.approval is not needs_approval:
                text = f"the move to {row.target} needs an approval" if row.approval else None
                raise Refused(failure("approval_required", text))
            made: LifecycleMove = check(tables, record)
            secret = kept_secret(self._guard.redactor, made.reason, "/reason")
            if secret is not None:
                raise Refused(secret)
            if (record.state, record.executor_ref) != (judged.state, judged.executor_ref):
                raise Refused(failure("conflict", f"{record.id} changed while it was judged"))
            if changed is not None:
                record = changed(record)
            asked = Asked(record=record, tables=tables, reason=made.reason)
            refuse_first(GATES[name](asked) for name in row.needs if name in GATES)
            if row.target is FrozenState.ACTIVE:
                self._retire(tables, record, made)
            moved = moved_by(record, made)
            self.record(tables, moved, made)
            return moved

        at = int(self._guard.clock.now())
        moved = self._records.change(record_id, work, at)
        self._guard.pump.notify()
        self._guard.learn(self._guard.revision)
        return moved

    def _judge(self, record_id: str, verb: str, target: FrozenState | None) -> FrozenToolRecord:
        """Ask the gates that run code of lanes, before the store's one writer is kept waiting."""
        record = self._records.read(record_id)
        row = find(record.state, verb, target)
        refuse_first(JUDGES[name](record, self._kinds) for name in row.needs if name in JUDGES)
        return record

    def _retire(self, tables: Tables, record: FrozenToolRecord, made: LifecycleMove) -> None:
        """Make the active version of the same name deprecated, in the same transaction."""
        before = active_of(tables, record)
        if before is None or before.id == record.id:
            return
        move = LifecycleMove(
            source=before.state,
            target=FrozenState.DEPRECATED,
            at_unix_seconds=made.at_unix_seconds,
            by=made.by,
            reason=f"{record.id} became active",
            approval_id=made.approval_id,
            approved_by=made.approved_by,
            call_id=made.call_id,
        )
        retired = moved_by(before, move)
        stored.put(tables, retired, made.at_unix_seconds)
        self.record(tables, retired, move)

    def begun(
        self, tables: Tables, record: FrozenToolRecord, *, by: str, origin: tuple[str, str] | None
    ) -> int:
        """Record that a tool was proposed, and from what; return the record's position."""
        made = LifecycleMove(
            source=None,
            target=record.state,
            at_unix_seconds=record.created_at_unix_seconds,
            by=by,
            reason="" if origin is None else f"from {origin[0]} {origin[1]}",
        )
        return self.record(tables, record, made)

    def record(self, tables: Tables, record: FrozenToolRecord, made: LifecycleMove) -> int:
        """Append the evidence of a move; return its position."""
        recorder = self._guard.recorder
        fields = {
            "by": recorder.quoted(made.by),
            "digest": quote(record.digest),
            "from": "null" if made.source is None else quote(made.source),
            "host": recorder.host_fragment(),
            "reason": recorder.quoted(made.reason, limit=2000),
            "to": quote(made.target),
            "frozen_tool": quote(record.id),
        }
        if made.approval_id:
            fields["approval"] = quote(made.approval_id)
            fields["approved_by"] = recorder.quoted(made.approved_by)
        call = made.call_id or record.id
        return tables.append(recorder.draft(record.workspace, call, RECORD_KIND, fields))


def moved_by(record: FrozenToolRecord, made: LifecycleMove) -> FrozenToolRecord:
    """Return a record after a move."""
    blocked = made.target is FrozenState.BLOCKED
    run = record.validation
    return evolve(
        record,
        state=made.target,
        moves=(*record.moves, made),
        blocked_reason=made.reason if blocked else None,
        # What was proven before a block proves nothing after it; a failed run says why it is.
        validation=None if blocked and run is not None and run.passed else run,
    )


def active_of(tables: Tables, record: FrozenToolRecord) -> FrozenToolRecord | None:
    """Return the active version of a tool's name in its workspace, or ``None``."""
    for each in stored.versions(tables, record.workspace, record.name):
        if each.state is FrozenState.ACTIVE:
            return each
    return None
