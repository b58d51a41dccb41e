"""Making the list of tools for a model: filtered, in a stable order, cut to a budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holon_core.agents.budgeting import loosened
from holon_core.agents.collecting import collecting_paused
from holon_core.agents.names import SEARCH, name_of
from holon_core.agents.shapes import filled
from holon_core.agents.visibility import Viewer
from holon_core.errors import Misuse
from holon_core.names import whole
from holon_core.nearest import nearest
from holon_core.records.dialect import FunctionDialect, ProjectedTool

if TYPE_CHECKING:
    from holon_core.agents.modelling import Modelling
    from holon_core.agents.projection import Projector, Rendered
    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.session import Session

MAX_TOKENS = 10_000_000
MAX_TOOLS = 100_000
# How far a ranking is followed, in tools.
MAX_RANKED = 1000


class ToolList(list[dict[str, Any]]):
    """Tools in the shape of a provider: a list to send, with what there is to know about it.

    ``report`` has for each tool its id, name, strictness, rewrites and notes; ``left_out`` are
    ids that the budget cut off.
    """

    def __init__(
        self,
        dialect: str,
        tools: list[dict[str, Any]],
        rendered: tuple[Rendered, ...],
        left_out: tuple[str, ...],
        chars: int,
        *,
        without: Mapping[str, str],
    ) -> None:
        super().__init__(tools)
        self.dialect = dialect
        self.left_out = left_out
        self.chars = chars
        self._rendered = rendered
        self._without = without

    @cached_property
    def report(self) -> tuple[ProjectedTool, ...]:
        """For each tool, the search excepted, what was made of it and why."""
        why = self._without
        return tuple(
            each.about(why[each.id]) if each.id in why else each.about() for each in self._rendered
        )

    @property
    def estimated_tokens(self) -> int:
        """A quarter of the characters as compact JSON, rounded up."""
        return -(-self.chars // 4)


def dialect_named(projector: Projector, dialect: object) -> FunctionDialect:
    """Return a dialect by its id.

    Raises:
        Misuse: There is none of this id.
    """
    found = projector.dialects.get(dialect) if isinstance(dialect, str) else None
    if found is None:
        known = ", ".join(projector.dialects)
        near = nearest(dialect, projector.dialects) if isinstance(dialect, str) else ""
        raise Misuse(f"no dialect of function calling {dialect!r:.80}; there are {known}{near}")
    return found


def visible(projector: Projector, guard: Guard, caller: CallerContext) -> dict[str, Entry]:
    """Return the entries that a caller may show its model, by id, in the order of ids."""
    viewer = Viewer(guard, caller)
    return {each.tool.id: each for each in projector.unclashed() if viewer.shows(each)}


def show(
    session: Session,
    projector: Projector,
    modelling: Modelling,
    dialect: FunctionDialect,
    *,
    query: str | None,
    max_tokens: int | None,
    max_tools: int | None,
    strict: bool,
    search: bool | None,
) -> ToolList:
    """Make the list; see ``Session.tools``."""
    if max_tokens is not None:
        whole(max_tokens, "max_tokens", least=0, most=MAX_TOKENS)
    if max_tools is not None:
        whole(max_tools, "max_tools", least=0, most=MAX_TOOLS)
    choosing = _Choosing(projector, dialect, strict=strict)
    choosing.entries = visible(projector, session._guard, session.caller)
    most = dialect.max_tools if max_tools is None else max_tools
    room = None if max_tokens is None else max_tokens * 4
    found = [each for each in modelling.found if each in choosing.entries]
    behind = frozenset(found)
    base = [each for each in choosing.entries if each not in behind]
    fits = choosing.fitting([*found, *base], room, most)
    wants = search is True or (search is None and len(fits) < len(choosing.entries))
    if wants:
        room = None if room is None else room - choosing.size(None)
        ranked = _ranked(session, query, base)
        fits = choosing.fitting([*found, *ranked], room, None if most is None else most - 1)
    # By id, and behind that what was found, in the order it was: one more tool moves none.
    order: list[str | None] = [each for each in (*base, *found) if each in fits]
    chosen, without = choosing.rendered([None, *order] if wants else order)
    modelling.note(dialect.id, chosen[wants:])
    # They are thousands of small objects: without a pause each few hundred of them make Python
    # look through all that the host keeps, which takes longer than the making.
    with collecting_paused():
        tools = [each.fresh() for each in chosen]
    return ToolList(
        dialect.id,
        tools,
        tuple(chosen[wants:]),
        tuple(each for each in choosing.entries if each not in fits),
        sum(each.chars for each in chosen) + max(len(chosen) + 1, 2),
        without=without,
    )


class _Choosing:
    """What there is to choose from for one list; ``None`` stands for the search.

    Tools are rendered where they are looked at: of very many most never are.
    """

    entries: dict[str, Entry]

    def __init__(self, projector: Projector, dialect: FunctionDialect, *, strict: bool) -> None:
        self._projector = projector
        self._dialect = dialect
        self._strict = strict
        limits = (
            dialect.max_strict_tools,
            dialect.max_strict_optional,
            dialect.max_strict_unions,
        )
        self._limited = strict and any(each is not None for each in limits)

    def _one(self, tool: str | None, *, strict: bool) -> Rendered:
        if tool is None:
            return self._projector.search(self._dialect, strict=strict)
        return self._projector.rendered(self.entries[tool], self._dialect, strict=strict)

    def size(self, tool: str | None) -> int:
        """Return the characters of a tool; where it may lose strict mode, of its larger form."""
        chars = self._one(tool, strict=self._strict).chars
        return max(chars, self._one(tool, strict=False).chars) if self._limited else chars

    def fitting(self, order: list[str], room: int | None, most: int | None) -> set[str]:
        """Take tools in order while there is room; what is too large is passed over."""
        if room is None:
            return set(order if most is None else order[: max(most, 0)])
        taken: set[str] = set()
        empty = {"name": "", "description": "", "schema": {}}
        least = len(json.dumps(filled(self._dialect.tool, empty), separators=(",", ":")))
        for each in order:
            if room < least or (most is not None and len(taken) >= most):
                break
            # What is too large by its name alone is not rendered: of very many most are.
            if room < least + len(name_of(each)):
                continue
            chars = self.size(each) + 1
            if chars <= room:
                room -= chars
                taken.add(each)
        return taken

    def rendered(self, order: list[str | None]) -> tuple[list[Rendered], dict[str, str]]:
        """Render what is sent, and say which are without strict mode for lack of room, and why."""
        shown = {each or SEARCH: self._one(each, strict=self._strict) for each in order}
        without = loosened(self._dialect, shown) if self._limited else {}
        for each in order:
            if (each or SEARCH) in without:
                shown[each or SEARCH] = self._one(each, strict=False)
        return list(shown.values()), without


def _ranked(session: Session, query: str | None, base: list[str]) -> list[str]:
    """Return tools best first by discovery, then the others by id."""
    if query is None or not query.strip():
        return base
    ranked: dict[str, None] = {}
    cursor, known = None, set(base)
    while len(ranked) < MAX_RANKED:
        page = session.discover(query, limit=100, cursor=cursor)
        ranked.update(dict.fromkeys(item.id for item in page.items if item.id in known))
        cursor = page.next_cursor
        if cursor is None:
            break
    return [*ranked, *(each for each in base if each not in ranked)]
