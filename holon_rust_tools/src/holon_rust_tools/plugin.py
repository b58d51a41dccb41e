"""The hooks of this lane: the kind of frozen tools that it brings, and its operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.frozen_kind import FrozenToolKind
    from holon_core.records.operation import Operation
    from holon_rust_tools.kind import RustCodeTools

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "rust-tools"

# One for each open runtime, which has one host for this plugin.
_BY_HOST: WeakKeyDictionary[Any, RustCodeTools] = WeakKeyDictionary()


def _tools(host: PluginHost) -> RustCodeTools:
    found = _BY_HOST.get(host)
    if found is None:
        from holon_rust_tools.kind import RustCodeTools

        found = _BY_HOST[host] = RustCodeTools(host)
    return found


@hookimpl
def holon_frozen_tool_kinds(host: PluginHost) -> Iterable[FrozenToolKind]:
    """Offer the kind ``rust-code-tool``."""
    return [_tools(host)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer what is asked of compiled tools."""
    from holon_rust_tools.operations import rows

    return rows(_tools(host))


@hookimpl
def holon_runtime_closing(host: PluginHost) -> None:
    """Give the memory back that proven binaries were kept in."""
    found = _BY_HOST.pop(host, None)
    if found is not None:
        found.programs.close()
