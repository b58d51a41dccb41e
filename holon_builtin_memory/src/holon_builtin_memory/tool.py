"""What the three tools share: from a sealed call to an outcome, and how a dry run shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_builtin_memory.refusals import Refused, outcome_of
from holon_core.records.outcome import completed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_builtin_memory.program import Program
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.outcome import ExecutorOutcome


class MemoryTool:
    """A tool of this lane; it holds nothing between calls."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Run the tool once; what it refuses is an outcome."""
        try:
            return completed(self.run(call))
        except Refused as refusal:
            return outcome_of(refusal)

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show what ``execute`` would start; nothing is."""
        return {"workspace": workspace_of(call), "arguments": call.arguments}

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Do the work and return the output; raises ``Refused``."""
        raise NotImplementedError


def workspace_of(call: SealedCall) -> str:
    """Return the id of a call's workspace; memory without one there is none."""
    assert call.workspace is not None, "the guarded call lets none through without one"
    return call.workspace.id
