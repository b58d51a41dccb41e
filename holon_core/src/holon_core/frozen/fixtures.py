"""Fixtures: run by the runtime itself, each recorded as a call, its outcome compared."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.catalogue.catalogue import Entry
from holon_core.errors import Refused
from holon_core.frozen.projection import descriptor_of
from holon_core.guard.trial import trial
from holon_core.records.failure import failure
from holon_core.records.frozen import FixtureResult, FixtureStatus, ValidationRun
from holon_core.records.words import Effect, Status
from holon_core.wire.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.frozen.kinds import Kinds
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.frozen import Fixture, FrozenToolRecord
    from holon_core.records.frozen_kind import FrozenTool, FrozenToolKind
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.result import ToolResult


class KindExecutor:
    """Runs one tool by its kind; what a trial is entered with."""

    def __init__(self, kind: FrozenToolKind, tool: FrozenTool) -> None:
        self._kind, self._tool = kind, tool

    def execute(self, call: SealedCall) -> ExecutorOutcome:
        """Run the tool once."""
        return self._kind.execute(call, self._tool)

    def preview(self, call: SealedCall) -> Mapping[str, Any]:
        """Show what it would run."""
        return self._kind.preview(call, self._tool)


def run_fixtures(
    guard: Guard, kinds: Kinds, record: FrozenToolRecord, caller: CallerContext
) -> ValidationRun:
    """Run all fixtures of a tool, each in a fresh folder of its own.

    Args:
        guard: The parts.
        kinds: The kinds that are here; the tool's is among them.
        record: The tool.
        caller: On whose behalf; its workspace is the tool's.
    """
    kind = kinds.get(record.definition.kind)
    assert kind is not None, "asked by whoever found it ready"
    entry = Entry(
        descriptor_of(record),
        KindExecutor(kind, kinds.tool(record)),
        self_limiting=True,
        confines=kinds.confines(record.definition.kind),
    )
    caller = evolve(caller, workspace=record.workspace)
    fixtures = record.definition.fixtures
    results = []
    for number, fixture in enumerate(fixtures):
        guard.services.report_progress(
            record.id, "fixtures", number, len(fixtures), f"running {fixture.name}"
        )
        results.append(_run(guard, entry, fixture, caller))
    built = "" if record.artifact is None else record.artifact.sha256
    return ValidationRun(
        digest=record.digest,
        artifact=built,
        passed=bool(results) and all(each.passed for each in results),
        at_unix_seconds=int(guard.clock.now()),
        by=caller.principal,
        fixtures=tuple(results),
    )


def _run(guard: Guard, entry: Entry, fixture: Fixture, caller: CallerContext) -> FixtureResult:
    workspace = guard.workspaces.find(caller.workspace or "")
    assert workspace is not None, "a frozen tool is of a workspace"
    folder = _filled(fixture.files)
    try:
        result = trial(
            guard,
            entry,
            caller,
            arguments=dict(fixture.input),
            about=f"fixture:{fixture.name}",
            workspace=evolve(workspace, root_path=str(folder.resolve())),
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return judge(fixture, result)


def _filled(files: Mapping[str, str]) -> Path:
    """Make a fresh folder with a fixture's files.

    Raises:
        Refused: There is no room for one, which says nothing of the tool.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="holon-fixture-"))
        for name, text in files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        text = f"no folder for a fixture can be made: {error.strerror}"
        raise Refused(failure("spawn_failed", text)) from None
    return folder


def judge(fixture: Fixture, result: ToolResult) -> FixtureResult:
    """Compare how a fixture's run ended with what it expects."""
    why = _why_not(fixture, result)
    refs = result.evidence_refs
    return FixtureResult(
        name=fixture.name,
        passed=why is None,
        status=result.status,
        call_id=result.call_id,
        code="" if result.failure is None else result.failure.code,
        why=why or "",
        chain=refs[0].chain if refs else "",
        seqs=tuple(ref.seq for ref in refs),
    )


def _why_not(fixture: Fixture, result: ToolResult) -> str | None:
    expect = fixture.expect
    if result.status is Status.BLOCKED or len(result.evidence_refs) < 2:
        said = "" if result.failure is None else f": {result.failure.message}"
        return f"it did not run{said}"
    if expect.status is FixtureStatus.FAILED:
        if result.status is not Status.FAILED:
            return "it completed where it was to fail"
        assert result.failure is not None
        if expect.code is not None and expect.code != result.failure.code:
            return f"it failed with {result.failure.code}, not with {expect.code}"
        return None
    if result.status is not Status.COMPLETED:
        assert result.failure is not None
        return f"it failed: {result.failure.code}: {result.failure.message}"[:500]
    if expect.output is not None and canonical(expect.output) != canonical(result.output):
        return "its output is another one"
    return _unfit(expect.output_schema, result.output)


def _unfit(schema: Mapping[str, Any] | None, output: Any) -> str | None:
    if schema is None:
        return None
    from holon_core.wire.canonical import digest
    from holon_core.wire.schema_engine import compiled

    plain = dict(schema)
    errors = compiled(plain, digest(plain, domain="holon-schema/1")).errors(output)
    return f"{errors[0].message} at {errors[0].path or '/'}" if errors else None


def needs_workspace(effects: frozenset[Effect]) -> bool:
    """Tell whether a tool of these effects is told where its workspace is."""
    return bool(effects & {Effect.WORKSPACE_READ, Effect.WORKSPACE_WRITE})
