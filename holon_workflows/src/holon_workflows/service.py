"""Workflows of one runtime: what hosts, operations and the command do with them."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import Misuse, Refused
from holon_core.ids import new_id
from holon_core.records.caller import CallerContext
from holon_core.records.failure import failure
from holon_core.session import Session
from holon_workflows.engine.ledger import ACTIVE, EVENTS, RUNS
from holon_workflows.engine.resolving import Resolving
from holon_workflows.engine.starting import Starting
from holon_workflows.gates import Answerer
from holon_workflows.parts import Parts
from holon_workflows.records import RUN_ENDS, RunState
from holon_workflows.views import RunView, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holon_core.plugins.host import PluginHost
    from holon_core.records.finding import Finding
    from holon_workflows.bridges import Bridges
    from holon_workflows.definitions import Definitions, Kept
    from holon_workflows.engine.engine import Engine
    from holon_workflows.engine.ledger import Ledger
    from holon_workflows.engine.state import RunRecord
    from holon_workflows.gates import Gates
    from holon_workflows.records import NodeKind
    from holon_workflows.schedules import Schedules

# How long a runner sleeps at most before it looks again, in seconds.
LOOK_S = 0.5


class Workflows:
    """Definitions, runs, gates and schedules of one storage root; ``runtime.service("workflows")``.

    Args:
        host: The plugin's host; its runtime may still be opening.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._clock = host.clock
        self._lock = threading.Lock()
        self._made: Parts | None = None

    @property
    def _parts(self) -> Parts:
        found = self._made
        if found is None:
            with self._lock:
                found = self._made = self._made or Parts(self._host)
        return found

    @property
    def definitions(self) -> Definitions:
        """The definitions."""
        return self._parts.definitions

    @property
    def engine(self) -> Engine:
        """What drives runs."""
        return self._parts.engine

    @property
    def ledger(self) -> Ledger:
        """What is written of runs."""
        return self._parts.engine.ledger

    @property
    def gates(self) -> Gates:
        """The human gates."""
        return self._parts.gates

    @property
    def bridges(self) -> Bridges:
        """Bridges, and whether they are ready."""
        return self._parts.bridges

    @property
    def schedules(self) -> Schedules:
        """What is started at its time."""
        return self._parts.schedules

    @property
    def kinds(self) -> Mapping[str, NodeKind]:
        """Kinds of nodes by name."""
        return self._parts.kinds

    def create(self, definition: Mapping[str, Any], *, by: str) -> Kept:
        """Keep a version of a definition; see ``Definitions.create``."""
        return self.definitions.create(definition, by=by)

    def validate(self, definition: object) -> tuple[Finding, ...]:
        """Return all findings about a definition; nothing is kept."""
        return self.definitions.validate(definition)

    def start(
        self,
        definition: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        session: Session | CallerContext,
        version: str | None = None,
        run_id: str | None = None,
    ) -> RunView:
        """Start a run; nothing of it runs yet.

        Args:
            definition: Its id.
            inputs: What it takes.
            session: In whose name its steps run.
            version: The newest where none is named; the run stays bound to it.
            run_id: Under which id; the same id starts once.

        Raises:
            Refused: ``unknown_workflow``, ``arguments_invalid``, ``conflict``.
        """
        run = Starting(self.engine).start(
            definition,
            {} if inputs is None else inputs,
            caller=_caller(session),
            version=version,
            run_id=run_id or new_id("w"),
        )
        return self._view(run)

    def dry_run(
        self,
        definition: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        session: Session | CallerContext,
        version: str | None = None,
        assume: Mapping[str, Any] | None = None,
    ) -> Sequence[dict[str, Any]]:
        """Show what each step would do and what would block it; see ``rehearsal.rehearse``."""
        from holon_workflows.rehearsal import rehearse

        return rehearse(
            self.engine,
            definition,
            {} if inputs is None else inputs,
            caller=_caller(session),
            version=version,
            assume=assume,
        )

    def from_plan(
        self,
        output_id: str,
        definition: str,
        *,
        session: Session,
        version: str = "1",
        ai: Mapping[str, Any] | None = None,
    ) -> tuple[dict[str, Any], Sequence[Finding]]:
        """Make a definition of a plan that passed its gate; nothing is kept.

        Args:
            output_id: Of the accepted ``planner_output``.
            definition: The id to give.
            session: Whose output it is.
            version: The version to give.
            ai: Config of AI steps, for steps that only instruct.

        Returns:
            The definition, and all findings: what of the plan has no place in it, and what is
            wrong with it.

        Raises:
            Refused: The output is not accepted for workflows.
        """
        from holon_workflows.plans import from_plan

        taken = session.hand_output(output_id, consumer="workflow_runner")
        if taken.failure is not None:
            raise Refused(taken.failure)
        made, findings = from_plan(
            taken.value, digest=str(taken.digest), definition=definition, version=version, ai=ai
        )
        return made, [*findings, *self.validate(made)]

    def ready_run(self, run_id: str) -> RunView:
        """Run every step that is ready, and those that become so; return what waits.

        Raises:
            Refused: ``unknown_run``; ``workflow_state``: another process drives it.
        """
        return self._view(self.engine.drive(self._run(run_id).root))

    def resume(self, run_id: str) -> RunView:
        """Go on with a run, trying anew what was blocked; see ``ready_run``."""
        return self._view(self.engine.drive(self._run(run_id).root, again=True))

    def run(
        self,
        definition: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        session: Session | CallerContext,
        version: str | None = None,
        timeout_s: float | None = None,
        progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> RunView:
        """Start a run and stay with it until it has ended, or waits for somebody.

        Args:
            definition: Its id.
            inputs: What it takes.
            session: In whose name its steps run.
            version: The newest where none is named.
            timeout_s: How long to stay; the run itself goes on after.
            progress: Called with each event.

        Returns:
            The run: ended, blocked, or waiting for a person; or as it is when the time is over.
        """
        run = self.start(definition, inputs, session=session, version=version)
        return self.follow(run.id, timeout_s=timeout_s, progress=progress)

    def follow(
        self,
        run_id: str,
        *,
        timeout_s: float | None = None,
        patient: bool = False,
        progress: Callable[[dict[str, Any]], None] | None = None,
        stop: threading.Event | None = None,
    ) -> RunView:
        """Serve a run until it has ended; timers, retries and other processes are waited for.

        Args:
            run_id: Of the run.
            timeout_s: How long to stay.
            patient: Also wait for persons and for what is blocked.
            progress: Called with each event.
            stop: Set by another thread to leave.
        """
        root = self._run(run_id).root
        end = None if timeout_s is None else self._clock.monotonic() + timeout_s
        leave = stop or threading.Event()
        seen = 0
        while True:
            try:
                run = self.engine.drive(root)
                elsewhere = False
            except Refused as error:
                if error.failure.code != "workflow_state":
                    raise
                run, elsewhere = self._run(root), True
            for event in self.events(root, after=seen) if progress else ():
                seen = event["seq"]
                assert progress is not None
                progress(event)
            if run.state in RUN_ENDS or leave.is_set():
                return self._view(run)
            if not elsewhere and not patient and run.due_at is None:
                return self._view(run)
            if not elsewhere and not patient and run.state is RunState.BLOCKED:
                return self._view(run)
            if end is not None and self._clock.monotonic() >= end:
                return self._view(run)
            wait = LOOK_S
            if run.due_at is not None:
                wait = min(LOOK_S, max(0.0, run.due_at - self._clock.now()))
            leave.wait(wait)

    def serve(
        self,
        *,
        stop: threading.Event | None = None,
        until_idle: bool = False,
        progress: Callable[[RunRecord], None] | None = None,
    ) -> int:
        """Serve the store: start what is scheduled, drive every run that can go on.

        Any number of processes may serve one store; each run is driven by one at a time.

        Args:
            stop: Set by another thread to leave.
            until_idle: Leave when no run can go on by itself any more.
            progress: Called with each run that was driven.

        Returns:
            How many runs ended here.
        """
        leave = stop or threading.Event()
        ended = 0
        while not leave.is_set():
            self.schedules.fire()
            driven, elsewhere = 0, 0
            for run_id in self._active():
                if leave.is_set():
                    break
                try:
                    before = self._run(run_id)
                    run = self.engine.drive(run_id)
                except Refused:
                    elsewhere += 1
                    continue
                moved = run.state is not before.state or run.due_at is not None
                driven += moved
                ended += run.state in RUN_ENDS and before.state not in RUN_ENDS
                if progress is not None:
                    progress(run)
            if until_idle and not driven and not elsewhere:
                break
            if not driven:
                leave.wait(LOOK_S)
        return ended

    def _active(self) -> Sequence[str]:
        """Return the runs that have not ended, in an order of this process's own."""
        found = [name for name, _ in self._parts.bench.read(lambda view: view.under(ACTIVE))]
        random.shuffle(found)
        return found

    async def arun(
        self,
        definition: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        session: Session | CallerContext,
        version: str | None = None,
        timeout_s: float | None = None,
    ) -> RunView:
        """Start a run and stay with it without blocking the event loop; see ``run``.

        Cancelling the task leaves the run where it is; whoever drives it next goes on.
        """
        run = await asyncio.to_thread(
            self.start, definition, inputs, session=session, version=version
        )
        return await self.afollow(run.id, timeout_s=timeout_s)

    async def afollow(self, run_id: str, *, timeout_s: float | None = None) -> RunView:
        """Serve a run without blocking the event loop; see ``follow``."""
        leave = threading.Event()
        try:
            return await asyncio.to_thread(self.follow, run_id, timeout_s=timeout_s, stop=leave)
        finally:
            leave.set()

    def read(self, run_id: str) -> RunView:
        """Return a run with its steps.

        Raises:
            Refused: ``unknown_run``.
        """
        return self._view(self._run(run_id))

    def list(
        self, *, after: str = "", limit: int = 50, state: str | None = None
    ) -> Sequence[RunRecord]:
        """Return runs by id, without those that steps of others started."""
        from holon_workflows.engine.state import RunRecord

        found: Any = []
        while len(found) < limit:
            rows: Any = self._parts.bench.read(
                lambda view, after=after: view.under(RUNS, after=after, limit=500)  # type: ignore[misc]
            )
            if not rows:
                break
            after = rows[-1][0]
            made = (RunRecord.of(data) for _, data in rows)
            found += [each for each in made if not each.parent and state in (None, each.state)]
        shown: Sequence[RunRecord] = found[:limit]
        return shown

    def cancel(self, run_id: str, *, by: str, reason: str) -> RunView:
        """Cancel a run: what runs is ended, what has not begun never does.

        Asked twice, or of a run that has ended, it does nothing.
        """
        run = self._run(run_id)
        if run.parent is not None:
            text = f"it is part of {run.root}; cancel that"
            raise Refused(failure("workflow_state", text, run=run_id))
        self.engine.cancel(run, by=by, reason=reason)
        return self.read(run_id)

    def resolve(
        self,
        run_id: str,
        step: str,
        *,
        action: str,
        by: str,
        reason: str,
        output: Any = None,
    ) -> RunView:
        """Say what became of a step that was interrupted.

        Args:
            run_id: Of the run.
            step: The node.
            action: ``rerun``: run it again; ``complete``: it took effect, with this output;
                ``fail``: it has failed.
            by: Who says it.
            reason: Why, for the record.
            output: Where it completed.

        Raises:
            Refused: ``workflow_state``: the step is not interrupted, or the run is driven
                elsewhere; ``arguments_invalid``.
        """
        Resolving(self.engine).resolve(
            self._run(run_id), step, action=action, by=by, reason=reason, output=output
        )
        return self.read(run_id)

    def answer(
        self,
        gate: str,
        *,
        by: str,
        choice: str | None = None,
        values: Mapping[str, Any] | None = None,
        reason: str = "",
    ) -> dict[str, Any]:
        """Answer a gate in the name of a person; see ``Gates.answer``."""
        own = self._parts.bench.operator is not None and self._parts.bench.operator == by
        who = Answerer(principal=by, may_answer_own=own)
        return self.gates.answer(gate, by=who, choice=choice, values=values, reason=reason)

    def events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[dict[str, Any]]:
        """Return the events of a run and all runs within it, in order.

        Args:
            run_id: Of the run that a caller started.
            after: Only those after this place (``seq``).
            limit: How many at most, 1 to 1,000.
        """
        if not 0 < limit <= 1000:
            raise Misuse("limit is 1 to 1000")
        begin = f"{run_id}/{after:012d}\x7f" if after else ""
        rows = self._parts.bench.read(
            lambda view: view.under(EVENTS, f"{run_id}/", after=begin, limit=limit)
        )
        return [event for _, event in rows]

    def watch(self, run_id: str, *, look_s: float = 0.2) -> Iterator[dict[str, Any]]:
        """Go through the events of a run as they happen, until it has ended."""
        seen, pause = 0, threading.Event()
        while True:
            ended = self._run(run_id).state in RUN_ENDS
            for event in self.events(run_id, after=seen):
                seen = event["seq"]
                yield event
            if ended:
                return
            pause.wait(look_s)

    def event_line(self, event: Mapping[str, Any]) -> str:
        """Write one event as a line for people."""
        from holon_workflows.timeline import event_line

        return event_line(event)

    def timeline(self, run: RunView) -> Sequence[str]:
        """Draw a run as lines for a terminal: a bar for each step."""
        from holon_workflows.timeline import lines

        return lines(run, now=self._clock.now())

    def close(self) -> None:
        """End what runs here."""
        if self._made is not None:
            self._made.engine.close()

    def _run(self, run_id: str) -> RunRecord:
        found = self.ledger.run(run_id)
        if found is None:
            raise Refused(failure("unknown_run", f"no run {run_id[:200]}"))
        return found

    def _view(self, run: RunRecord) -> RunView:
        return view_of(self, run)


def _caller(session: Session | CallerContext) -> CallerContext:
    caller = session.caller if isinstance(session, Session) else session
    if not isinstance(caller, CallerContext):
        raise Misuse("give the session, or the caller, in whose name the steps run")
    return caller
