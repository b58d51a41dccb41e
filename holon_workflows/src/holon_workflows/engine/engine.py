"""What all drivers of a runtime share: store, clock, kinds, definitions, and who drives what."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.records.failure import StructuredFailure, failure
from holon_workflows.engine.driver import Driver
from holon_workflows.engine.ledger import CANCELS, RUNS, LeaseLost, Ledger
from holon_workflows.engine.step import Step
from holon_workflows.engine.waking import Waking
from holon_workflows.records import RUN_ENDS, StepState

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_core.workbench import Workbench
    from holon_workflows.definition.model import Node
    from holon_workflows.definitions import Definitions
    from holon_workflows.engine.place import Place
    from holon_workflows.engine.state import RunRecord, StepRecord
    from holon_workflows.records import NodeKind

_LOOK_S = 0.25


class Engine:
    """Drives runs, at most one driver of this process for each.

    Args:
        bench: The store, evidence and sessions.
        clock: For times.
        kinds: Kinds of nodes by name.
        definitions: The definitions.
        not_ready: Says which bridge keeps a step from running.
        logger: For faults of kinds.
    """

    def __init__(
        self,
        bench: Workbench,
        clock: Clock,
        *,
        kinds: Mapping[str, NodeKind],
        definitions: Definitions,
        not_ready: Callable[[Node], StructuredFailure | None],
        logger: logging.Logger,
    ) -> None:
        self.bench = bench
        self.clock = clock
        self.kinds = kinds
        self.definitions = definitions
        self.not_ready = not_ready
        self.logger = logger
        self.ledger = Ledger(bench, clock)
        self.waking = Waking(self)
        self._drivers: dict[str, Driver | None] = {}
        self._lock = threading.Lock()
        self._watch: threading.Thread | None = None
        self._closed = threading.Event()

    def drive(self, root: str, *, again: bool = False, take_over: bool = False) -> RunRecord:
        """Drive a run until what is left of it waits.

        Args:
            root: Of the run.
            again: Also try steps that were blocked.
            take_over: Also from another process that drives it.

        Raises:
            Refused: ``workflow_state``: another process or thread drives it;
                ``unknown_run``.
        """
        with self._lock:
            if root in self._drivers or self._closed.is_set():
                owner = self.bench.runtime_id
                text = f"{owner} drives this run; it goes on there"
                raise Refused(failure("workflow_state", text, run=root, owner=owner))
            self._drivers[root] = None
        lease = None
        try:
            lease = self.ledger.take(root, self.bench.runtime_id, lives=self.lives(take_over))
            run = self.ledger.run(root)
            if run is None:
                raise Refused(failure("unknown_run", f"no run {root}"))
            if run.state not in RUN_ENDS:
                driver = Driver(self, lease)
                with self._lock:
                    self._drivers[root] = driver
                self._look_after()
                driver.drive(run, again=again)
            return run
        except LeaseLost:
            text = "another process took this run over"
            raise Refused(failure("workflow_state", text, run=root)) from None
        finally:
            with self._lock:
                self._drivers.pop(root, None)
            if lease is not None:
                self.ledger.give(lease)

    def is_freed(self, record: StepRecord, node: Node) -> bool:
        """Tell whether a blocked step has become ready by itself: a bridge that it needs is."""
        found = record.failure
        bridge = found is not None and found["code"] == "bridge_not_ready"
        return record.state is StepState.BLOCKED and bridge and self.not_ready(node) is None

    def lives(self, take_over: bool, /) -> Callable[[str], bool]:
        """Return what tells whether who holds a lease still does: never, where it is taken over."""
        return (lambda _: False) if take_over else self.bench.lives

    def leave(self, root: str) -> None:
        """Have a driver of this process leave a run, which goes on wherever it is driven next."""
        with self._lock:
            driver = self._drivers.get(root)
        if driver is not None:
            driver.leave()

    def cancel(self, run: RunRecord, *, by: str, reason: str) -> None:
        """Ask whoever drives a run to cancel it; where nobody does, do it here."""
        asked = {"by": by, "reason": reason, "at": self.clock.now()}

        def work(change: Any) -> bool:
            found = change.get(RUNS, run.id)
            if found is None or found["state"] in RUN_ENDS or change.get(CANCELS, run.id):
                return False
            change.put(CANCELS, run.id, asked)
            return True

        self.bench.change(work)
        with self._lock:
            driver = self._drivers.get(run.id)
        if driver is not None:
            driver.cancel(asked)
            return
        try:
            self.drive(run.id)
        except Refused as error:
            if error.failure.code != "workflow_state":
                raise

    def close_step(self, driver: Driver, place: Place, record: StepRecord) -> None:
        """End what a step has started and what waits for it; a call that is held is withdrawn."""
        wait = record.wait or {}
        if wait.get("for") == "approval":
            reason = f"step {record.node} of run {place.run.id} has ended"
            self.bench.withdraw(wait["call"], by=place.run.caller["principal"], reason=reason)
        kind = self.kinds.get(place.graph.nodes[record.node].kind)
        if kind is None or kind.closes is None or record.started_at is None:
            return
        kind.closes(Step(driver, place, record, inputs={}, recovering=False))

    def close(self) -> None:
        """End what runs here; what was not finished goes on wherever it is driven next."""
        self._closed.set()
        with self._lock:
            drivers = [each for each in self._drivers.values() if each is not None]
        for driver in drivers:
            driver.leave(at_once=True)
        if self._watch is not None:
            self._watch.join(1)

    def _look_after(self) -> None:
        """Have one thread look for cancellations that other processes ask for."""
        with self._lock:
            if self._watch is None or not self._watch.is_alive():
                self._watch = threading.Thread(
                    target=self._look, name="holon-workflow-watch", daemon=True
                )
                self._watch.start()

    def _look(self) -> None:
        while not self._closed.wait(_LOOK_S):
            with self._lock:
                if not self._drivers:
                    self._watch = None
                    return
                drivers = [each for each in self._drivers.items() if each[1] is not None]
            for root, driver in drivers:
                if driver is None or driver.stopping:
                    continue
                asked = self.ledger.cancel_asked(root)
                if asked is not None:
                    driver.cancel(asked)
