"""The three tools as one source of definitions and one executor; both load what they need late."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from holon_core.records.lane import LaneExecutor
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from holon_builtin_memory.tool import MemoryTool
    from holon_core.guard.sealed import SealedCall
    from holon_core.plugins.host import PluginHost
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.tool import RuntimeToolDescriptor

SOURCE = "holon.built-in.memory"
SEARCH = f"{SOURCE}/search-workspace-memory"
WRITE = f"{SOURCE}/write-workspace-memory"
REQUEST = f"{SOURCE}/request-workspace-memory-write-approval"


class MemorySource:
    """The definitions of the three tools: this wrapper's own, whatever a package claims."""

    descriptor = SkillSourceDescriptor(
        id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.BUILT_IN, title="Workspace memory"
    )

    def signal(self) -> str:
        """Return what changes with the definitions, also where the version stays the same."""
        from holon_builtin_memory.descriptors import signature

        return signature()

    def read(self) -> Iterable[RuntimeToolDescriptor]:
        """Return the three definitions."""
        from holon_builtin_memory.descriptors import tools

        return tools()


class MemoryExecutor:
    """Runs the tool that a call names."""

    def __init__(self, host: PluginHost) -> None:
        # Made now: a preview, which comes first of all, writes nothing.
        self._config, self._folder = host.config, folder_of(host)

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Run it."""
        return self._tools[call.tool.id].execute(call)

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show what it would start."""
        return self._tools[call.tool.id].preview(call)

    @cached_property
    def _tools(self) -> Mapping[str, MemoryTool]:
        from holon_builtin_memory.program import Program
        from holon_builtin_memory.searching import SearchMemory
        from holon_builtin_memory.writing import RequestApproval, WriteMemory

        program = Program(self._config, self._folder)
        return {
            SEARCH: SearchMemory(program),
            WRITE: WriteMemory(program),
            REQUEST: RequestApproval(program),
        }


def folder_of(host: PluginHost) -> Path | None:
    """Return where the stores lie; ``None`` in memory."""
    from holon_core.errors import Misuse

    try:
        return host.folder
    except Misuse:
        return None


def executor(host: PluginHost) -> LaneExecutor:
    """Return the executor of all three."""
    return LaneExecutor(
        source=SOURCE, executor=MemoryExecutor(host), self_limiting=True, needs_workspace=True
    )
