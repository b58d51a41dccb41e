"""A failure as data: kind, code, message, details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.errors import FAILURES, StructuredFailureKind
from holon_core.records.base import Record
from holon_core.visible import escape_controls


@frozen(kw_only=True, eq=False, repr=False)
class StructuredFailure(Record):
    """Why a call did not complete.

    ``kind`` is coarse and closed, ``code`` finer and a row of the failure table, ``message``
    is for people, in one line (control characters and lone surrogates are written out),
    ``details`` is JSON. None of them carries a payload or a secret.
    """

    kind: StructuredFailureKind
    code: str
    message: str = field(converter=escape_controls)
    details: Mapping[str, Any] = field(factory=dict)

    @property
    def next_action(self) -> str:
        """What would lift this failure: from the failure table, where the code is a row of it."""
        row = FAILURES.get(self.code)
        return row[3] if row else "see the message"


@frozen(kw_only=True, eq=False, repr=False)
class BlockingReason(Record):
    """One thing that keeps a call from running, with the step that would lift it."""

    kind: StructuredFailureKind
    code: str
    message: str = field(converter=escape_controls)
    next_action: str


def failure(code: str, message: str | None = None, /, **details: Any) -> StructuredFailure:
    """Make the failure of one row of the failure table.

    Args:
        code: A key of ``errors.FAILURES``.
        message: What happened, for people; the row's meaning where none is given.
        details: JSON values that help a program; never a payload or a secret.
    """
    kind, _, meaning, _ = FAILURES[code]
    return StructuredFailure(kind=kind, code=code, message=message or meaning, details=details)
