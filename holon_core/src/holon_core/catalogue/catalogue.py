"""Entries by id: what a tool is, and what runs it."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections import OrderedDict
from functools import cached_property
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol

from attrs import evolve

from holon_core.catalogue.codec import descriptor_from, pinned_digest, slot_references
from holon_core.ids import id_problem
from holon_core.records.lane import executor_of
from holon_core.records.words import READ_ONLY, Effect, Origin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from holon_core.catalogue.search import Search
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.embedder import Embedder
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.lane import LaneExecutor
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.records.words import Posture
    from holon_core.store.document_tables import Document
    from holon_core.store.protocol import Store, Tables
    from holon_core.wire.schema_engine import SchemaValidator
    from holon_core.wire.schema_marks import Marks

TOOLS = "holon.tools"
PINS = "holon.pins"
MAX_READ = 4096
MAX_PINS = 100_000


class Settle(Protocol):
    """What a lane of the core does in the transaction that closes a call of its tool."""

    def __call__(
        self,
        tables: Tables,
        attempt: Attempt,
        problem: StructuredFailure | None,
        output: bytes | None,
        /,
    ) -> None:
        """Take note of how the call ended: its failure, or its output in canonical form."""
        ...


class Executor(Protocol):
    """What runs a tool. ``execute`` may be a coroutine function."""

    def execute(self, call: SealedCall, /) -> ExecutorOutcome | Awaitable[ExecutorOutcome]:
        """Run the tool once, within the call's limits."""
        ...

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show the exact request that ``execute`` would make; start nothing."""
        ...


class Preview(Protocol):
    """What shows the exact request of a call; it starts nothing."""

    def __call__(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show it."""
        ...


class Bound(Protocol):
    """An executor that the host or an adapter bound to one tool, or to a whole source."""

    @property
    def executor(self) -> Any:
        """What runs it."""
        ...

    @property
    def posture(self) -> Posture:
        """Under which authority."""
        ...

    @property
    def self_limiting(self) -> bool:
        """Whether it keeps the time limit itself."""
        ...

    @property
    def inline(self) -> bool:
        """Whether it is quick enough for an event loop's own thread."""
        ...


class Entry:
    """One tool with its executor and what is compiled for it once.

    Args:
        tool: The descriptor, carrying its digest.
        executor: What runs it; ``None`` for an entry that is only listed.
        is_async: Whether ``executor.execute`` is a coroutine function.
        inline: Quick enough to run on an event loop's own thread.
        self_limiting: Keeps the time limit by itself, as what runs in a process does.
        blocked: Why there is no executor.
        confines: Every program that it runs goes through the call, which can confine it.
        needs_workspace: Works for a workspace, though its effects name none.
    """

    def __init__(
        self,
        tool: RuntimeToolDescriptor,
        executor: Executor | None,
        *,
        is_async: bool = False,
        inline: bool = False,
        self_limiting: bool = False,
        blocked: StructuredFailure | None = None,
        confines: bool = False,
        needs_workspace: bool = False,
    ) -> None:
        self.tool = tool
        self.confines = confines
        self.blocked = blocked
        self.executor = executor
        self.preview: Preview | None = None if executor is None else executor.preview
        self.is_async = is_async
        self.inline = inline
        self.self_limiting = self_limiting
        self.beyond_reads = not tool.effects <= READ_ONLY
        # Whatever policy and grants allow: each call of it needs an approval of its own.
        self.always_asks = bool(tool.lifecycle) and _on_trial(tool.lifecycle)
        # Nothing of the tool itself can block a call; its lane's gates still may.
        self.gateless = (
            executor is not None and Effect.UNKNOWN not in tool.effects and not tool.secret_slots
        )
        self.settle: Settle | None = None
        self.notices: tuple[str, ...] = ()
        # Works in the folder, which then has to be the one that was opened.
        self.in_workspace = bool(tool.effects & {Effect.WORKSPACE_READ, Effect.WORKSPACE_WRITE})
        self.needs_workspace = needs_workspace or self.in_workspace

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
    def takes(self) -> Callable[[Any], bool]:
        """Tells whether arguments fit the input schema."""
        return self.input.verdict

    @cached_property
    def gives(self) -> Callable[[Any], bool] | None:
        """Tells whether an output fits the output schema, where one is declared."""
        return None if self.output is None else self.output.verdict

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
    def named(self) -> str:
        """The tool as a closing record names it; the call's first record says the rest."""
        from holon_core.wire.canonical import canonical

        return canonical({"id": self.tool.id}).decode()

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


