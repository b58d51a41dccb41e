"""An approver with a script: decides held calls as a person would, one answer after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.errors import Misuse
from holon_core.records.words import Decision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holon_core.records.approval_view import ApprovalView
    from holon_core.records.result import ToolResult
    from holon_core.runtime import Runtime
    from holon_core.session import Session


class ScriptedApprover:
    """Decides held calls and keeps the views that it decided by, in ``seen``.

    Args:
        runtime: Whose approvals it decides.
        answers: ``Decision.ALLOW`` or ``Decision.DENY`` for one held call after another; without
            a script everything is approved.
        by: The approver's name; nobody may decide what he asked for himself.
    """

    def __init__(
        self,
        runtime: Runtime,
        answers: Iterable[Decision] | None = None,
        *,
        by: str = "scripted-approver",
    ) -> None:
        self._runtime = runtime
        self._script = None if answers is None else list(answers)
        self.by = by
        self.seen: list[ApprovalView] = []

    def answer(self, *decisions: Decision) -> None:
        """Add answers to the script; before the first, everything was approved."""
        self._script = [*(self._script or ()), *decisions]

    def decide(self, held: str) -> Decision:
        """Decide one held call by the next answer of the script.

        Raises:
            Misuse: The script is at its end.
            Refused: The call is not held, or this approver may not decide it.
        """
        decision = self._next()
        self.seen.append(self._runtime.approvals.view(held))
        decide = self._runtime.approvals.approve
        if decision is not Decision.ALLOW:
            decide = self._runtime.approvals.deny
        decide(held, by=self.by, reason="as the script says")
        return decision

    def settle(self, session: Session, result: ToolResult) -> ToolResult:
        """Decide a result that is held, and release the call where it was approved.

        Returns:
            The result of the released call; the given one where nothing was held or it was
            denied.
        """
        if result.held is None or self.decide(result.held) is not Decision.ALLOW:
            return result
        return session.release(result.held)

    def _next(self) -> Decision:
        if self._script is None:
            return Decision.ALLOW
        if not self._script:
            raise Misuse("the approver's script is at its end; add answers with answer(…)")
        decision = self._script.pop(0)
        if decision is Decision.ASK:
            raise Misuse("an approver answers with Decision.ALLOW or Decision.DENY")
        return decision
