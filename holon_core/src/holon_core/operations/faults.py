"""What an operation refuses, as data that every door can show."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from holon_core.errors import (
    FAILURES,
    CallFailed,
    HolonError,
    JsonRefused,
    Misuse,
    Refused,
    Rejected,
    StoreError,
)
from holon_core.operations.answers import to_json
from holon_core.records.base import Record
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.words import Word


class UnknownOperation(Misuse):
    """No operation has this name."""


class BadRequest(Refused):
    """The parameters of a request do not fit the schema of its operation."""


class ProblemStatus(Word):
    """What became of a request that has no answer."""

    FAILED = "failed"
    BLOCKED = "blocked"
    REJECTED = "rejected"
    MISUSED = "misused"


@frozen(kw_only=True, eq=False, repr=False)
class Problem(Record):
    """A refused request: its status, and ``failure`` or ``findings`` as JSON."""

    status: ProblemStatus
    message: str
    body: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return it as one JSON object."""
        return {"status": self.status.value, **self.body}


def problem_of(error: HolonError) -> Problem:
    """Describe any exception that Holon raises on purpose."""
    if isinstance(error, Rejected):
        body = {"subject": error.subject, "findings": to_json(error.findings)}
        return Problem(status=ProblemStatus.REJECTED, message=str(error), body=body)
    known = _failure_of(error)
    status = ProblemStatus(FAILURES[known.code][1].value)
    if not isinstance(error, (CallFailed, StoreError)) and (
        isinstance(error, BadRequest) or not isinstance(error, Refused)
    ):
        status = ProblemStatus.MISUSED
    return Problem(status=status, message=known.message, body={"failure": to_json(known)})


def _failure_of(error: HolonError) -> StructuredFailure:
    if isinstance(error, (Refused, CallFailed)):
        return error.failure
    if isinstance(error, StoreError):
        return failure(error.code, error.message)
    if isinstance(error, JsonRefused):
        return failure("arguments_invalid", str(error), path=error.path, rule=error.rule)
    return failure("arguments_invalid", str(error))
