"""The catalogue as hosts see it (`rt.tools`): base readiness, never who may call."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from holon_core.catalogue import pins
from holon_core.catalogue.unknown import unknown_tool
from holon_core.errors import Refused
from holon_core.governed import Facet, operation
from holon_core.names import MAX_TOOL_ID, optional_text, page, required_text
from holon_core.records.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.catalogue.catalogue import Catalogue
    from holon_core.catalogue.registry import Registry
    from holon_core.catalogue.source_records import SourceState
    from holon_core.catalogue.sources import Sources
    from holon_core.frozen.facet import FrozenTools
    from holon_core.records.approval_view import ViewChange
    from holon_core.records.finding import Finding
    from holon_core.records.pin import Pin
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.protocol import Store


class Tools(Facet):
    """Listing and reading tools; what it says changes no verdict of a call."""

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        store: Store,
        registry: Registry,
        sources: Sources,
        pinning: pins.Pins,
        frozen: Callable[[], FrozenTools],
    ) -> None:
        self._catalogue = catalogue
        self._store = store
        self._registry = registry
        self._sources = sources
        self._pins = pinning
        self._make_frozen = frozen
        self._findings: dict[str, tuple[Finding, ...]] = {}
        self._replaced: dict[str, RuntimeToolDescriptor] = {}

    @cached_property
    def frozen(self) -> FrozenTools:
        """Frozen tools and their proposals."""
        return self._make_frozen()

    def sources(self) -> tuple[SourceState, ...]:
        """Return what became of each source of definitions at its last reading, by id."""
        return Listing(self._sources.states())

    @operation("runtime-tool/refresh")
    def refresh(self) -> tuple[SourceState, ...]:
        """Read every source again; changed definitions make new revisions.

        One that is late, or was late before and still reads, keeps what is stored.
        """
        self._sources.read(again=True)
        self._catalogue.forget()
        return self.sources()

    def list(self, *, after: str = "", limit: int = 50) -> Listing[RuntimeToolDescriptor]:
        """Return tools by id, a page of them; its ``more`` says that others may follow.

        Args:
            after: The last id of the page before; empty begins.
            limit: How many at most, 1 to 1,000.

        Raises:
            Misuse: ``limit`` is out of bounds.
        """
        page(after, limit)
        entries = self._catalogue.page(after=after, limit=limit)
        return Listing.page((entry.tool for entry in entries), limit)

    def read(self, tool_id: str) -> RuntimeToolDescriptor:
        """Return one tool.

        Raises:
            Refused: ``unknown_tool``.
        """
        entry = self._catalogue.get(required_text(tool_id, "a tool id", MAX_TOOL_ID))
        if entry is None:
            raise Refused(unknown_tool(self._catalogue, tool_id, None, sees_all=True))
        return entry.tool

    @operation("runtime-tool/pin", tool_id="tool")
    def pin(self, tool_id: str, *, by: str, reason: str) -> Pin:
        """Let a tool run by its present definition alone, for every process on this root.

        Once its definition changes, calls are ``definition_changed`` until somebody reads the
        difference and pins it again, or takes the pin away.

        Args:
            tool_id: The tool.
            by: Who pins it.
            reason: Why; both are kept in evidence.

        Raises:
            Refused: ``unknown_tool``.
        """
        pin = self._pins.set(self.read(tool_id), by=by, reason=reason)
        self._catalogue.forget()
        return pin

    @operation("runtime-tool/unpin", tool_id="tool")
    def unpin(self, tool_id: str, *, by: str, reason: str) -> None:
        """Take a pin away.

        Raises:
            Refused: ``not_pinned``.
        """
        required_text(tool_id, "a tool id", MAX_TOOL_ID)
        self._pins.remove(tool_id, by=by, reason=reason)
        self._catalogue.forget()

    def pins(self) -> tuple[Pin, ...]:
        """Return the pins of this root, by tool."""
        return Listing(self._pins.list())

    def difference(self, tool_id: str, *, since: str | None = None) -> tuple[ViewChange, ...]:
        """Return how a tool's definition differs from an earlier one, as a person reads it.

        Args:
            tool_id: The tool.
            since: Digest of the earlier definition; else the pinned one, else the last other.

        Returns:
            Each smallest place with its values as JSON text; nothing where there was no other
            definition, or none of this digest among the last 100 revisions.

        Raises:
            Refused: ``unknown_tool``.
        """
        tool = self.read(tool_id)
        optional_text(since, "since")
        wanted = since or self._catalogue.pin_of(tool_id)
        if wanted == tool.digest:
            return Listing()
        before = self._replaced.get(tool_id)
        if before is None or (wanted is not None and before.digest != wanted):
            before = pins.earlier(self._store, tool, wanted)
        return Listing(() if before is None else pins.changes(before, tool))

    def note(
        self,
        tool_id: str,
        findings: tuple[Finding, ...],
        replaced: RuntimeToolDescriptor | None = None,
    ) -> None:
        """Keep what registration had to say about a host function, and what it replaced."""
        self._findings[tool_id] = findings
        if replaced is not None:
            self._replaced[tool_id] = replaced

    def findings(self, tool_id: str) -> tuple[Finding, ...]:
        """Return what registration had to say about a tool, one that it kept out included."""
        required_text(tool_id, "a tool id", MAX_TOOL_ID)
        if tool_id in self._findings:
            return Listing(self._findings[tool_id])
        stored = self._registry.stored_source(tool_id.partition("/")[0])
        return Listing(() if stored is None else stored.findings.get(tool_id, ()))

    def __len__(self) -> int:
        return len(self._catalogue)
