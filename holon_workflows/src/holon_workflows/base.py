"""What the workflows of a runtime stand on: its parts, made when first used, and its policy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from holon_core.errors import JsonRefused, Misuse, Refused, Rejected
from holon_core.governed import Facet
from holon_core.records.caller import CallerContext
from holon_core.records.failure import failure
from holon_core.session import Session
from holon_core.wire.values import normalise
from holon_workflows.definition.checking import wrong
from holon_workflows.parts import Parts
from holon_workflows.views import view_of

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_workflows.bridges import Bridges
    from holon_workflows.definitions import Definitions
    from holon_workflows.engine.engine import Engine
    from holon_workflows.engine.ledger import Ledger
    from holon_workflows.engine.state import RunRecord
    from holon_workflows.gates import Gates
    from holon_workflows.records import NodeKind
    from holon_workflows.schedules import Schedules
    from holon_workflows.views import RunView

T = TypeVar("T")


class Base(Facet):
    """The parts behind the workflows of one storage root.

    Args:
        host: The plugin's host; its runtime may still be opening.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._clock = host.clock
        self._lock = threading.Lock()
        self._made: Parts | None = None
        self.through = self._go_through

    def _go_through(
        self,
        method: str,
        params: Mapping[str, Any],
        work: Callable[[], T],
        /,
        *,
        by: str | CallerContext | None,
    ) -> T:
        return self._parts.bench.through(method, params, work, by=by)

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


def as_json(**named: Any) -> dict[str, Any]:
    """Return the parameters of an operation, where each has a form in JSON.

    Raises:
        Refused: ``arguments_invalid``, with the path.
    """
    try:
        normalise(named)
    except JsonRefused as error:
        raise Refused(failure("arguments_invalid", error.message, path=error.path)) from None
    return named


def as_document(*, document: Any) -> dict[str, Any]:
    """Return a definition as a parameter, where it has a form in JSON.

    Raises:
        Rejected: It has none.
    """
    try:
        normalise(document)
    except JsonRefused as error:
        findings = [wrong("workflow_invalid", error.message, error.path)]
        raise Rejected("workflow definition", findings) from None
    return {"document": document}


def caller_of(session: Session | CallerContext) -> CallerContext:
    """Return in whose name a run is started.

    Raises:
        Misuse: It is neither a session nor a caller.
    """
    caller = session.caller if isinstance(session, Session) else session
    if not isinstance(caller, CallerContext):
        raise Misuse("give the session, or the caller, in whose name the steps run")
    return caller
