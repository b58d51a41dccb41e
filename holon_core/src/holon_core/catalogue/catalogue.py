"""Entries by id: what a tool is, and what runs it."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from holon_core.records.words import READ_ONLY, Effect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from holon_core.guard.sealed import SealedCall
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.wire.schema_engine import SchemaValidator
    from holon_core.wire.schema_marks import Marks


class Executor(Protocol):
    """What runs a tool. ``execute`` may be a coroutine function."""

    def execute(self, call: SealedCall, /) -> ExecutorOutcome | Awaitable[ExecutorOutcome]:
        """Run the tool once, within the call's limits."""
        ...

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show the exact request that ``execute`` would make; start nothing."""
        ...


class Entry:
    """One tool with its executor and what is compiled for it once.

    Args:
        tool: The descriptor, carrying its digest.
        executor: What runs it; ``None`` for an entry that is only listed.
        is_async: Whether ``executor.execute`` is a coroutine function.
        inline: Quick enough to run on an event loop's own thread.
        self_limiting: Keeps the time limit by itself, as what runs in a process does.
    """

    def __init__(
        self,
        tool: RuntimeToolDescriptor,
        executor: Executor | None,
        *,
        is_async: bool = False,
        inline: bool = False,
        self_limiting: bool = False,
    ) -> None:
        self.tool = tool
        self.executor = executor
        self.is_async = is_async
        self.inline = inline
        self.self_limiting = self_limiting
        self.beyond_reads = not tool.effects <= READ_ONLY
        self.in_workspace = bool(tool.effects & {Effect.WORKSPACE_READ, Effect.WORKSPACE_WRITE})

    @cached_property
    def input(self) -> SchemaValidator:
        """The compiled input schema."""
        from holon_core.wire.canonical import digest
        from holon_core.wire.schema_engine import compiled

        schema: Any = self.tool.input_schema
        return compiled(schema, digest(schema, domain="holon-schema/1"))

    @cached_property
    def output(self) -> SchemaValidator | None:
        """The compiled output schema, where one is declared."""
        from holon_core.wire.canonical import digest
        from holon_core.wire.schema_engine import compiled

        schema: Any = self.tool.output_schema
        if schema is None:
            return None
        return compiled(schema, digest(schema, domain="holon-schema/1"))

    @cached_property
    def input_marks(self) -> Marks | None:
        """Where the input schema marks secrets."""
        from holon_core.wire.schema_marks import marked_paths

        return marked_paths(self.tool.input_schema)

    @cached_property
    def output_marks(self) -> Marks | None:
        """Where the output schema marks secrets."""
        from holon_core.wire.schema_marks import marked_paths

        return None if self.tool.output_schema is None else marked_paths(self.tool.output_schema)

    @cached_property
    def fragment(self) -> str:
        """The tool as evidence names it, encoded once."""
        from holon_core.wire.canonical import canonical

        tool = self.tool
        return canonical(
            {
                "digest": tool.digest,
                "effects": sorted(effect.value for effect in tool.effects),
                "id": tool.id,
                "lane": tool.lane,
                "version": tool.version,
            }
        ).decode()


class Catalogue:
    """All entries of one runtime, by id, in id order. Safe for many threads."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._order: list[str] = []
        self._lock = threading.Lock()

    def get(self, tool_id: str) -> Entry | None:
        """Return the entry of an id."""
        return self._entries.get(tool_id)

    def put(self, entry: Entry) -> Entry | None:
        """Add an entry or replace the one of its id; return the replaced one."""
        with self._lock:
            before = self._entries.get(entry.tool.id)
            self._entries[entry.tool.id] = entry
            if before is None:
                insort(self._order, entry.tool.id)
            return before

    def remove(self, tool_id: str) -> bool:
        """Remove an entry."""
        with self._lock:
            if self._entries.pop(tool_id, None) is None:
                return False
            del self._order[bisect_right(self._order, tool_id) - 1]
            return True

    def page(self, *, after: str = "", limit: int = 50) -> list[Entry]:
        """Return up to ``limit`` entries after an id, in id order."""
        with self._lock:
            start = bisect_right(self._order, after)
            return [self._entries[tool_id] for tool_id in self._order[start : start + limit]]

    def __len__(self) -> int:
        return len(self._entries)
