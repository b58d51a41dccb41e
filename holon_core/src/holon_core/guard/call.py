"""The guarded call: ten steps, top to bottom, for every lane and every caller.

``prepare`` takes steps 1 to 8 and ``finish`` step 10. Between them an executor is entered, step
9, by one of the thin drivers in ``drive.py`` (design, section 4).
"""

from __future__ import annotations

from itertools import islice
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.catalogue.unknown import unknown_tool
from holon_core.errors import JsonRefused, StoreError
from holon_core.guard import closing, execute
from holon_core.guard.attempt import Attempt, NeedsPreview, Refusal
from holon_core.guard.elsewhere import is_elsewhere, named_workspace, seen_workspace
from holon_core.guard.fingerprint import fingerprint
from holon_core.guard.results import (
    common_fields,
    foreign_failure,
    gathered,
    record_refusal,
    refuse_in,
    unrecorded,
)
from holon_core.guard.sealed import SealedCall, mint
from holon_core.guard.secrets import of_slot
from holon_core.names import MAX_TOOL_ID, required_text
from holon_core.plugins.faults import kind_of, told
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.policy import PolicyRequest
from holon_core.records.words import Decision, Effect, HeldState, Origin, Surface
from holon_core.store.chains import CatalogueMoved, NotOpen, OpenCall
from holon_core.store.protocol import StoreBusy
from holon_core.visible import escape_unseen
from holon_core.wire.strict_json import parse
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.guard.guard import Gate, Guard
    from holon_core.guard.policy import PolicyOutcome
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.result import ToolResult
    from holon_core.store.chains import Draft
    from holon_core.store.protocol import Tables


# Named once: looking a member up at its class costs more than calling a function.
ASK, DENY, FUNCTION_CALLING = Decision.ASK, Decision.DENY, Surface.FUNCTION_CALLING
# How many lacks a gate may name; it may be a generator without an end.
MAX_LACKS = 100


class _EffectsMoved(Exception):
    """Another call of the same run was accepted since policy was asked."""


def prepare(guard: Guard, attempt: Attempt, *, wait: bool = True) -> SealedCall | ToolResult:
    """Take steps 1 to 8: everything before execution.

    It has no effect before its one commit, so it may be repeated where it raised ``StoreBusy``.

    Args:
        guard: The parts.
        attempt: A fresh attempt.
        wait: Wait for the store; otherwise raise ``StoreBusy`` where that would be needed.

    Returns:
        A sealed call that is now accepted and must be finished, or the result of a call that
        was refused, held or replayed.
    """
    try:
        resolve(guard, attempt)
        scope(guard, attempt)
        check_arguments(attempt)
        gated = attempt.entry.tool.lane in guard.gates
        if gated or not attempt.entry.gateless:
            _pass_gates(guard, attempt)
        decide(guard, attempt)
        if gated or guard.policy.needs_thread:
            # Code of others has run: what is fingerprinted is what runs, whatever it held.
            attempt.arguments = parse(attempt.canonical)  # type: ignore[assignment]
        return _admit(guard, attempt, wait=wait)
    except Refusal as refusal:
        return _refuse(guard, attempt, refusal.failure, wait=wait)
    except StoreError as error:
        return unrecorded(attempt, error)


def _refuse(
    guard: Guard, attempt: Attempt, problem: StructuredFailure, *, wait: bool
) -> SealedCall | ToolResult:
    """Refuse, unless it is by what another process has changed since: then try on the new."""
    try:
        stale = guard.learn(attempt.revision)
    except StoreError as error:
        return unrecorded(attempt, error, problem)
    if stale:
        return prepare(guard, attempt, wait=wait)
    return record_refusal(guard, attempt, problem, wait=wait)


