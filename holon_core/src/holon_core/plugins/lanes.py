"""Joining what plugins offer as lanes: who may offer what, and who clashes with whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.ids import RESERVED_SOURCES, SOURCE_ID
from holon_core.plugins.loader import FIRST_PARTY
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.skill import SkillSourceDescriptor
from holon_core.records.words import LaneKind, Posture

if TYPE_CHECKING:
    from holon_core.plugins.manager import Offer, PluginManager
    from holon_core.plugins.offers import Offers
    from holon_core.records.lane import SkillSource
    from holon_core.records.tool import Provenance

RESERVED_KINDS = frozenset(kind.value for kind in LaneKind)
BUILT_IN = CapabilityLane(kind=LaneKind.BUILT_IN.value, postures=frozenset({Posture.BUILT_IN_SAFE}))


@frozen(kw_only=True)
class Joined:
    """The lanes of a runtime: by kind, by source id, and the sources to read."""

    lanes: dict[str, CapabilityLane]
    executors: dict[str, LaneExecutor]
    sources: tuple[tuple[SkillSource, Provenance], ...]


def join(offers: Offers, *, in_memory: bool) -> Joined:
    """Join the offers of all plugins; what may not be offered is reported with its plugin.

    Args:
        offers: As they were gathered.
        in_memory: Keep out lanes that need a file system.
    """
    lanes = {BUILT_IN.kind: BUILT_IN}
    if offers.manager is None:
        return Joined(lanes=lanes, executors={}, sources=())
    check = _Check(offers.manager)
    for kind, offer in check.single(offers.lanes, check.lane).items():
        if in_memory and offer.item.needs_filesystem:
            check.refuse(offer, f"the lane {kind} needs a file system, and this is in memory")
            continue
        lanes[kind] = offer.item
    executors = {
        source: offer.item
        for source, offer in check.single(offers.executors, check.executor).items()
    }
    sources = check.single(offers.skill_sources, check.source)
    return Joined(
        lanes=lanes,
        executors=executors,
        sources=tuple((o.item, o.provenance) for o in sources.values()),
    )


class _Check:
    """Says of each offer under which name it counts, or why it does not."""

    def __init__(self, manager: PluginManager) -> None:
        self._manager = manager

    def refuse(self, offer: Offer, text: str) -> None:
        self._manager.report(offer.provenance.plugin, offer.provenance, text)

    def single(self, offers: Sequence[Offer], name_of: Callable[[Offer], str]) -> dict[str, Offer]:
        """Keep the offers of names that are offered once, sorted by name."""
        by_name: dict[str, list[Offer]] = {}
        for offer in offers:
            try:
                name = name_of(offer)
            except KeyboardInterrupt:
                raise
            except _Refused as refused:
                self.refuse(offer, str(refused))
            except BaseException as error:
                self.refuse(offer, f"an offer raised {type(error).__name__} when it was read")
            else:
                by_name.setdefault(name, []).append(offer)
        kept = {}
        for name, rivals in sorted(by_name.items()):
            if len(rivals) == 1:
                kept[name] = rivals[0]
                continue
            owners = sorted({_owner(o.provenance) for o in rivals})
            for offer in rivals:
                self.refuse(offer, f"{name} is offered more than once, by {', '.join(owners)}")
        return kept

    @staticmethod
    def lane(offer: Offer) -> str:
        lane = _typed(offer.item, CapabilityLane)
        if lane.kind in RESERVED_KINDS and not _first_party(offer.provenance):
            raise _Refused(f"the lane kind {lane.kind} is reserved")
        if not lane.postures or Posture.DRY_RUN in lane.postures:
            raise _Refused(f"the lane {lane.kind} declares no posture that it can run under")
        return str(lane.kind)

    @staticmethod
    def executor(offer: Offer) -> str:
        item = _typed(offer.item, LaneExecutor)
        if not callable(item.executor.execute) or not callable(item.executor.preview):
            raise _Refused(f"the executor of {item.source} has no execute and preview")
        return _own_source(item.source, offer.provenance)

    @staticmethod
    def source(offer: Offer) -> str:
        descriptor = _typed(offer.item.descriptor, SkillSourceDescriptor)
        if not callable(offer.item.read) or not callable(offer.item.signal):
            raise _Refused(f"the source {descriptor.id} has no read and signal")
        return _own_source(descriptor.id, offer.provenance)


class _Refused(Exception):
    """An offer that does not count; the text says why."""


def _typed(item: Any, kind: type[Any]) -> Any:
    if type(item) is not kind:
        raise _Refused(f"a {type(item).__name__} was offered where a {kind.__name__} is wanted")
    return item


def _own_source(source: str, provenance: Provenance) -> str:
    """Return a source id if it belongs to its provider."""
    if type(source) is not str or not SOURCE_ID.fullmatch(source):
        raise _Refused("a source id is of a-z 0-9 . _ -, and begins with a letter or digit")
    owner = _owner(provenance)
    if source == owner or source.startswith((f"{owner}.", f"{owner}-")):
        return source
    if source.startswith("holon.") and _first_party(provenance):
        return source
    reserved = " (reserved)" if source.startswith(RESERVED_SOURCES) else ""
    raise _Refused(f"the source id {source}{reserved} does not begin with {owner}")


def _owner(provenance: Provenance) -> str:
    return provenance.distribution or provenance.plugin


def _first_party(provenance: Provenance) -> bool:
    return provenance.distribution in FIRST_PARTY
