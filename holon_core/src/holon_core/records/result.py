"""What a caller gets back from a governed call."""

from __future__ import annotations

from typing import Any, NamedTuple

from attrs import field, frozen

from holon_core.errors import CallFailed
from holon_core.records.base import Record, blank
from holon_core.records.failure import BlockingReason, StructuredFailure
from holon_core.records.fallback import FallbackOffer
from holon_core.records.words import Status


class EvidenceRef(NamedTuple):
    """Points at one evidence record. A tuple: each call makes two of them."""

    chain: str
    seq: int


@frozen(kw_only=True, eq=False, repr=False)
class ToolResult(Record):
    """The outcome of one governed call: a value, also when it was refused.

    ``held`` is the call id to approve and release where the call waits for a person.
    ``output`` never holds a secret: secrets that a tool prints are replaced in it. ``notices``
    are for the caller of a call that completed (a deprecated tool); ``fallback`` is what a frozen
    tool offers where it could not serve, and nobody has acted on it.
    """

    status: Status
    output: Any = None
    failure: StructuredFailure | None = None
    blocking_reasons: tuple[BlockingReason, ...] = ()
    held: str | None = None
    evidence_refs: tuple[EvidenceRef, ...] = ()
    call_id: str
    replayed_from: str | None = None
    self_approved: bool = field(default=False)
    notices: tuple[str, ...] = ()
    fallback: FallbackOffer | None = None

    def __bool__(self) -> bool:
        """Whether the call completed: a refused, held or failed one is false."""
        return self.status is Status.COMPLETED

    def raise_for_failure(self) -> ToolResult:
        """Return the result itself where the call completed.

        Raises:
            CallFailed: It did not; the exception carries the failure.
        """
        if self.failure is not None:
            raise CallFailed(self.failure, self.call_id)
        return self

    def _repr_html_(self) -> str:
        from holon_core.render import result_html

        return result_html(self)


_Blank = blank(ToolResult)


def ended(
    *,
    status: Status,
    output: Any,
    failure: StructuredFailure | None,
    blocking_reasons: tuple[BlockingReason, ...],
    evidence_refs: tuple[EvidenceRef, ...],
    call_id: str,
    self_approved: bool,
    notices: tuple[str, ...],
) -> ToolResult:
    """Make the result of a call that ran, as the class itself would; each call makes one."""
    made = _Blank()
    made.status, made.output, made.failure = status, output, failure
    made.blocking_reasons, made.evidence_refs = blocking_reasons, evidence_refs
    made.call_id, made.self_approved, made.notices = call_id, self_approved, notices
    made.held = made.replayed_from = made.fallback = None
    made.__class__ = ToolResult
    return made  # type: ignore[no-any-return]
