"""Discover: the tools that fit a request, ranked, each with what would block this caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.catalogue.words import terms as terms_of
from holon_core.discovery import cursor as cursors
from holon_core.discovery.availability import Judge
from holon_core.errors import Misuse
from holon_core.names import several
from holon_core.records.discovery import DiscoveredTool, DiscoveryPage
from holon_core.records.words import Availability, Surface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.catalogue.catalogue import Entry
    from holon_core.catalogue.search_rows import Hit
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext

MAX_LIMIT = 100
MAX_LANES = 100
# How many tools one request judges where it leaves blocked ones out.
MAX_JUDGED = 500
MAX_DESCRIPTION = 1000


def discover(
    guard: Guard,
    caller: CallerContext,
    *,
    query: str | None,
    limit: int,
    cursor: str | None,
    include_blocked: bool,
    lanes: Sequence[str] | None,
) -> DiscoveryPage:
    """Answer one request; see ``Session.discover``."""
    lanes = _checked(query, limit, lanes)
    asked = query is not None and bool(query.strip())
    terms = terms_of(query) if asked and query is not None else ()
    if asked and not terms:
        # A request without a single word names nothing.
        return DiscoveryPage(items=(), next_cursor=None, total_hint=0, none_fits=True)
    place = cursors.question(terms, lanes)
    after = None if cursor is None else cursors.read(cursor, place)
    judge = Judge(guard, caller)
    items: list[DiscoveredTool] = []
    judged, total, more = 0, 0, True
    while more and len(items) < limit and judged < MAX_JUDGED:
        wanted = limit - len(items)
        found = guard.catalogue.search.find(terms, lanes=lanes, after=after, limit=wanted + 1)
        total, more = found.total, len(found.hits) > wanted
        hits = found.hits[:wanted]
        items += _judged(guard, caller, judge, hits, include_blocked)
        judged += len(hits)
        after = hits[-1] if hits else after
    following = cursors.write(place, after) if more and after is not None else None
    none_fits = bool(terms) and total == 0
    return DiscoveryPage(
        items=tuple(items), next_cursor=following, total_hint=total, none_fits=none_fits
    )


def _checked(query: object, limit: int, lanes: Sequence[str] | None) -> tuple[str, ...]:
    if query is not None and not isinstance(query, str):
        raise Misuse("query is text, or None for all tools by id")
    if type(limit) is not int or not 0 < limit <= MAX_LIMIT:
        raise Misuse(f"limit is 1 to {MAX_LIMIT}")
    if lanes is not None:
        lanes = tuple(several(lanes, "lanes"))
        if not all(isinstance(kind, str) for kind in lanes):
            raise Misuse("lanes are names of kinds of lanes")
    if len(lanes or ()) > MAX_LANES:
        raise Misuse(f"lanes is a list of at most {MAX_LANES} kinds")
    return tuple(sorted(set(lanes or ())))


def _judged(
    guard: Guard,
    caller: CallerContext,
    judge: Judge,
    hits: Sequence[Hit],
    include_blocked: bool,
) -> list[DiscoveredTool]:
    entries = guard.catalogue.peek([hit.id for hit in hits])
    made = []
    for hit in hits:
        entry, pin = entries.get(hit.id, (None, None))
        if entry is None or not _shown(entry, caller):
            continue
        tool = _described(entry, pin, hit.score, judge)
        if include_blocked or tool.availability is Availability.EXECUTABLE:
            made.append(tool)
    return made


def _shown(entry: Entry, caller: CallerContext) -> bool:
    """Tell whether this surface may see a tool: what models see is narrower than what may run."""
    return caller.surface is not Surface.FUNCTION_CALLING or (
        "function_calling" in entry.tool.projections
    )


def _described(entry: Entry, pin: str | None, score: float, judge: Judge) -> DiscoveredTool:
    tool = entry.tool
    reasons = judge.reasons(entry, pin)
    text = tool.description
    return DiscoveredTool(
        id=tool.id,
        name=tool.name,
        title=tool.title,
        description=text if len(text) <= MAX_DESCRIPTION else f"{text[: MAX_DESCRIPTION - 1]}…",
        lane=tool.lane,
        origin=tool.origin,
        version=tool.version,
        side_effect_class=tool.side_effect_class,
        approval=tool.approval,
        readiness=tool.readiness,
        digest=tool.digest,
        availability=Availability.BLOCKED if reasons else Availability.EXECUTABLE,
        blocking_reasons=reasons,
        score=round(score, 6),
    )
