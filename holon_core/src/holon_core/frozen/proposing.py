"""Proposals: made, from recorded runs where they are named, and changed while they are open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import Refused, Rejected
from holon_core.frozen import store as stored
from holon_core.frozen.content import bodies, closed, define, digest_of, read_proposal
from holon_core.frozen.derive import Sample, fixtures_of, schema_of
from holon_core.frozen.moving import moved_by
from holon_core.frozen.secrecy import unbound, written
from holon_core.guard.standing import require_fit
from holon_core.records.failure import failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.frozen import (
    OPEN_STATES,
    FrozenState,
    FrozenToolDefinition,
    FrozenToolRecord,
    LifecycleMove,
    ProvenanceRef,
)
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.frozen.content import Proposal
    from holon_core.frozen.moving import Mover
    from holon_core.frozen.store import FrozenStore
    from holon_core.guard.evidence_read import Evidence
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.store.protocol import Tables

MAX_CALLS = 100
ORIGIN_KINDS = ("structured_output", "crystallized")


class Proposing:
    """Makes and changes proposals.

    Args:
        guard: The parts.
        records: Where the tools are.
        mover: Leaves the evidence of each.
        evidence: Where recorded runs are read.
    """

    def __init__(
        self, guard: Guard, records: FrozenStore, mover: Mover, evidence: Evidence
    ) -> None:
        self._guard, self._records, self._mover = guard, records, mover
        self._evidence = evidence

    def create(
        self,
        given: object,
        *,
        caller: CallerContext,
        calls: Sequence[str],
        sees_all: bool,
        origin: tuple[str, str] | None,
        evidence: Sequence[tuple[str, int]] = (),
    ) -> FrozenToolRecord:
        """Make a proposal; see ``FrozenTools.create``."""
        if not sees_all:
            require_fit(self._guard, caller)
        workspace = self._workspace(caller)
        proposal = self._read(given, sees_all=sees_all)
        samples, provenance = self._runs(calls, workspace, caller, sees_all=sees_all)
        provenance += tuple(
            ProvenanceRef(kind="evidence", chain=chain, seq=seq) for chain, seq in evidence
        )
        definition = self._defined(proposal, samples)
        self._keep(proposal)
        now = int(self._guard.clock.now())

        def work(tables: Tables) -> FrozenToolRecord:
            before = stored.versions(tables, workspace, definition.name)
            version = before[-1].version + 1 if before else 1
            record = FrozenToolRecord(
                id=stored.tool_id(workspace, definition.name, version),
                workspace=workspace,
                name=definition.name,
                version=version,
                state=FrozenState.PROPOSED,
                definition=definition,
                digest=digest_of(definition),
                proposed_by=caller.principal,
                created_at_unix_seconds=now,
                provenance=provenance,
                replaces=before[-1].id if before else "",
                secrets_bound_by=caller.principal if sees_all else "",
            )
            seq = self._mover.begun(tables, record, by=caller.principal, origin=origin)
            if origin is not None:
                ref = ProvenanceRef(
                    kind=origin[0], chain=workspace, seq=seq, call_id=record.id, digest=origin[1]
                )
                record = evolve(record, provenance=(*provenance, ref))
            return stored.put(tables, record, now)

        made = self._records.store.transact(work, full=True)
        self._guard.pump.notify()
        return made

    def update(
        self,
        record_id: str,
        given: object,
        *,
        caller: CallerContext,
        calls: Sequence[str],
        expected: int | None,
        sees_all: bool,
    ) -> FrozenToolRecord:
        """Change a proposal; see ``FrozenTools.update``."""
        if not sees_all:
            require_fit(self._guard, caller)
        proposal = self._read(given, sees_all=sees_all)
        workspace = self._records.read(record_id).workspace
        if not sees_all and caller.workspace != workspace:
            raise Refused(failure("wrong_workspace", f"ask in its workspace, {workspace}"))
        samples, provenance = self._runs(calls, workspace, caller, sees_all=sees_all)
        definition = self._defined(proposal, samples)
        self._keep(proposal)
        now = int(self._guard.clock.now())

        def work(tables: Tables, record: FrozenToolRecord) -> FrozenToolRecord:
            stored.check_revision(record, expected)
            if record.state not in OPEN_STATES:
                raise Refused(failure("content_frozen", f"{record.id} is {record.state}"))
            if caller.principal != record.proposed_by and not sees_all:
                raise Refused(failure("not_allowed", "who proposed it changes it, or an operator"))
            same = (record.definition.name, record.definition.kind)
            if (definition.name, definition.kind) != same:
                text = "an update keeps name and kind; propose another tool"
                raise Rejected(record.id, [Finding(code="record_invalid", message=text)])
            changed = evolve(
                record,
                definition=definition,
                digest=digest_of(definition),
                validation=None,
                artifact=None,
                provenance=(*record.provenance, *provenance),
                secrets_bound_by=caller.principal if sees_all else "",
            )
            if record.state is not FrozenState.PROPOSED:
                move = LifecycleMove(
                    source=record.state,
                    target=FrozenState.PROPOSED,
                    at_unix_seconds=now,
                    by=caller.principal,
                    reason="its content changed",
                )
                changed = moved_by(changed, move)
                self._mover.record(tables, changed, move)
            return changed

        made = self._records.change(record_id, work, now)
        self._guard.pump.notify()
        self._guard.learn(self._guard.revision)
        return made

    def _read(self, given: object, *, sees_all: bool) -> Proposal:
        """Read a proposal; refuse one that holds secrets, or names what no operator has bound."""
        proposal = read_proposal(given)
        found = list(written(self._guard.redactor, normalise(given).value))
        if not sees_all:
            found += unbound(proposal.secret_slots)
        if found:
            raise Rejected("the proposal", found)
        return proposal

    def _workspace(self, caller: CallerContext) -> str:
        if caller.workspace is None:
            raise Refused(failure("workspace_required", "a frozen tool is of a workspace"))
        if self._guard.workspaces.usable(caller.workspace, caller.principal) is None:
            raise Refused(failure("wrong_workspace"))
        return caller.workspace

    def _keep(self, proposal: Proposal) -> None:
        for body in bodies(proposal).values():
            self._records.put_file(body)

    def _defined(self, proposal: Proposal, samples: list[Sample]) -> FrozenToolDefinition:
        inputs, outputs = proposal.input_schema, proposal.output_schema
        derived = []
        if inputs is None and samples:
            inputs = schema_of([sample.arguments for sample in samples])
            derived.append("input_schema")
        if outputs is None and samples:
            outputs = schema_of([sample.output for sample in samples])
            derived.append("output_schema")
        if inputs is None or outputs is None:
            text = "is missing, and no recorded runs are named to derive it from"
            missing = "input_schema" if inputs is None else "output_schema"
            finding = Finding(code="record_invalid", message=text, path=f"/{missing}")
            raise Rejected("the proposal", [finding])
        made = define(proposal, input_schema=inputs, output_schema=outputs, derived=tuple(derived))
        if not made.fixtures and samples:
            made = evolve(made, fixtures=fixtures_of(samples))
        made, findings = closed(made)
        if has_errors(findings):
            raise Rejected("the proposal", findings)
        return made

    def _runs(
        self, calls: Sequence[str], workspace: str, caller: CallerContext, *, sees_all: bool
    ) -> tuple[list[Sample], tuple[ProvenanceRef, ...]]:
        """Return what was recorded of calls; each has to be there, of this workspace, completed."""
        if len(calls) > MAX_CALLS:
            raise Refused(failure("provenance_missing", f"at most {MAX_CALLS} calls are named"))
        samples, refs = [], []
        for call in dict.fromkeys(calls):
            rows = [each for each in self._evidence.read(call) if each.chain == workspace]
            accepted = next((row for row in rows if row.kind == "accepted"), None)
            ended = next((row for row in rows if row.kind == "completed"), None)
            if accepted is None or ended is None:
                text = f"{call:.200} is no completed call of this workspace"
                raise Refused(failure("provenance_missing", text))
            if accepted.body["caller"].get("principal") != caller.principal and not sees_all:
                raise Refused(failure("not_allowed", f"{call:.200} is somebody else's call"))
            tool = accepted.body["tool"]["id"]
            refs.append(
                ProvenanceRef(kind="call", chain=workspace, seq=ended.seq, call_id=call, tool=tool)
            )
            given, made = accepted.payload, ended.payload
            if _whole(given) and _whole(made):
                samples.append(Sample(call_id=call, arguments=given, output=made))
        return samples, tuple(refs)


def _whole(payload: Any) -> bool:
    """Tell whether a payload was kept whole: a longer one is kept as its head and tail."""
    return isinstance(payload, dict) and payload.get("truncated") is not True
