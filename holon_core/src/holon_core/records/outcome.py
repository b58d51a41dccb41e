"""What an executor answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.errors import StructuredFailureKind
from holon_core.records.base import Record, blank
from holon_core.records.words import Word


class ExecutorStatus(Word):
    """How an execution ended. Blocked means that nothing was done."""

    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"


COMPLETED = ExecutorStatus.COMPLETED


@frozen(kw_only=True, eq=False, repr=False)
class ExecutorFailure(Record):
    """Why an execution did not complete; ``code`` is of the failure table or the lane's own."""

    kind: StructuredFailureKind
    code: str
    message: str
    details: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class ExecutorEvidenceDraft(Record):
    """Something an executor wants kept. The host marks it with its source and bounds it.

    It is data from ``source`` and never sets a field of the host's own records.
    """

    source: str
    data: Mapping[str, Any]


@frozen(kw_only=True, eq=False, repr=False)
class ExecutorOutcome(Record):
    """The answer of one execution.

    ``started`` is false where nothing ever ran (a program that could not be spawned): the
    approval's use and the idempotency key are then given back, as for blocked.
    """

    status: ExecutorStatus
    output_json: Any = None
    failure: ExecutorFailure | None = None
    evidence: tuple[ExecutorEvidenceDraft, ...] = ()
    started: bool = True


_Blank = blank(ExecutorOutcome)


def completed(output: Any, evidence: tuple[ExecutorEvidenceDraft, ...] = ()) -> ExecutorOutcome:
    """Answer with an output that fits the tool's output schema."""
    made = _Blank()
    made.status, made.output_json, made.evidence = COMPLETED, output, evidence
    made.failure, made.started = None, True
    made.__class__ = ExecutorOutcome
    return made  # type: ignore[no-any-return]