def resolve(guard: Guard, attempt: Attempt) -> None:
    """Step 1: find the tool among those for the caller's workspace; check its pins."""
    # The revision before the entry: of a change in between, the commit then learns.
    attempt.revision = guard.revision
    entry = guard.catalogue.get(attempt.tool_id)
    if entry is None:
        required_text(attempt.tool_id, "a tool id", MAX_TOOL_ID)
        raise Refusal(_absent(guard, attempt))
    if entry.tool.workspace is not None and is_elsewhere(
        guard, entry.tool.workspace, attempt.caller
    ):
        # Before anything that speaks of it: pins, its record in evidence, its schema.
        raise Refusal(_of_other(attempt.tool_id))
    attempt.entry = entry
    attempt.limits = entry.tool.limits
    attempt.posture = entry.tool.posture
    pin = guard.catalogue.pin_of(attempt.tool_id)
    if pin is not None or attempt.pin is not None:
        _check_pins(entry.tool.digest, attempt.pin, pin)


def _check_pins(digest: str, *pins: str | None) -> None:
    for pin in pins:
        if pin is not None and pin != digest:
            raise Refusal(failure("definition_changed", pinned=pin, found=digest))


def _absent(guard: Guard, attempt: Attempt) -> StructuredFailure:
    named = named_workspace(attempt.tool_id)
    if is_elsewhere(guard, named, attempt.caller):
        return _of_other(attempt.tool_id)
    if attempt.mode != "release":
        seen = seen_workspace(guard, attempt.caller)
        return unknown_tool(guard.catalogue, attempt.tool_id, seen)
    text = (
        f"{attempt.tool_id} is not registered in this process; the call is still held, and a "
        "process of the application that registers it can release it"
    )
    return failure("unknown_tool", text)


def _of_other(tool_id: str) -> StructuredFailure:
    """Say the same of a tool of another workspace and of one that is not there at all."""
    shown = escape_unseen(tool_id[:MAX_TOOL_ID])
    text = f"no tool {shown} in this workspace; its id names another one"
    return failure("wrong_workspace", text)


def scope(guard: Guard, attempt: Attempt) -> None:
    """Step 2: the workspace is the caller's and is there; its profile and surface take the tool."""
    tool = attempt.entry.tool
    if attempt.caller.surface is FUNCTION_CALLING and not tool.projectable:
        raise Refusal(failure("not_allowed", f"{tool.id} is not for models"))
    if attempt.caller.profile is not None:
        refusal = guard.admits(attempt.caller, tool)
        if refusal is not None:
            raise Refusal(refusal)
    workspace_id = attempt.caller.workspace
    if workspace_id is None:
        if attempt.entry.needs_workspace:
            raise Refusal(failure("workspace_required"))
        return
    found = guard.workspaces.usable(workspace_id, attempt.caller.principal)
    if found is None:
        raise Refusal(failure("wrong_workspace"))
    attempt.workspace = found
    attempt.chain = workspace_id
    attempt.limits = guard.lowered(workspace_id, attempt.limits)
    if attempt.entry.in_workspace and not guard.workspaces.intact(found):
        raise Refusal(failure("workspace_unavailable", workspace=workspace_id))


def check_arguments(attempt: Attempt) -> None:
    """Step 3: read strictly, normalise, validate; what is used from here on is our own copy."""
    raw: Any = attempt.raw
    try:
        if isinstance(raw, (str, bytes)):
            raw = parse(raw)
        value, canonical = normalise(raw)
    except JsonRefused as error:
        raise Refusal(_not_json(error, attempt)) from None
    if type(value) is not dict:
        raise Refusal(failure("arguments_invalid", "arguments are a JSON object", path=""))
    attempt.arguments, attempt.canonical = value, canonical
    if not attempt.entry.takes(value):
        raise Refusal(_unfit(attempt, value))


def _not_json(error: JsonRefused, attempt: Attempt) -> StructuredFailure:
    from holon_core.guard.unfit import arguments_not_json

    return arguments_not_json(error, attempt.entry.input_marks)


def _unfit(attempt: Attempt, value: Any) -> StructuredFailure:
    from holon_core.guard.unfit import arguments_unfit

    return arguments_unfit(attempt.entry.input.errors(value), attempt.entry.input_marks)


