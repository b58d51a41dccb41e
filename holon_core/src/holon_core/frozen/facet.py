"""Frozen tools as hosts, operations and lanes handle them (`rt.tools.frozen`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import Refused
from holon_core.frozen.difference import difference
from holon_core.frozen.from_output import evidence_of, proposal_from, taken
from holon_core.frozen.gates import findings_of
from holon_core.frozen.lifecycle import find
from holon_core.frozen.moving import MOVE_TOOL, Mover
from holon_core.frozen.proposing import Proposing
from holon_core.frozen.proving import Proving
from holon_core.governed import Facet, operation
from holon_core.guard.secrecy import kept_secret
from holon_core.guard.standing import require_fit
from holon_core.names import MAX_TOOL_ID, page, required_text
from holon_core.records.base import Record
from holon_core.records.failure import failure
from holon_core.records.frozen import FrozenState, FrozenToolRecord, ValidationRun
from holon_core.records.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holon_core.frozen.kinds import Kinds
    from holon_core.frozen.store import FrozenStore
    from holon_core.guard.evidence_read import Evidence
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.finding import Finding
    from holon_core.records.frozen_kind import FrozenTool
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import Limits
    from holon_core.session import Session

S = FrozenState


@frozen(kw_only=True, eq=False, repr=False)
class Promotion(Record):
    """What asking for a promotion came to.

    ``result`` is that of the guarded call where the move needs an approval: held until it is
    approved and released. ``None`` where none was needed.
    """

    proposal: FrozenToolRecord
    result: ToolResult | None = None


def _proposed(
    proposal: Any, *, calls: Sequence[str] = (), record_id: str | None = None, **more: Any
) -> dict[str, Any]:
    made = {"proposal": proposal, "calls": list(calls)}
    if record_id is not None:
        made["id"] = record_id
    if more.get("expected") is not None:
        made["revision"] = more["expected"]
    return made


def _changed(record_id: str, proposal: Any, **more: Any) -> dict[str, Any]:
    return _proposed(proposal, record_id=record_id, **more)


def _taken(
    output_id: str,
    *,
    secret_refs: Mapping[str, str] | None = None,
    calls: Sequence[str] = (),
    **_: object,
) -> dict[str, Any]:
    return {"output_id": output_id, "secret_refs": dict(secret_refs or {}), "calls": list(calls)}


class FrozenTools(Facet):
    """Proposals and frozen tools of all workspaces; who may do what is for its caller to check.

    What changes them is an operation, which policy is asked about for its ``caller``, the caller
    of its ``session`` or ``by``.
    """

    def __init__(
        self, guard: Guard, records: FrozenStore, kinds: Kinds, evidence: Evidence
    ) -> None:
        self._guard, self._records, self._kinds = guard, records, kinds
        self.through = guard.through
        self.mover = Mover(guard, records, kinds)
        self._proposing = Proposing(guard, records, self.mover, evidence)
        self._proving = Proving(guard, records, kinds, self.mover)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that lanes of this runtime bring."""
        return tuple(sorted(self._kinds))

    @operation("frozen-tool-proposal/create", given=_proposed)
    def create(
        self,
        proposal: Any,
        *,
        caller: CallerContext,
        calls: Sequence[str] = (),
        sees_all: bool = False,
    ) -> FrozenToolRecord:
        """Propose a tool, or the next version of one, in the caller's workspace.

        Args:
            proposal: A JSON object of the members of a definition; source files as texts.
            caller: Who proposes it.
            calls: Ids of completed guarded calls of this workspace that it comes from, 100 at
                most. Schemas that the proposal leaves out are derived from what they recorded
                and marked so; where it has no fixtures, they are seeded from the same payloads,
                those with secrets left out.
            sees_all: The caller may name calls of others.

        Raises:
            Rejected: With every finding.
            Refused: ``workspace_required``, ``wrong_workspace``, ``provenance_missing``,
                ``not_allowed``.
        """
        return self._proposing.create(
            proposal, caller=caller, calls=calls, sees_all=sees_all, origin=None
        )

    def propose(
        self,
        proposal: Any,
        *,
        caller: CallerContext,
        calls: Sequence[str] = (),
        sees_all: bool = False,
        origin: tuple[str, str] | None = None,
    ) -> FrozenToolRecord:
        """Propose a tool from an operation of a lane's own, which policy was asked about.

        Args:
            proposal: As for ``create``.
            caller: Who proposes it.
            calls: As for ``create``.
            sees_all: The caller may name calls of others.
            origin: Kind and digest of what else it comes from: a crystallized definition.

        Raises:
            Rejected: With every finding.
            Refused: As for ``create``.
        """
        return self._proposing.create(
            proposal, caller=caller, calls=calls, sees_all=sees_all, origin=origin
        )

    @operation("frozen-tool-proposal/create", given=_taken)
    def create_from_output(
        self,
        output_id: str,
        *,
        session: Session,
        secret_refs: Mapping[str, str] | None = None,
        calls: Sequence[str] = (),
        sees_all: bool = False,
    ) -> FrozenToolRecord:
        """Propose the tool of an accepted script artifact proposal or frozen-tool proposal.

        Args:
            output_id: As its acceptance gave it, in the session's workspace.
            session: Who proposes it.
            secret_refs: The reference of each secret that the output names.
            calls: Further calls that it comes from.
            sees_all: The caller may name calls of others.

        Raises:
            Rejected: With every finding.
            Refused: As for ``create``; ``unknown_output``; ``secret_unresolved``.
        """
        result = taken(self._guard, session, output_id)
        return self._proposing.create(
            proposal_from(result, secret_refs or {}),
            caller=session.caller,
            calls=calls,
            sees_all=sees_all,
            origin=("structured_output", result.digest or ""),
            evidence=evidence_of(result),
        )

    @operation("frozen-tool-proposal/update", given=_changed)
    def update(
        self,
        record_id: str,
        proposal: Any,
        *,
        caller: CallerContext,
        calls: Sequence[str] = (),
        expected: int | None = None,
        sees_all: bool = False,
    ) -> FrozenToolRecord:
        """Replace what a tool is made of, until it is frozen; it goes back to Proposed.

        Args:
            record_id: The tool.
            proposal: All of it, as for ``create``; name and kind stay.
            caller: Who changes it: who proposed it, or an operator.
            calls: Further calls that it comes from.
            expected: The revision that the change is based on.
            sees_all: The caller is an operator.

        Raises:
            Rejected: With every finding.
            Refused: ``content_frozen``, ``conflict``, ``not_allowed``, ``unknown_proposal``.
        """
        return self._proposing.update(
            record_id,
            proposal,
            caller=caller,
            calls=calls,
            expected=expected,
            sees_all=sees_all,
        )

    def read(self, record_id: str) -> FrozenToolRecord:
        """Return a tool; ``Refused``: ``unknown_proposal``."""
        return self._records.read(required_text(record_id, "an id", MAX_TOOL_ID))

    def tool(self, record_id: str) -> FrozenTool:
        """Return a tool as its kind sees it, with its managed folder.

        Raises:
            Refused: ``unknown_proposal``; ``unsupported_capability``: its kind is not here.
        """
        record = self.read(record_id)
        if self._kinds.get(record.definition.kind) is None:
            text = f"no lane brings {record.definition.kind}"
            raise Refused(failure("unsupported_capability", text))
        return self._kinds.tool(record)

    def file(self, sha256: str) -> bytes:
        """Return the bytes of a source file; ``Refused``: ``artifact_changed``."""
        return self._records.file(sha256)

    def list(
        self,
        *,
        workspace: str | None = None,
        state: FrozenState | None = None,
        kind: str | None = None,
        after: str = "",
        limit: int = 50,
    ) -> tuple[FrozenToolRecord, ...]:
        """Return tools by id, versions in their order; of one workspace, state and kind."""
        page(after, limit)
        return Listing.page(
            self._records.page(
                workspace=workspace, state=state, kind=kind, after=after, limit=limit
            ),
            limit,
        )

    def findings(self, record_id: str) -> tuple[Finding, ...]:
        """Judge a tool from reading it; nothing of it runs."""
        return tuple(findings_of(self.read(record_id), self._kinds))

    def build(
        self, record_id: str, *, caller: CallerContext
    ) -> tuple[FrozenToolRecord, ToolResult]:
        """Build the artifact of a kind that builds, as a recorded trial.

        Returns:
            The record, with its artifact where the build completed; and the build's result.

        Raises:
            Refused: ``unsupported_capability``, ``content_frozen``, ``conflict``.
            Rejected: With every finding of the definition.
        """
        return self._proving.build(record_id, caller=caller)

    def trial(
        self,
        record_id: str,
        *,
        caller: CallerContext,
        about: str,
        run: Callable[[SealedCall, FrozenTool], ExecutorOutcome],
        limits: Limits,
    ) -> ToolResult:
        """Run something on a sound tool for its lane, recorded as a trial like a build.

        Args:
            record_id: The tool; its state and its record stay as they are.
            caller: On whose behalf.
            about: What it is, kept in evidence as ``trial``.
            run: Does it, within ``limits``.
            limits: Its bounds.

        Raises:
            Rejected: With every finding of the definition.
            Refused: ``unknown_proposal``; ``unsupported_capability``: its kind is not here.
        """
        return self._proving.trial(record_id, caller=caller, about=about, run=run, limits=limits)

    @operation("frozen-tool-proposal/validate", record_id="id")
    def validate(self, record_id: str, *, caller: CallerContext) -> FrozenToolRecord:
        """Build what has to be built and run all fixtures; keep what came of it.

        A Candidate whose fixtures pass becomes Validated; a Proposed tool becomes a Candidate
        first. One that was validated before and fails now is blocked. Fixtures run with the
        effects that the tool declares, so this is an operator's to ask.

        Raises:
            Rejected: With every finding of the definition.
            Refused: ``fixtures_missing``, ``provenance_missing``, ``artifact_not_ready``,
                ``dependency_missing``, ``conflict``.
        """
        return self._proving.validate(record_id, caller=caller)

    def try_fixtures(self, record_id: str, *, caller: CallerContext) -> ValidationRun:
        """Run all fixtures and say what came of them; neither state nor proof changes.

        Raises:
            Rejected: With every finding of the definition.
            Refused: As for ``validate``.
        """
        return self._proving.try_fixtures(record_id, caller=caller)

    @operation("frozen-tool-proposal/promote", record_id="id")
    def promote(self, record_id: str, *, session: Session, reason: str = "") -> Promotion:
        """Move a tool to its next state: Candidate, Frozen or Active.

        The moves to Frozen and to Active are guarded calls over the digest of the proposal and
        the target state: held until somebody approves them, then released like every held call,
        or asked for once more.

        Raises:
            Refused: ``move_not_allowed``, or what a gate says.
            Rejected: With every finding of the definition.
        """
        record = self._of(record_id, session.caller)
        move = find(record.state, "promote")
        if not move.approval:
            by = session.caller.principal
            return Promotion(proposal=self.mover.move(record_id, "promote", by=by, reason=reason))
        return self._approved_move(record, move.target, session, reason)

    @operation("frozen-tool-proposal/unblock", record_id="id")
    def unblock(self, record_id: str, *, session: Session, reason: str) -> Promotion:
        """Validate a blocked tool anew, then ask for the approval of its way back to Validated.

        Raises:
            Refused: ``move_not_allowed``, ``fixtures_failed``, or what a gate says.
        """
        record = self._of(record_id, session.caller)
        move = find(record.state, "unblock")
        if not record.proven:
            record = self._proving.validate(record_id, caller=session.caller)
        if not record.proven:
            raise Refused(failure("fixtures_failed", digest=record.digest))
        return self._approved_move(record, move.target, session, reason)

    def _of(self, record_id: str, caller: CallerContext) -> FrozenToolRecord:
        """Return a tool for who may move it; refuse whom its workspace is not."""
        require_fit(self._guard, caller)
        record = self.read(record_id)
        if record.workspace != caller.workspace:
            text = f"ask in its workspace, {record.workspace}"
            raise Refused(failure("wrong_workspace", text))
        return record

    def _approved_move(
        self, record: FrozenToolRecord, target: FrozenState, session: Session, reason: str
    ) -> Promotion:
        secret = kept_secret(self._guard.redactor, reason, "/reason")
        if secret is not None:
            # A call that is held keeps its arguments as they are.
            raise Refused(secret)
        result = session.call(
            MOVE_TOOL,
            {
                "proposal": record.id,
                "digest": record.digest,
                "artifact": "" if record.artifact is None else record.artifact.sha256,
                "target": target.value,
                "reason": reason,
            },
        )
        return Promotion(proposal=self.read(record.id), result=result)

    @operation("frozen-tool-proposal/block", record_id="id")
    def block(self, record_id: str, *, by: str, reason: str) -> FrozenToolRecord:
        """Stop a tool: from its next call on, on the whole store, held calls included."""
        return self.mover.move(record_id, "block", by=by, reason=reason)

    @operation("frozen-tool-proposal/deprecate", record_id="id")
    def deprecate(self, record_id: str, *, by: str, reason: str) -> FrozenToolRecord:
        """Let an active tool run with a notice from now on."""
        return self.mover.move(record_id, "deprecate", by=by, reason=reason)

    @operation("frozen-tool-proposal/archive", record_id="id")
    def archive(self, record_id: str, *, by: str, reason: str) -> FrozenToolRecord:
        """End a tool for good; an active one is deprecated or blocked first."""
        return self.mover.move(record_id, "archive", by=by, reason=reason)

    @operation("frozen-tool-proposal/withdraw", record_id="id")
    def withdraw(self, record_id: str, *, by: str, reason: str) -> FrozenToolRecord:
        """Take a proposal back that is not frozen yet."""
        return self.mover.move(record_id, "withdraw", by=by, reason=reason)

    def diff(self, before: str, after: str) -> tuple[dict[str, Any], ...]:
        """Return the places in which two tools' definitions differ, 100 at most."""
        return tuple(difference(self.read(before), self.read(after)))

    @operation("frozen-tool-proposal/revalidate")
    def revalidate(
        self, *, caller: CallerContext, workspace: str | None = None
    ) -> tuple[FrozenToolRecord, ...]:
        """Run the fixtures of all active tools; block those that regressed, with evidence.

        Args:
            caller: On whose behalf.
            workspace: Of this workspace alone.

        Returns:
            Each tool as it is now.
        """
        found: tuple[FrozenToolRecord, ...] = ()
        after = ""
        while True:
            batch = self.list(workspace=workspace, state=S.ACTIVE, after=after, limit=100)
            found += tuple(self._proving.validate(each.id, caller=caller) for each in batch)
            if len(batch) < 100:
                return found
            after = batch[-1].id
