"""The hooks of this lane: its tools, what runs them, and its operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.lane import LaneExecutor, SkillSource
    from holon_core.records.operation import Operation

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "memory"


@hookimpl
def holon_skill_sources(host: PluginHost) -> Iterable[SkillSource]:
    """Offer the three tools."""
    from holon_builtin_memory.lane import MemorySource

    return [MemorySource()]


@hookimpl
def holon_executors(host: PluginHost) -> Iterable[LaneExecutor]:
    """Offer what runs them; it keeps the time limit itself."""
    from holon_builtin_memory.lane import executor

    return [executor(host)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer ``memory/*``."""
    from holon_builtin_memory.operations import rows

    return rows(host)
