"""The hooks of this lane: its kind with the preview of imported capabilities, and its operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall
    from holon_core.plugins.host import PluginHost
    from holon_core.records.lane import CapabilityLane
    from holon_core.records.operation import Operation
    from holon_core.records.skill import CapabilityBindingRecord

# As its entry point is called; a host that gives the module itself gives it under this name.
name = "elegy"


@hookimpl
def holon_capability_lanes(host: PluginHost) -> Iterable[CapabilityLane]:
    """Offer the lane; it brings no executor, a host or an adapter binds them."""
    from holon_core.records.lane import CapabilityLane
    from holon_core.records.words import LaneKind, Posture

    return [
        CapabilityLane(
            kind=LaneKind.ELEGY.value,
            postures=frozenset({Posture.ADAPTER_FORWARDED, Posture.MODEL_INVOKED}),
            preview=_preview,
        )
    ]


def _preview(call: SealedCall, binding: CapabilityBindingRecord | None) -> Mapping[str, Any]:
    from holon_elegy.invoking import preview_of

    return preview_of(binding, call.arguments)


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer the import of definitions, profiles of agents, and crystallized capabilities."""
    from holon_elegy import crystallized_rows, operation, profile_rows

    return [*operation.rows(), *crystallized_rows.rows(), *profile_rows.rows()]


@hookimpl
def holon_services(host: PluginHost) -> Iterable[tuple[str, object]]:
    """Offer what hosts and adapters need to run imported capabilities, as the service `elegy`."""
    from holon_elegy.service import ElegyService

    return [("elegy", ElegyService())]