def _pass_gates(guard: Guard, attempt: Attempt) -> None:
    """Refuse what a gate blocks; of what was imported every lack is told at once."""
    problems = gates(guard, attempt)
    if attempt.entry.tool.origin is Origin.IMPORTED_STATE:
        attempt.reasons = tuple(problems)
        if attempt.reasons:
            raise Refusal(gathered(attempt.reasons))
    for problem in problems:
        raise Refusal(problem)


def gates(guard: Guard, attempt: Attempt) -> Iterator[StructuredFailure]:
    """Step 4: what the tool itself and its lane need before it can run; each lack is named."""
    yield from own_lacks(guard, attempt)
    for gate in guard.gates.get(attempt.entry.tool.lane, ()):
        yield from _answers(guard, gate, attempt)


def own_lacks(guard: Guard, attempt: Attempt) -> Iterator[StructuredFailure]:
    """Name what a tool itself lacks, whatever its lane says."""
    entry = attempt.entry
    tool = entry.tool
    if entry.executor is None:
        yield entry.blocked or failure("unsupported_capability", "nothing here executes it")
    if Effect.UNKNOWN in tool.effects:
        yield failure("effects_undeclared")
    for slot in tool.secret_slots:
        problem = guard.secrets.check(slot.ref)
        if problem is not None:
            # What a provider advises is its own text.
            yield of_slot(foreign_failure(guard, problem) or problem, slot)


def _answers(guard: Guard, gate: Gate, attempt: Attempt) -> list[StructuredFailure]:
    """Ask a gate of a lane; one that raises or answers garbage blocks the call."""
    from holon_core.records.gate import GateCall

    tool = attempt.entry.tool
    seen = GateCall(
        tool=tool,
        caller=attempt.caller,
        # Its own: what a gate changes in them changes nothing that runs.
        arguments=parse(attempt.canonical),  # type: ignore[arg-type]
        posture=attempt.posture,
        workspace=attempt.workspace,
    )
    try:
        return [_lack(guard, said) for said in islice(gate(seen), MAX_LACKS)]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = f"a gate of the lane {tool.lane} failed: {told(error)}"
        return [failure("lane_protocol", text)]


def _lack(guard: Guard, said: object) -> StructuredFailure:
    lack = foreign_failure(guard, said) if type(said) is StructuredFailure else None
    if lack is None:
        raise TypeError(f"it answered {kind_of(said)}, or a failure of no kind")
    return lack


def decide(guard: Guard, attempt: Attempt) -> None:
    """Step 5: ask every policy; the strictest answer wins and none that is missing allows."""
    run = attempt.caller.run
    if run is not None:
        before = guard.store.read(lambda tables: tables.run_effects(run))
        attempt.effects_used = frozenset(map(Effect, before))
    tool, caller, posture, used = (
        attempt.entry.tool,
        attempt.caller,
        attempt.posture,
        attempt.effects_used,
    )
    verdict = guard.policy.recall(tool, caller, posture, used) or guard.policy.decide(
        PolicyRequest(
            tool=tool,
            caller=caller,
            arguments=attempt.arguments,
            posture=posture,
            effects_used=used,
        )
    )
    if attempt.entry.always_asks and verdict.decision is Decision.ALLOW:
        reason = "each call of this tool needs an approval of its own"
        verdict = evolve(verdict, decision=ASK, rule="lifecycle", reason=reason)
    attempt.verdict = verdict
    if verdict.decision is DENY:
        reason = guard.recorder.foreign_text(verdict.reason)
        raise Refusal(failure(verdict.code or "policy_denied", reason or None, rule=verdict.rule))
    if verdict.confined and not attempt.entry.confines:
        raise Refusal(unconfinable(verdict, f"what runs {tool.id} can't be confined"))
    if verdict.confined:
        _check_confinement(verdict)


def _check_confinement(verdict: PolicyOutcome) -> None:
    from holon_core import confinement

    if confinement.program() is None:
        raise Refusal(unconfinable(verdict, "bubblewrap (bwrap) is not on this machine"))


