"""Plugins as hosts see them (`rt.plugins`), and the guards that belong to a storage root."""

from __future__ import annotations

import json
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING

from attrs import frozen

from holon_core.errors import Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holon_core.clock import Clock
    from holon_core.plugins.manager import PluginManager
    from holon_core.store.protocol import Store, Tables

GUARDS = "holon.guards"


@frozen(kw_only=True)
class PluginState:
    """One plugin: whether it is active, who provides it, and what was found wrong."""

    name: str
    distribution: str
    version: str
    active: bool
    problems: tuple[str, ...] = ()


class Plugins:
    """What is loaded, what is not and why, and which guards are missing."""

    def __init__(
        self,
        manager: PluginManager | None,
        store: Store,
        clock: Clock,
        record: Callable[[Tables, str, dict[str, str]], None],
    ) -> None:
        self._manager = manager
        self._store = store
        self._clock = clock
        self._record = record
        self._missing: tuple[str, ...] = ()

    def list(self) -> tuple[PluginState, ...]:
        """Return every plugin, active or not, by distribution and name."""
        if self._manager is None:
            return ()
        faults: dict[str, list[str]] = {}
        inactive: dict[str, PluginState] = {}
        active = dict(self._manager.names())
        for bad in self._manager.quarantined:
            faults.setdefault(bad.name, []).extend(f.message for f in bad.findings)
            if bad.name not in active:
                inactive[bad.name] = PluginState(
                    name=bad.name,
                    distribution=bad.provenance.distribution,
                    version=bad.provenance.version,
                    active=False,
                    problems=tuple(faults[bad.name]),
                )
        found = [
            PluginState(
                name=name,
                distribution=origin.distribution,
                version=origin.version,
                active=True,
                problems=tuple(faults.get(name, ())),
            )
            for name, origin in active.items()
        ]
        return tuple(sorted([*found, *inactive.values()], key=lambda p: (p.distribution, p.name)))

    def missing_guards(self) -> tuple[str, ...]:
        """Name the guards that belong to this root and are absent; each denies every call."""
        return self._missing

    def settle_guards(self, active: Iterable[str], required: Sequence[str]) -> None:
        """Remember the guards that are active now, and find which of the earlier are gone.

        Args:
            active: Names of policies, reviewers, secret providers and required sinks.
            required: Names of plugins that the host or `holon.toml` requires.
        """
        now = int(self._clock.now())
        present = set(active)
        known = {d.id for d in self._store.read(lambda t: t.list_documents(GUARDS))}
        new = sorted(present - known)
        if new:
            body = json.dumps({"first_seen_unix_seconds": now}).encode()

            def remember(tables: Tables) -> None:
                for name in new:
                    if tables.document(GUARDS, name) is None:
                        tables.put_document(GUARDS, name, body, at=now)

            self._store.transact(remember)
        loaded = set() if self._manager is None else _names(self._manager)
        lacking = [name for name in required if name not in loaded]
        self._missing = tuple(sorted({*(known - present), *lacking}))

    def retire(self, guard: str, *, by: str, reason: str) -> None:
        """Let calls go on without a guard that belonged to this root; for an operator.

        Raises:
            Refused: ``not_held``: no such guard is missing.
        """

        def work(tables: Tables) -> None:
            if not tables.remove_document(GUARDS, guard, at=int(self._clock.now())):
                raise Refused(failure("conflict", f"no guard {guard} belongs to this root"))
            fields = {"by": quote(by), "reason": quote(reason), "guard": quote(guard)}
            self._record(tables, "guard_retired", fields)

        self._store.transact(work, full=True)
        self._missing = tuple(name for name in self._missing if name != guard)


def _names(manager: PluginManager) -> set[str]:
    active = manager.names()
    return {name for name, _ in active} | {origin.distribution for _, origin in active}
