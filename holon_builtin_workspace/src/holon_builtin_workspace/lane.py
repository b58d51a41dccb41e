"""The four tools as one source of definitions and one executor; both load what they need late."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from holon_core.records.lane import LaneExecutor, SkillSource
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from holon_builtin_workspace.tool import WorkspaceTool
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.tool import RuntimeToolDescriptor

SOURCE = "holon.built-in.workspace"


class WorkspaceSource(SkillSource):
    """The definitions of the four tools, which change with the distribution alone."""

    descriptor = SkillSourceDescriptor(
        id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.BUILT_IN, title="Workspace files"
    )

    def read(self) -> Iterable[RuntimeToolDescriptor]:
        """Return the four definitions."""
        from holon_builtin_workspace.descriptors import tools

        return [tool for tool, _ in tools()]


class WorkspaceExecutor:
    """Runs the tool that a call names."""

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Run it."""
        return self._tools[call.tool.id].execute(call)

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show what it would look at."""
        return self._tools[call.tool.id].preview(call)

    @cached_property
    def _tools(self) -> Mapping[str, WorkspaceTool]:
        from holon_builtin_workspace.descriptors import tools

        return {tool.id: executor for tool, executor in tools()}


def executor() -> LaneExecutor:
    """Return the executor of all four."""
    return LaneExecutor(source=SOURCE, executor=WorkspaceExecutor(), self_limiting=True)
