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
name = "rust-tools"


@hookimpl
def holon_frozen_tool_kinds(host: PluginHost) -> Iterable[FrozenToolKind]:
    """Offer the kind ``rust-code-tool``."""
    from holon_rust_tools.kind import RustCodeTools

    return [RustCodeTools(host)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer what is asked of compiled tools."""
    from holon_rust_tools.operations import rows

    return rows(host)
