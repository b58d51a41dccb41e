"""How this lane refuses: one exception inside, one outcome outside."""

from __future__ import annotations

from typing import Any

from holon_core.errors import FAILURES
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.outcome import ExecutorFailure, ExecutorOutcome, ExecutorStatus
from holon_core.records.words import Status


class Refused(Exception):
    """A tool cannot or may not do what it was asked.

    ``started`` is false where the memory command never ran: then nothing is used up.
    """

    def __init__(self, problem: StructuredFailure, *, started: bool) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.started = started


def refuse(
    code: str, message: str | None = None, /, *, started: bool = True, **details: Any
) -> Refused:
    """Make the refusal of one row of the failure table; the caller raises it."""
    return Refused(failure(code, message, **details), started=started)


def outcome_of(refusal: Refused) -> ExecutorOutcome:
    """Answer with a failure: blocked where nothing ran and something else has to change."""
    problem = refusal.problem
    blocked = not refusal.started and FAILURES[problem.code][1] is Status.BLOCKED
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        started=refusal.started,
    )
