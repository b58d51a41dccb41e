"""Sources of skills: those that were registered, and those that plugins offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holon_core.errors import Misuse, Refused, Rejected
from holon_core.ids import SOURCE_ID
from holon_core.names import MAX_NAME, required_text
from holon_core.plugins.blocked import PROVIDERS
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import LaneKind, Origin
from holon_core.skills.bindings import is_of
from holon_core.skills.codec import source_body, source_from

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_core.records.lane import CapabilityLane, SkillResources
    from holon_core.store.protocol import Store

COLLECTION = "holon.skill-sources"
MAX_SOURCES = 10_000
MAX_SOURCE_CHARS = 150
# Which lane the skills of a kind of source belong to; the others cannot be registered.
LANES: Mapping[SkillSourceKind, LaneKind] = {
    SkillSourceKind.ELEGY_V2: LaneKind.ELEGY,
    SkillSourceKind.PLUGIN_PACKAGE: LaneKind.PLUGIN_PACKAGE,
}


def owner_of(kind: SkillSourceKind) -> str:
    """Return the distribution whose name the ids of registered sources of a kind begin with."""
    return PROVIDERS[LANES[kind].value]


class SkillSources:
    """The sources of skills of a storage root.

    Args:
        store: Where the registered ones are.
        clock: For times.
        lanes: The lanes that are here, by kind.
        offered: Those that plugins of this runtime offer.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        lanes: Mapping[str, CapabilityLane],
        offered: Mapping[str, SkillSourceDescriptor],
    ) -> None:
        self._store = store
        self._clock = clock
        self._lanes = lanes
        self._offered = dict(offered)

    def register(self, source: SkillSourceDescriptor) -> bool:
        """Register a source; tell whether it is new. The same one again changes nothing.

        Raises:
            Rejected: Its id is not one that its kind may have.
            Refused: ``dependency_missing``: the lane of its kind is not active here;
                ``conflict``: its id is another source's.
        """
        self._check(source)
        body = source_body(source)

        def work(tables: object) -> bool:
            found = tables.document(COLLECTION, source.id)  # type: ignore[attr-defined]
            if found is not None and source_from(found).kind is not source.kind:
                text = f"{source.id} is a source of kind {source_from(found).kind}"
                raise Refused(failure("conflict", text))
            if found is not None and found.body == body:
                return False
            at = int(self._clock.now())
            tables.put_document(COLLECTION, source.id, body, at=at)  # type: ignore[attr-defined]
            return found is None

        return self._store.transact(work)

    def _check(self, source: SkillSourceDescriptor) -> None:
        if type(source) is not SkillSourceDescriptor or type(source.kind) is not SkillSourceKind:
            raise Misuse("register a SkillSourceDescriptor with a word of SkillSourceKind")
        kind = source.kind
        if kind not in LANES:
            raise Misuse(f"sources of kind {kind} come with their plugins; they are not registered")
        owner = owner_of(kind)
        own = is_of(source.id, owner)
        if not SOURCE_ID.fullmatch(source.id) or len(source.id) > MAX_SOURCE_CHARS or not own:
            text = (
                f"the id of a source of kind {kind} is {owner}, or {owner}.<name> of a-z 0-9 . _ -"
            )
            finding = Finding(code="reserved_id" if not own else "invalid_id", message=text)
            raise Rejected(source.id, [finding])
        if source.id in self._offered:
            raise Refused(failure("conflict", f"{source.id} is offered by a plugin"))
        if source.origin is not Origin.IMPORTED_STATE:
            raise Misuse("what is registered has the origin imported_state")
        if source.title:
            required_text(source.title, "title", MAX_NAME)
        self.require_lane(kind)

    def require_lane(self, kind: SkillSourceKind) -> None:
        """Refuse where the lane of a kind of source is not active."""
        lane = LANES[kind].value
        if lane not in self._lanes:
            text = f"the lane {lane} is not active here; install {PROVIDERS[lane]}"
            raise Refused(failure("dependency_missing", text, distribution=PROVIDERS[lane]))

    def resources_of(self, source: str) -> SkillResources | None:
        """Return what has the files of a source's skills, where its lane has any and is here."""
        found = self._offered.get(source) or self.find(source)
        kind = None if found is None else LANES.get(found.kind)
        lane = None if kind is None else self._lanes.get(kind.value)
        return None if lane is None else lane.resources

    def find(self, source: str) -> SkillSourceDescriptor | None:
        """Return a registered source, if there is one of this id."""
        row = self._store.read(lambda tables: tables.document(COLLECTION, source))
        return None if row is None else source_from(row)

    def read(self, source: str) -> SkillSourceDescriptor:
        """Return a source, registered or offered.

        Raises:
            Refused: ``unknown_skill``.
        """
        found = self._offered.get(source) or self.find(source)
        if found is None:
            text = f"no source of skills {source!r:.200}; register it, or see skill-source/list"
            raise Refused(failure("unknown_skill", text))
        return found

    def is_offered(self, source: str) -> bool:
        """Tell whether a plugin brings a source; such a one goes with its plugin."""
        return source in self._offered

    def list(self, *, after: str, limit: int) -> list[SkillSourceDescriptor]:
        """Return sources by id."""
        rows = self._store.read(
            lambda tables: tables.list_documents(COLLECTION, after=after, limit=limit)
        )
        own = [each for name, each in self._offered.items() if name > after]
        both = {each.id: each for each in (*map(source_from, rows), *own)}
        return [both[name] for name in sorted(both)][:limit]
