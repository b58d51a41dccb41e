"""Step 10 of the guarded call: what the executor answered, checked, recorded, returned."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused
from holon_core.guard.evidence import encode
from holon_core.guard.execute import failed
from holon_core.guard.results import blocking_of, failure_fragment, foreign_failure, refs
from holon_core.plugins.faults import kind_of
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.outcome import ExecutorOutcome, ExecutorStatus
from holon_core.records.result import ToolResult, ended
from holon_core.records.words import Status
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.store.chains import Draft
    from holon_core.store.protocol import Tables

# Named once: looking a member up at its class costs more than calling a function.
COMPLETED, BLOCKED, RAN = Status.COMPLETED, Status.BLOCKED, ExecutorStatus.COMPLETED
MAX_DRAFTS = 100
MAX_SOURCE = 100
MAX_DRAFT_BYTES = 16 * 1024


class Ending:
    """How a call ended: what of its output the caller may see, and the record that says so."""

    __slots__ = ("canonical", "draft", "output", "problem", "returned", "status")

    draft: Draft
    # Nothing was done, so that approval and key may be used again.
    returned: bool

    def __init__(
        self,
        status: Status,
        output: Any = None,
        canonical: bytes | None = None,
        problem: StructuredFailure | None = None,
    ) -> None:
        self.status, self.output, self.canonical, self.problem = status, output, canonical, problem


def judge(guard: Guard, attempt: Attempt, outcome: ExecutorOutcome) -> Ending:
    """Check what an executor answered, whatever that is, and make the record of it."""
    if type(outcome) is not ExecutorOutcome:
        outcome = failed(failure("lane_protocol", f"it answered {kind_of(outcome)}"))
    try:
        return _judged(guard, attempt, outcome)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Fields of the wrong types, or objects that fail when they are read.
        problem = failure("lane_protocol", f"its answer raised {kind_of(error)}")
        return _judged(guard, attempt, failed(problem))


def _judged(guard: Guard, attempt: Attempt, outcome: ExecutorOutcome) -> Ending:
    if outcome.status is RAN:
        ending = _output(guard, attempt, outcome.output_json)
    else:
        problem = _of_session(guard, attempt, _problem(guard, outcome))
        ending = Ending(Status(outcome.status.value), problem=problem)
    if ending.problem is not None:
        # Paths and messages name what an output holds; the record and the key get the same.
        ending.problem = guard.recorder.safe_failure(ending.problem)
    ending.returned = ending.status is BLOCKED or not outcome.started
    ending.draft = _draft(guard, attempt, outcome, ending)
    return ending


def settle(attempt: Attempt, tables: Tables, ending: Ending) -> int:
    """Append the closing record, and with it settle key and approval; return its position."""
    seq = tables.append(ending.draft, closes=attempt.opened)
    if attempt.profiles is not None:
        given = len(ending.canonical or b"")
        attempt.profiles.ended(tables, attempt, given, ran=not ending.returned)
    if attempt.entry.settle is not None:
        attempt.entry.settle(tables, attempt, ending.problem, ending.canonical)
    if ending.returned and attempt.approval_id is not None:
        from holon_core.guard.spending import give_back

        give_back(tables, attempt.approval_id, attempt.call_id)
    if attempt.key is not None:
        from holon_core.guard import idempotency

        key = idempotency.key_of(attempt)
        if ending.returned:
            tables.free_key(key, attempt.call_id)
        else:
            packed = idempotency.pack(result(attempt, ending))
            tables.finish_key(key, attempt.call_id, state="done", result=packed)
    return seq


def _problem(guard: Guard, outcome: ExecutorOutcome) -> StructuredFailure:
    known = None if outcome.failure is None else foreign_failure(guard, outcome.failure)
    return known or failure("tool_failed", "the tool gave no reason")


def _of_session(guard: Guard, attempt: Attempt, problem: StructuredFailure) -> StructuredFailure:
    """Say of a call that was ended by what its session had left that it was that."""
    left = attempt.left_s
    if left is None or problem.code != "timeout":
        return problem
    if not attempt.expired and guard.clock.monotonic() - attempt.started < left:
        return problem
    text = f"{problem.message}, which is all that was left of max_duration_s of the profile"
    return failure("budget_exceeded", text, limit="max_duration_s", left_s=left)


def _output(guard: Guard, attempt: Attempt, output: Any) -> Ending:
    limit = attempt.limits.max_output_bytes
    try:
        value, canonical = normalise(output, max_bytes=limit)
    except JsonRefused as error:
        if error.rule == "too_large":
            text = f"the output is larger than {limit} bytes"
            if attempt.budgeted:
                text += ", which is all that is left of max_output_bytes of the profile"
                details = {"limit": "max_output_bytes", "left": limit}
                return Ending(Status.FAILED, problem=failure("budget_exceeded", text, **details))
            return Ending(Status.FAILED, problem=failure("output_too_large", text))
        from holon_core.guard.unfit import output_not_json

        return Ending(Status.FAILED, problem=output_not_json(error, attempt.entry.output_marks))
    gives = attempt.entry.gives
    if gives is not None and not gives(value):
        assert attempt.entry.output is not None
        from holon_core.guard.unfit import output_unfit

        problem = output_unfit(attempt.entry.output.errors(value), attempt.entry.output_marks)
        return Ending(Status.FAILED, value, canonical, problem)
    return Ending(COMPLETED, value, canonical)


def _draft(guard: Guard, attempt: Attempt, outcome: ExecutorOutcome, ending: Ending) -> Draft:
    recorder = guard.recorder
    took_ms = max(0, int((guard.clock.monotonic() - attempt.started) * 1000))
    kind, payload = str(ending.status), None
    drafts = attempt.drafts
    if outcome.evidence:
        drafts = [*drafts, *outcome.evidence]
    if ending.canonical is not None:
        payload = recorder.safe_payload(ending.output, ending.canonical, attempt.entry.output_marks)
    if guard.redactor.active and ending.output is not None:
        ending.output = guard.redactor.value(ending.output)
    entry = attempt.entry
    fields = {"duration_ms": str(took_ms), "tool": entry.named}
    if payload is not None and ending.problem is None and not (drafts or ending.returned):
        # But for time, call, duration and payload the record is the same each time.
        known = recorder.again(attempt, (kind, id(entry)), payload, duration_ms=took_ms)
        if known is not None:
            return known
        recorder.learn((kind, id(entry)), fields, (entry,))
    if ending.problem is not None:
        fields["failure"] = failure_fragment(guard, ending.problem)
    if drafts:
        fields["from_tool"] = _from_tool(guard, drafts)
    if not outcome.started:
        fields["started"] = "false"
    if attempt.approval_id is not None and ending.returned:
        fields["approval_returned"] = quote(attempt.approval_id)
    return recorder.draft(attempt.chain, attempt.call_id, kind, fields, payload=payload)


def _from_tool(guard: Guard, drafts: list[Any]) -> str:
    """Encode what a tool wanted kept: under its source's name, bounded, never host fields."""
    kept = []
    for draft in drafts[:MAX_DRAFTS]:
        text = guard.recorder.safe_json(draft.data if isinstance(draft.data, dict) else {})
        if len(text) > MAX_DRAFT_BYTES:
            text = encode({"truncated": True, "bytes": len(text), "head": text[:2048]}).decode()
        source = quote(guard.recorder.foreign_text(draft.source, limit=MAX_SOURCE))
        kept.append(f'{{"data":{text},"source":{source}}}')
    return "[" + ",".join(kept) + "]"


def result(attempt: Attempt, ending: Ending) -> ToolResult:
    """Make the result of a call that ended."""
    problem, status = ending.problem, ending.status
    return ended(
        status=status,
        output=ending.output if status is COMPLETED else None,
        failure=problem,
        blocking_reasons=(blocking_of(problem),) if problem and status is BLOCKED else (),
        evidence_refs=refs(attempt),
        call_id=attempt.call_id,
        self_approved=attempt.self_approved,
        notices=attempt.entry.notices,
    )


def not_recorded(attempt: Attempt, ending: Ending, why: str) -> ToolResult:
    """Answer a call that ran though its end could not be recorded; never a silent success."""
    problem = failure(
        "evidence_not_closed", f"it ran, but {why}", started=True, ended=ending.status.value
    )
    return ToolResult(
        status=Status.FAILED,
        output=ending.output if ending.status is Status.COMPLETED else None,
        failure=problem,
        evidence_refs=refs(attempt),
        call_id=attempt.call_id,
        self_approved=attempt.self_approved,
    )
