"""Opening a runtime: its parts put together in order, and taken down in the reverse one."""

from __future__ import annotations

import contextlib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.agents.facet import Agents
from holon_core.catalogue.catalogue import Catalogue
from holon_core.catalogue.pins import Pins
from holon_core.catalogue.registry import Registry
from holon_core.catalogue.sources import Sources
from holon_core.clock import Clock, SystemClock
from holon_core.config import WorkspaceConfigs, load
from holon_core.errors import Rejected, StoreError
from holon_core.guard import recovery
from holon_core.guard.approvals import Approvals
from holon_core.guard.evidence import RUNTIME_CHAIN, Recorder
from holon_core.guard.evidence_read import Evidence, to_record
from holon_core.guard.guard import Guard
from holon_core.guard.panel import NamedPolicy
from holon_core.guard.policy import PolicyEngine
from holon_core.guard.redaction import Redactor
from holon_core.guard.retention import expire_payloads
from holon_core.guard.secrets import SecretResolver, builtin_providers
from holon_core.guard.services import CallServices
from holon_core.guard.sinks import SinkPump
from holon_core.guard.threads import Threads
from holon_core.guard.workspaces import Workspaces
from holon_core.ids import new_id
from holon_core.plugins.blocked import blocker
from holon_core.plugins.facet import Plugins
from holon_core.plugins.host import Behind
from holon_core.plugins.lanes import join
from holon_core.plugins.offers import gather, given_names, services_of
from holon_core.plugins.registering import Registering
from holon_core.plugins.services import Services
from holon_core.records.finding import has_errors
from holon_core.records.listing import Listing
from holon_core.skills.parts import SkillParts
from holon_core.store.oslock import OsLock
from holon_core.store.ownership import open_to_others, tighten
from holon_core.store.protocol import StoreBusy
from holon_core.store.sqlite import SqliteStore
from holon_core.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holon_core.catalogue.catalogue import Entry
    from holon_core.config import Config
    from holon_core.frozen.facet import FrozenTools
    from holon_core.operations.governing import Governing
    from holon_core.plugins.lanes import Joined
    from holon_core.plugins.loader import Found
    from holon_core.plugins.manager import Offer, PluginManager
    from holon_core.plugins.offers import Offers
    from holon_core.records.dialect import FunctionDialect
    from holon_core.records.embedder import Embedder
    from holon_core.records.finding import Finding
    from holon_core.records.operation import Operation
    from holon_core.records.output import OutputClass
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.protocol import Tables
    from holon_core.workbench import Workbench


# Expired idempotency keys removed at one open, which stays quick.
PURGED_KEYS = 10_000
# How long a toolset of another framework may take to list its tools, as a source may.
LISTING_S = 5.0


class Parts:
    """All parts of one open runtime, and how they are closed."""

    def __init__(
        self,
        *,
        guard: Guard,
        approvals: Approvals,
        evidence: Evidence,
        tools: Tools,
        plugins: Plugins,
        skills: SkillParts,
        registry: Registry,
        sources: Sources,
        behind: Behind,
        services: Services,
        operations: Mapping[str, Operation],
        agents: Agents,
        root: Path | None,
        lock: OsLock | None,
        app: str,
    ) -> None:
        self.guard = guard
        self.approvals = approvals
        self.evidence = evidence
        self.tools = tools
        self.plugins = plugins
        self.skills = skills
        self.services = services
        self.operations = operations
        self.agents = agents
        self.root = root
        self._registry = registry
        self._sources = sources
        self._behind = behind
        self._lock = lock
        self._app = app
        self._pid = os.getpid()
        behind.make_workbench = self._workbench
        for facet in (approvals, evidence, plugins, skills, guard.workspaces):
            facet.through = self._through

    def _workbench(self, plugin: str) -> Workbench:
        from holon_core.workbench import Workbench

        live = None if self._lock is None else self._lock.path.parent
        return Workbench(
            self.guard, plugin, live=live, agents=self.agents, is_open=lambda: self._behind.is_open
        )

    @cached_property
    def governing(self) -> Governing:
        """The way of operations with effects; made when one is first asked."""
        from holon_core.operations.governing import Governing

        return Governing(self.guard, self._app)

    def _through(self, *args: Any, by: str | None) -> Any:
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


