"""Evidence sinks: who gets every record, and how far each has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from holon_core.records.base import Record
from holon_core.records.evidence import EvidenceRecord


class EvidenceSink(Protocol):
    """Takes evidence somewhere else: every record at least once, in the order of its chain.

    Called from one background thread, never during a call. A sink bounds its own time: while
    ``write`` waits, other sinks wait too. It may also have ``heads(heads)``, called with all
    ``EvidenceHead`` after records of them were written; kept elsewhere they show later edits.
    """

    name: str
    required: bool

    def write(self, records: Sequence[EvidenceRecord]) -> None:
        """Take up to 256 records of one chain; whatever it raises, the same come again later."""
        ...

    def close(self) -> None:
        """Let go of everything; called once, when the runtime closes."""
        ...


@frozen(kw_only=True, eq=False, repr=False)
class SinkState(Record):
    """How far a sink has come.

    ``behind_s`` is the age of the oldest record that it has not taken, in seconds. ``error`` is
    the type of what it last raised, ``None`` where its last attempt succeeded; ``failures``
    counts the attempts that failed since then.
    """

    name: str
    required: bool
    behind_records: int
    behind_s: float
    error: str | None
    failures: int
