"""The skills of a storage root (`rt.skills`): imported, read, approved, bound, removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from holon_core.errors import Misuse, Refused
from holon_core.governed import Facet, operation
from holon_core.names import MAX_NAME, MAX_TOOL_ID, page, required_name, required_text
from holon_core.plugins.blocked import PROVIDERS
from holon_core.records.failure import failure
from holon_core.records.listing import Listing
from holon_core.records.skill import (
    CapabilityBindingRecord,
    ImportedSkill,
    PostureApproval,
    SkillEntry,
    SkillOutcome,
    SkillSourceDescriptor,
)
from holon_core.records.tool import Provenance
from holon_core.records.words import Effect, Origin, Posture
from holon_core.skills import approving
from holon_core.skills.codec import entry_from
from holon_core.skills.sources import COLLECTION as SOURCES
from holon_core.skills.sources import LANES
from holon_core.skills.storing import SKILLS, Storing

if TYPE_CHECKING:
    from holon_core.catalogue.registry import Registry
    from holon_core.clock import Clock
    from holon_core.skills.bindings import Bindings
    from holon_core.skills.gates import SkillGates
    from holon_core.skills.sources import SkillSources
    from holon_core.store.protocol import Store, Tables

MAX_RESOURCES = 1000
MAX_RESOURCE_NAME = 1000
Record = Callable[["Tables", str, dict[str, str]], None]


def _described(source: object) -> dict[str, Any]:
    """Return what registering a source takes; what is no descriptor is refused by its registry."""
    if not isinstance(source, SkillSourceDescriptor):
        return {}
    return {"source": source.id, "kind": source.kind.value, "title": source.title}


class Skills(Facet):
    """Imported skills: where they come from, what they hold, what lets them run.

    An imported capability is a read-only entry of the catalogue. It runs once its schemas are
    usable, its effects declared, its dependencies and secrets there, its posture approved for
    exactly this definition, and an executor bound by the host or an adapter.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        registry: Registry,
        sources: SkillSources,
        bindings: Bindings,
        gates: SkillGates,
        record: Record,
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._registry = registry
        self._sources = sources
        self._bindings = bindings
        self._gates = gates
        self._record = record
        self._changed = changed

    @operation("skill-source/register", given=_described)
    def register_source(self, source: SkillSourceDescriptor) -> bool:
        """Register where skills come from; tell whether it is new.

        Raises:
            Rejected: Its id is not one that its kind may have.
            Refused: ``dependency_missing``: the lane of its kind is not active here;
                ``conflict``: its id is another source's.
        """
        return self._sources.register(source)

    def source(self, source: str) -> SkillSourceDescriptor:
        """Return one source.

        Raises:
            Refused: ``unknown_skill``.
        """
        return self._sources.read(required_text(source, "a source id", MAX_NAME))

    def sources(self, *, after: str = "", limit: int = 50) -> tuple[SkillSourceDescriptor, ...]:
        """Return sources by id, registered ones and those of plugins."""
        page(after, limit)
        return Listing.page(self._sources.list(after=after, limit=limit), limit)

    @operation("skill-source/remove")
    def remove_source(self, source: str) -> tuple[str, ...]:
        """Remove a registered source with its skills, approvals and tools; return the tools.

        Earlier revisions stay in the store.

        Raises:
            Refused: ``unknown_skill``; ``conflict``: a plugin brings it.
        """
        found = self.source(source)
        if self._sources.is_offered(source):
            text = f"a plugin brings {found.id}; uninstall or disable that"
            raise Refused(failure("conflict", text))
        storing = self._storing(found)
        storing.remove_all()
        gone = self._registry.drop(source).removed
        at = int(self._clock.now())
        self._store.transact(lambda tables: tables.remove_document(SOURCES, source, at=at))
        self._forget()
        return gone

    def store(
        self, source: str, skills: Iterable[ImportedSkill], *, whole: bool = False
    ) -> tuple[SkillOutcome, ...]:
        """Take skills that a lane read into the registry and the catalogue; for lanes.

        The same definition again changes nothing. A changed one makes a new revision, and
        voids the approvals of its postures. One with an error finding stays out, and what was
        stored of it before stays as it is.

        Args:
            source: A registered source; the ids of all skills and tools begin with it.
            skills: What the lane made of the definitions.
            whole: These are all skills of the source; what is stored beyond them is removed.

        Returns:
            What became of each, in order.

        Raises:
            Refused: ``unknown_skill``: no such source was registered; ``dependency_missing``.
            Misuse: A record does not belong to the source or its lane.
        """
        found = self._sources.find(required_text(source, "a source id", MAX_NAME))
        if found is None:
            self._sources.read(source)
            raise Misuse(f"{source} is a plugin's own source, which nothing is imported into")
        self._sources.require_lane(found.kind)
        outcomes = self._storing(found).store(list(skills), whole=whole)
        self._forget()
        return outcomes

    def _storing(self, source: SkillSourceDescriptor) -> Storing:
        lane = LANES[source.kind].value
        provenance = Provenance(distribution=PROVIDERS[lane])
        return Storing(
            self._store,
            self._clock,
            self._registry,
            source=source.id,
            lane=lane,
            provenance=provenance,
            origin=Origin.IMPORTED_STATE,
        )

    def list(
        self, *, source: str | None = None, after: str = "", limit: int = 50
    ) -> tuple[SkillEntry, ...]:
        """Return skills by id.

        Args:
            source: Only those of this source.
            after: The last id of the page before; empty begins.
            limit: How many at most, 1 to 1,000.
        """
        page(after, limit)
        start = after if source is None else max(after, f"{source}/")
        rows = self._store.read(
            lambda tables: tables.list_documents(SKILLS, after=start, limit=limit)
        )
        found = map(entry_from, rows)
        return Listing(each for each in found if source in (None, each.skill.source))

    def read(self, skill_id: str) -> SkillEntry:
        """Return one skill, by its id or by the id of one of its tools.

        Raises:
            Refused: ``unknown_skill``.
        """
        required_text(skill_id, "the id of a skill", MAX_TOOL_ID)
        row = self._store.read(lambda tables: tables.document(SKILLS, skill_id))
        if row is None:
            card = self._gates.card(skill_id)
            if card is None:
                text = f"no skill {skill_id!r:.200}; skill/list names those there are"
                raise Refused(failure("unknown_skill", text))
            row = self._store.read(lambda tables: tables.document(SKILLS, card.binding.skill))
        if row is None:
            text = f"the skill of {skill_id!r:.200} is not whole; import it again"
            raise Refused(failure("unknown_skill", text))
        return entry_from(row)

    def binding(self, tool_id: str) -> CapabilityBindingRecord | None:
        """Return how an imported capability is bound; ``None`` for any other tool."""
        card = self._gates.card(required_text(tool_id, "a tool id", MAX_TOOL_ID))
        return None if card is None else card.binding

    def load(self, skill_id: str, *, by: str | None = None) -> SkillEntry:
        """Return a skill whose instructions an agent may load.

        Args:
            skill_id: Its id, or that of one of its tools.
            by: Who loads it into a context, for the record; where left out, nothing is recorded.

        Raises:
            Refused: ``unknown_skill``; ``lifecycle_blocked``: it is archived or a draft;
                ``artifact_not_ready``: it has no instructions.
        """
        entry = self._loadable(skill_id)
        if not entry.skill.instructions:
            text = "the skill holds nothing to load into a context"
            raise Refused(failure("artifact_not_ready", text))
        if by is not None:
            approving.note_loaded(self._store, entry.skill, by=by, record=self._record)
        return entry

    def _loadable(self, skill_id: str) -> SkillEntry:
        entry = self.read(skill_id)
        if entry.skill.lifecycle in approving.NOT_LOADED:
            text = f"the skill is {entry.skill.lifecycle}"
            raise Refused(failure("lifecycle_blocked", text))
        return entry

    def resources(self, skill: SkillEntry) -> tuple[str, ...]:
        """Return the names of the files that came with a skill, 1,000 at most."""
        found = self._sources.resources_of(skill.skill.source)
        return () if found is None else tuple(found.names(skill))[:MAX_RESOURCES]

    def load_resource(self, skill_id: str, name: str, *, by: str) -> tuple[SkillEntry, str]:
        """Return a skill, and the text of one of its files for an agent's context.

        Args:
            skill_id: As for ``load``.
            name: One of ``resources``.
            by: Who loads it, for the record.

        Raises:
            Refused: As for ``load``; ``path_not_found``: it has no such file;
                ``artifact_not_ready``: it is no UTF-8; ``definition_changed``: it is not what was
                imported.
        """
        entry = self._loadable(skill_id)
        required_text(name, "the name of a file", MAX_RESOURCE_NAME)
        found = self._sources.resources_of(entry.skill.source)
        if found is None or name not in self.resources(entry):
            text = f"the skill has no file {name!r:.200}; runtime-skill/load names those it has"
            raise Refused(failure("path_not_found", text))
        data = found.read(entry, name)
        if not isinstance(data, bytes):
            raise Refused(data)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refused(failure("artifact_not_ready", f"{name!r:.200} is no text")) from None
        approving.note_loaded(self._store, entry.skill, by=by, record=self._record, resource=name)
        return entry, text

    @operation("skill/approve-execution", target="skill")
    def approve_execution(
        self, target: str, *, posture: Posture, by: str, reason: str
    ) -> tuple[PostureApproval, ...]:
        """Let imported capabilities run under a posture, by their present definitions alone.

        Args:
            target: Id of a tool; or of a skill, for all its capabilities.
            posture: The posture.
            by: Who approves it.
            reason: Why; both are kept in evidence.

        Returns:
            An approval of each capability. It ends when the definition changes.

        Raises:
            Refused: ``unknown_skill``.
            Misuse: No executor of the lane could run under the posture.
        """
        required_name(by, "by")
        required_text(reason, "reason")
        entry = self.read(target)
        self._check_posture(entry, posture)
        made = approving.approve(
            self._store,
            approving.chosen(entry, target),
            posture=posture,
            by=by,
            reason=reason,
            at=int(self._clock.now()),
            record=self._record,
        )
        self._forget()
        return made

    def _check_posture(self, entry: SkillEntry, posture: Posture) -> None:
        for binding in entry.bindings:
            self._bindings.check_posture(binding.lane, posture)

    @operation("skill/revoke-execution", target="skill")
    def revoke_execution(
        self, target: str, *, posture: Posture | None = None, by: str, reason: str
    ) -> tuple[str, ...]:
        """Take approvals of postures back; return the tools that had one.

        Args:
            target: Id of a tool or a skill.
            posture: The posture; all where left out.
            by: Who takes them back.
            reason: Why; both are kept in evidence.

        Raises:
            Refused: ``unknown_skill``.
        """
        required_name(by, "by")
        required_text(reason, "reason")
        entry = self.read(target)
        gone = approving.revoke(
            self._store,
            approving.chosen(entry, target),
            postures=tuple(Posture) if posture is None else (posture,),
            by=by,
            reason=reason,
            at=int(self._clock.now()),
            record=self._record,
        )
        self._forget()
        return gone

    def approvals(self, target: str) -> tuple[PostureApproval, ...]:
        """Return the approvals of postures that hold for a skill or a tool."""
        entry = self.read(target)
        return Listing(approving.of_bindings(self._store, approving.chosen(entry, target)))

    def bind(
        self,
        target: str,
        executor: Any,
        *,
        posture: Posture = Posture.ADAPTER_FORWARDED,
        self_limiting: bool = False,
        inline: bool = False,
        provides: Sequence[str] = (),
        effects: Iterable[Effect] = (),
        by: str = "host",
    ) -> None:
        """Bind what runs an imported capability; it lasts as long as this runtime.

        Binding lets nothing run by itself: every gate and the guarded call stay before it.

        Args:
            target: Id of a tool, or of a source for all its tools.
            executor: Has ``execute(call)``, sync or async, and ``preview(call)``.
            posture: Under which authority it runs.
            self_limiting: It keeps the time limit itself.
            inline: Quick enough for an event loop's own thread.
            provides: Names of dependencies that it brings itself.
            effects: What it does, where it is known: of a capability that does not declare all of
                it, ``effects_undeclared`` is then among what every view names.
            by: Who binds it, for messages.

        Raises:
            Misuse: It is no executor, or the lane does not run under the posture.
            Refused: ``conflict``: another one is bound.
        """
        self._bindings.bind_for(
            by,
            target,
            executor,
            posture=posture,
            self_limiting=self_limiting,
            inline=inline,
            provides=provides,
            effects=effects,
        )

    def unbind(self, target: str) -> bool:
        """Take an executor away; tell whether there was one."""
        return self._bindings.unbind(target)

    def _forget(self) -> None:
        self._gates.forget()
        self._changed()
