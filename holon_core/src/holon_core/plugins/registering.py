"""Sources that a plugin registers while a runtime is open: what imports and adapters bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.errors import Misuse, Refused
from holon_core.plugins.lanes import owners_of, source_problem
from holon_core.records.failure import failure
from holon_core.records.words import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holon_core.catalogue.catalogue import Catalogue
    from holon_core.catalogue.registry import Registry
    from holon_core.catalogue.source_records import Registered
    from holon_core.catalogue.sources import Sources
    from holon_core.plugins.manager import PluginManager
    from holon_core.records.skill_source import SkillSourceDescriptor
    from holon_core.records.tool import Provenance, RuntimeToolDescriptor

ORIGINS = frozenset({Origin.REGISTERED, Origin.IMPORTED_STATE})


class Registering:
    """Registers and removes sources for the plugins of one runtime.

    Args:
        manager: The plugins.
        registry: Where definitions go.
        sources: The sources that plugins offer, and what became of all of them.
        catalogue: What this process read of the stored definitions.
    """

    def __init__(
        self,
        manager: PluginManager,
        registry: Registry,
        *,
        sources: Sources,
        catalogue: Catalogue,
    ) -> None:
        self._manager = manager
        self._registry = registry
        self._sources = sources
        self._catalogue = catalogue

    def register(
        self,
        plugin: str,
        source: SkillSourceDescriptor,
        definitions: Iterable[RuntimeToolDescriptor],
    ) -> Registered:
        """Make the definitions of a source those that are given; see ``PluginHost``."""
        from holon_core.records.skill_source import SkillSourceDescriptor

        if type(source) is not SkillSourceDescriptor or source.origin not in ORIGINS:
            words = ", ".join(sorted(origin.value for origin in ORIGINS))
            raise Misuse(f"a source that is registered has a descriptor of the origin {words}")
        by = self._own(plugin, source.id)
        done = self._registry.register(
            source.id, definitions, origin=source.origin, provenance=by, registered=True
        )
        return self._noted(done, by)

    def remove(self, plugin: str, source: str) -> Registered:
        """Remove a source with all that it defined; see ``PluginHost``."""
        by = self._own(plugin, source)
        return self._noted(self._registry.drop(source), by)

    def _noted(self, done: Registered, by: Provenance) -> Registered:
        self._sources.note(done, by.distribution or by.plugin)
        self._catalogue.forget()
        return done

    def _own(self, plugin: str, source: str) -> Provenance:
        by = dict(self._manager.names())[plugin]
        problem = source_problem(source, by, owners_of(self._manager))
        if problem:
            raise Misuse(problem)
        if self._sources.offers(source):
            text = f"the source {source} is offered by a plugin, and cannot be registered besides"
            raise Refused(failure("conflict", text))
        return by
