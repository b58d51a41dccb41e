"""Results and the records of calls that did not run, made in one place."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.errors import FAILURES, StoreError, StructuredFailureKind
from holon_core.names import MAX_TOOL_ID
from holon_core.records.failure import BlockingReason, StructuredFailure, failure
from holon_core.records.result import EvidenceRef, ToolResult
from holon_core.records.words import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.outcome import ExecutorFailure
    from holon_core.store.chains import Draft
    from holon_core.store.protocol import Tables

MAX_CODE = 100
MAX_REASONS = 20
# What an imported capability answers, with the finer words beside it (design, section 4).
GATHERED = "unsupported_capability"
MAX_DETAILS_BYTES = 16 * 1024


def blocking_of(problem: StructuredFailure) -> BlockingReason:
    """Turn a failure into a blocking reason."""
    return BlockingReason(
        kind=problem.kind,
        code=problem.code,
        message=problem.message,
        next_action=problem.next_action,
    )


def foreign_failure(
    guard: Guard, given: StructuredFailure | ExecutorFailure
) -> StructuredFailure | None:
    """Make a failure of ours of one that a lane or a tool gave.

    Args:
        guard: The parts.
        given: Any of its fields may be anything.

    Returns:
        The same failure: redacted, bounded, and in characters that are safe to show; ``None``
        where its kind is no word of the list.

    Raises:
        Exception: A field has no text, or its reading fails.
    """
    import json

    if not isinstance(given.kind, StructuredFailureKind):
        return None  # type: ignore[unreachable]
    recorder = guard.recorder
    details = recorder.safe_json(dict(given.details))
    if len(details) > MAX_DETAILS_BYTES:
        details = "{}"
    return StructuredFailure(
        kind=given.kind,
        code=recorder.foreign_text(str(given.code), limit=MAX_CODE),
        message=recorder.foreign_text(str(given.message)),
        details=json.loads(details),
    )


def refused(attempt: Attempt, problem: StructuredFailure, *, held: bool = False) -> ToolResult:
    """Make the result of a call that did not run."""
    row = FAILURES.get(problem.code)
    status = row[1] if row else Status.BLOCKED
    return ToolResult(
        status=status,
        failure=problem,
        blocking_reasons=_reasons(attempt, problem) if status is Status.BLOCKED else (),
        held=attempt.call_id if held else None,
        evidence_refs=refs(attempt),
        call_id=attempt.call_id,
    )


def _reasons(attempt: Attempt, problem: StructuredFailure) -> tuple[BlockingReason, ...]:
    if problem.code == GATHERED and attempt.reasons:
        return tuple(map(blocking_of, attempt.reasons))
    return (blocking_of(problem),)


def gathered(problems: Sequence[StructuredFailure]) -> StructuredFailure:
    """Make the one failure of an imported capability of everything that blocks it."""
    named = ", ".join(dict.fromkeys(problem.code for problem in problems))
    text = f"the imported capability is not executable here: {named}"
    reasons = [{"code": each.code, "message": each.message} for each in problems[:MAX_REASONS]]
    return failure(GATHERED, text, reasons=reasons)


def refs(attempt: Attempt) -> tuple[EvidenceRef, ...]:
    """Point at the records that an attempt has left."""
    chain = attempt.chain
    # As ``EvidenceRef(…)``, without the function that the class would be made in.
    return tuple([tuple.__new__(EvidenceRef, (chain, seq)) for seq in attempt.seqs])


def failure_fragment(guard: Guard, problem: StructuredFailure) -> str:
    """Encode a failure as evidence keeps it."""
    return guard.recorder.safe_json(
        {
            "code": problem.code,
            "details": dict(problem.details),
            "kind": str(problem.kind),
            "message": guard.recorder.safe_text(problem.message),
        }
    )


def common_fields(guard: Guard, attempt: Attempt) -> dict[str, str]:
    """Return the encoded fields that each record of an attempt starts from."""
    entry = getattr(attempt, "entry", None)
    fields = {
        "caller": guard.recorder.caller(attempt.caller),
        "tool": entry.fragment if entry else _unknown(guard, attempt.tool_id),
    }
    posture = getattr(attempt, "posture", None)
    if posture is not None:
        fields["posture"] = quote(posture)
    if attempt.fingerprint is not None:
        fields["fingerprint"] = f'"{attempt.fingerprint}"'
    verdict = getattr(attempt, "verdict", None)
    if verdict is not None:
        confined = '"confined":true,' if verdict.confined else ""
        said = f'"decision":"{verdict.decision.value}","rule":{quote(verdict.rule)}'
        fields["policy"] = f"{{{confined}{said}}}"
    return fields


def _unknown(guard: Guard, tool_id: str) -> str:
    return f'{{"id":{guard.recorder.quoted(tool_id, limit=MAX_TOOL_ID)}}}'


def refusal_draft(guard: Guard, attempt: Attempt, problem: StructuredFailure, kind: str) -> Draft:
    """Make the record of an attempt that did not run."""
    fields = common_fields(guard, attempt)
    fields["failure"] = failure_fragment(guard, problem)
    fields["host"] = guard.recorder.host_fragment()
    payload = None
    if attempt.canonical:
        payload = guard.recorder.safe_payload(
            attempt.arguments, attempt.canonical, attempt.entry.input_marks
        )
    return guard.recorder.draft(attempt.chain, attempt.call_id, kind, fields, payload=payload)


def record_refusal(
    guard: Guard, attempt: Attempt, problem: StructuredFailure, *, wait: bool
) -> ToolResult:
    """Record an attempt that did not run, and answer it."""
    draft = refusal_draft(guard, attempt, problem, "refused")
    try:
        attempt.seqs.append(guard.store.append(draft, wait=wait))
    except StoreError as error:
        return unrecorded(attempt, error, problem)
    guard.pump.notify()
    return refused(attempt, problem)


def refuse_in(
    guard: Guard, attempt: Attempt, tables: Tables, problem: StructuredFailure
) -> ToolResult:
    """Record an attempt that did not run inside a transaction, and answer it."""
    attempt.seqs.append(tables.append(refusal_draft(guard, attempt, problem, "refused")))
    return refused(attempt, problem)


def unrecorded(
    attempt: Attempt, error: StoreError, problem: StructuredFailure | None = None
) -> ToolResult:
    """Answer a call that could not be recorded and so did not run."""
    code = error.code if error.code == "store_locked" else "evidence_unavailable"
    details: dict[str, Any] = {"started": False, "store": error.code}
    if problem is not None:
        details["refused"] = problem.code
    return refused(attempt, failure(code, f"not run: {error.message}", **details))
