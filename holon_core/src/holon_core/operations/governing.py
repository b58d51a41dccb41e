"""Operations with effects: policy, a person's approval where it asks, evidence, then the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, frozen

from holon_core.catalogue.catalogue import Entry
from holon_core.errors import JsonRefused, Misuse, Refused
from holon_core.governed import OPERATION_LANE, doing
from holon_core.guard.attempt import Attempt
from holon_core.guard.call import unconfinable
from holon_core.guard.fingerprint import fingerprint
from holon_core.guard.holding import hold
from holon_core.guard.spending import spend
from holon_core.names import checked_caller
from holon_core.operations.trail import CALLS, DECISIONS, Trail, trail
from holon_core.records.approval import ApprovalRecord
from holon_core.records.base import Record
from holon_core.records.caller import CallerContext
from holon_core.records.failure import failure
from holon_core.records.policy import PolicyRequest, Verdict
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import (
    READ_ONLY,
    Authority,
    Decision,
    Effect,
    HeldState,
    Origin,
    Posture,
)
from holon_core.store.chains import CatalogueMoved
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.guard.policy import PolicyOutcome
    from holon_core.records.approval import HeldCall
    from holon_core.records.operation import Operation
    from holon_core.store.protocol import Tables

T = TypeVar("T")
DEFAULT = "default:operation"
OPEN_OPERATION = "an operation of the runtime itself can't be confined"
# Whatever is missing or behind: these only tighten, or are the way out, or let nothing happen
# (in a workspace that was opened so every call is denied as anywhere else).
ALWAYS = frozenset(
    {"execution-approval/deny", "execution-approval/revoke", "plugin/retire", "workspace/open"}
)
_OWN_STATE = READ_ONLY - {Effect.MACHINE_READ, Effect.NETWORK_READ} | {Effect.HOST_STATE_WRITE}


class _Moved(Exception):
    """What policy was asked about has changed before the operation was recorded."""


@frozen(kw_only=True, eq=False, repr=False)
class Asked(Record):
    """One operation as somebody asks it."""

    operation: Operation
    caller: CallerContext
    authorities: frozenset[Authority]
    params: Mapping[str, Any]
    held: HeldCall | None = None


def is_governed(operation: Operation) -> bool:
    """Tell whether policy decides an operation here: by its effects, but for calls of tools."""
    return not operation.effects <= READ_ONLY and operation.method not in CALLS


def default_verdict(operation: Operation, authorities: frozenset[Authority]) -> Verdict:
    """Return what is decided of an operation that no rule matches."""
    if Authority.CALLER not in {operation.authority, *operation.also}:
        return _verdict(Decision.ALLOW, "whoever has its authority may do it")
    if Authority.OPERATOR in authorities:
        return _verdict(Decision.ALLOW, "an operator asks it")
    asks = operation.effects - _OWN_STATE
    if not asks:
        return _verdict(Decision.ALLOW, "it changes nothing but Holon's own state")
    named = ", ".join(sorted(effect.value for effect in asks))
    return _verdict(Decision.ASK, f"its effects need an approval: {named}")


def _verdict(decision: Decision, reason: str) -> Verdict:
    return Verdict(decision=decision, rule=DEFAULT, reason=reason)


class Governing:
    """The one way of every operation with effects, whichever door it came by."""

    def __init__(self, guard: Guard, app: str, offered: Mapping[str, Operation]) -> None:
        self._guard = guard
        self._app = app
        self._offered = offered
        self._entries: dict[str, Entry] = {}

    def decide(self, asked: Asked) -> PolicyOutcome:
        """Ask policy about an operation; nothing is recorded."""
        return self._decide(asked, self._entry(asked.operation), self._effects_used(asked))

    def through(
        self,
        method: str,
        params: Mapping[str, Any],
        work: Callable[[], T],
        *,
        by: str | CallerContext | None,
    ) -> T:
        """Do an operation for the host, which holds every authority."""
        from holon_core.operations.table import OPERATIONS

        operation, guard = OPERATIONS.get(method) or self._offered[method], self._guard
        if isinstance(by, CallerContext):
            caller = by
        else:
            caller = CallerContext(principal=self._host() if by is None else by)
        # As what it is given by: nobody does nothing.
        checked_caller(caller)
        with trail(guard, operation, caller) as made:
            asked = Asked(
                operation=operation,
                caller=caller,
                authorities=frozenset(Authority),
                params=_as_json(operation, params),
            )
            return self.run(asked, made, work)

    def _host(self) -> str:
        return self._guard.operator or f"host.{self._app}"

    def run(self, asked: Asked, made: Trail, work: Callable[[], T]) -> T:
        """Do an operation if policy, and where it asks a person, lets it.

        Args:
            asked: Its parameters fit the schema.
            made: Its records.
            work: Does it.

        Raises:
            Refused: ``policy_denied``, ``guard_missing``, ``approval_required`` with the id of
                what is held, or another code of an approval; or what the work refuses.
            StoreError: It cannot be recorded, so it was not begun.
        """
        while True:
            self._guard.learn(self._guard.revision)
            try:
                self._admit(asked, made)
            except (_Moved, CatalogueMoved):
                continue
            with doing(asked.operation.method):
                return work()

    def _admit(self, asked: Asked, made: Trail) -> None:
        """Let an operation begin, or raise; it is recorded either way."""
        guard, entry, method = self._guard, self._entry(asked.operation), asked.operation.method
        behind = guard.pump.behind()
        if behind is not None and method not in ALWAYS:
            raise Refused(behind)
        used, revision = self._effects_used(asked), guard.revision
        made.policy = outcome = self._decide(asked, entry, used)
        if outcome.decision is Decision.DENY:
            made.quiet = False
            reason = guard.recorder.foreign_text(outcome.reason)
            code = outcome.code or "policy_denied"
            raise Refused(failure(code, reason or None, rule=outcome.rule))
        if outcome.confined:
            made.quiet = False
            raise Refused(unconfinable(outcome, OPEN_OPERATION))
        # Where policy asks for a person to decide: this is one, who decides.
        if made.quiet and (outcome.decision is Decision.ALLOW or method in DECISIONS):
            return
        made.quiet = False
        attempt = None
        if outcome.decision is Decision.ASK:
            attempt = _attempt(asked, entry, made)

        def begin(tables: Tables) -> Refused | int:
            if asked.held is not None and not tables.is_held(asked.held.call_id):
                return Refused(failure("not_held"))
            refused = None if attempt is None else self._spend(tables, attempt, made)
            if refused is not None:
                return refused
            if asked.held is not None:
                tables.set_held_state(asked.held.call_id, HeldState.RELEASED)
            _use_effects(tables, asked, used)
            return tables.append(
                made.accepted(asked.params), revision=revision, opens=guard.runtime_id, anchor=True
            )

        answer = guard.store.transact(begin, full=True)
        guard.pump.notify()
        if isinstance(answer, Refused):
            raise answer
        made.begun(answer)

    def _decide(self, asked: Asked, entry: Entry, effects_used: frozenset[Effect]) -> PolicyOutcome:
        request = PolicyRequest(
            tool=entry.tool,
            caller=asked.caller,
            arguments=_read(asked),
            posture=entry.tool.posture,
            effects_used=effects_used,
        )
        return self._guard.policy.decide_operation(
            request,
            default_verdict(asked.operation, asked.authorities),
            in_spite_of_missing=asked.operation.method in ALWAYS,
        )

    def _spend(self, tables: Tables, attempt: Attempt, made: Trail) -> Refused | None:
        """Use an approval of exactly these parameters, or hold the operation for one."""
        now = int(self._guard.clock.now())
        found = spend(tables, attempt, now)
        if isinstance(found, ApprovalRecord):
            made.approval = found
            return None
        if found.code == "approval_denied":
            return Refused(found)
        attempt.seqs.clear()
        result = hold(self._guard, attempt, tables, found, now)
        assert result.failure is not None
        # The record of a held call says all of it.
        made.quiet = True
        held = {} if result.held is None else {"held": result.held}
        return Refused(evolve(result.failure, details={**result.failure.details, **held}))

    def _effects_used(self, asked: Asked) -> frozenset[Effect]:
        run = asked.caller.run
        if run is None:
            return frozenset()
        return frozenset(map(Effect, self._guard.store.read(lambda t: t.run_effects(run))))

    def _entry(self, operation: Operation) -> Entry:
        entry = self._entries.get(operation.method)
        if entry is None:
            entry = self._entries[operation.method] = Entry(_descriptor(operation), None)
        return entry


def _attempt(asked: Asked, entry: Entry, made: Trail) -> Attempt:
    """Return what approvals are found by and held for: the operation as a call of one."""
    from holon_core.wire.canonical import canonical

    assert made.policy is not None
    attempt = Attempt(asked.operation.method, asked.params, asked.caller, held=asked.held)
    attempt.entry, attempt.verdict = entry, made.policy
    attempt.arguments = dict(asked.params)
    attempt.canonical = canonical(attempt.arguments)
    attempt.posture = entry.tool.posture
    attempt.call_id, attempt.chain = made.id, made.chain
    attempt.preview = {}
    attempt.fingerprint = fingerprint(entry.tool, attempt.posture, asked.caller, attempt.canonical)
    return attempt


def _use_effects(tables: Tables, asked: Asked, before: frozenset[Effect]) -> None:
    run = asked.caller.run
    if run is None:
        return
    if frozenset(map(Effect, tables.run_effects(run))) != before:
        raise _Moved
    tables.add_run_effects(run, frozenset(effect.value for effect in asked.operation.effects))


def _read(asked: Asked) -> Mapping[str, Any]:
    """Return the parameters as policy sees them: JSON, and nothing where one is none."""
    given = dict(asked.params)
    for name in asked.operation.unread:
        try:
            given[name] = normalise(given.get(name, {})).value
        except JsonRefused:
            given[name] = {}
    return given


def _as_json(operation: Operation, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given from Python as JSON; what the guarded call judges stays as it is.

    Raises:
        Misuse: A value has no form in JSON.
    """
    unread = {name: params[name] for name in operation.unread if name in params}
    try:
        made: Any = normalise({**params, **{name: {} for name in unread}}).value
    except JsonRefused as error:
        text = f"{operation.method}: {error.message} at {error.path or '/'}"
        raise Misuse(text) from None
    return {**made, **unread}


def _descriptor(operation: Operation) -> RuntimeToolDescriptor:
    """Return an operation as policy and approvers see it; never an entry of the catalogue."""
    from holon_core.operations.table import OPERATIONS
    from holon_core.wire.canonical import digest

    core = OPERATIONS.get(operation.method) is operation
    made = RuntimeToolDescriptor(
        id=operation.method,
        lane=OPERATION_LANE,
        origin=Origin.BUILT_IN if core else Origin.PLUGIN,
        posture=Posture.BUILT_IN_SAFE if core else Posture.LANE_LIVE,
        version="1",
        name=operation.method,
        description=operation.doc,
        input_schema=operation.request,
        output_schema=operation.response,
        effects=operation.effects,
        projections=(),
    )
    return made.with_digest(digest(made.definition(), domain="holon-operation-definition/1"))
