"""The hooks of this lane: the lane, what runs its tools, and its operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_adapters.adapters import Adapters
    from holon_core.plugins.host import PluginHost
    from holon_core.records.lane import CapabilityLane, LaneExecutor
    from holon_core.records.operation import Operation

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "adapters"

# One for each open runtime, which has one host for this plugin.
_BY_HOST: WeakKeyDictionary[Any, Adapters] = WeakKeyDictionary()


def _adapters(host: PluginHost) -> Adapters:
    found = _BY_HOST.get(host)
    if found is None:
        from holon_adapters.adapters import Adapters

        found = _BY_HOST[host] = Adapters(host)
    return found


@hookimpl
def holon_capability_lanes(host: PluginHost) -> Iterable[CapabilityLane]:
    """Offer the lane `adapter` with its gate."""
    from holon_adapters.lane import lane

    return [lane((_adapters(host).gate,))]


@hookimpl
def holon_executors(host: PluginHost) -> Iterable[LaneExecutor]:
    """Offer what runs the operations of every adapter; it keeps the time limit itself."""
    from holon_adapters.lane import SOURCE
    from holon_core.records.lane import LaneExecutor

    executor = _adapters(host).executor
    return [LaneExecutor(source=SOURCE, executor=executor, self_limiting=True)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer `adapter/register` and the others."""
    from holon_adapters.rows import rows

    return rows(_adapters(host))


@hookimpl
def holon_services(host: PluginHost) -> Iterable[tuple[str, object]]:
    """Offer the adapters to hosts and lanes, as `adapters`."""
    return [("adapters", _adapters(host))]


@hookimpl
def holon_runtime_opened(host: PluginHost) -> None:
    """Bind anew what runs imported capabilities."""
    _adapters(host).forwards.restore()


@hookimpl
def holon_runtime_closing(host: PluginHost) -> None:
    """Close all connections."""
    found = _BY_HOST.pop(host, None)
    if found is not None:
        found.executor.close()