def _on_trial(lifecycle: str) -> bool:
    """Tell whether a frozen tool is in a state in which each of its calls is asked for."""
    from holon_core.records.frozen import TRIAL_STATES

    return lifecycle in TRIAL_STATES


class Catalogue:
    """All entries of one runtime, by id, in id order. Safe for many threads.

    Host functions live in memory, since they are registered at each start. What lanes bring
    lives in the store and is read when it is asked for: a start reads none of it.

    Args:
        store: Where the stored entries are.
        executors: What runs the tools of a source, by source id.
        why_blocked: Says what blocks a tool that nothing of these runs, or whose lane is not
            here; ``None`` where nothing does.
        bound: Says which executor the host or an adapter bound to a tool.
        previews: What shows the request of a tool that nothing runs, by lane.
        embedder: What ranks by meaning beside words.
    """

    def __init__(
        self,
        store: Store,
        executors: Mapping[str, LaneExecutor] | None = None,
        why_blocked: Callable[[RuntimeToolDescriptor], StructuredFailure | None] | None = None,
        *,
        bound: Callable[[str], Bound | None] | None = None,
        previews: Mapping[str, Preview] | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._store = store
        # What runs frozen tools, by the kind that their lane is; set before anything is read.
        self.frozen: Callable[[RuntimeToolDescriptor], Entry | None] = lambda _: None
        self._hidden: dict[str, Entry] = {}
        self._executors = executors or {}
        self._bound = bound or (lambda _: None)
        self._previews = previews or {}
        self._why_blocked = why_blocked or (lambda _: None)
        self._generation = 0
        self._own: dict[str, Entry] = {}
        self._order: list[str] = []
        self._read: OrderedDict[str, Entry] = OrderedDict()
        self._pins: dict[str, str] | None = None
        self._references: tuple[tuple[int, int], tuple[str, ...]] | None = None
        self._lock = threading.Lock()
        # Counts what was put: the stored entries have the store's revision for that.
        self.changes = 0
        self._search: Search | None = None
        # What ranks by meaning beside words, where a plugin brings it.
        self._embedder = embedder

    def get(self, tool_id: str) -> Entry | None:
        """Return the entry of an id."""
        return self._own.get(tool_id) or self._read.get(tool_id) or self._load(tool_id)

    def _load(self, tool_id: str) -> Entry | None:
        if not isinstance(tool_id, str) or id_problem(tool_id) is not None:  # type: ignore[redundant-expr]
            return None
        if tool_id in self._hidden:
            return self._hidden[tool_id]
        generation = self._generation
        found = self._store.read(lambda tables: tables.document(TOOLS, tool_id))
        if found is None:
            return None
        entry = self._entry(found.body)
        with self._lock:
            # What was read before another thread learnt of a change is not kept after it.
            if generation == self._generation:
                self._read[tool_id] = entry
                if len(self._read) > MAX_READ:
                    self._read.popitem(last=False)
        return entry

    def _entry(self, body: bytes) -> Entry:
        tool = descriptor_from(body)
        if tool.origin is Origin.FROZEN and (made := self.frozen(tool)) is not None:
            return made
        bound = self._bound(tool.id)
        runs = bound or executor_of(self._executors, tool.id.partition("/")[0])
        blocked = self._why_blocked(tool)
        if runs is None or blocked is not None:
            entry = Entry(evolve(tool, runs_here=False), None, blocked=blocked)
            entry.preview = self._previews.get(tool.lane)
            return entry
        if bound is not None:
            tool = evolve(tool, posture=bound.posture)
        return Entry(
            tool,
            runs.executor,
            is_async=iscoroutinefunction(runs.executor.execute),
            inline=runs.inline,
            self_limiting=runs.self_limiting,
            confines=getattr(runs, "confines", False) is True,
            needs_workspace=getattr(runs, "needs_workspace", False) is True,
        )

    def forget(self) -> None:
        """Drop what was read from the store, after another process changed it."""
        with self._lock:
            self._generation += 1
            self._read.clear()
            self._pins = None

    def pin_of(self, tool_id: str) -> str | None:
        """Return the digest that an operator pinned a tool to, if any."""
        pins = self._pins
        if pins is None:
            generation = self._generation
            rows = self._store.read(lambda tables: tables.list_documents(PINS, limit=MAX_PINS))
            pins = {row.id: pinned_digest(row.body) for row in rows}
            with self._lock:
                if generation == self._generation:
                    self._pins = pins
        return pins.get(tool_id)

    def put(self, entry: Entry) -> Entry | None:
        """Add an entry of this process or replace the one of its id; return the replaced one."""
        with self._lock:
            before = self._own.get(entry.tool.id)
            self._own[entry.tool.id] = entry
            if before is None:
                insort(self._order, entry.tool.id)
            self.changes += 1
            return before

    def hide(self, entry: Entry) -> None:
        """Add an entry of the core's own that can be called and is in no listing."""
        self._hidden[entry.tool.id] = entry

    def own(self) -> dict[str, Entry]:
        """Return the entries of this process."""
        with self._lock:
            return dict(self._own)

    def peek(self, tool_ids: Sequence[str]) -> dict[str, tuple[Entry, str | None]]:
        """Return entries as they are now, each with the digest it is pinned to, if any.

        Nothing of it is kept, so that looking changes nothing for a call.
        """

        def work(tables: Tables) -> dict[str, tuple[Document | None, Document | None]]:
            return {
                each: (
                    None if each in self._own else tables.document(TOOLS, each),
                    tables.document(PINS, each),
                )
                for each in tool_ids
            }

        found: dict[str, tuple[Entry, str | None]] = {}
        for each, (stored, pin) in self._store.read(work).items():
            entry = self._own.get(each) or (None if stored is None else self._entry(stored.body))
            if entry is not None:
                found[each] = (entry, None if pin is None else pinned_digest(pin.body))
        return found

    def secret_references(self) -> tuple[str, ...]:
        """Return the reference of every secret that any tool names, each once."""
        revision = self._store.read(lambda tables: tables.revision())
        with self._lock:
            own, moment = list(self._own.values()), (self.changes, revision)
            if self._references is not None and self._references[0] == moment:
                return self._references[1]
        found = dict.fromkeys(slot.ref for each in own for slot in each.tool.secret_slots)
        after = ""
        while rows := self._store.read(
            lambda tables, after=after: tables.list_documents(TOOLS, after=after, limit=1000)  # type: ignore[misc]
        ):
            found.update(dict.fromkeys(ref for row in rows for ref in slot_references(row.body)))
            after = rows[-1].id
        made = tuple(found)
        with self._lock:
            self._references = moment, made
        return made

    @property
    def moment(self) -> tuple[int, int]:
        """What moves with each change of this process, of an entry or of what runs it."""
        return self.changes, self._generation

    @property
    def search(self) -> Search:
        """The search index, made when first asked for."""
        from holon_core.catalogue.search import Search

        with self._lock:
            if self._search is None:
                self._search = Search(self, self._store, self._embedder)
            return self._search

    def close(self) -> None:
        """Free what searching made."""
        if self._search is not None:
            self._search.close()

    def page(self, *, after: str = "", limit: int = 50) -> list[Entry]:
        """Return up to ``limit`` entries after an id, in id order."""
        rows = self._store.read(
            lambda tables: tables.list_documents(TOOLS, after=after, limit=limit)
        )
        stored = {row.id: row.body for row in rows}
        with self._lock:
            start = bisect_right(self._order, after)
            own = {each: self._own[each] for each in self._order[start : start + limit]}
        chosen = sorted({*stored, *own})[:limit]
        return [own.get(each) or self._entry(stored[each]) for each in chosen]

    def __len__(self) -> int:
        return len(self._own) + self._store.read(lambda tables: tables.count_documents(TOOLS))
