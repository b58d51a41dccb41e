"""Step 10 of the guarded call: what the executor answered, checked, recorded, returned."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, StoreError
from holon_core.guard import idempotency
from holon_core.guard.evidence import encode
from holon_core.guard.execute import end_programs, failed
from holon_core.guard.results import blocking_of, failure_fragment, foreign_failure, refs
from holon_core.guard.spending import give_back
from holon_core.plugins.faults import kind_of
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.outcome import ExecutorOutcome, ExecutorStatus
from holon_core.records.result import ToolResult
from holon_core.records.words import Status
from holon_core.store.evidence_tables import NotOpen
from holon_core.store.protocol import StoreBusy
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.evidence import Draft
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.store.protocol import Tables

MAX_DRAFTS = 100
MAX_SOURCE = 100
MAX_DRAFT_BYTES = 16 * 1024


class _Checked:
    """An outcome after all checks: how it ended, what of it the caller may see."""

    __slots__ = ("canonical", "output", "problem", "status")

    def __init__(
        self,
        status: Status,
        output: Any = None,
        canonical: bytes | None = None,
        problem: StructuredFailure | None = None,
    ) -> None:
        self.status, self.output, self.canonical, self.problem = status, output, canonical, problem


def close(guard: Guard, call: SealedCall, outcome: ExecutorOutcome, *, wait: bool) -> ToolResult:
    """Record how an accepted call ended, and make its result."""
    attempt = call._attempt
    attempt.close()
    if attempt.busy:
        if not wait:
            raise StoreBusy
        end_programs(attempt)
    try:
        checked = _check(guard, attempt, outcome)
        draft = _draft(guard, call, outcome, checked)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Fields of the wrong types, or objects that fail when they are read.
        outcome = failed(failure("lane_protocol", f"its answer raised {kind_of(error)}"))
        checked = _check(guard, attempt, outcome)
        draft = _draft(guard, call, outcome, checked)
    returned = _gives_back(outcome, checked)

    def work(tables: Tables) -> int:
        return _close_in(attempt, tables, draft, checked, returned=returned)

    try:
        alone = attempt.key is None and not returned and attempt.entry.settle is None
        seq = guard.store.transact(work, wait=wait, single=alone)
    except StoreError as error:
        return _not_closed(attempt, checked, error.message)
    except NotOpen:
        return _not_closed(attempt, checked, "the call is not open any more")
    guard.pump.notify()
    attempt.seqs.append(seq)
    return _result(attempt, checked)


def _gives_back(outcome: ExecutorOutcome, checked: _Checked) -> bool:
    """Tell whether nothing was done, so that approval and key may be used again."""
    return type(outcome) is ExecutorOutcome and (
        checked.status is Status.BLOCKED or not outcome.started
    )


def _close_in(
    attempt: Attempt, tables: Tables, draft: Draft, checked: _Checked, *, returned: bool
) -> int:
    assert attempt.opened is not None
    seq = draft.append(tables, closes=attempt.opened)
    if attempt.entry.settle is not None:
        attempt.entry.settle(tables, attempt, checked.problem, checked.canonical)
    if returned and attempt.approval_id is not None:
        give_back(tables, attempt.approval_id, attempt.call_id)
    if attempt.key is not None:
        key = idempotency.key_of(attempt)
        if returned:
            tables.free_key(key, attempt.call_id)
        else:
            packed = idempotency.pack(_result(attempt, checked))
            tables.finish_key(key, attempt.call_id, state="done", result=packed)
    return seq


def _check(guard: Guard, attempt: Attempt, outcome: ExecutorOutcome) -> _Checked:
    if type(outcome) is not ExecutorOutcome:
        name = kind_of(outcome)
        return _Checked(Status.FAILED, problem=failure("lane_protocol", f"it answered {name}"))
    if outcome.status is ExecutorStatus.COMPLETED:
        return _check_output(guard, attempt, outcome.output_json)
    return _Checked(Status(outcome.status.value), problem=_problem(guard, outcome))


def _problem(guard: Guard, outcome: ExecutorOutcome) -> StructuredFailure:
    known = None if outcome.failure is None else foreign_failure(guard, outcome.failure)
    return known or failure("tool_failed", "the tool gave no reason")


def _check_output(guard: Guard, attempt: Attempt, output: Any) -> _Checked:
    limit = attempt.limits.max_output_bytes
    try:
        value, canonical = normalise(output, max_bytes=limit)
    except JsonRefused as error:
        if error.rule == "too_large":
            text = f"the output is larger than {limit} bytes"
            return _Checked(Status.FAILED, problem=failure("output_too_large", text))
        text = f"the output is not JSON: {error.message}"
        problem = failure("output_not_json", text, path=error.path)
        return _Checked(Status.FAILED, problem=problem)
    gives = attempt.entry.gives
    if gives is not None and not gives(value):
        assert attempt.entry.output is not None
        errors = attempt.entry.output.errors(value)
        shown = [{"path": e.path, "rule": e.rule, "message": e.message} for e in errors]
        said = f"{errors[0].message} at {errors[0].path or '/'}" if errors else None
        problem = failure("output_schema", said, errors=shown)
        return _Checked(Status.FAILED, value, canonical, problem)
    return _Checked(Status.COMPLETED, value, canonical)


def _draft(guard: Guard, call: SealedCall, outcome: ExecutorOutcome, checked: _Checked) -> Draft:
    attempt, recorder = call._attempt, guard.recorder
    took_ms = int(max(0.0, guard.clock.monotonic() - attempt.started) * 1000)
    kind, payload = str(checked.status), None
    drafts = call._drafts
    if type(outcome) is ExecutorOutcome and outcome.evidence:
        drafts = [*drafts, *outcome.evidence]
    if checked.canonical is not None:
        payload = recorder.safe_payload(
            checked.output, checked.canonical, attempt.entry.output_marks
        )
    if guard.redactor.active and checked.output is not None:
        checked.output = guard.redactor.value(checked.output)
    if checked.problem is None and payload is not None and not drafts:
        return recorder.quick(
            attempt,
            kind,
            lambda: {"tool": attempt.entry.named},
            payload=payload,
            depends_on=(attempt.entry,),
            duration_ms=took_ms,
        )
    fields = {"duration_ms": str(took_ms), "tool": attempt.entry.named}
    if checked.problem is not None:
        fields["failure"] = failure_fragment(guard, checked.problem)
    if drafts:
        fields["from_tool"] = _from_tool(guard, drafts)
    if type(outcome) is ExecutorOutcome and not outcome.started:
        fields["started"] = "false"
    if attempt.approval_id is not None and _gives_back(outcome, checked):
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


def _result(attempt: Attempt, checked: _Checked) -> ToolResult:
    problem, status = checked.problem, checked.status
    return ToolResult(
        status=status,
        output=checked.output if status is Status.COMPLETED else None,
        failure=problem,
        blocking_reasons=(blocking_of(problem),) if problem and status is Status.BLOCKED else (),
        evidence_refs=refs(attempt),
        call_id=attempt.call_id,
        self_approved=attempt.self_approved,
        notices=attempt.entry.notices,
    )


def _not_closed(attempt: Attempt, checked: _Checked, why: str) -> ToolResult:
    """Answer a call that ran though its end could not be recorded; never a silent success."""
    problem = failure(
        "evidence_not_closed", f"it ran, but {why}", started=True, ended=checked.status.value
    )
    return ToolResult(
        status=Status.FAILED,
        output=checked.output if checked.status is Status.COMPLETED else None,
        failure=problem,
        evidence_refs=refs(attempt),
        call_id=attempt.call_id,
        self_approved=attempt.self_approved,
    )
