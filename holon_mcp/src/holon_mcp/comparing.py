"""What a server gives now against what was accepted of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from holon_core.records.approval_view import ViewChange
from holon_core.records.finding import Finding
from holon_core.wire.canonical import digest
from holon_core.wire.difference import Pair, differing, shown_change
from holon_mcp.items.judging import PINNED, Judged, judge
from holon_mcp.records import ItemState, Listing, RefusedItem, StoredItem

MAX_CHANGES = 200
DIFFERENCE_DOMAIN = "holon-mcp-difference/1"


@frozen(kw_only=True)
class ItemDifference:
    """One thing that waits for a person: what it is now, and where that differs."""

    entry: str
    kind: str
    name: str
    state: ItemState
    changes: tuple[ViewChange, ...] = ()
    findings: tuple[Finding, ...] = ()


@frozen(kw_only=True)
class Difference:
    """All that waits for a person at one server; ``digest`` names exactly this."""

    items: tuple[ItemDifference, ...]
    gone: tuple[str, ...]
    digest: str

    def __bool__(self) -> bool:
        """Whether anything waits, or is gone."""
        return bool(self.items or self.gone)


def first(server: str, one: Judged) -> StoredItem:
    """Make the item of a thing that comes in with its server."""
    return StoredItem(
        server=server,
        kind=one.kind,
        name=one.name,
        accepted=one.definition,
        pin=one.pin,
        usable=one.usable,
        risk_hints=one.risk_hints,
        findings=one.findings,
    )


def judged(server: str, listing: Listing) -> tuple[dict[str, Judged], tuple[RefusedItem, ...]]:
    """Judge everything of a listing."""
    good: dict[str, Judged] = {}
    refused: tuple[RefusedItem, ...] = ()
    for kind, items in listing.lists.items():
        some, none = judge(server, kind, items)
        good.update(some)
        refused += none
    return good, refused


def merged(
    server: str,
    before: Mapping[str, StoredItem],
    listing: Listing,
    *,
    good: Mapping[str, Judged],
    refused: tuple[RefusedItem, ...],
) -> dict[str, StoredItem]:
    """Put what a server gives now beside what was accepted; no pin is ever lost by it."""
    after = dict(before)
    for label, item in before.items():
        # A list that failed, or was not asked, says nothing of what was known.
        if item.kind not in listing.lists or label in good:
            continue
        if item.accepted is None:
            del after[label]
        else:
            after[label] = evolve(item, present=False, offered=None, offered_pin="")
    for label, one in good.items():
        after[label] = _beside(server, before.get(label), one)
    return after


def _beside(server: str, item: StoredItem | None, one: Judged) -> StoredItem:
    if item is None:
        item = StoredItem(server=server, kind=one.kind, name=one.name)
    if item.pin != one.pin:
        return evolve(item, offered=one.definition, offered_pin=one.pin, present=True)
    return evolve(item, accepted=one.definition, offered=None, offered_pin="", present=True)


def taken_over(item: StoredItem) -> StoredItem:
    """Make what a server offers the accepted definition."""
    if item.offered is None:
        return item
    good, _ = judge(item.server, item.kind, [item.offered])
    [one] = good.values()
    return first(item.server, one)


def difference(items: Mapping[str, StoredItem]) -> Difference:
    """Describe all that waits for a person."""
    waiting = tuple(
        _described(label, item)
        for label, item in sorted(items.items())
        if item.state in (ItemState.CHANGED, ItemState.NEW)
    )
    pins = [[each.entry, items[each.entry].pin, items[each.entry].offered_pin] for each in waiting]
    gone = tuple(label for label, item in sorted(items.items()) if item.state is ItemState.GONE)
    return Difference(items=waiting, gone=gone, digest=digest(pins, domain=DIFFERENCE_DOMAIN))


def _described(label: str, item: StoredItem) -> ItemDifference:
    old, new = _pinned(item.kind, item.accepted), _pinned(item.kind, item.offered)
    pairs = differing(Pair("", old, new, shown_before=old, shown_after=new))
    changes = tuple(shown_change(p) for p, _ in zip(pairs, range(MAX_CHANGES), strict=False))
    return ItemDifference(
        entry=label,
        kind=item.kind,
        name=item.name,
        state=item.state,
        changes=changes,
        findings=taken_over(item).findings,
    )


def _pinned(kind: str, definition: Mapping[str, Any] | None) -> dict[str, Any]:
    given = definition or {}
    return {name: given[name] for name in PINNED[kind] if name in given}
