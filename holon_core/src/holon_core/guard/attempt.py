"""One attempt at a call, as it gathers facts on its way through the steps."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from holon_core.cancel import CancelToken
from holon_core.ids import new_id
from holon_core.records.words import Posture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.policy import PolicyOutcome
    from holon_core.records.approval import HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.outcome import ExecutorEvidenceDraft
    from holon_core.records.tool import Limits
    from holon_core.records.words import Effect
    from holon_core.records.workspace import Workspace
    from holon_core.store.evidence_tables import OpenCall


_LOCK = threading.Lock()


class Refusal(Exception):
    """Ends an attempt before execution; never leaves the guard."""

    def __init__(self, failure: StructuredFailure) -> None:
        super().__init__(failure.code)
        self.failure = failure


class Attempt:
    """One attempt at a call. Mutable, and private to the guard.

    ``mode`` is ``call``, ``release`` (of ``held``), ``request`` (make a pending approval and
    nothing else), ``edit`` (hold in any case), ``dry_run`` or ``explain``.
    """

    entry: Entry
    arguments: dict[str, Any]
    posture: Posture
    verdict: PolicyOutcome
    canonical = b""
    # What most attempts never change stands on the class: making one is on the path of each call.
    chain = "_runtime"
    accepted = False
    expired = False
    started = 0.0
    revision = 0
    self_approved = False
    # Who releases a held call of somebody else.
    released_by: str | None = None
    approval_id: str | None = None
    fingerprint: str | None = None
    preview: Mapping[str, Any] | None = None
    workspace: Workspace | None = None
    opened: OpenCall | None = None
    limits: Limits
    effects_used: frozenset[Effect] = frozenset()
    _cancel: CancelToken | None = None

    def __init__(
        self,
        tool_id: str,
        raw: object,
        caller: CallerContext,
        *,
        mode: str = "call",
        pin: str | None = None,
        key: str | None = None,
        held: HeldCall | None = None,
    ) -> None:
        self.tool_id = tool_id
        self.raw = raw
        self.caller = caller
        self.mode = mode
        self.pin = pin
        self.key = key
        self.held = held
        self.call_id = held.call_id if held is not None and mode == "release" else new_id("c")
        self.seqs: list[int] = []
        self.drafts: list[ExecutorEvidenceDraft] = []

    def cancel_by(self, token: CancelToken) -> None:
        """Let a token that the caller holds end what runs for this call."""
        self._cancel = token

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer wants it."""
        return self._cancel is not None and self._cancel.cancelled

    @property
    def cancel(self) -> CancelToken:
        """The token that ends what runs for this call; made when first asked for."""
        if self._cancel is None:
            with _LOCK:
                if self._cancel is None:  # pragma: no branch - another thread was first
                    self._cancel = CancelToken()
        return self._cancel
