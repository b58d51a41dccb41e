"""The parts of an open runtime, and how they are closed."""

from __future__ import annotations

import contextlib
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from holon_core.errors import Rejected, StoreError
from holon_core.governed import Facet
from holon_core.guard import recovery
from holon_core.once import Once
from holon_core.records.finding import has_errors
from holon_core.records.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from holon_core.agents.facet import Agents
    from holon_core.catalogue.catalogue import Entry
    from holon_core.catalogue.registry import Registry
    from holon_core.catalogue.sources import Sources
    from holon_core.guard.approvals import Approvals
    from holon_core.guard.evidence_read import Evidence
    from holon_core.guard.guard import Guard
    from holon_core.operations.governing import Governing
    from holon_core.plugins.facet import Plugins
    from holon_core.plugins.host import Behind
    from holon_core.plugins.services import Services
    from holon_core.records.finding import Finding
    from holon_core.records.operation import Operation
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.skills.parts import SkillParts
    from holon_core.skills.registry import Skills
    from holon_core.store.oslock import OsLock
    from holon_core.tools import Tools
    from holon_core.workbench import Workbench

F = TypeVar("F", bound=Facet)
# How long a toolset of another framework may take to list its tools, as a source may.
LISTING_S = 5.0


class Parts:
    """All parts of one open runtime, and how they are closed.

    What a first call does not need is made when it is first asked for.
    """

    def __init__(
        self,
        *,
        guard: Guard,
        tools: Tools,
        plugins: Plugins,
        approvals: Callable[[], Approvals],
        evidence: Callable[[], Evidence],
        skills: SkillParts,
        agents: Callable[[], Agents],
        registry: Registry,
        sources: Sources,
        behind: Behind,
        services: Services,
        operations: Mapping[str, Operation],
        root: Path | None,
        lock: OsLock | None,
        app: str,
    ) -> None:
        self.guard = guard
        self.tools = tools
        self.plugins = plugins
        self._approvals = Once(lambda: self._governed(approvals()))
        self._evidence = Once(lambda: self._governed(evidence()))
        self._skills = skills
        self._agents = Once(agents)
        # Asked about the calls of callers with a profile, and for classes of output.
        guard.find_profiles = lambda: self.agents.sessions
        self.services = services
        self.operations = operations
        self.root = root
        self._registry = registry
        self._sources = sources
        self._behind = behind
        self._lock = lock
        self._app = app
        self._pid = os.getpid()
        behind.make_workbench = self._workbench
        guard.operating = self._through
        self._governed(tools)
        self._governed(plugins)
        self._governed(skills)
        self._governed(guard.workspaces)

    def _workbench(self, plugin: str) -> Workbench:
        from holon_core.workbench import Workbench

        live = None if self._lock is None else self._lock.path.parent
        return Workbench(
            self.guard,
            plugin,
            live=live,
            agents=lambda: self.agents,
            is_open=lambda: self._behind.is_open,
        )

    @property
    def approvals(self) -> Approvals:
        """Approvals and held calls."""
        return self._approvals()

    @property
    def evidence(self) -> Evidence:
        """Evidence."""
        return self._evidence()

    @property
    def skills(self) -> Skills:
        """Imported skills."""
        return self._skills.facet

    @property
    def agents(self) -> Agents:
        """Agents."""
        return self._agents()

    def _governed(self, facet: F) -> F:
        """Let a facet's operations go the way of the table."""
        facet.through = self._through
        return facet

    @cached_property
    def governing(self) -> Governing:
        """The way of operations with effects; made when one is first asked."""
        from holon_core.operations.governing import Governing

        return Governing(self.guard, self._app, self.operations)

    def _through(self, *args: Any, by: Any) -> Any:
        return self.governing.through(*args, by=by)

    def register(self, fn: Callable[..., Any], options: Mapping[str, Any]) -> RuntimeToolDescriptor:
        """Put a host function into the catalogue, unless a reviewer refuses it."""
        from holon_core.functions.host import entry_of

        return self._enter([entry_of(fn, self._app, options)])[0]

    def register_tools(
        self, tools: Any, *, effects: Any, context: Any, options: Mapping[str, Any]
    ) -> tuple[RuntimeToolDescriptor, ...]:
        """Put tools of other frameworks into the catalogue, unless a reviewer refuses one."""
        from holon_core.functions.foreign.entries import entries_of

        self.guard.threads.refuse_on_loop()
        made = entries_of(
            tools,
            self._app,
            effects=effects,
            context=context,
            options=options,
            run=lambda work: self.guard.threads.run_on_loop(work).result(LISTING_S),
            taken=self._function_of,
        )
        return Listing(self._enter(made))

    def _function_of(self, tool_id: str) -> bool:
        """Tell whether an id is of one of the host's own functions."""
        from holon_core.functions.foreign.records import ForeignExecutor

        entry = self.guard.catalogue.get(tool_id)
        return entry is not None and not isinstance(entry.executor, ForeignExecutor)

    def _enter(
        self, made: Sequence[tuple[Entry, tuple[Finding, ...]]]
    ) -> list[RuntimeToolDescriptor]:
        """Have all reviewed, and put either all into the catalogue or none."""
        catalogue = self.guard.catalogue
        reviewed = []
        for entry, findings in made:
            tool, before = entry.tool, catalogue.get(entry.tool.id)
            previous = None if before is None else before.tool
            if previous is None or previous.digest != tool.digest:
                findings += self._registry.review(tool, previous)
                if has_errors(findings):
                    raise Rejected(tool.id, findings)
            reviewed.append((entry, findings, previous))
        for entry, findings, previous in reviewed:
            catalogue.put(entry)
            changed = previous is not None and previous.digest != entry.tool.digest
            self.tools.note(entry.tool.id, findings, previous if changed else None)
        return [entry.tool for entry, _ in made]

    def opened(self) -> None:
        """Open the hosts of plugins, and tell them."""
        self._behind.is_open = True
        self._tell("holon_runtime_opened")

    def _tell(self, hook: str) -> None:
        if self._behind.manager is not None:
            self._behind.manager.tell(hook, self._behind.host)

    def same_process(self) -> bool:
        """Tell whether this is the process that opened the runtime."""
        return os.getpid() == self._pid

    def close(self) -> tuple[str, ...]:
        """Close in the reverse order of opening; return threads that cannot be ended."""
        guard = self.guard
        if not self.same_process():
            return ()
        if self._behind.is_open:
            self._tell("holon_runtime_closing")
            self._behind.is_open = False
        left = [*guard.threads.close(), *guard.policy.close(), *guard.pump.close()]
        left += self._sources.close()
        live = None if self._lock is None else self._lock.path.parent
        # Where the store fails, the next open finds the same calls and marks them.
        with contextlib.suppress(StoreError):
            recovery.close_interrupted(
                guard.store, guard.recorder, live, own=guard.runtime_id, closing=True
            )
        guard.catalogue.close()
        guard.store.close()
        if self._lock is not None:
            self._lock.release(remove=True)
        return tuple(left)
