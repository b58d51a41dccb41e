"""One attempt at a call, as it gathers facts on its way through the steps."""

from __future__ import annotations

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
    from holon_core.records.words import Effect
    from holon_core.records.workspace import Workspace


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

    __slots__ = (
        "approval_id",
        "arguments",
        "call_id",
        "caller",
        "cancel",
        "canonical",
        "chain",
        "effects_used",
        "entry",
        "fingerprint",
        "held",
        "key",
        "mode",
        "pin",
        "posture",
        "preview",
        "raw",
        "revision",
        "self_approved",
        "seqs",
        "started",
        "tool_id",
        "verdict",
        "workspace",
    )

    entry: Entry
    arguments: dict[str, Any]
    canonical: bytes
    posture: Posture
    verdict: PolicyOutcome

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
        self.chain = "_runtime"
        self.canonical = b""
        self.cancel = CancelToken()
        self.effects_used: frozenset[Effect] = frozenset()
        self.fingerprint: str | None = None
        self.preview: Mapping[str, Any] | None = None
        self.approval_id: str | None = None
        self.self_approved = False
        self.seqs: list[int] = []
        self.revision = 0
        self.started = 0.0
        self.workspace: Workspace | None = None