def unconfinable(verdict: PolicyOutcome, why: str) -> StructuredFailure:
    """Say of which rule's confinement it can't be, and why."""
    rule = next(each.rule for each in verdict.trail if each.confined)
    return failure("confinement_unavailable", f"{rule} requires confinement; {why}", rule=rule)


def _admit(guard: Guard, attempt: Attempt, *, wait: bool) -> SealedCall | ToolResult:
    """Steps 6 to 8, in one transaction; repeated where it has to know more first."""
    behind = guard.pump.behind() if guard.pump.active else None
    if behind is not None:
        return record_refusal(guard, attempt, behind, wait=wait)
    asks = attempt.verdict.decision is ASK or attempt.mode in ("request", "edit")
    if asks or attempt.key is not None:
        attempt.fingerprint = fingerprint(
            attempt.entry.tool, attempt.posture, attempt.caller, attempt.canonical
        )
    # Without an approval the record is known before the lock is taken.
    ready = None if asks else _accepted(guard, attempt)
    alone = attempt.mode == "call" and attempt.key is None and attempt.caller.run is None
    alone = alone and attempt.caller.profile is None
    answer: SealedCall | ToolResult
    try:
        if alone and ready is not None:
            # Neither key, approval nor run belongs to it: one record, and nothing else.
            seq = guard.store.append(
                ready,
                revision=attempt.revision,
                opens=guard.runtime_id,
                wait=wait,
                full=attempt.entry.beyond_reads,
            )
            answer = _seal(guard, attempt, seq)
        else:
            answer = guard.store.transact(
                lambda tables: _in_transaction(guard, attempt, tables, ready),
                wait=wait,
                full=attempt.entry.beyond_reads,
            )
    except NeedsPreview:
        from holon_core.guard.holding import make_preview

        attempt.preview = make_preview(guard, attempt)
        return _admit(guard, attempt, wait=wait)
    except (CatalogueMoved, _EffectsMoved):
        return _again(guard, attempt, wait=wait)
    if guard.pump.active:
        guard.pump.notify()
    return answer


def _again(guard: Guard, attempt: Attempt, *, wait: bool) -> SealedCall | ToolResult:
    """Take the steps once more on what changed meanwhile; a changed tool is refused."""
    before = attempt.entry.tool.digest
    guard.learn(attempt.revision)
    entry = guard.catalogue.get(attempt.tool_id)
    if entry is None or entry.tool.digest != before:
        return record_refusal(guard, attempt, failure("definition_changed"), wait=wait)
    return prepare(guard, attempt, wait=wait)


def _in_transaction(
    guard: Guard, attempt: Attempt, tables: Tables, ready: Draft | None
) -> SealedCall | ToolResult:
    from holon_core.guard import asking

    now = int(guard.clock.now())
    # What an earlier try wrote was rolled back.
    attempt.seqs.clear()
    if attempt.mode == "release" and not tables.is_held(attempt.call_id):
        return refuse_in(guard, attempt, tables, failure("not_held"))
    if attempt.key is not None:
        answer = asking.check_key(guard, attempt, tables, now)
        if answer is not None:
            return answer
    watched = attempt.caller.profile is not None and attempt.mode in ("call", "release", "request")
    profiles = guard.profiles if watched else None
    problem = None if profiles is None else profiles.may_start(tables, attempt)
    if problem is not None:
        return refuse_in(guard, attempt, tables, problem)
    if ready is None:
        answer = asking.check_approval(guard, attempt, tables, now)
        if answer is not None:
            return answer
    if profiles is not None and attempt.mode != "request":
        profiles.started(tables, attempt)
        attempt.profiles = profiles
    if attempt.mode == "request":
        return asking.not_needed(guard, attempt, tables)
    if attempt.mode == "release":
        tables.set_held_state(attempt.call_id, HeldState.RELEASED)
    return accept(guard, attempt, tables, ready or _accepted(guard, attempt), now)


