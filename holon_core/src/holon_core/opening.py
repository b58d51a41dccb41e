"""Opening a runtime: its parts put together in order, and taken down in the reverse one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.catalogue.catalogue import Catalogue
from holon_core.catalogue.pins import Pins
from holon_core.catalogue.registry import Registry
from holon_core.catalogue.sources import Sources
from holon_core.clock import Clock, SystemClock
from holon_core.config.unsaid import settings_of
from holon_core.errors import StoreError
from holon_core.guard import recovery
from holon_core.guard.evidence import RUNTIME_CHAIN, Recorder
from holon_core.guard.guard import Guard
from holon_core.guard.policy import PolicyEngine
from holon_core.guard.redaction import Redactor
from holon_core.guard.retention import expire_payloads
from holon_core.guard.secrets import SecretResolver, builtin_providers
from holon_core.guard.services import CallServices
from holon_core.guard.sinks import SinkPump
from holon_core.guard.threads import Threads
from holon_core.guard.workspaces import Workspaces
from holon_core.ids import new_id
from holon_core.names import MAX_REASON
from holon_core.once import Once
from holon_core.parts import Parts
from holon_core.plugins.blocked import blocker
from holon_core.plugins.facet import Plugins
from holon_core.plugins.given import given
from holon_core.plugins.host import Behind
from holon_core.plugins.lanes import join
from holon_core.plugins.offers import gather, services_of
from holon_core.plugins.registering import Registering
from holon_core.plugins.services import Services
from holon_core.skills.parts import SkillParts
from holon_core.store.oslock import OsLock
from holon_core.store.ownership import open_to_others, tighten
from holon_core.store.protocol import StoreBusy
from holon_core.store.sqlite import SqliteStore
from holon_core.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holon_core.agents.facet import Agents
    from holon_core.config.records import Config, WorkspaceConfig
    from holon_core.config.workspace import WorkspaceConfigs
    from holon_core.frozen.facet import FrozenTools
    from holon_core.guard.approvals import Approvals
    from holon_core.guard.evidence_read import Evidence
    from holon_core.guard.panel import NamedPolicy
    from holon_core.plugins.lanes import Joined
    from holon_core.plugins.loader import Found
    from holon_core.plugins.manager import Offer, PluginManager
    from holon_core.plugins.offers import Offers
    from holon_core.records.dialect import FunctionDialect
    from holon_core.records.embedder import Embedder
    from holon_core.records.evidence import EvidenceRecord
    from holon_core.records.operation import Operation
    from holon_core.records.output import OutputClass
    from holon_core.store.chains import Row
    from holon_core.store.protocol import Tables


# Expired idempotency keys removed at one open, which stays quick.
PURGED_KEYS = 10_000


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
    settings = settings_of(root, os.environ, config or {})
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

    return find_installed(settings.plugins, given=given(plugins))


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

    def record(tables: Tables, kind: str, said: dict[str, str]) -> None:
        fields = {name: recorder.quoted(text, limit=MAX_REASON) for name, text in said.items()}
        tables.append(recorder.draft(RUNTIME_CHAIN, runtime_id, kind, fields))

    installed = _installed(settings, plugins) if discover else []
    behind = Behind(root, store, clock, settings.lanes)
    offered = gather(plugins, installed=installed, host=behind.host)
    behind.manager = offered.manager
    behind.services = Services(services_of(offered))
    loading = _loading(settings, discover=discover)
    facet = Plugins(offered.manager, store, clock, record, config=settings, loading=loading)
    facet.settle_guards(offered.guards, required, offered.failed)
    workspaces = Workspaces(store, clock, root)
    workspace_config = _workspace_configs(workspaces)
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
        blocker(
            joined, _active(offered.manager), skills.bound, _left_out(settings, discover=discover)
        ),
        bound=skills.bound,
        previews=skills.previews(),
        embedder=_embedder(offered),
    )
    if offered.manager is not None:
        behind.registering = Registering(
            offered.manager, registry, sources=sources, catalogue=catalogue
        )
    pump = SinkPump(store, sinks, clock=clock, to_record=_to_record, runtime_id=runtime_id)
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
    guard.skill_of = skills.skill_of
    guard.revision = store.read(lambda tables: tables.revision())
    if settings.retention_days is not None:
        oldest = int(clock.now()) - settings.retention_days * 86_400
        expire_payloads(store, recorder, before_unix_seconds=oldest)
    if sinks:
        # What an earlier runtime left undelivered does not wait for the first record of this one.
        pump.start()
    return Parts(
        guard=guard,
        tools=Tools(
            guard.catalogue,
            store=store,
            registry=registry,
            sources=sources,
            pinning=Pins(store, clock, record),
            frozen=_frozen(guard, joined, root),
        ),
        plugins=facet,
        approvals=lambda: _approvals(guard),
        evidence=lambda: _evidence(guard, root),
        skills=skills,
        agents=lambda: _agents(guard, offered),
        registry=registry,
        sources=sources,
        behind=behind,
        services=behind.services,
        operations=_operations(offered),
        root=root,
        lock=lock,
        app=app,
    )


def _approvals(guard: Guard) -> Approvals:
    from holon_core.guard.approvals import Approvals
    from holon_core.guard.drive import call

    return Approvals(guard, call)


def _evidence(guard: Guard, root: Path | None) -> Evidence:
    from holon_core.guard.evidence_read import Evidence

    return Evidence(guard.store, guard.recorder, root=root, sinks=guard.pump.state)


def _agents(guard: Guard, offered: Offers) -> Agents:
    from holon_core.agents.facet import Agents

    return Agents(guard, _dialects(offered))


def _to_record(row: Row) -> EvidenceRecord:
    from holon_core.guard.evidence_read import to_record

    return to_record(row)


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


def _frozen(guard: Guard, joined: Joined, root: Path | None) -> Callable[[], FrozenTools]:
    """Let the guard know frozen tools where a lane brings a kind of them, else when asked for."""

    def make() -> FrozenTools:
        from holon_core.frozen.opening import install
        from holon_core.guard.evidence_read import Evidence

        evidence = Evidence(guard.store, guard.recorder, root=root)
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


def _left_out(settings: Config, *, discover: bool) -> Callable[[str], str]:
    """Say why plugins of a distribution are not looked at; empty where they are."""
    from holon_core.plugins.loader import may_load

    def why(distribution: str) -> str:
        if not discover:
            return "discover=False leaves it out"
        if may_load(distribution, settings.plugins):
            return ""
        return f"the setting plugins ({settings.sources['plugins']}) leaves it out"

    return why


def _active(manager: PluginManager | None) -> frozenset[str]:
    return frozenset() if manager is None else frozenset(o.distribution for _, o in manager.names())


def _embedder(offered: Offers) -> Embedder | None:
    """Return the one whose name comes first."""
    named = [offer.item for offer in offered.embedders]
    return min(named, key=lambda each: str(getattr(each, "name", "")), default=None)


def _workspace_configs(workspaces: Workspaces) -> Callable[[str], WorkspaceConfig]:
    def make() -> WorkspaceConfigs:
        from holon_core.config.workspace import WorkspaceConfigs

        return WorkspaceConfigs(lambda workspace: Path(workspaces.read(workspace).root_path))

    configs = Once(make)

    def config(workspace: str) -> WorkspaceConfig:
        return configs()(workspace)

    return config


def _named(offer: Offer) -> NamedPolicy:
    owner = offer.provenance.distribution or offer.provenance.plugin
    from holon_core.guard.panel import NamedPolicy

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
