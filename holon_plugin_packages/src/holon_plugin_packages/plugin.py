"""The hooks of this lane: the lane, what runs its capabilities, operations, readers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.lane import CapabilityLane, LaneExecutor
    from holon_core.records.operation import Operation
    from holon_plugin_packages.packages import Packages

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "packages"

# One for each open runtime, which has one host for this plugin.
_BY_HOST: WeakKeyDictionary[Any, Packages] = WeakKeyDictionary()


def _packages(host: PluginHost) -> Packages:
    found = _BY_HOST.get(host)
    if found is None:
        from holon_plugin_packages.packages import Packages

        found = _BY_HOST[host] = Packages(host)
    return found


@hookimpl
def holon_hookspecs() -> Iterable[object]:
    """Offer the hook of readers."""
    from holon_plugin_packages import hookspecs

    return [hookspecs]


@hookimpl
def holon_capability_lanes(host: PluginHost) -> Iterable[CapabilityLane]:
    """Offer the lane `plugin_package` with its gate."""
    from holon_core.records.lane import CapabilityLane
    from holon_core.records.words import LaneKind, Posture
    from holon_plugin_packages.gates import PackageGate
    from holon_plugin_packages.resources import Resources

    return [
        CapabilityLane(
            kind=LaneKind.PLUGIN_PACKAGE.value,
            postures=frozenset({Posture.PLUGIN_PACKAGE_LIVE, Posture.ADAPTER_FORWARDED}),
            needs_filesystem=True,
            gates=(PackageGate(_packages(host)),),
            resources=Resources(_packages(host)),
        )
    ]


@hookimpl
def holon_executors(host: PluginHost) -> Iterable[LaneExecutor]:
    """Offer what runs the capabilities of every package, by the bounded runner."""
    from holon_core.records.lane import LaneExecutor
    from holon_plugin_packages.executor import PackageExecutor
    from holon_plugin_packages.records import OWNER

    executor = PackageExecutor(_packages(host))
    return [LaneExecutor(source=OWNER, executor=executor, self_limiting=True)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer `plugin-package/register` and the others."""
    from holon_plugin_packages.rows import rows

    return rows(_packages(host))


@hookimpl
def holon_services(host: PluginHost) -> Iterable[tuple[str, object]]:
    """Offer the packages to hosts and lanes, as `plugin_packages`."""
    return [("plugin_packages", _packages(host))]
