"""The hooks of this distribution: its operations, its service, and a hook of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.operation import Operation
    from holon_workflows.service import Workflows

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "workflows"

# One for each open runtime, which has one host for this plugin.
_BY_HOST: WeakKeyDictionary[Any, Workflows] = WeakKeyDictionary()


def _workflows(host: PluginHost) -> Workflows:
    found = _BY_HOST.get(host)
    if found is None:
        from holon_workflows.service import Workflows

        found = _BY_HOST[host] = Workflows(host)
    return found


@hookimpl
def holon_hookspecs() -> Iterable[object]:
    """Offer the hook by which others bring kinds of nodes."""
    from holon_workflows import hookspecs

    return [hookspecs]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer `workflow-definition/create` and the others."""
    from holon_workflows.operations.all import rows

    return rows(_workflows(host))


@hookimpl
def holon_services(host: PluginHost) -> Iterable[tuple[str, object]]:
    """Offer workflows to hosts and lanes, as `workflows`."""
    return [("workflows", _workflows(host))]


@hookimpl
def holon_runtime_closing(host: PluginHost) -> None:
    """End what runs here."""
    found = _BY_HOST.pop(host, None)
    if found is not None:
        found.close()
