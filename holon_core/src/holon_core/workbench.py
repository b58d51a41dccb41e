"""What a plugin needs that runs work of its own: changes, leases, evidence, callers' sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from holon_core.guard import recovery
from holon_core.guard.evidence import RUNTIME_CHAIN
from holon_core.guard.idempotency import stored_name
from holon_core.session import Session
from holon_core.store.oslock import is_held

if TYPE_CHECKING:
    from holon_core.agents.facet import Agents
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.approval import ApprovalRecord, HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.secret import SecretValue
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.chains import Draft
    from holon_core.store.protocol import Tables

T = TypeVar("T")
# Leases end with the process of their holder, not by time: clocks are set, and processes sleep.
_FOR_EVER = 2.0**52


class View:
    """A consistent look at a plugin's documents, as JSON; only inside ``read`` or ``change``."""

    def __init__(self, tables: Tables, scope: str) -> None:
        self._tables = tables
        self._scope = scope

    def get(self, collection: str, doc_id: str) -> Any:
        """Return a document, or ``None``."""
        found = self._tables.document(self._scope + collection, doc_id)
        return None if found is None else json.loads(found.body)

    def under(
        self, collection: str, prefix: str = "", *, after: str = "", limit: int = 1000
    ) -> list[tuple[str, Any]]:
        """Return documents whose id begins with a prefix, by id, after a given id."""
        rows = self._tables.documents_under(
            self._scope + collection, prefix, after=after, limit=limit
        )
        return [(row.id, json.loads(row.body)) for row in rows]

    def every(self, collection: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Go through all documents whose id begins with a prefix, by id, however many."""
        after = ""
        while True:
            rows = self.under(collection, prefix, after=after)
            if not rows:
                return
            yield from rows
            after = rows[-1][0]

    def lease(self, name: str) -> tuple[str, int] | None:
        """Return who holds a lease and its fencing number; ``None`` where nobody does."""
        found = self._tables.lease(self._scope + name)
        return None if found is None or not found[2] else (found[0], found[1])


class Change(View):
    """A change of a plugin's documents, leases and evidence: all of it, or nothing."""

    def __init__(self, tables: Tables, scope: str, at: int) -> None:
        super().__init__(tables, scope)
        self._at = at
        self.recorded = False

    def put(self, collection: str, doc_id: str, value: Any) -> None:
        """Store a document in place of the one before, which is not kept."""
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        self._tables.set_document(self._scope + collection, doc_id, body, at=self._at)

    def remove(self, collection: str, doc_id: str) -> None:
        """Remove a document; nothing of it is kept."""
        self._tables.delete_document(self._scope + collection, doc_id)

    def record(self, draft: Draft) -> int:
        """Append a record of evidence; return its position in the chain."""
        self.recorded = True
        return self._tables.append(draft)

    def take_lease(self, name: str, owner: str, *, lives: Callable[[str], bool]) -> int | None:
        """Take a lease, also from a holder that lives no more.

        Args:
            name: Of the lease.
            owner: Who takes it.
            lives: Tells whether a holder still lives.

        Returns:
            Its fencing number, which rises each time that it changes hands; ``None`` where
            another holds it.
        """
        tables, name = self._tables, self._scope + name
        found = tables.lease(name)
        if found is None:
            return tables.take_lease(name, owner, now=0, ttl_s=_FOR_EVER)
        holder, _, expires_at = found
        if expires_at and holder != owner and lives(holder):
            return None
        if expires_at and holder != owner:
            tables.drop_lease(name, holder)
        return tables.take_lease(name, owner, now=1, ttl_s=_FOR_EVER)

    def drop_lease(self, name: str, owner: str) -> None:
        """Give a lease back; nothing happens where another holds it."""
        self._tables.drop_lease(self._scope + name, owner)


class Workbench:
    """Documents, evidence, leases and calls for a plugin that runs work of its own.

    Args:
        guard: The parts.
        plugin: Whose.
        live: The folder of runtimes' locks; ``None`` in memory.
        agents: For sessions.
        is_open: Whether the runtime is.
    """

    def __init__(
        self,
        guard: Guard,
        plugin: str,
        *,
        live: Path | None,
        agents: Callable[[], Agents],
        is_open: Callable[[], bool],
    ) -> None:
        self._guard = guard
        self._scope = f"plugin:{plugin}:"
        self._live = live
        self._agents = agents
        self._is_open = is_open
        self.runtime_id = guard.runtime_id

    @property
    def key_ttl_s(self) -> float:
        """How long an idempotency key lives, in seconds."""
        return self._guard.config.key_ttl_s

    @property
    def closing(self) -> bool:
        """Whether the runtime closes: no further call begins, and those that run are ended."""
        return self._guard.running.closing

    @property
    def operator(self) -> str | None:
        """The one person of a runtime opened for one, who may decide about own calls."""
        return self._guard.operator

    def output_class(self, class_id: str) -> Mapping[str, Any] | None:
        """Return the schema of a class of structured outputs."""
        found = {each.id: each for each in self._guard.outputs.list()}.get(class_id)
        return None if found is None else found.schema

    def read(self, work: Callable[[View], T]) -> T:
        """Run ``work`` on a consistent view; it may be called again."""
        return self._guard.store.read(lambda tables: work(View(tables, self._scope)))

    def change(self, work: Callable[[Change], T], *, full: bool = False) -> T:
        """Run ``work`` in one transaction; it may be called again where the store was busy.

        Raises:
            StoreError: The store does not answer; nothing was changed.
        """
        at = int(self._guard.clock.now())
        made: list[Change] = []

        def once(tables: Tables) -> T:
            made[:] = [Change(tables, self._scope, at)]
            return work(made[0])

        done = self._guard.store.transact(once, full=full)
        if made[0].recorded:
            self._guard.pump.notify()
        return done

    def together(self, work: Callable[[], T]) -> T:
        """Run ``work`` as one change: what it stores in this thread is kept whole, or not at all.

        That is all of a runtime: documents, sources that are registered, skills, evidence. Every
        other writer waits meanwhile, so that nothing slow belongs into it.

        Args:
            work: May be called again where the store was busy.

        Raises:
            StoreError: The store does not answer; nothing was changed.
        """
        guard = self._guard
        try:
            return guard.store.together(work)
        finally:
            # What was read of it meanwhile may have come to nothing.
            guard.learn(-1)

    def draft(
        self,
        caller: CallerContext,
        call_id: str,
        kind: str,
        fields: Mapping[str, Any],
        *,
        payload: Any = None,
    ) -> Draft:
        """Make a record of evidence in the chain of a caller's workspace: redacted, bounded.

        Args:
            caller: In whose name; of the workspace's principals, else it goes to ``_runtime``.
            call_id: Under which id it is read.
            kind: What happened.
            fields: Of the record's body: small JSON values.
            payload: JSON that may be erased by retention; ``None`` for none.
        """
        recorder = self._guard.recorder
        made = {name: recorder.safe_json(value) for name, value in fields.items()}
        made["caller"] = recorder.caller(caller)
        made["host"] = recorder.host_fragment()
        body = None if payload is None else recorder.safe_payload(payload, None, None)
        return recorder.draft(self._chain(caller), call_id, kind, made, payload=body)

    def _chain(self, caller: CallerContext) -> str:
        return RUNTIME_CHAIN if caller.workspace is None else caller.workspace

    def session(
        self, caller: CallerContext, *, begun: Callable[[Attempt], None] | None = None
    ) -> Session:
        """Open the door for a caller whose work goes on; ``begun`` is shown each attempt."""
        return Session(self._guard, caller, self._is_open, begun=begun, agents=self._agents)

    def tool(self, tool_id: str) -> RuntimeToolDescriptor | None:
        """Return a tool of the catalogue."""
        self._guard.learn(self._guard.revision)
        entry = self._guard.catalogue.get(tool_id)
        return None if entry is None else entry.tool

    def unknown_tool(
        self, tool_id: str, *, caller: CallerContext | None = None
    ) -> StructuredFailure:
        """Make the failure for a tool that is not there, with the closest names.

        Args:
            tool_id: What was asked for.
            caller: Who is told; without one, names of every workspace's tools.
        """
        from holon_core.catalogue.unknown import unknown_tool
        from holon_core.guard.elsewhere import seen_workspace

        seen = None if caller is None else seen_workspace(self._guard, caller)
        return unknown_tool(self._guard.catalogue, tool_id, seen, sees_all=caller is None)

    def held(self, call_id: str) -> tuple[HeldCall, ApprovalRecord] | None:
        """Return a held call with its approval, whatever became of them."""

        def work(tables: Tables) -> tuple[HeldCall, ApprovalRecord] | None:
            held = tables.held(call_id)
            approval = None if held is None else tables.approval(held.approval_id)
            return None if held is None or approval is None else (held, approval)

        return self._guard.store.read(work)

    def withdraw(self, call_id: str, *, by: str, reason: str) -> bool:
        """Take a held call back whose work has ended: nobody can release it after.

        Its approval is revoked where no other call waits for it; another call of the same
        payload is held anew.

        Args:
            call_id: Of the held call.
            by: Who takes it back.
            reason: Why, for the record.

        Returns:
            Whether it was still held.
        """
        from holon_core.guard.withdrawing import withdraw

        return withdraw(self._guard, call_id, by=by, reason=reason)

    def through(
        self,
        method: str,
        params: Mapping[str, Any],
        work: Callable[[], T],
        /,
        *,
        by: str | CallerContext | None,
    ) -> T:
        """Do an operation of this plugin, called from Python, as all are done; see ``Facet``."""
        return self._guard.through(method, params, work, by=by)

    def free_interrupted(self, caller: CallerContext, tool: str, key: str) -> None:
        """Let a key be used again whose call was interrupted, for what may be repeated safely."""
        name = stored_name(caller, tool, key)
        self._guard.store.transact(lambda tables: tables.free_interrupted(name))

    def settle_interrupted(self) -> int:
        """Mark the calls of processes that died meanwhile as interrupted; return how many."""
        guard = self._guard
        return recovery.close_interrupted(
            guard.store, guard.recorder, self._live, own=guard.runtime_id
        )

    def lives(self, runtime_id: str) -> bool:
        """Tell whether a runtime of this storage root still runs, in whatever process."""
        if runtime_id == self.runtime_id:
            return True
        return self._live is not None and is_held(self._live / runtime_id)

    def secret(self, ref: str) -> SecretValue | StructuredFailure:
        """Fetch a secret by reference; from then on it is redacted everywhere."""
        found = self._guard.secrets.fetch(ref)
        reveal = getattr(found, "reveal", None)
        if reveal is not None:
            self._guard.redactor.register(ref, reveal())
        return found

    def clean(self, value: Any) -> Any:
        """Return a JSON value without the secrets that this runtime fetched."""
        redactor = self._guard.redactor
        return redactor.value(value) if redactor.active else value
