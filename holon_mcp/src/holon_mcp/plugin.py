"""The hooks of this lane: the lane, what stands for an executor, and its operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.lane import CapabilityLane, LaneExecutor
    from holon_core.records.operation import Operation
    from holon_mcp.servers import Servers

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "mcp"

# One for each open runtime, which has one host for this plugin.
_BY_HOST: WeakKeyDictionary[Any, Servers] = WeakKeyDictionary()


def _servers(host: PluginHost) -> Servers:
    found = _BY_HOST.get(host)
    if found is None:
        from holon_mcp.servers import Servers

        found = _BY_HOST[host] = Servers(host)
    return found


@hookimpl
def holon_capability_lanes() -> Iterable[CapabilityLane]:
    """Offer the lane `mcp` with its gate."""
    from holon_mcp.lane import lane

    return [lane()]


@hookimpl
def holon_executors(host: PluginHost) -> Iterable[LaneExecutor]:
    """Offer what shows the requests of every server, and sends none."""
    from holon_core.records.lane import LaneExecutor
    from holon_mcp.lane import SOURCE

    return [LaneExecutor(source=SOURCE, executor=_servers(host).executor, self_limiting=True)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer `mcp-server/register` and the others."""
    from holon_mcp.rows import rows

    return rows(_servers(host))


@hookimpl
def holon_services(host: PluginHost) -> Iterable[tuple[str, object]]:
    """Offer the servers to hosts and lanes, as `mcp-servers`."""
    return [("mcp-servers", _servers(host))]
