"""Staying with runs until they have ended: one, or all of a store; also from an event loop."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_workflows.driving import Driving
from holon_workflows.records import RUN_ENDS, RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holon_core.records.caller import CallerContext
    from holon_core.session import Session
    from holon_workflows.engine.state import RunRecord
    from holon_workflows.views import RunView

# How long a runner sleeps at most before it looks again, in seconds.
LOOK_S = 0.5
# How soon at the earliest, so that a kind whose time never comes costs no core.
SOON_S = 0.02
# How soon an event is told, in seconds.
TELL_S = 0.1


class Serving(Driving):
    """Follows one run, or serves the store.

    Policy is asked once for a run that is followed. Serving a store is no operation: each of its
    runs was let through when it was started or scheduled, and its steps are calls of who
    started it.
    """

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
            progress: Called with each event as it comes, by a thread of its own.

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

        Policy is asked once, as for ``ready_run``.

        Args:
            run_id: Of the run.
            timeout_s: How long to stay.
            patient: Also wait for persons and for what is blocked.
            progress: Called with each event as it comes, by a thread of its own; what it raises
                leaves the run, and is raised here.
            stop: Set by another thread to leave.
        """
        root = self._run(run_id).root
        end = None if timeout_s is None else self._clock.monotonic() + timeout_s
        leave = stop or threading.Event()

        def work() -> RunView:
            with _Telling(self, root, progress, leave):
                run, elsewhere = self._drive(root)
                while True:
                    late = end is not None and self._clock.monotonic() >= end
                    if late or leave.is_set() or self._is_over(run, patient=patient or elsewhere):
                        return self._view(run)
                    leave.wait(self._pause(run.due_at))
                    run, elsewhere = self._look(root)

        return self.governed("workflow-run/ready-run", {"run": run_id}, work, by=None)

    def _look(self, root: str) -> tuple[RunRecord, bool]:
        """Drive a run where something of it may go on now, else leave it untouched."""
        run = self._run(root)
        return self._drive(root) if self.engine.waking.is_due(run) else (run, False)

    def _drive(self, root: str) -> tuple[RunRecord, bool]:
        """Drive a run; tell whether another process does."""
        try:
            return self.engine.drive(root), False
        except Refused as error:
            if error.failure.code != "workflow_state":
                raise
            return self._run(root), True

    def _is_over(self, run: RunRecord, *, patient: bool) -> bool:
        """Tell whether nothing of a run goes on by itself."""
        if run.state in RUN_ENDS:
            return True
        if patient:
            return False
        return run.state is RunState.BLOCKED or not self.engine.waking.goes_on(run)

    def _pause(self, due_at: float | None) -> float:
        due = LOOK_S if due_at is None else due_at - self._clock.now()
        return min(LOOK_S, max(SOON_S, due))

    def serve(
        self,
        *,
        stop: threading.Event | None = None,
        until_idle: bool = False,
        progress: Callable[[RunRecord], None] | None = None,
    ) -> int:
        """Serve the store: start what is scheduled, drive every run that can go on.

        A run that waits is looked at and not touched: nothing is written until it goes on.

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
        told: dict[str, str] = {}
        while not leave.is_set():
            self.schedules.fire()
            moved, elsewhere, due = 0, 0, []
            for run_id in self._active():
                if leave.is_set():
                    break
                try:
                    before = self._run(run_id)
                    driven = self.engine.waking.is_due(before)
                    run, taken = self._drive(run_id) if driven else (before, False)
                except Exception as error:
                    # One run that cannot go on keeps none of the others from it.
                    said = f"{type(error).__name__}: {error}"[:500]
                    if told.get(run_id) != said:
                        self._host.logger.warning("run %s: %s", run_id, said)
                        told[run_id] = said
                    continue
                elsewhere += taken
                if taken:
                    continue
                due += [] if run.due_at is None else [run.due_at]
                moved += run.state is not before.state
                ended += run.state in RUN_ENDS and before.state not in RUN_ENDS
                if progress is not None and driven:
                    progress(run)
            if until_idle and not moved and not elsewhere and not due:
                break
            if not moved:
                leave.wait(self._pause(min(due, default=None)))
        return ended

    def _active(self) -> Sequence[str]:
        """Return the runs that have not ended, in an order of this process's own."""
        found = self.ledger.active()
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

        Cancelling the task leaves the run where it is; see ``afollow``.
        """
        run = await asyncio.to_thread(
            self.start, definition, inputs, session=session, version=version
        )
        return await self.afollow(run.id, timeout_s=timeout_s)

    async def afollow(self, run_id: str, *, timeout_s: float | None = None) -> RunView:
        """Serve a run without blocking the event loop; see ``follow``.

        Cancelling the task leaves the run soon: no further step begins, what may run again
        is ended, what has side effects comes to its end. Whoever drives it next goes on.
        """
        leave = threading.Event()
        try:
            return await asyncio.to_thread(self.follow, run_id, timeout_s=timeout_s, stop=leave)
        finally:
            leave.set()
            self.engine.leave(self._run(run_id).root)


class _Telling:
    """Tells the events of a run as they come, while the block drives it."""

    def __init__(
        self,
        flows: Any,
        root: str,
        progress: Callable[[dict[str, Any]], None] | None,
        leave: threading.Event,
    ) -> None:
        self._flows, self._root, self._progress, self._leave = flows, root, progress, leave
        self._seen = 0
        self._over = threading.Event()
        self._raised: BaseException | None = None
        self._thread = threading.Thread(target=self._tell, name="holon-workflow-tell", daemon=True)

    def __enter__(self) -> None:
        if self._progress is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._progress is not None:
            self._thread.join()
            if self._raised is not None:
                raise self._raised

    def _tell(self) -> None:
        over = False
        try:
            while not over:
                # Asked before it looks, so that the last events are told as well.
                over = self._over.wait(TELL_S)
                self._new()
        except BaseException as error:
            self._raised = error
            self._leave.set()
            self._flows.engine.leave(self._root)

    def _new(self) -> None:
        assert self._progress is not None, "started only where there is one"
        for event in self._flows.events(self._root, after=self._seen):
            self._seen = event["seq"]
            self._progress(event)
