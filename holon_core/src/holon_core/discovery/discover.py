"""Discover: the tools that fit a request, ranked, each with what would block this caller."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.catalogue.search_score import PARTS
from holon_core.catalogue.words import terms as terms_of
from holon_core.discovery import cursor as cursors
from holon_core.discovery.availability import Judge
from holon_core.discovery.cursor import Place
from holon_core.guard.elsewhere import is_elsewhere, seen_workspace
from holon_core.records.discovery import DiscoveredTool, DiscoveryPage, FieldMatch, ScorePart
from holon_core.records.words import Availability, Surface

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holon_core.catalogue.catalogue import Entry
    from holon_core.catalogue.search import Found
    from holon_core.catalogue.search_rows import Hit
    from holon_core.discovery.request import Request
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext

# How many tools one request judges where it leaves blocked ones out.
MAX_JUDGED = 500
# How many tools of one score are judged to bring what is executable before what is blocked.
MAX_EQUAL = 50
MAX_DESCRIPTION = 1000
# About how many bytes of JSON a model's tokenizer makes one token of.
TOKEN_BYTES = 4


def discover(guard: Guard, caller: CallerContext, request: Request) -> DiscoveryPage:
    """Answer one request; see ``Session.discover``."""
    if not request.query:
        return _Page(guard, caller, request).listed()
    if not terms_of(request.query):
        # A request without a single word names nothing.
        return DiscoveryPage(
            items=(), next_cursor=None, total_hint=0, none_fits=True, best_confidence=0.0
        )
    return _Page(guard, caller, request).ranked()


class _Page:
    """One page in the making."""

    def __init__(self, guard: Guard, caller: CallerContext, request: Request) -> None:
        self._guard = guard
        self._caller = caller
        self._request = request
        self._judge = Judge(guard, caller)
        # Nothing of other workspaces is looked at, so that nothing of a page depends on it.
        self._workspace = seen_workspace(guard, caller)
        self._asked = cursors.question(request.query, request.lanes)
        self._after = None if request.cursor is None else cursors.read(request.cursor, self._asked)
        self._judged = 0
        self._tokens = 0

    def listed(self) -> DiscoveryPage:
        """Make a page of all tools, by id."""
        request = self._request
        items: list[DiscoveredTool] = []
        last = "" if self._after is None else self._after.id
        more, total, full = True, 0, False
        while more and not full and len(items) < request.limit and self._judged < MAX_JUDGED:
            wanted = request.limit - len(items)
            found = self._guard.catalogue.search.by_id(
                lanes=request.lanes, after=last, limit=wanted + 1, workspace=self._workspace
            )
            total, more = found.total, len(found.hits) > wanted
            hits = found.hits[:wanted]
            made = {tool.id: tool for tool in self._made(hits)}
            for hit in hits:
                if hit.id in made:
                    if self._spent(made[hit.id], items):
                        full = True
                        break
                    items.append(made[hit.id])
                last = hit.id
        following = Place(0.0, False, last) if more or full else None
        return self._page(items, following, total)

    def ranked(self) -> DiscoveryPage:
        """Make a page of what fits, best first."""
        request = self._request
        found = self._ranked(deep=False)
        best = max((hit.confidence for hit in found.hits), default=0.0)
        if not found.hits or best < request.min_confidence:
            return DiscoveryPage(
                items=(),
                next_cursor=None,
                total_hint=found.total,
                none_fits=True,
                best_confidence=best,
            )
        hits, twins = _without_twins(found.hits)
        if found.total > len(found.hits) and self._needs_more(hits):
            hits, twins = _without_twins(self._ranked(deep=True).hits)
        items, following = self._filled(hits, twins)
        if following is None and found.total > len(found.hits) and items:
            following = _place(items[-1])
        if request.explain:
            items = self._explained(items, {hit.id: hit for hit in hits})
        return evolve(self._page(items, following, found.total), best_confidence=best)

    def _ranked(self, *, deep: bool) -> Found:
        request = self._request
        return self._guard.catalogue.search.rank(
            request.query, lanes=request.lanes, deep=deep, workspace=self._workspace
        )

    def _needs_more(self, hits: Sequence[Hit]) -> bool:
        """Tell whether the page reaches beyond the best hits."""
        request, after = self._request, self._after
        if not request.include_blocked or self._caller.surface is Surface.FUNCTION_CALLING:
            return True
        if after is None:
            return request.limit >= len(hits)
        left = sum(hit.score < after.score for hit in hits)
        return left <= request.limit

    def _filled(
        self, hits: Sequence[Hit], twins: dict[str, tuple[str, ...]]
    ) -> tuple[list[DiscoveredTool], Place | None]:
        items: list[DiscoveredTool] = []
        last = self._after
        for group in _equal(hits):
            if self._passed(group):
                continue
            if len(items) >= self._request.limit or self._judged >= MAX_JUDGED:
                return items, last
            for tool in sorted(self._with_twins(group, twins), key=_place_key):
                place = _place(tool)
                if self._after is not None and not _behind(place, self._after):
                    continue
                if len(items) >= self._request.limit or self._spent(tool, items):
                    return items, last
                last = place
                items.append(tool)
            last = last or Place(group[-1].score, True, group[-1].id)
        return items, None

    def _passed(self, group: Sequence[Hit]) -> bool:
        """Tell whether an earlier page ended after a group of equal hits."""
        after = self._after
        if after is None:
            return False
        score = group[0].score
        return score > after.score or (score == after.score and group[-1].id < after.id)

    def _with_twins(
        self, group: Sequence[Hit], twins: dict[str, tuple[str, ...]]
    ) -> list[DiscoveredTool]:
        """Judge hits; of duplicates one stands for all: the first that may run, else the best."""
        made = []
        for tool in self._made(group):
            others = twins.get(tool.id, ())
            if others and tool.availability is Availability.BLOCKED:
                hit = next(hit for hit in group if hit.id == tool.id)
                for other in self._made([hit._replace(id=each) for each in others]):
                    if other.availability is Availability.EXECUTABLE:
                        others = (tool.id, *(each for each in others if each != other.id))
                        tool = other
                        break
            made.append(evolve(tool, duplicates=others))
        shown = self._request.include_blocked
        return [t for t in made if shown or t.availability is Availability.EXECUTABLE]

    def _made(self, hits: Sequence[Hit]) -> list[DiscoveredTool]:
        self._judged += len(hits)
        entries = self._guard.catalogue.peek([hit.id for hit in hits])
        made = []
        for hit in hits:
            entry, pin = entries.get(hit.id, (None, None))
            if entry is None or not _shown(entry, self._caller):
                continue
            if is_elsewhere(self._guard, entry.tool.workspace, self._caller):
                # Since the search was made.
                continue
            tool = _described(entry, pin, hit, self._judge)
            # Where a query ranks, this is looked at after duplicates were joined.
            if (
                self._request.query
                or self._request.include_blocked
                or tool.availability is Availability.EXECUTABLE
            ):
                made.append(tool)
        return made

    def _spent(self, tool: DiscoveredTool, items: Sequence[DiscoveredTool]) -> bool:
        """Count a tool against the budget of tokens; the first always has a place."""
        budget = self._request.max_schema_tokens
        if budget is not None and items and self._tokens + tool.schema_tokens > budget:
            return True
        self._tokens += tool.schema_tokens
        return False

    def _explained(
        self, items: Sequence[DiscoveredTool], hits: dict[str, Hit]
    ) -> list[DiscoveredTool]:
        ids = [tool.id for tool in items]
        met = self._guard.catalogue.search.fields(
            self._request.query, ids, workspace=self._workspace
        )
        return [
            evolve(
                tool,
                matches=tuple(
                    FieldMatch(field=name, words=tuple(words))
                    for name, words in met.get(tool.id, {}).items()
                ),
                score_parts=tuple(
                    ScorePart(part=part, score=score)
                    for part, score in zip(
                        PARTS, hits[tool.id].parts if tool.id in hits else (), strict=False
                    )
                ),
            )
            for tool in items
        ]

    def _page(
        self, items: Sequence[DiscoveredTool], following: Place | None, total: int
    ) -> DiscoveryPage:
        cursor = None if following is None else cursors.write(self._asked, following)
        return DiscoveryPage(
            items=tuple(items), next_cursor=cursor, total_hint=total, none_fits=False
        )


def _place(tool: DiscoveredTool) -> Place:
    return Place(tool.score, tool.availability is Availability.BLOCKED, tool.id)


def _place_key(tool: DiscoveredTool) -> tuple[bool, str]:
    return _place(tool)[1:]


def _behind(place: Place, after: Place) -> bool:
    if place.score != after.score:
        return place.score < after.score
    return place[1:] > after[1:]


def _equal(hits: Sequence[Hit]) -> Iterator[list[Hit]]:
    """Yield hits of equal score together, by id, so many at a time."""
    for _, found in groupby(hits, key=lambda hit: hit.score):
        group = list(found)
        for at in range(0, len(group), MAX_EQUAL):
            yield group[at : at + MAX_EQUAL]


def _without_twins(hits: Sequence[Hit]) -> tuple[list[Hit], dict[str, tuple[str, ...]]]:
    """Leave out what says the same as a better hit of another source; name it beside that."""
    first: dict[str, Hit] = {}
    kept: list[Hit] = []
    twins: dict[str, tuple[str, ...]] = {}
    for hit in hits:
        leader = first.setdefault(hit.same, hit) if hit.same else hit
        if leader is hit or _source(leader.id) == _source(hit.id):
            kept.append(hit)
        else:
            twins[leader.id] = (*twins.get(leader.id, ()), hit.id)
    return kept, twins


def _source(tool_id: str) -> str:
    return tool_id.partition("/")[0]


def _shown(entry: Entry, caller: CallerContext) -> bool:
    """Tell whether this surface may see a tool: what models see is narrower than what may run."""
    return caller.surface is not Surface.FUNCTION_CALLING or (entry.tool.projectable)


def _described(entry: Entry, pin: str | None, hit: Hit, judge: Judge) -> DiscoveredTool:
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
        score=hit.score,
        confidence=hit.confidence,
        schema_tokens=_tokens(entry),
    )


def _tokens(entry: Entry) -> int:
    """Estimate what a tool takes in a prompt: its name, its description and its input schema."""
    tool = entry.tool
    shown = (tool.name, tool.description, tool.input_schema)
    return max(
        1, -(-len(json.dumps(shown, ensure_ascii=False).encode(errors="replace")) // TOKEN_BYTES)
    )