def open_parts(
    root: Path | None,
    *,
    app: str,
    plugins: Sequence[object],
    discover: bool,
    required_plugins: Sequence[str],
    operator: str | None,
    clock: Clock | None,
    config: Mapping[str, Any] | None,
) -> Parts:
    """Open all parts of a runtime; see ``Runtime.open``."""
    clock = clock or SystemClock()
    if root is not None:
        root = _make_root(root)
    settings = load(root, os.environ, overrides=config or {})
    store = SqliteStore(None if root is None else root / "holon.db", journal=settings.store_journal)
    with contextlib.ExitStack() as undo:
        undo.callback(store.close)
        parts = _assemble(
            root,
            store,
            app=app,
            plugins=plugins,
            discover=discover,
            required=(*required_plugins, *settings.required_plugins),
            operator=operator,
            clock=clock,
            settings=settings,
            undo=undo,
        )
        undo.pop_all()
    return parts


def _make_root(root: Path) -> Path:
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        (root / "live").mkdir(exist_ok=True, mode=0o700)
        tighten(root / "live")
    except OSError as error:
        raise StoreError(
            "store_unavailable", f"the storage root {root} cannot be made: {error.strerror}"
        ) from error
    root = root.resolve()
    found = open_to_others(root)
    if found:
        from holon_core import logs

        logs.LOGGER.warning("%s", "; ".join(("the storage root is not its user's alone", *found)))
    return root


def _installed(settings: Config, plugins: Sequence[object]) -> list[Found]:
    from holon_core.plugins.loader import find_installed

    return find_installed(settings.plugins, given=given_names(plugins))


def _core_version() -> str:
    from holon_core.plugins.loader import core_version

    return core_version() or ""


def _assemble(
    root: Path | None,
    store: SqliteStore,
    *,
    app: str,
    plugins: Sequence[object],
    discover: bool,
    required: Sequence[str],
    operator: str | None,
    clock: Clock,
    settings: Any,
    undo: contextlib.ExitStack,
) -> Parts:
    runtime_id = new_id("r")
    lock = None if root is None else _own_lock(root / "live", runtime_id)
    if lock is not None:
        undo.callback(lock.release, remove=True)
    store.read(lambda tables: tables.check_heads())
    redactor = Redactor()
    recorder = Recorder(clock, redactor, _host_facts())
    recovery.close_interrupted(
        store, recorder, None if root is None else root / "live", own=runtime_id
    )
    if root is not None:
        recovery.sweep_locks(root / "live", own=runtime_id)
    now = int(clock.now())
    # Not waited for: where others write at this moment, the next open does it.
    with contextlib.suppress(StoreBusy, StoreError):
        store.transact(lambda tables: tables.purge_keys(now, limit=PURGED_KEYS), wait=False)

    def record(tables: Tables, kind: str, fields: dict[str, str]) -> None:
        tables.append(recorder.draft(RUNTIME_CHAIN, runtime_id, kind, fields))

    installed = _installed(settings, plugins) if discover else []
    behind = Behind(root, store, clock, settings.lanes)
    offered = gather(plugins, installed=installed, host=behind.host)
    behind.manager = offered.manager
    behind.services = Services(services_of(offered))
    loading = _loading(settings, discover=discover)
    facet = Plugins(offered.manager, store, clock, record, loading=loading)
    facet.settle_guards(offered.guards, required, offered.failed)
    workspaces = Workspaces(store, clock, root)
    workspace_config = WorkspaceConfigs(lambda wid: Path(workspaces.read(wid).root_path))
    policy = PolicyEngine(
        rules=settings.rules,
        plugin_policies=[_named(offer) for offer in offered.policies],
        workspace_config=workspace_config,
        missing_guards=facet.missing_guards,
    )
    providers = builtin_providers(None if root is None else root / "secrets")
    providers += tuple(offer.item for offer in offered.secret_providers)
    sinks = [offer.item for offer in offered.sinks]
    joined = join(offered, in_memory=root is None)
    registry = Registry(
        store,
        clock,
        lanes=joined.lanes,
        reviewers=[] if offered.manager is None else offered.manager.reviewers(),
        limits=settings.limits,
    )
    sources = Sources(
        registry,
        joined.sources,
        complete=joined.complete,
        core=_core_version() if joined.sources else "",
    )
    sources.read()
    behind.skills = skills = SkillParts(joined, registry, record)
    catalogue = Catalogue(
        store,
        joined.executors,
        blocker(joined, _active(offered.manager), skills.bound),
        bound=skills.bound,
        previews=skills.previews(),
        embedder=_embedder(offered),
    )
    if offered.manager is not None:
        behind.registering = Registering(
            offered.manager, registry, sources=sources, catalogue=catalogue
        )
    pump = SinkPump(store, sinks, clock=clock, to_record=to_record, runtime_id=runtime_id)
    guard = Guard(
        store=store,
        clock=clock,
        config=settings,
        catalogue=catalogue,
        policy=policy,
        secrets=SecretResolver(providers, settings.secrets),
        redactor=redactor,
        recorder=recorder,
        workspaces=workspaces,
        workspace_config=workspace_config,
        services=CallServices(store, redactor),
        threads=Threads(),
        pump=pump,
        gates=skills.gates_by_lane(),
        runtime_id=runtime_id,
        operator=operator,
        on_change=lambda: _reread(facet, skills),
        output_classes=_output_classes(offered),
    )
    skills.changed = guard.catalogue.forget
    guard.revision = store.read(lambda tables: tables.revision())
    if settings.retention_days is not None:
        oldest = int(clock.now()) - settings.retention_days * 86_400
        expire_payloads(store, recorder, before_unix_seconds=oldest)
    if sinks:
        # What an earlier runtime left undelivered does not wait for the first record of this one.
        pump.start()
    from holon_core.guard.drive import call

    return Parts(
        guard=guard,
        approvals=Approvals(guard, call),
        evidence=Evidence(store, recorder, root=root, sinks=pump.state),
        tools=Tools(
            guard.catalogue,
            store=store,
            registry=registry,
            sources=sources,
            pinning=Pins(store, clock, record),
            frozen=_frozen(guard, Evidence(store, recorder, root=root), joined, root),
        ),
        plugins=facet,
        skills=skills,
        registry=registry,
        sources=sources,
        behind=behind,
        services=behind.services,
        operations=_operations(offered),
        agents=Agents(guard, _dialects(offered)),
        root=root,
        lock=lock,
        app=app,
    )


