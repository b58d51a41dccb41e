"""Proving a tool: built where its kind builds, its fixtures run, what came of it kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.catalogue.catalogue import Entry
from holon_core.errors import Refused, Rejected
from holon_core.frozen.fixtures import run_fixtures
from holon_core.frozen.gates import findings_of
from holon_core.frozen.projection import DEFINITION_DOMAIN, descriptor_of
from holon_core.guard.trial import trial
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.finding import has_errors
from holon_core.records.frozen import ArtifactRecord, FrozenState, FrozenToolRecord, ValidationRun
from holon_core.records.words import Effect, Status
from holon_core.wire.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.frozen.kinds import Kinds
    from holon_core.frozen.moving import Mover
    from holon_core.frozen.store import FrozenStore
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.frozen_kind import FrozenTool, FrozenToolKind
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import Limits
    from holon_core.store.protocol import Tables

S = FrozenState
# In which a tool is proven anew where it stands; failing blocks it.
PROVEN_STATES = frozenset({S.VALIDATED, S.FROZEN, S.ACTIVE, S.DEPRECATED})
_NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


_MADE = {
    "type": "object",
    "properties": {
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "facts": {"type": "object"},
    },
    "required": ["sha256"],
    "additionalProperties": False,
}
_ANYTHING = {"type": "object", "additionalProperties": True}
Run = Callable[["SealedCall", "FrozenTool"], "ExecutorOutcome"]


class Trying:
    """Does one thing to a tool; what a trial of a build, or of a lane, is entered with."""

    def __init__(self, run: Run, tool: FrozenTool) -> None:
        self._run, self._tool = run, tool

    def execute(self, call: SealedCall) -> ExecutorOutcome:
        """Do it once."""
        return self._run(call, self._tool)

    def preview(self, call: SealedCall) -> Mapping[str, Any]:
        """Say what it is done to."""
        return {"tool": self._tool.record.id}


class Proving:
    """Runs what has to be run before a tool may move, and keeps what came of it.

    Args:
        guard: The parts.
        records: Where the tools are.
        kinds: What builds and runs them.
        mover: Makes the moves.
    """

    def __init__(self, guard: Guard, records: FrozenStore, kinds: Kinds, mover: Mover) -> None:
        self._guard, self._records, self._kinds, self._mover = guard, records, kinds, mover

    def validate(self, record_id: str, *, caller: CallerContext) -> FrozenToolRecord:
        """Prove a tool where it stands; see ``FrozenTools.validate``."""
        record = self._records.read(record_id)
        if record.state is S.PROPOSED:
            record = self._mover.move(record_id, "promote", S.CANDIDATE, by=caller.principal)
        if record.state is S.ARCHIVED:
            raise Refused(failure("move_not_allowed", f"{record.id} is archived, for good"))
        record, run = self._proven(record, caller)
        if record.state is S.CANDIDATE and run.passed:
            return self._mover.move(
                record_id,
                "validate",
                by=caller.principal,
                reason=f"{len(run.fixtures)} fixtures passed",
                changed=lambda now: _with_run(now, run),
            )
        if record.state in PROVEN_STATES and not run.passed:
            return self._block(record, run, caller)
        return self._keep(record, run)

    def try_fixtures(self, record_id: str, *, caller: CallerContext) -> ValidationRun:
        """Run fixtures and keep nothing but their evidence; see ``FrozenTools.try_fixtures``."""
        record = self._records.read(record_id)
        self._refuse_unsound(record)
        if not record.definition.fixtures:
            raise Refused(failure("fixtures_missing"))
        for problem in self._kinds.unready(record):
            raise Refused(problem)
        return run_fixtures(self._guard, self._kinds, record, caller)

    def build(
        self, record_id: str, *, caller: CallerContext
    ) -> tuple[FrozenToolRecord, ToolResult]:
        """Build a tool's artifact and keep it; see ``FrozenTools.build``."""
        record = self._records.read(record_id)
        kind = self._kinds.get(record.definition.kind)
        if kind is None or kind.build_limits is None:
            text = f"nothing is built of the kind {record.definition.kind}"
            raise Refused(failure("unsupported_capability", text))
        self._refuse_unsound(record)
        if record.state not in (S.PROPOSED, S.CANDIDATE, S.VALIDATED, S.BLOCKED):
            raise Refused(failure("content_frozen", f"{record.id} is {record.state}"))
        result = self._build(record, kind, caller)
        if result.status is not Status.COMPLETED:
            return record, result
        artifact = ArtifactRecord(
            sha256=result.output["sha256"],
            call_id=result.call_id,
            built_at_unix_seconds=int(self._guard.clock.now()),
            facts=result.output.get("facts", {}),
        )
        return self._with_artifact(record, artifact, caller), result

    def _with_artifact(
        self, record: FrozenToolRecord, artifact: ArtifactRecord, caller: CallerContext
    ) -> FrozenToolRecord:
        """Keep an artifact; one that differs takes the proof of the one before with it."""

        def work(_: Tables, now: FrozenToolRecord) -> FrozenToolRecord:
            if now.digest != record.digest:
                raise Refused(failure("conflict", f"{record.id} changed while it was built"))
            changed = evolve(now, artifact=artifact)
            same = now.artifact is not None and now.artifact.sha256 == artifact.sha256
            if now.state is S.VALIDATED and not same:
                raise Refused(failure("conflict", "it is validated with another artifact"))
            return changed

        return self._records.change(record.id, work, int(self._guard.clock.now()))

    def trial(
        self, record_id: str, *, caller: CallerContext, about: str, run: Run, limits: Limits
    ) -> ToolResult:
        """Run something on a tool for its lane; see ``FrozenTools.trial``."""
        record = self._records.read(record_id)
        if self._kinds.get(record.definition.kind) is None:
            text = f"no lane brings {record.definition.kind}"
            raise Refused(failure("unsupported_capability", text))
        self._refuse_unsound(record)
        return self._try(record, caller, about=about, run=run, limits=limits, answers=_ANYTHING)

    def _build(
        self, record: FrozenToolRecord, kind: FrozenToolKind, caller: CallerContext
    ) -> ToolResult:
        assert kind.build_limits is not None
        return self._try(
            record, caller, about="build", run=kind.build, limits=kind.build_limits, answers=_MADE
        )

    def _try(
        self,
        record: FrozenToolRecord,
        caller: CallerContext,
        *,
        about: str,
        run: Run,
        limits: Limits,
        answers: Mapping[str, Any],
    ) -> ToolResult:
        tool = evolve(
            descriptor_of(record),
            input_schema=_NOTHING,
            output_schema=answers,
            effects=frozenset({Effect.MACHINE_READ, Effect.MACHINE_WRITE}),
            secret_slots=(),
            limits=limits,
        )
        tool = tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))
        entry = Entry(
            tool,
            Trying(run, self._kinds.tool(record)),
            self_limiting=True,
            confines=self._kinds.confines(record.definition.kind),
        )
        return trial(
            self._guard,
            entry,
            evolve(caller, workspace=record.workspace),
            arguments={},
            about=about,
            workspace=None,
        )

    def _proven(
        self, record: FrozenToolRecord, caller: CallerContext
    ) -> tuple[FrozenToolRecord, ValidationRun]:
        """Build a tool where that is needed, and run its fixtures."""
        self._refuse_unsound(record)
        if not record.definition.fixtures:
            raise Refused(failure("fixtures_missing"))
        kind = self._kinds.get(record.definition.kind)
        assert kind is not None, "an unknown kind is an error finding"
        open_to_build = record.state in (S.CANDIDATE, S.BLOCKED)
        if kind.build_limits is not None and record.artifact is None and open_to_build:
            record, result = self.build(record.id, caller=caller)
            if result.failure is not None:
                raise Refused(result.failure)
        for problem in self._kinds.unready(record):
            if record.state in PROVEN_STATES:
                return record, self._unrun(record, caller, problem)
            raise Refused(problem)
        return record, run_fixtures(self._guard, self._kinds, record, caller)

    def _unrun(
        self, record: FrozenToolRecord, caller: CallerContext, problem: StructuredFailure
    ) -> ValidationRun:
        """Say of a tool that can't even start that its validation failed."""
        built = "" if record.artifact is None else record.artifact.sha256
        return ValidationRun(
            digest=record.digest,
            artifact=built,
            passed=False,
            at_unix_seconds=int(self._guard.clock.now()),
            by=f"{caller.principal}",
        )

    def _refuse_unsound(self, record: FrozenToolRecord) -> None:
        found = [each for each in findings_of(record, self._kinds) if has_errors([each])]
        if found:
            raise Rejected(record.id, found)

    def _block(
        self, record: FrozenToolRecord, run: ValidationRun, caller: CallerContext
    ) -> FrozenToolRecord:
        failed = ", ".join(f"{each.name} ({each.why})" for each in run.fixtures if not each.passed)
        return self._mover.move(
            record.id,
            "block",
            by=caller.principal,
            reason=self._guard.redactor.text(
                f"its fixtures regressed: {failed or 'it is not ready to run'}"
            )[:2000],
            changed=lambda now: _with_run(now, run),
        )

    def _keep(self, record: FrozenToolRecord, run: ValidationRun) -> FrozenToolRecord:
        def work(_: Tables, now: FrozenToolRecord) -> FrozenToolRecord:
            return _with_run(now, run)

        return self._records.change(record.id, work, int(self._guard.clock.now()))


def _with_run(now: FrozenToolRecord, run: ValidationRun) -> FrozenToolRecord:
    built = "" if now.artifact is None else now.artifact.sha256
    if (run.digest, run.artifact) != (now.digest, built):
        raise Refused(failure("conflict", f"{now.id} changed while its fixtures ran"))
    return evolve(now, validation=run)
