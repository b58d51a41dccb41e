"""One attempt at a call, as it gathers facts on its way through the steps."""

from __future__ import annotations

import threading
import time
from copy import copy
from typing import TYPE_CHECKING, Any

from holon_core.cancel import CancelToken
from holon_core.ids import new_id
from holon_core.records.words import Posture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.guard import ProfileGate
    from holon_core.guard.policy import PolicyOutcome
    from holon_core.records.approval import HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.outcome import ExecutorEvidenceDraft
    from holon_core.records.tool import Limits
    from holon_core.records.words import Effect
    from holon_core.records.workspace import Workspace
    from holon_core.store.chains import OpenCall


_LOCK = threading.Lock()

# How often it is looked whether the programs of a call have ended, in seconds.
POLL_S = 0.005
# What a sealed call may do: show the request, all, or nothing any more.
PREVIEW, OPEN, CLOSED = "is being previewed", "is open", "has ended"


class Refusal(Exception):
    """Ends an attempt before execution; never leaves the guard."""

    def __init__(self, failure: StructuredFailure) -> None:
        super().__init__(failure.code)
        self.failure = failure


class Unconfined(Refusal):
    """A program that has to be confined, and can't be, was not started."""


class NeedsPreview(Exception):
    """The call has to be held, and the approver's view is not made yet."""


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
    phase = OPEN
    accepted = False
    # Of an imported capability: everything that blocks it, in the finer words.
    reasons: tuple[StructuredFailure, ...] = ()
    # Set before the executor is entered; what was not entered uses nothing up.
    entered = False
    # The tool's own time limit ended it, whatever came of it afterwards.
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
    # Counts what the call gives, where its caller works under a profile.
    profiles: ProfileGate | None = None
    # What it may give at most of its caller's budget of output, in bytes.
    reserved_bytes: int | None = None
    # Its limit of output is what is left of that budget.
    budgeted = False
    # What is left of its caller's session, in seconds, where that is less than its own limit.
    left_s: float | None = None
    limits: Limits
    effects_used: frozenset[Effect] = frozenset()
    _cancel: CancelToken | None = None
    _programs: set[object] | None = None

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

    def shadow(self, arguments: dict[str, Any]) -> Attempt:
        """Return what a preview gets: the same call on its own arguments, able to do nothing."""
        made = copy(self)
        made.phase, made.arguments, made.drafts = PREVIEW, arguments, []
        made._cancel = None
        return made

    def enter(self) -> bool:
        """Take the one way into the executor; false where the call has ended already."""
        # In this order, as ``close`` goes the other way round: of an executor that is entered
        # while somebody gives up on the call, at least one of the two knows.
        self.entered = True
        return self.phase is not CLOSED

    @property
    def time_limit_s(self) -> float | None:
        """How long it may run: its own limit, or what is left of its caller's session."""
        # What is left may be longer than any limit of a tool can be.
        return self.left_s if self.limits.timeout_s is None else self.limits.timeout_s

    def close(self) -> bool:
        """Let nothing start any more; tell whether programs of this call still run."""
        self.phase = CLOSED
        return bool(self._programs)

    @property
    def programs(self) -> set[object]:
        """What runs for this call at the moment; whoever adds to it looks at the phase after."""
        if self._programs is None:
            with _LOCK:
                if self._programs is None:  # pragma: no branch - another thread was first
                    self._programs = set()
        return self._programs

    def end_programs(self, within_s: float) -> None:
        """End what runs for this call, and wait for it: what it did is to be recorded."""
        if not self._programs:
            return
        self.cancel.cancel()
        deadline = time.monotonic() + within_s
        while self._programs and time.monotonic() < deadline:
            time.sleep(POLL_S)

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
