"""Starting runs, driving what is ready of them, and ending them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.governed import operation
from holon_core.ids import new_id
from holon_core.records.failure import failure
from holon_workflows.base import Base, as_json, caller_of
from holon_workflows.engine.resolving import Resolving
from holon_workflows.engine.starting import Starting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.records.caller import CallerContext
    from holon_core.session import Session
    from holon_workflows.views import RunView

MAX_RUN_ID = 100
RUN_ID = re.compile(f"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_RUN_ID - 1}}}")
# As Holon makes ids, but for those of runs themselves, which may be started again.
_MADE = re.compile(r"(?!w)[a-z][0-9a-f]{32}")


class Driving(Base):
    """Starts, drives and ends runs.

    What changes a run is an operation, which policy is asked about for who does it.
    """

    @operation("workflow-run/start", given=as_json, run_id="run")
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
            run_id: Under which id; the same id starts once. Letters, digits and ``._-``, 1 to
                100, beginning with a letter or digit: ids of runs within a run, and of those that
                schedules start, have other characters, so that nobody can take them.

        Raises:
            Refused: ``unknown_workflow``, ``arguments_invalid``, ``conflict``.
        """
        if run_id is not None and not RUN_ID.fullmatch(run_id):
            text = f"a run's id is 1 to {MAX_RUN_ID} of A-Z a-z 0-9 . _ -, a letter or digit first"
            raise Refused(failure("arguments_invalid", text, path="/run"))
        if run_id is not None and _MADE.fullmatch(run_id):
            text = "that is the form of ids of calls, approvals and outputs; give it a name"
            raise Refused(failure("arguments_invalid", text, path="/run"))
        run = Starting(self.engine).start(
            definition,
            {} if inputs is None else inputs,
            caller=caller_of(session),
            version=version,
            run_id=run_id or new_id("w"),
        )
        return self._view(run)

    @operation("workflow-run/ready-run", run_id="run")
    def ready_run(self, run_id: str) -> RunView:
        """Run every step that is ready, and those that become so; return what waits.

        Raises:
            Refused: ``unknown_run``; ``workflow_state``: another process drives it.
        """
        return self._view(self.engine.drive(self._run(run_id).root))

    @operation("workflow-run/resume", run_id="run")
    def resume(
        self,
        run_id: str,
        *,
        accept: Sequence[str] = (),
        take_over: bool = False,
        by: str | CallerContext | None = None,
    ) -> RunView:
        """Go on with a run, trying anew what was blocked; see ``ready_run``.

        Args:
            run_id: Of the run.
            accept: Tools whose definition of now is accepted in place of that of the start.
            take_over: Also from a process that hangs. What it still writes of the run is
                refused; a call that it has begun is never made twice.
            by: Who says so, for the record.
        """
        root = self._run(run_id).root
        if accept:
            who = by if isinstance(by, str) else getattr(by, "principal", "the host")
            Resolving(self.engine).accept(root, accept, by=who, take_over=take_over)
        return self._view(self.engine.drive(root, again=True, take_over=take_over))

    @operation("workflow-run/cancel", run_id="run")
    def cancel(self, run_id: str, *, by: str, reason: str) -> RunView:
        """Cancel a run: what runs is ended, what has not begun never does.

        Calls of it that are held for an approval are withdrawn. Asked twice, or of a run that
        has ended, it does nothing.
        """
        run = self._run(run_id)
        if run.parent is not None:
            text = f"it is part of {run.root}; cancel that"
            raise Refused(failure("workflow_state", text, run=run_id))
        self.engine.cancel(run, by=by, reason=reason)
        return self._view(self._run(run_id))

    @operation("workflow-step/resolve", given=as_json, run_id="run")
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
        return self._view(self._run(run_id))
