"""The parts of imported skills, each made when it is first needed: most openings need none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holon_core.governed import Facet

if TYPE_CHECKING:
    from holon_core.catalogue.registry import Registry
    from holon_core.guard.sealed import SealedCall
    from holon_core.plugins.lanes import Joined
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.gate import GateCall
    from holon_core.records.skill import CapabilityBindingRecord
    from holon_core.skills.bindings import Bindings, BoundExecutor
    from holon_core.skills.gates import SkillGates
    from holon_core.skills.registry import Skills
    from holon_core.store.protocol import Tables

# Lanes whose tools come by imports of skills, and pass their gates.
IMPORTING = frozenset({"elegy", "plugin_package"})


class SkillParts(Facet):
    """What one runtime has of imported skills.

    Args:
        joined: Its lanes and sources.
        registry: Takes tools into the catalogue.
        record: Appends a record about the root to evidence.
    """

    def __init__(
        self,
        joined: Joined,
        registry: Registry,
        record: Callable[[Tables, str, dict[str, str]], None],
    ) -> None:
        self._joined = joined
        self._registry = registry
        self._record = record
        # Set once there is a catalogue: what it keeps of a tool says what runs it.
        self.changed: Callable[[], None] = lambda: None

    @cached_property
    def bindings(self) -> Bindings:
        """The executors that are bound."""
        from holon_core.skills.bindings import Bindings

        made = Bindings(self._joined.lanes)
        made.changed = self._tell
        return made

    @cached_property
    def gates(self) -> SkillGates:
        """The gates of imported capabilities."""
        from holon_core.skills.gates import SkillGates

        return SkillGates(self._registry.store, self.bindings)

    @cached_property
    def facet(self) -> Skills:
        """The registry, as hosts and lanes see it."""
        from holon_core.skills.registry import Skills
        from holon_core.skills.sources import SkillSources

        store, clock = self._registry.store, self._registry.clock
        sources = SkillSources(
            store,
            clock,
            lanes=self._joined.lanes,
            offered={each.descriptor.id: each.descriptor for each in self._joined.sources},
        )
        made = Skills(
            store=store,
            clock=clock,
            registry=self._registry,
            sources=sources,
            bindings=self.bindings,
            gates=self.gates,
            record=self._record,
            changed=self._tell,
        )
        made.through = self.through
        return made

    def _tell(self) -> None:
        self.changed()

    def bound(self, tool_id: str) -> BoundExecutor | None:
        """Return what is bound to a tool; nothing is where nobody ever bound anything."""
        return self.bindings.of(tool_id) if "bindings" in vars(self) else None

    def skill_of(self, tool_id: str) -> str | None:
        """Return the skill that an imported tool came with."""
        return self.gates.skill_of(tool_id)

    def forget(self) -> None:
        """Look anew, after another process changed the registry."""
        if "gates" in vars(self):
            self.gates.forget()

    def gates_by_lane(self) -> dict[str, tuple[Any, ...]]:
        """Return the gates of every lane; those of imported capabilities come first."""
        made = {
            kind: (self._gate, *lane.gates) if kind in IMPORTING else lane.gates
            for kind, lane in self._joined.lanes.items()
        }
        return {kind: gates for kind, gates in made.items() if gates}

    def _gate(self, call: GateCall) -> Iterator[StructuredFailure]:
        return self.gates(call)

    def binding_of(self, tool_id: str) -> CapabilityBindingRecord | None:
        """Return how an imported capability is bound; ``None`` where there is none."""
        card = self.gates.card(tool_id)
        return None if card is None else card.binding

    def previews(self) -> dict[str, Any]:
        """Return what shows the request of a tool that nothing runs, by lane."""
        return {
            kind: self._previewing(lane.preview)
            for kind, lane in self._joined.lanes.items()
            if lane.preview is not None
        }

    def _previewing(self, preview: Any) -> Any:
        def shown(call: SealedCall) -> Mapping[str, Any]:
            card = self.gates.card(call.tool.id)
            made: Mapping[str, Any] = preview(call, None if card is None else card.binding)
            return made

        return shown
