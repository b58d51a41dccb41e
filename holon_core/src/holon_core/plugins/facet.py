"""Plugins as hosts see them (`rt.plugins`), and the guards that belong to a storage root."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holon_core.errors import Refused
from holon_core.governed import Facet, operation
from holon_core.names import required_name, required_text
from holon_core.records.failure import failure
from holon_core.records.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holon_core.clock import Clock
    from holon_core.config.records import Config
    from holon_core.plugins.manager import PluginManager
    from holon_core.records.plugin_state import PluginState
    from holon_core.store.protocol import Store, Tables

GUARDS = "holon.guards"
MAX_GUARDS = 10_000


class Plugins(Facet):
    """What is loaded, what is not and why, and which guards are missing.

    ``config`` are the settings in force, of which plugins may load among them, and where each
    comes from. ``loading`` says which installed plugins were looked at.
    """

    def __init__(
        self,
        manager: PluginManager | None,
        store: Store,
        clock: Clock,
        record: Callable[[Tables, str, dict[str, str]], None],
        *,
        config: Config,
        loading: str = "all",
    ) -> None:
        self.config = config
        self.loading = loading
        self._manager = manager
        self._store = store
        self._clock = clock
        self._record = record
        self._present: frozenset[str] = frozenset()
        self._lacking: tuple[str, ...] = ()
        self._required: frozenset[str] = frozenset()
        self._missing: tuple[str, ...] = ()

    def list(self) -> tuple[PluginState, ...]:
        """Return every plugin, active or not, by distribution and name."""
        from holon_core.records.plugin_state import PluginState

        if self._manager is None:
            return Listing()
        active = {(origin.distribution, name) for name, origin in self._manager.names()}
        versions = {(o.distribution, name): o.version for name, o in self._manager.names()}
        problems: dict[tuple[str, str], list[str]] = {each: [] for each in active}
        for bad in self._manager.quarantined:
            key = bad.provenance.distribution, bad.name
            versions.setdefault(key, bad.provenance.version)
            problems.setdefault(key, []).extend(finding.message for finding in bad.findings)
        old: dict[tuple[str, str], list[str]] = {}
        for name, origin, text in self._manager.deprecations():
            old.setdefault((origin.distribution, name), []).append(text)
        return Listing(
            PluginState(
                name=key[1],
                distribution=key[0],
                version=versions[key],
                active=key in active,
                problems=tuple(dict.fromkeys(problems[key])),
                deprecations=tuple(old.get(key, ())),
            )
            for key in sorted(problems)
        )

    def missing_guards(self) -> tuple[str, ...]:
        """Name the guards that belong to this root and are absent; each denies every call."""
        if self._missing:
            # Another process may have retired one; a denied call has the time to look.
            self.reread()
        return self._missing

    def remedy(self, guard: str) -> str:
        """Say what lets calls go on without a missing guard, by what makes it one.

        Args:
            guard: Its name, as ``missing_guards`` gives it.
        """
        if guard in self._known():
            return "install it again, or have an operator retire it"
        if guard not in self._required:
            return "repair or uninstall the plugin: the list of plugins says what it raised"
        named = guard in self.config.required_plugins
        place = self.config.sources["required_plugins"] if named else "given by the program"
        from holon_core.nearest import nearest

        near = nearest(guard, () if self._manager is None else sorted(_names(self._manager)))
        return f"install the plugin {guard}, or correct required_plugins ({place}){near}"

    def unmatched(self) -> tuple[str, ...]:
        """Name what ``plugins`` lets in and no installed distribution with plugins is called."""
        if not self.config.plugins:
            return ()
        from holon_core.plugins.loader import ALL_FIRST_PARTY
        from holon_core.plugins.metadata import installed

        here = {ALL_FIRST_PARTY, *(each.name for each in installed())}
        return tuple(name for name in self.config.plugins if name not in here)

    def settle_guards(
        self, active: Iterable[str], required: Sequence[str], failed: Sequence[str] = ()
    ) -> None:
        """Remember the guards that are active now, and find which of the earlier are gone.

        Args:
            active: Names of policies, reviewers, secret providers and required sinks.
            required: Names of plugins that the host or `holon.toml` requires.
            failed: Names of guards that are here and could not be had.
        """
        now = int(self._clock.now())
        self._present = frozenset(active)
        loaded = set() if self._manager is None else _names(self._manager)
        self._required = frozenset(required)
        self._lacking = (*failed, *(name for name in required if name not in loaded))
        new = sorted(self._present - self._known())
        if new:
            body = json.dumps({"first_seen_unix_seconds": now}).encode()

            def remember(tables: Tables) -> None:
                for name in new:
                    tables.put_document(GUARDS, name, body, at=now)
                # Whoever opened this root without them notices at its next call.
                tables.bump_revision()

            self._store.transact(remember)
        self.reread()

    def reread(self) -> None:
        """Look again which guards belong to this root, after another process changed them."""
        self._missing = tuple(sorted({*(self._known() - self._present), *self._lacking}))

    def _known(self) -> set[str]:
        rows = self._store.read(lambda tables: tables.list_documents(GUARDS, limit=MAX_GUARDS))
        return {row.id for row in rows}

    @operation("plugin/retire")
    def retire(self, guard: str, *, by: str, reason: str) -> None:
        """Let calls go on without a guard that belonged to this root; for an operator.

        Args:
            guard: Its name, as ``missing_guards`` gives it.
            by: The operator.
            reason: Why; both are kept in evidence.

        Raises:
            Refused: ``unknown_guard``: it does not belong to this root: what
                ``required_plugins`` names is taken out there; ``guard_active``.
        """
        required_name(by, "by")
        required_text(reason, "reason")
        required_text(guard, "guard")
        if guard in self._present:
            raise Refused(failure("guard_active", f"the guard {guard} is active"))

        unknown = f"no guard {guard} belongs to this root"
        if guard in self.missing_guards() and guard not in self._known():
            unknown += f", and calls are denied for it all the same; {self.remedy(guard)}"

        def work(tables: Tables) -> None:
            if not tables.remove_document(GUARDS, guard, at=int(self._clock.now())):
                raise Refused(failure("unknown_guard", unknown))
            said = {"by": by, "reason": reason, "guard": guard}
            self._record(tables, "guard_retired", said)

        self._store.transact(work, full=True)
        self.reread()


def _names(manager: PluginManager) -> set[str]:
    active = manager.names()
    return {name for name, _ in active} | {origin.distribution for _, origin in active}
