"""What the four tools share: from a sealed call to an outcome, and how a dry run shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from holon_builtin_workspace.refusals import Refused, outcome_of, refuse
from holon_core.records.outcome import completed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.guard.sealed import SealedCall
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.workspace import Workspace


class WorkspaceTool:
    """An executor of this lane. It keeps its time limit itself and holds nothing between calls."""

    operation: ClassVar[str]

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Run the tool once; what it refuses is an outcome."""
        try:
            return completed(self.run(call))
        except Refused as refusal:
            return outcome_of(refusal.problem)

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show what ``execute`` would look at; nothing is opened or started."""
        return {
            "operation": self.operation,
            "workspace": workspace_of(call).id,
            "arguments": call.arguments,
        }

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Do the work and return the output; raises ``Refused``."""
        raise NotImplementedError


def workspace_of(call: SealedCall) -> Workspace:
    """Return the workspace of a call; the guarded call lets none through without one."""
    if call.workspace is None:
        raise refuse("workspace_required")
    return call.workspace
