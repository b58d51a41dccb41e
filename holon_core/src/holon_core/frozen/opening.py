"""Putting the parts of frozen tools together when a runtime opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holon_core.frozen.facet import FrozenTools
from holon_core.frozen.kinds import Kinds
from holon_core.frozen.live import Live
from holon_core.frozen.store import FrozenStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.guard.evidence_read import Evidence
    from holon_core.guard.guard import Guard
    from holon_core.records.frozen_kind import FrozenToolKind


def install(
    guard: Guard, evidence: Evidence, kinds: Mapping[str, FrozenToolKind], root: Path | None
) -> FrozenTools:
    """Let the guard know frozen tools, and return their facet.

    Args:
        guard: Gets gates for each kind, what makes catalogue entries, and the tool that moves.
        evidence: Where recorded runs are read.
        kinds: Those of this runtime.
        root: The storage root.
    """
    records = FrozenStore(guard.store)
    known = Kinds(kinds, records, root)
    live = Live(guard, records, known)
    facet = FrozenTools(guard, records, known, evidence)
    for kind in kinds:
        guard.gates[kind] = (live.gate,)
    if kinds:
        guard.lifecycle = live
        guard.catalogue.frozen = live.entry
    guard.catalogue.hide(facet.mover.entry())
    return facet
