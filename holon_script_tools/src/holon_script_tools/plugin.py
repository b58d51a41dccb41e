"""The hooks of this lane: the kind of frozen tools that it brings, and its operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.frozen_kind import FrozenToolKind
    from holon_core.records.operation import Operation

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "script-tools"


@hookimpl
def holon_frozen_tool_kinds(host: PluginHost) -> Iterable[FrozenToolKind]:
    """Offer the kind ``script-artifact``."""
    from holon_script_tools.kind import ScriptArtifacts

    return [ScriptArtifacts(host.config)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer what is asked of scripts."""
    from holon_script_tools.operations import rows

    return rows()
