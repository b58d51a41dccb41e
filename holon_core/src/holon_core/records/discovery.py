"""What discovery answers: tools that fit, and for this caller what stands in their way."""

from __future__ import annotations

from attrs import frozen

from holon_core.records.failure import BlockingReason
from holon_core.records.words import (
    ApprovalRequirement,
    Availability,
    Effect,
    Origin,
    Readiness,
)


@frozen(kw_only=True)
class DiscoveredTool:
    """One tool as a caller finds it: what it is, and whether a call could run now.

    ``executable`` means that nothing outside the request has to change first; the arguments are
    still judged by the call. ``blocked`` names everything that has to, each with the step that
    would lift it: a needed approval is such a thing (``approval_required``), since the call
    itself would be held. ``score`` grows with how well the tool fits the query; 0 without one.
    ``description`` is cut at 1,000 characters: the tool's whole text and its schemas are read by
    id. None of this changes a verdict of the call.
    """

    id: str
    name: str
    title: str
    description: str
    lane: str
    origin: Origin
    version: str
    side_effect_class: Effect
    approval: ApprovalRequirement
    readiness: Readiness
    digest: str
    availability: Availability
    blocking_reasons: tuple[BlockingReason, ...] = ()
    score: float = 0.0


@frozen(kw_only=True)
class DiscoveryPage:
    """A page of tools, best first, else by id.

    A page may hold fewer than were asked for; only ``next_cursor`` being null ends the listing.
    ``total_hint`` counts what matches, without regard to who asks. ``none_fits`` says that a
    query was given and no tool at all matches it.
    """

    items: tuple[DiscoveredTool, ...]
    next_cursor: str | None
    total_hint: int
    none_fits: bool
