"""What discovery answers: tools that fit, and for this caller what stands in their way."""

from __future__ import annotations

from attrs import frozen

from holon_core.records.base import Record
from holon_core.records.failure import BlockingReason
from holon_core.records.words import (
    ApprovalRequirement,
    Availability,
    Effect,
    Origin,
    Readiness,
)

# A query none of whose tools is more likely than this to answer it is told that nothing fits. It
# was set so that about 95 of 100 queries that a tool can answer are answered.
MIN_CONFIDENCE = 0.26


@frozen(kw_only=True, eq=False, repr=False)
class FieldMatch(Record):
    """The words of one field of a tool that a query asks for, as the tool writes them.

    ``field`` is ``name`` (with the title), ``description``, ``schema`` (names, texts and allowed
    values of parameters) or ``examples``.
    """

    field: str
    words: tuple[str, ...]


@frozen(kw_only=True, eq=False, repr=False)
class ScorePart(Record):
    """What one kind of evidence gives to a tool's score."""

    part: str
    score: float


@frozen(kw_only=True, eq=False, repr=False)
class DiscoveredTool(Record):
    """One tool as a caller finds it: what it is, and whether a call could run now.

    ``executable`` means that nothing outside the request has to change first; the arguments are
    still judged by the call. ``blocked`` names everything that has to, each with the step that
    would lift it: a needed approval is such a thing (``approval_required``), since the call
    itself would be held. ``score`` grows with how well the tool fits the query; 0 without one.
    ``confidence`` is how likely a tool of such scores answers the query at all, 0 to 1; 1 without
    a query. ``duplicates`` are tools of other sources that say the same of themselves.
    ``schema_tokens`` is about how many tokens the tool takes in a model's prompt.
    ``matches`` and ``score_parts`` say why it ranks where it does, where that was asked for.
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
    confidence: float = 1.0
    duplicates: tuple[str, ...] = ()
    schema_tokens: int = 0
    matches: tuple[FieldMatch, ...] = ()
    score_parts: tuple[ScorePart, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class DiscoveryPage(Record):
    """A page of tools, best first, else by id.

    A page may hold fewer than were asked for; only ``next_cursor`` being null ends the listing.
    ``total_hint`` counts what matches, without regard to who asks. ``none_fits`` says that a
    query was given and no tool is likely enough to answer it; then there are no items, and
    ``best_confidence`` says how near the best came.
    """

    items: tuple[DiscoveredTool, ...]
    next_cursor: str | None
    total_hint: int
    none_fits: bool
    best_confidence: float = 1.0

    def _repr_html_(self) -> str:
        from holon_core.render import discovery_html

        return discovery_html(self)
