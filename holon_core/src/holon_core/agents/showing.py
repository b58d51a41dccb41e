"""Making the list of tools for a model: filtered, in a stable order, cut to a budget."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holon_core.agents.names import SEARCH
from holon_core.agents.projection import Projector, Rendered, shown_schema
from holon_core.agents.searching import SEARCH_DESCRIPTION, SEARCH_SCHEMA
from holon_core.agents.shapes import filled
from holon_core.agents.visibility import Viewer
from holon_core.errors import Misuse
from holon_core.names import whole
from holon_core.nearest import nearest
from holon_core.records.dialect import FunctionDialect, ProjectedTool

if TYPE_CHECKING:
    from holon_core.agents.modelling import Modelling
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
        report: tuple[ProjectedTool, ...],
        left_out: tuple[str, ...],
        chars: int,
    ) -> None:
        super().__init__(tools)
        self.dialect = dialect
        self.report = report
        self.left_out = left_out
        self.chars = chars

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


def visible(projector: Projector, guard: Guard, caller: CallerContext) -> dict[str, Any]:
    """Return the entries that a caller may show its model, by id, in the order of ids."""
    viewer = Viewer(guard, caller)
    entries = projector.unclashed(projector.entries())
    return {each.tool.id: each for each in entries if viewer.shows(each)}


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
    entries = visible(projector, session._guard, session.caller)
    strict = strict and not _too_many(entries, projector, dialect)
    rendered = {
        each: projector.rendered(entry, dialect, strict=strict) for each, entry in entries.items()
    }
    found = [each for each in modelling.found if each in rendered]
    room = None if max_tokens is None else max_tokens * 4
    meta = _search_tool(dialect, strict=strict)
    meta_chars = _chars(meta)
    base = [each for each in rendered if each not in set(found)]
    most = dialect.max_tools if max_tools is None else max_tools
    fits = _fitting(rendered, [*found, *base], room, most)
    wants = search is True or (search is None and len(fits) < len(rendered))
    if wants:
        room = None if room is None else room - meta_chars
        ranked = _ranked(session, query, base)
        fits = _fitting(rendered, [*found, *ranked], room, None if most is None else most - 1)
    # By id, and behind that what was found, in the order it was: one more tool moves none.
    order = [*(each for each in base if each in fits), *(each for each in found if each in fits)]
    reports = tuple(rendered[each].about for each in order)
    modelling.note(dialect.id, reports, strict=strict)
    tools = [rendered[each].fresh() for each in order]
    chars = sum(each.chars for each in reports) + (meta_chars if wants else 0)
    return ToolList(
        dialect.id,
        [meta, *tools] if wants else tools,
        reports,
        tuple(each for each in rendered if each not in fits),
        chars + max(len(tools) + wants + 1, 2),
    )


def _too_many(entries: dict[str, Any], projector: Projector, dialect: FunctionDialect) -> bool:
    """Tell whether more tools could be strict than the provider takes in one request."""
    most = dialect.max_strict_tools
    if most is None or len(entries) <= most:
        return False
    strict = (projector.rendered(each, dialect, strict=True) for each in entries.values())
    return sum(each.about.strict for each in strict) > most


def _fitting(
    rendered: dict[str, Rendered], order: list[str], room: int | None, most: int | None
) -> set[str]:
    """Take tools in order while there is room; what is too large is passed over."""
    taken: set[str] = set()
    left = room
    for each in order:
        if most is not None and len(taken) >= max(most, 0):
            break
        chars = rendered[each].about.chars + 1
        if left is not None and chars > left:
            continue
        left = None if left is None else left - chars
        taken.add(each)
    return taken


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


def _search_tool(dialect: FunctionDialect, *, strict: bool) -> dict[str, Any]:
    shown = shown_schema(SEARCH_SCHEMA, dialect, strict=strict)
    values: dict[str, Any] = {
        "name": SEARCH,
        "description": SEARCH_DESCRIPTION,
        "schema": shown.schema,
        "annotations": {"readOnlyHint": True},
    }
    if dialect.strict is not None:
        values["strict"] = shown.strict
    made: dict[str, Any] = filled(dialect.tool, values)
    return made


def _chars(shown: dict[str, Any]) -> int:
    return len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))
