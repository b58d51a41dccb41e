"""The catalogue as hosts see it (`rt.tools`): base readiness, never who may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.catalogue.sources import SourceState, read_sources
from holon_core.errors import Misuse, Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holon_core.catalogue.catalogue import Catalogue
    from holon_core.catalogue.registry import Registry
    from holon_core.records.finding import Finding
    from holon_core.records.lane import SkillSource
    from holon_core.records.tool import Provenance, RuntimeToolDescriptor


class Tools:
    """Listing and reading tools; what it says changes no verdict of a call."""

    def __init__(
        self,
        catalogue: Catalogue,
        registry: Registry,
        sources: Sequence[tuple[SkillSource, Provenance]],
        states: Mapping[str, SourceState],
    ) -> None:
        self._catalogue = catalogue
        self._registry = registry
        self._sources = sources
        self._states = dict(states)
        self._findings: dict[str, tuple[Finding, ...]] = {}

    def sources(self) -> tuple[SourceState, ...]:
        """Return what became of each source of definitions at its last reading."""
        return tuple(self._states[each] for each in sorted(self._states))

    def refresh(self) -> tuple[SourceState, ...]:
        """Read every source again; changed definitions make new revisions."""
        self._states.update(read_sources(self._registry, self._sources, refresh=True))
        self._catalogue.forget()
        return self.sources()

    def list(self, *, after: str = "", limit: int = 50) -> tuple[RuntimeToolDescriptor, ...]:
        """Return tools by id, after a given id; at most 1,000."""
        if not 0 < limit <= 1000:
            raise Misuse("limit is 1 to 1000")
        return tuple(entry.tool for entry in self._catalogue.page(after=after, limit=limit))

    def read(self, tool_id: str) -> RuntimeToolDescriptor:
        """Return one tool.

        Raises:
            Refused: ``unknown_tool``.
        """
        entry = self._catalogue.get(tool_id)
        if entry is None:
            raise Refused(failure("unknown_tool", f"no tool {tool_id}"))
        return entry.tool

    def note(self, tool_id: str, findings: tuple[Finding, ...]) -> None:
        """Keep what registration had to say about a tool."""
        self._findings[tool_id] = findings

    def findings(self, tool_id: str) -> tuple[Finding, ...]:
        """Return what registration had to say about a tool that it accepted."""
        return self._findings.get(tool_id, ())

    def __len__(self) -> int:
        return len(self._catalogue)
