"""A request for tools, checked."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from holon_core.catalogue.words import MAX_QUERY
from holon_core.errors import Misuse
from holon_core.names import several
from holon_core.records.base import Record
from holon_core.records.discovery import MIN_CONFIDENCE

MAX_LIMIT = 100
MAX_LANES = 100


@frozen(kw_only=True, eq=False, repr=False)
class Request(Record):
    """What is asked of discovery; see ``Session.discover``."""

    query: str
    limit: int
    cursor: str | None
    include_blocked: bool
    lanes: tuple[str, ...]
    min_confidence: float
    max_schema_tokens: int | None
    explain: bool


def checked(
    *,
    query: str | None,
    limit: int,
    cursor: str | None,
    include_blocked: bool,
    lanes: Sequence[str] | None,
    min_confidence: float | None,
    max_tools: int | None,
    max_schema_tokens: int | None,
    explain: bool,
) -> Request:
    """Check a request.

    Raises:
        Misuse: An argument is out of its bounds.
    """
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
    least = MIN_CONFIDENCE if min_confidence is None else min_confidence
    if type(least) not in (int, float) or not 0 <= least <= 1:
        raise Misuse("min_confidence is 0 to 1")
    for name, budget in (("max_tools", max_tools), ("max_schema_tokens", max_schema_tokens)):
        if budget is not None and (type(budget) is not int or budget < 1):
            raise Misuse(f"{name} is a whole number from 1, or None")
    return Request(
        # Half of a character pair is no text; what is left of the query still counts.
        query=(query or "").strip()[:MAX_QUERY].encode(errors="replace").decode(),
        limit=limit if max_tools is None else min(limit, max_tools),
        cursor=cursor,
        include_blocked=include_blocked,
        lanes=tuple(sorted(set(lanes or ()))),
        min_confidence=least,
        max_schema_tokens=max_schema_tokens,
        explain=explain,
    )
