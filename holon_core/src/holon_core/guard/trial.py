"""A trial: one run of a tool that is not in the catalogue yet, under the same steps and bounds.

The runtime makes it itself, to validate a frozen tool or to build it. Nobody can call what runs
here; policy may deny it, and what policy would ask is decided by who may validate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import StoreError
from holon_core.guard import call as guarded
from holon_core.guard import drive, execute
from holon_core.guard.attempt import Attempt, Refusal
from holon_core.guard.results import record_refusal, unrecorded
from holon_core.store.chains import CatalogueMoved

if TYPE_CHECKING:
    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.result import ToolResult
    from holon_core.records.workspace import Workspace
    from holon_core.store.protocol import Tables


def trial(
    guard: Guard,
    entry: Entry,
    caller: CallerContext,
    *,
    arguments: Any,
    about: str,
    workspace: Workspace | None,
) -> ToolResult:
    """Run a tool once for the runtime itself.

    Args:
        guard: The parts.
        entry: The tool; it need not be in the catalogue.
        caller: On whose behalf; its workspace is the tool's.
        arguments: As for a call.
        about: What the run is for, e.g. ``fixture:greets``; kept in evidence as ``trial``.
        workspace: The folder that the run sees as its workspace.

    Returns:
        The result, as of a call; what would hold a call holds no trial.
    """
    attempt = Attempt(entry.tool.id, arguments, evolve(caller, run=None), mode="trial")
    attempt.entry, attempt.limits = entry, entry.tool.limits
    attempt.posture = entry.tool.posture
    with guard.running.under_way(attempt):
        try:
            sealed = _prepare(guard, attempt, about, workspace)
            return guarded.finish(guard, sealed, execute.run(guard, sealed))
        except Refusal as refusal:
            return record_refusal(guard, attempt, refusal.failure, wait=True)
        except StoreError as error:
            return unrecorded(attempt, error)
        except BaseException as error:
            drive.end_interrupted(guard, attempt, error)
            raise


def _prepare(guard: Guard, attempt: Attempt, about: str, workspace: Workspace | None) -> SealedCall:
    while True:
        attempt.revision = guard.revision
        guarded.scope(guard, attempt)
        if workspace is not None:
            attempt.workspace = workspace
        guarded.check_arguments(attempt)
        for problem in guarded.own_lacks(guard, attempt):
            raise Refusal(problem)
        guarded.decide(guard, attempt)
        try:
            return _accept(guard, attempt, about)
        except CatalogueMoved:
            attempt.seqs.clear()
            guard.learn(attempt.revision)


def _accept(guard: Guard, attempt: Attempt, about: str) -> SealedCall:
    recorder = guard.recorder
    payload = recorder.safe_payload(attempt.arguments, attempt.canonical, attempt.entry.input_marks)
    fields = {**guarded.accepted_fields(guard, attempt), "trial": recorder.quoted(about)}
    draft = recorder.draft(attempt.chain, attempt.call_id, "accepted", fields, payload=payload)

    def work(tables: Tables) -> SealedCall:
        return guarded.accept(guard, attempt, tables, draft, int(guard.clock.now()))

    sealed = guard.store.transact(work, full=attempt.entry.beyond_reads)
    guard.pump.notify()
    return sealed