def _accepted(guard: Guard, attempt: Attempt) -> Draft:
    recorder, entry = guard.recorder, attempt.entry
    payload = recorder.safe_payload(attempt.arguments, attempt.canonical, entry.input_marks)
    if attempt.fingerprint is None and attempt.released_by is None:
        # Neither approval nor key: but for time, call and payload the record is the same each time.
        key = ("accepted", id(entry), id(attempt.caller), id(attempt.verdict))
        known = recorder.again(attempt, key, payload)
        if known is not None:
            return known
        fields = accepted_fields(guard, attempt)
        recorder.learn(key, fields, (entry, attempt.caller, attempt.verdict))
    else:
        fields = accepted_fields(guard, attempt)
    if attempt.approval_id is not None:
        fields["approval"] = quote(attempt.approval_id)
        fields["self_approved"] = "true" if attempt.self_approved else "false"
    if attempt.key is not None:
        fields["idempotency_key"] = recorder.quoted(attempt.key)
    if attempt.released_by is not None:
        fields["released_by"] = recorder.quoted(attempt.released_by)
    return recorder.draft(attempt.chain, attempt.call_id, "accepted", fields, payload=payload)


def accepted_fields(guard: Guard, attempt: Attempt) -> dict[str, str]:
    """Return the encoded fields of the record of a call that is accepted."""
    return {**common_fields(guard, attempt), "host": guard.recorder.host_fragment()}


def accept(guard: Guard, attempt: Attempt, tables: Tables, draft: Draft, now: int) -> SealedCall:
    """Step 8: record the call as accepted; from here on it must be finished."""
    seq = tables.append(
        draft,
        revision=attempt.revision,
        opens=guard.runtime_id,
        anchor=attempt.entry.beyond_reads,
    )
    if attempt.key is not None:
        from holon_core.guard import idempotency

        assert attempt.fingerprint is not None
        tables.reserve_key(
            idempotency.key_of(attempt),
            attempt.call_id,
            fingerprint=attempt.fingerprint,
            state="running",
            expires_at=now + guard.config.key_ttl_s,
        )
    run = attempt.caller.run
    if run is not None:
        if tables.run_effects(run) != attempt.effects_used:
            raise _EffectsMoved
        tables.add_run_effects(run, frozenset(map(str, attempt.entry.tool.effects)))
    return _seal(guard, attempt, seq)


def _seal(guard: Guard, attempt: Attempt, seq: int) -> SealedCall:
    attempt.seqs.append(seq)
    # As ``OpenCall(…)``, without the function that the class would be made in.
    attempt.opened = tuple.__new__(
        OpenCall, (attempt.call_id, attempt.chain, seq, guard.runtime_id)
    )
    attempt.accepted, attempt.started = True, guard.clock.monotonic()
    return mint(attempt, guard.services)


def finish(
    guard: Guard, call: SealedCall, outcome: ExecutorOutcome, *, wait: bool = True
) -> ToolResult:
    """Take step 10: validate the output, record how the call ended, answer.

    Args:
        guard: The parts.
        call: A call that ``prepare`` accepted.
        outcome: What its executor answered, whatever that is.
        wait: As for ``prepare``.
    """
    attempt = call._attempt
    if attempt.close():
        if not wait:
            raise StoreBusy
        execute.end_programs(attempt)
    ending = closing.judge(guard, attempt, outcome)
    try:
        alone = attempt.key is None and not ending.returned and attempt.entry.settle is None
        if alone and attempt.profiles is None:
            seq = guard.store.append(ending.draft, closes=attempt.opened, wait=wait)
        else:
            seq = guard.store.transact(
                lambda tables: closing.settle(attempt, tables, ending), wait=wait
            )
    except StoreError as error:
        return closing.not_recorded(attempt, ending, error.message)
    except NotOpen:
        return closing.not_recorded(attempt, ending, "the call is not open any more")
    if guard.pump.active:
        guard.pump.notify()
    attempt.seqs.append(seq)
    return closing.result(attempt, ending)
