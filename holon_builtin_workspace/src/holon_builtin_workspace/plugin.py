"""The hooks of this lane: where its tools are defined, and what runs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.lane import LaneExecutor, SkillSource

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "workspace"


@hookimpl
def holon_skill_sources(host: PluginHost) -> Iterable[SkillSource]:
    """Offer the four tools."""
    from holon_builtin_workspace.lane import WorkspaceSource

    return [WorkspaceSource()]


@hookimpl
def holon_executors(host: PluginHost) -> Iterable[LaneExecutor]:
    """Offer what runs them; it keeps the time limit itself."""
    from holon_builtin_workspace.lane import executor

    return [executor()]
