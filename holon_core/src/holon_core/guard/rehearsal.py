"""Dry run and explain: the steps of the guarded call, taken for their verdicts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.errors import StoreError, StructuredFailureKind
from holon_core.guard import call as guarded
from holon_core.guard import drive, idempotency
from holon_core.guard.attempt import Refusal
from holon_core.guard.evidence import encode
from holon_core.guard.fingerprint import fingerprint
from holon_core.guard.holding import make_preview
from holon_core.guard.results import blocking_of, common_fields, record_refusal, refs, unrecorded
from holon_core.guard.spending import reason_without_spending
from holon_core.records.explanation import ExplainStep, Explanation
from holon_core.records.failure import failure
from holon_core.records.policy import PolicyRequest
from holon_core.records.result import ToolResult
from holon_core.records.words import Decision, Posture, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.failure import BlockingReason, StructuredFailure


CALL_IT = "make the call, which is then held for a person to approve"
THEN_CALL_IT = f"once nothing else blocks it, {CALL_IT}"


def dry_run(guard: Guard, attempt: Attempt) -> ToolResult:
    """Show the exact request that a call would make, and what would block it.

    Nothing is held, reserved, used up or started. A policy denial of posture ``dry_run`` stops
    it; every other block is listed in ``blocking_reasons``. It is recorded as a dry run.
    """
    try:
        guarded.resolve(guard, attempt)
        guarded.scope(guard, attempt)
        guarded.check_arguments(attempt)
        _may_rehearse(guard, attempt)
        return _rehearsed(guard, attempt)
    except Refusal as refusal:
        return record_refusal(guard, attempt, refusal.failure, wait=True)
    except StoreError as error:
        return unrecorded(attempt, error)
    except BaseException as error:
        drive.end_interrupted(guard, attempt, error)
        raise


def _rehearsed(guard: Guard, attempt: Attempt) -> ToolResult:
    problems = [problem for _, problem in _verdicts(guard, attempt) if problem is not None]
    shown = make_preview(guard, attempt)
    fields = common_fields(guard, attempt)
    fields["posture"] = f'"{Posture.DRY_RUN.value}"'
    fields["would_block"] = encode([problem.code for problem in problems]).decode()
    payload = guard.recorder.safe_payload(
        attempt.arguments, attempt.canonical, attempt.entry.input_marks
    )
    draft = guard.recorder.draft(attempt.chain, attempt.call_id, "dry_run", fields, payload=payload)
    attempt.seqs.append(guard.store.append(draft))
    guard.pump.notify()
    return ToolResult(
        status=Status.COMPLETED,
        output=guard.redactor.value(dict(shown)),
        blocking_reasons=tuple(_reason(each, alone=len(problems) == 1) for each in problems),
        evidence_refs=refs(attempt),
        call_id=attempt.call_id,
    )


def _reason(problem: StructuredFailure, *, alone: bool = True) -> BlockingReason:
    """Say what would lift a block: of what a dry run shows nothing is held yet.

    Nor would a call be that something else blocks.
    """
    reason = blocking_of(problem)
    if problem.kind is not StructuredFailureKind.APPROVAL_REQUIRED:
        return reason
    return evolve(reason, next_action=CALL_IT if alone else THEN_CALL_IT)


def _may_rehearse(guard: Guard, attempt: Attempt) -> None:
    verdict = guard.policy.decide(
        PolicyRequest(
            tool=attempt.entry.tool,
            caller=attempt.caller,
            arguments=attempt.arguments,
            posture=Posture.DRY_RUN,
        )
    )
    # The defaults speak of effects, and a dry run has none: only a rule for it stops it.
    if verdict.decision is Decision.DENY and any(
        v.decision is Decision.DENY and not v.rule.startswith("default:") for v in verdict.trail
    ):
        reason = guard.recorder.foreign_text(verdict.reason)
        raise Refusal(failure("policy_denied", reason or None, rule=verdict.rule))


def explain(guard: Guard, attempt: Attempt) -> Explanation:
    """Walk the steps of a call and say what each would answer; nothing is recorded or used."""
    steps: list[ExplainStep] = []
    first: tuple[tuple[str, Callable[[], None]], ...] = (
        ("resolve", lambda: guarded.resolve(guard, attempt)),
        ("scope", lambda: guarded.scope(guard, attempt)),
        ("arguments", lambda: guarded.check_arguments(attempt)),
    )
    for name, step in first:
        try:
            step()
        except Refusal as refusal:
            steps.append(_blocked(name, refusal.failure))
            return _told(attempt, steps)
        steps.append(ExplainStep(step=name, verdict="pass"))
    for name, problem in _verdicts(guard, attempt):
        if problem is not None:
            steps.append(_blocked(name, problem))
        elif name == "policy":
            steps.append(ExplainStep(step=name, verdict=attempt.verdict.decision.value))
        else:
            steps.append(ExplainStep(step=name, verdict="pass"))
        if name == "policy" and getattr(attempt, "verdict", None) is not None:
            steps += [
                ExplainStep(
                    step="policy rule",
                    verdict=v.decision.value,
                    detail=v.detail,
                )
                for v in attempt.verdict.trail
            ]
    refused = _unmade(guard, attempt)
    if refused is not None:
        steps.append(_blocked("request", refused))
    return _told(attempt, steps)


def _unmade(guard: Guard, attempt: Attempt) -> StructuredFailure | None:
    """Say why the executor makes no request of the arguments, where it would refuse them."""
    try:
        make_preview(guard, attempt)
    except Refusal as refusal:
        return refusal.failure
    return None


def _verdicts(guard: Guard, attempt: Attempt) -> list[tuple[str, StructuredFailure | None]]:
    """Take steps 4 to 8 for their answers alone."""
    answers: list[tuple[str, StructuredFailure | None]] = []
    problems = list(guarded.gates(guard, attempt))
    answers += [("gates", problem) for problem in problems] or [("gates", None)]
    try:
        guarded.decide(guard, attempt)
        answers.append(("policy", None))
    except Refusal as refusal:
        answers.append(("policy", refusal.failure))
        return answers
    attempt.fingerprint = fingerprint(
        attempt.entry.tool, attempt.posture, attempt.caller, attempt.canonical
    )
    now = int(guard.clock.now())
    if attempt.key is not None:
        found = guard.store.read(lambda tables: idempotency.look_up(tables, attempt, now))
        problem = None if found is None else idempotency.conflict(found, attempt)
        answers.append(("idempotency", problem))
    if attempt.verdict.decision is Decision.ASK:
        answers.append(
            (
                "approval",
                guard.store.read(lambda tables: reason_without_spending(tables, attempt, now)),
            )
        )
    if attempt.caller.profile is not None and guard.profiles is not None:
        profiles = guard.profiles
        answers.append(("budget", guard.store.read(lambda t: profiles.may_start(t, attempt))))
    answers.append(("evidence", guard.pump.behind()))
    return answers


def _blocked(name: str, problem: StructuredFailure) -> ExplainStep:
    text = f"{problem.code}: {problem.message}; {_reason(problem).next_action}"
    return ExplainStep(step=name, verdict="block", detail=text)


def _told(attempt: Attempt, steps: list[ExplainStep]) -> Explanation:
    stopped = [s for s in steps if s.verdict == "block"]
    outcome = "would run"
    if stopped:
        final = any(s.step != "approval" or "approval_denied" in s.detail for s in stopped)
        outcome = "would be refused" if final else "would be held"
    return Explanation(tool=attempt.tool_id, outcome=outcome, steps=tuple(steps))
