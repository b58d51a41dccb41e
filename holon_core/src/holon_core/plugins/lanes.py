"""Joining what plugins offer as lanes: who may offer what, and who clashes with whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.ids import RESERVED_SOURCES, SOURCE_ID
from holon_core.plugins.faults import kind_of, told
from holon_core.plugins.first_party import FIRST_PARTY
from holon_core.plugins.offers import is_first_party, owner_of, single
from holon_core.records.facts import Facts
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.words import LaneKind, Origin, Posture

if TYPE_CHECKING:
    from holon_core.plugins.manager import Offer, PluginManager
    from holon_core.plugins.offers import Offers
    from holon_core.records.frozen_kind import FrozenToolKind
    from holon_core.records.lane import SkillSource
    from holon_core.records.skill_source import SkillSourceDescriptor
    from holon_core.records.tool import Provenance

RESERVED_KINDS = frozenset(kind.value for kind in LaneKind)
BUILT_IN = CapabilityLane(kind=LaneKind.BUILT_IN.value, postures=frozenset({Posture.BUILT_IN_SAFE}))
_OF_A_KIND = ("validate", "ready", "build", "execute", "preview")
_NONE: Mapping[str, Any] = MappingProxyType({})


class Source(Facts):
    """A source of definitions as it counts: its descriptor as it was when it was offered."""

    source: SkillSource
    descriptor: SkillSourceDescriptor
    provenance: Provenance


class Joined(Facts):
    """The lanes of a runtime by kind, executors by source id, and the sources to read.

    ``refused`` says of a lane kind why it is not here although a plugin brings it; ``complete``
    are the distributions whose sources are all known, so that one which is gone is gone.
    """

    lanes: dict[str, CapabilityLane]
    executors: dict[str, LaneExecutor]
    sources: tuple[Source, ...]
    refused: Mapping[str, str] = _NONE
    frozen_kinds: Mapping[str, FrozenToolKind] = _NONE
    complete: frozenset[str] = frozenset()


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
    refused: dict[str, str] = {}
    kinds, made = check.frozen(offers.frozen_kinds)
    for offer in check.counting((*offers.lanes, *made), check.lane, "lane kind").values():
        kind = offer.item.kind
        if in_memory and offer.item.needs_filesystem:
            refused[kind] = f"the lane {kind} needs a file system, and this runtime is in memory"
            check.refuse(offer, f"unsupported_host: {refused[kind]}")
        else:
            lanes[kind] = offer.item
    executors = check.counting(offers.executors, check.executor, "executor of the source")
    sources = check.counting(offers.skill_sources, check.source, "source")
    return Joined(
        lanes=lanes,
        executors={offer.item.source: offer.item for offer in executors.values()},
        sources=tuple(
            Source(
                source=offer.item,
                descriptor=check.descriptors[id(offer)],
                provenance=offer.provenance,
            )
            for offer in sources.values()
        ),
        refused=refused,
        frozen_kinds={
            kind: offer.item
            for kind, offer in kinds.items()
            if kind in lanes and kind not in refused
        },
        complete=check.complete(),
    )


class _Check:
    """Says of each offer under which name it counts, or why it does not."""

    def __init__(self, manager: PluginManager) -> None:
        self._manager = manager
        self._owners = owners_of(manager)
        self.descriptors: dict[int, SkillSourceDescriptor] = {}

    def refuse(self, offer: Offer, text: str) -> None:
        self._manager.report(offer.provenance.plugin, offer.provenance, text)

    def counting(
        self, offers: Sequence[Offer], name_of: Callable[[Offer], str], what: str
    ) -> dict[str, Offer]:
        """Keep the offers that are good and alone of their name, sorted by it."""
        named = []
        for offer in offers:
            try:
                named.append((f"{what} {name_of(offer)}", offer))
            except KeyboardInterrupt:
                raise
            except _Refused as refused:
                self.refuse(offer, str(refused))
            except BaseException as error:
                self.refuse(offer, f"an offer raised {told(error)} when it was read")
        return single(self._manager, named)

    def complete(self) -> frozenset[str]:
        """Name the distributions all of whose plugins answered for their sources."""
        hook = "holon_skill_sources"
        active = {origin.distribution for _, origin in self._manager.names()}
        faulty = {bad.provenance.distribution for bad in self._manager.quarantined}
        failed = {name for each, name in self._manager.failed if each == hook}
        faulty |= {origin.distribution for name, origin in self._manager.names() if name in failed}
        return frozenset(active - faulty - {""})

    def lane(self, offer: Offer) -> str:
        lane = _typed(offer.item, CapabilityLane)
        if type(lane.kind) is not str or not SOURCE_ID.fullmatch(lane.kind):
            raise _Refused("a lane kind is of a-z 0-9 . _ -")
        if lane.kind in RESERVED_KINDS and not is_first_party(offer.provenance):
            raise _Refused(f"the lane kind {lane.kind} is reserved")
        if lane.kind in (LaneKind.BUILT_IN.value, LaneKind.HOST.value):
            raise _Refused(f"the lane kind {lane.kind} is the core's own")
        good = type(lane.postures) is frozenset and all(type(p) is Posture for p in lane.postures)
        if not good or not lane.postures or Posture.DRY_RUN in lane.postures:
            raise _Refused(f"the lane {lane.kind} declares no posture that it can run under")
        if type(lane.gates) is not tuple or not all(map(callable, lane.gates)):
            raise _Refused(f"the gates of the lane {lane.kind} are no tuple of callables")
        if lane.preview is not None and not callable(lane.preview):
            raise _Refused(f"the preview of the lane {lane.kind} cannot be called")
        return str(lane.kind)

    def frozen(self, offers: Sequence[Offer]) -> tuple[dict[str, Offer], list[Offer]]:
        """Return the kinds of frozen tools, and the lane that is made of each."""
        kinds = self.counting(offers, self.frozen_kind, "frozen-tool kind")
        by_kind = {str(offer.item.kind): offer for offer in kinds.values()}
        posture = frozenset({Posture.FROZEN_TOOL_LIVE})
        made = [
            evolve(
                offer,
                item=CapabilityLane(kind=kind, postures=posture, needs_filesystem=True),
            )
            for kind, offer in by_kind.items()
        ]
        return by_kind, made

    def frozen_kind(self, offer: Offer) -> str:
        kind = offer.item
        if type(kind.kind) is not str:
            raise _Refused("a kind of frozen tools has a name")
        missing = [name for name in _OF_A_KIND if not callable(getattr(kind, name, None))]
        if missing or not hasattr(kind, "build_limits"):
            lacks = ", ".join(missing or ["build_limits"])
            raise _Refused(f"the frozen-tool kind {kind.kind} has no {lacks}")
        return str(kind.kind)

    def executor(self, offer: Offer) -> str:
        item = _typed(offer.item, LaneExecutor)
        if not callable(item.executor.execute) or not callable(item.executor.preview):
            raise _Refused(f"the executor of {item.source} has no execute and preview")
        return self._own_source(item.source, offer.provenance)

    def source(self, offer: Offer) -> str:
        from holon_core.records.skill_source import SkillSourceDescriptor

        descriptor = _typed(offer.item.descriptor, SkillSourceDescriptor)
        if not callable(offer.item.read) or not callable(offer.item.signal):
            raise _Refused(f"the source {descriptor.id} has no read and signal")
        # Approvers are shown the origin as what Holon itself states: it is not a lane's to choose.
        built_in = descriptor.origin is Origin.BUILT_IN and is_first_party(offer.provenance)
        if descriptor.origin is not Origin.PLUGIN and not built_in:
            text = "states an origin that is not its own; a lane's source states Origin.PLUGIN"
            raise _Refused(f"the source {descriptor.id} {text}")
        self.descriptors[id(offer)] = descriptor
        return self._own_source(descriptor.id, offer.provenance)

    def _own_source(self, source: str, provenance: Provenance) -> str:
        return own_source(source, provenance, self._owners)


def owners_of(manager: PluginManager) -> set[str]:
    """Name all whose names sources begin with. Ids of longer names are not those of shorter."""
    owners = {*FIRST_PARTY, *(owner_of(origin) for _, origin in manager.names())}
    return owners | {owner_of(bad.provenance) for bad in manager.quarantined}


def source_problem(source: str, provenance: Provenance, owners: Iterable[str]) -> str:
    """Say why a source id is not its provider's to give; empty where it is."""
    try:
        own_source(source, provenance, frozenset(owners))
    except _Refused as refused:
        return str(refused)
    return ""