def _operations(offered: Offers) -> Mapping[str, Operation]:
    """Join what plugins offer as operations, by method."""
    if not offered.operations:
        return {}
    from holon_core.operations.offered import join_operations

    return join_operations(offered)


def _dialects(offered: Offers) -> Sequence[FunctionDialect]:
    """Join what plugins offer as dialects of function calling."""
    if not offered.dialects:
        return ()
    from holon_core.plugins.output_offers import join_dialects

    return join_dialects(offered)


def _output_classes(offered: Offers) -> Sequence[OutputClass]:
    """Join what plugins offer as classes of structured output."""
    if not offered.output_classes:
        return ()
    from holon_core.plugins.output_offers import join_output_classes

    return join_output_classes(offered)


def _frozen(
    guard: Guard, evidence: Evidence, joined: Joined, root: Path | None
) -> Callable[[], FrozenTools]:
    """Let the guard know frozen tools where a lane brings a kind of them, else when asked for."""

    def make() -> FrozenTools:
        from holon_core.frozen.opening import install

        return install(guard, evidence, joined.frozen_kinds, root)

    made = make() if joined.frozen_kinds else None
    return lambda: made or make()


def _reread(facet: Plugins, skills: SkillParts) -> None:
    """Look anew, after another process changed what belongs to the root."""
    facet.reread()
    skills.forget()


def _loading(settings: Config, *, discover: bool) -> str:
    """Say which installed plugins are looked at, and who says so."""
    if not discover:
        return "off (discover=False)"
    if settings.plugins is None:
        return "all"
    by = settings.sources["plugins"]
    return f"{', '.join(settings.plugins)} alone ({by})" if settings.plugins else f"off ({by})"


def _active(manager: PluginManager | None) -> frozenset[str]:
    return frozenset() if manager is None else frozenset(o.distribution for _, o in manager.names())


def _embedder(offered: Offers) -> Embedder | None:
    """Return the one whose name comes first."""
    named = [offer.item for offer in offered.embedders]
    return min(named, key=lambda each: str(getattr(each, "name", "")), default=None)


def _named(offer: Offer) -> NamedPolicy:
    owner = offer.provenance.distribution or offer.provenance.plugin
    return NamedPolicy(name=offer.item.name, distribution=owner, evaluate=offer.item.evaluate)


def _own_lock(live: Path, runtime_id: str) -> OsLock:
    """Take this runtime's lock, on a file that another process did not sweep away meanwhile."""
    while True:
        lock = OsLock(live / runtime_id)
        if lock.try_acquire() and lock.is_current():
            return lock
        lock.release()


def _host_facts() -> dict[str, str]:
    """Say what evidence keeps of the process: the operating system's user, and its terminal."""
    import getpass
    import sys

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(getattr(os, "getuid", lambda: "unknown")())
    terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    return {"os_user": user, "terminal": "yes" if terminal else "no"}
