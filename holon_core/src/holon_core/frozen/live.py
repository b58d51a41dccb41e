"""Live calls of frozen tools: the gate, the executor, and what stands around a call."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from holon_core.catalogue.catalogue import Entry
from holon_core.errors import HolonError
from holon_core.frozen.circuit import (
    DRIFT_KINDS,
    Watch,
    is_due,
    is_suspect,
    open_circuit,
    settle_probe,
)
from holon_core.frozen.fixtures import run_fixtures
from holon_core.guard.execute import failed
from holon_core.guard.results import refs
from holon_core.records.caller import CallerContext
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.fallback import FallbackKind, FallbackOffer
from holon_core.records.frozen import RUNNING_STATES, FrozenState, FrozenToolRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holon_core.frozen.kinds import Kinds
    from holon_core.frozen.store import FrozenStore
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.gate import GateCall
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import RuntimeToolDescriptor

MAX_KNOWN = 512
RUNNING = frozenset(state.value for state in RUNNING_STATES)
PROBE_TTL_S = 300.0
NEXT_ACTIONS = {
    FallbackKind.AI: "have the model named do the work, with these arguments, and check it",
    FallbackKind.MANUAL: "hand the work, with these arguments, to whom it names",
    FallbackKind.REGENERATION: "have the tool made anew, from its record, as a new version",
}


def _prover(record: FrozenToolRecord) -> CallerContext:
    """Return on whose behalf fixtures are run: of who proved the tool, never of who calls it.

    So nothing that policy says of a caller, and no budget of it, makes a tool look broken.
    """
    run = record.validation
    by = record.proposed_by if run is None else run.by
    return CallerContext(principal=by, workspace=record.workspace)


class Live:
    """Everything of frozen tools that a guarded call meets.

    Args:
        guard: The parts.
        records: Where the tools are.
        kinds: What runs them.
    """

    def __init__(self, guard: Guard, records: FrozenStore, kinds: Kinds) -> None:
        self._guard, self._records, self._kinds = guard, records, kinds
        self._known: OrderedDict[tuple[str, str], FrozenToolRecord] = OrderedDict()

    def entry(self, tool: RuntimeToolDescriptor) -> Entry | None:
        """Make the catalogue's entry of a frozen tool; ``None`` where its kind is not here."""
        if self._kinds.get(tool.lane) is None:
            return None
        confines = self._kinds.confines(tool.lane)
        made = Entry(tool, self, self_limiting=True, confines=confines)
        record = self._record(tool)
        deterministic = record is not None and record.definition.deterministic
        made.settle = Watch(self._guard, deterministic=deterministic)
        if tool.lifecycle == FrozenState.DEPRECATED:
            made.notices = (f"{tool.id} is deprecated; move to the active version of its name",)
        return made

    def gate(self, seen: GateCall) -> Iterator[StructuredFailure]:
        """Name what keeps a frozen tool from running for this caller now."""
        tool = seen.tool
        if tool.lifecycle not in RUNNING:
            yield self._why_blocked(tool)
            return
        circuit = open_circuit(self._guard, tool.id)
        if circuit is not None:
            yield circuit
        record = self._record(tool)
        if record is None:
            yield failure("artifact_changed", f"the record of {tool.id} is another one by now")
        else:
            yield from self._kinds.unready(record)

    def _why_blocked(self, tool: RuntimeToolDescriptor) -> StructuredFailure:
        record = self._records.get(tool.id)
        said = "" if record is None or not record.blocked_reason else f": {record.blocked_reason}"
        text = f"{tool.id} is {tool.lifecycle}{said}"
        return failure("lifecycle_blocked", text, state=tool.lifecycle)

    def execute(self, call: SealedCall) -> ExecutorOutcome:
        """Run a tool by its kind, if what is there is what was accepted."""
        tool = call.tool
        record, kind = self._record(tool), self._kinds.get(tool.lane)
        if record is None or kind is None:
            text = f"the record of {tool.id} is another one by now"
            return failed(failure("artifact_changed", text), started=False, blocked=True)
        return kind.execute(call, self._kinds.tool(record))

    def preview(self, call: SealedCall) -> Mapping[str, Any]:
        """Show the exact request, and what it is worth: state, digest and proof."""
        record, kind = self._record(call.tool), self._kinds.get(call.tool.lane)
        if record is None or kind is None:
            return {}
        shown = dict(kind.preview(call, self._kinds.tool(record)))
        return {"state": call.tool.lifecycle, "digest": record.digest, **shown}

    def _record(self, tool: RuntimeToolDescriptor) -> FrozenToolRecord | None:
        """Return the record of exactly what a descriptor names; its content never changes."""
        key = (tool.id, tool.executor_ref)
        known = self._known.get(key)
        if known is None:
            known = self._records.get(tool.id)
            if known is None or known.executor_ref != tool.executor_ref:
                return None
            self._known[key] = known
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        return known

    def before(self, attempt: Attempt) -> None:
        """Try the fixtures of a tool whose circuit is open and due; one process at a time."""
        tool_id = attempt.tool_id
        if not tool_id.startswith("frozen.") or not is_due(self._guard, tool_id):
            return
        entry = self._guard.catalogue.get(tool_id)
        record = None if entry is None else self._record(entry.tool)
        workspace = attempt.caller.workspace
        if entry is None or record is None or workspace is None or workspace != record.workspace:
            return
        if entry.tool.lifecycle not in RUNNING:
            return
        if self._guard.workspaces.usable(workspace, attempt.caller.principal) is None:
            return
        with contextlib.suppress(HolonError):
            # What keeps its fixtures from being tried leaves its circuit as it is.
            self._probe(record, attempt, suspect=False)

    def _probe(self, record: FrozenToolRecord, attempt: Attempt, *, suspect: bool) -> None:
        """Let a tool's fixtures say whether it works; one process at a time asks them."""
        if self._kinds.unready(record):
            return
        guard, name = self._guard, f"circuit:{record.id}"
        owner, now = guard.runtime_id + attempt.call_id, guard.clock.now()
        taken = guard.store.transact(
            lambda tables: tables.take_lease(name, owner, now=now, ttl_s=PROBE_TTL_S)
        )
        if taken is None:
            return
        try:
            run = run_fixtures(guard, self._kinds, record, _prover(record))
            settle_probe(guard, record.id, run=run, attempt=attempt if suspect else None)
        finally:
            guard.store.transact(lambda tables: tables.drop_lease(name, owner))

    def _suspect(self, attempt: Attempt) -> None:
        """Have a tool's fixtures decide whose fault its failures in a row are.

        The tool's, where they fail as well: then its circuit opens. Else it is what this
        caller sends, and nobody else is to suffer from it.
        """
        if not is_suspect(self._guard, attempt.tool_id):
            return
        record = self._record(attempt.entry.tool)
        if record is not None and record.definition.fixtures:
            self._probe(record, attempt, suspect=True)

    def after(self, attempt: Attempt, result: ToolResult) -> ToolResult:
        """Look into failures in a row; offer the fallback where a tool could not serve.

        Nothing of a fallback is done.
        """
        from attrs import evolve

        if attempt.accepted and result.failure and result.failure.kind in DRIFT_KINDS:
            with contextlib.suppress(HolonError):
                # What came of the call is known, and stays what it is.
                self._suspect(attempt)
            result = evolve(result, evidence_refs=refs(attempt))
        if not attempt.tool_id.startswith("frozen.") or result.failure is None or result.held:
            return result
        record = self._records.get(attempt.tool_id)
        if record is None or record.workspace != attempt.caller.workspace:
            return result
        fallback = record.definition.fallback
        offered = fallback.kind is not FallbackKind.NONE
        if not offered or result.failure.kind not in fallback.triggers:
            return result
        offer = FallbackOffer(
            kind=fallback.kind,
            who=fallback.who,
            next_action=NEXT_ACTIONS[fallback.kind],
            instructions=fallback.instructions,
            tool=record.id,
            arguments=dict(getattr(attempt, "arguments", {})),
        )
        return evolve(result, fallback=offer)
