"""Approvals and the calls that wait for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.caller import CallerContext
from holon_core.records.words import ApprovalState, HeldState


@frozen(kw_only=True, eq=False, repr=False)
class ApprovalRecord(Record):
    """One person's decision on one exact payload, or on an argument pattern (a grant).

    ``fingerprint`` covers tool, definition, lane and posture, workspace, principal, role,
    profile and the normalised arguments. ``uses_left`` counts down as calls consume it.
    ``pattern`` is set for grants only: argument name to the values it may take.
    Times are Unix seconds.
    """

    id: str
    state: ApprovalState
    tool: str
    definition: str
    fingerprint: str
    arguments_digest: str
    workspace: str | None
    principal: str
    role: str | None = None
    profile: str | None = None
    pattern: Mapping[str, Any] | None = field(default=None, repr=False)
    uses_left: int = 1
    requested_at_unix_seconds: int
    expires_at_unix_seconds: int
    decided_at_unix_seconds: int | None = None
    decided_by: str | None = None
    reason: str | None = None
    self_approved: bool = False
    used_by: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        from holon_core.render import approval_html

        return approval_html(self)


@frozen(kw_only=True, eq=False, repr=False)
class HeldCall(Record):
    """A call that waits for an approval, complete enough to be shown and decided anywhere.

    ``tool`` is the descriptor as it was when the call was held, ``preview`` the executor's
    dry run of it; both are for the approver. ``arguments`` are normalised: exactly what runs.
    Fields that its schema marks as secret stand in them, so that its ``repr`` shows neither.
    """

    call_id: str
    approval_id: str
    state: HeldState
    caller: CallerContext
    tool: Mapping[str, Any] = field(repr=lambda tool: repr(tool.get("id")))
    arguments: Mapping[str, Any] = field(repr=False)
    preview: Mapping[str, Any] | None = field(default=None, repr=False)
    idempotency_key: str | None = None
    held_at_unix_seconds: int
    replaced_by: str | None = None
    flags: tuple[Mapping[str, Any], ...] = field(factory=tuple, repr=False)

    def _repr_html_(self) -> str:
        from holon_core.render import held_call_html

        return held_call_html(self)
