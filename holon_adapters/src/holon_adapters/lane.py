"""Names and rules of the lane: source ids of adapters, and the lane itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holon_core.records.words import LaneKind, Posture

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.records.lane import CapabilityLane

KIND = LaneKind.ADAPTER.value
SOURCE = "holon-adapters"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def source_id(name: str, workspace: str | None) -> str:
    """Make the source id of an adapter: of a workspace, or of all. Names have no dot in them."""
    return f"{SOURCE}.{name}" if workspace is None else f"{SOURCE}.{workspace}.{name}"


def lane(gates: tuple[Callable[..., object], ...]) -> CapabilityLane:
    """Make the lane."""
    from holon_core.records.lane import CapabilityLane

    return CapabilityLane(
        kind=KIND,
        postures=frozenset({Posture.ADAPTER_LIVE, Posture.ADAPTER_FORWARDED}),
        gates=gates,
    )