def own_source(source: str, provenance: Provenance, owners: AbstractSet[str]) -> str:
    """Return a source id if it belongs to its provider."""
    if type(source) is not str or not SOURCE_ID.fullmatch(source):
        raise _Refused("a source id is of a-z 0-9 . _ -, and begins with a letter or digit")
    if source.startswith("holon.") and is_first_party(provenance):
        return source
    if source.startswith(RESERVED_SOURCES) or source.partition(".")[0] in ("host", "frozen"):
        raise _Refused(f"the source id {source} is reserved")
    owner = owner_of(provenance)
    if not _begins_with(source, owner):
        raise _Refused(f"the source id {source} does not begin with {owner}")
    for end in range(len(owner) + 1, len(source) + 1):
        if source[end : end + 1] in ("", ".", "-") and source[:end] in owners:
            raise _Refused(f"the source id {source} belongs to {source[:end]}")
    return source


class _Refused(Exception):
    """An offer that does not count; the text says why."""


def _typed(item: Any, kind: type[Any]) -> Any:
    if type(item) is not kind:
        raise _Refused(f"{kind_of(item)} was offered where {kind.__name__} is wanted")
    return item


def _begins_with(source: str, owner: str) -> bool:
    return source == owner or source.startswith((f"{owner}.", f"{owner}-"))
