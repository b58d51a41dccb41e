"""Workflows of one runtime: what hosts, operations and the command do with them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import Misuse, Refused
from holon_core.governed import operation
from holon_workflows.base import as_document, as_json, caller_of
from holon_workflows.definition.form import SCHEMA
from holon_workflows.engine.ledger import EVENTS, RUNS
from holon_workflows.gates import Answerer
from holon_workflows.records import RUN_ENDS
from holon_workflows.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holon_core.records.caller import CallerContext
    from holon_core.records.finding import Finding
    from holon_core.session import Session
    from holon_workflows.definitions import Kept
    from holon_workflows.engine.state import RunRecord
    from holon_workflows.views import RunView


class Workflows(Serving):
    """Definitions, runs, gates and schedules of one storage root; ``runtime.service("workflows")``.

    What changes any of them is an operation, which policy is asked about for its ``by`` or the
    caller of its ``session``.
    """

    @operation("workflow-definition/create", given=as_document, definition="document")
    def create(self, definition: Mapping[str, Any], *, by: str) -> Kept:
        """Keep a version of a definition; see ``Definitions.create``."""
        return self.definitions.create(definition, by=by)

    @property
    def definition_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of a definition, ``holon-workflow/v1``."""
        return SCHEMA

    def validate(self, definition: object) -> tuple[Finding, ...]:
        """Return all findings about a definition; nothing is kept."""
        return self.definitions.validate(definition)

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
            caller=caller_of(session),
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

    @operation("human-gate/answer", given=as_json)
    def answer(
        self,
        gate: str,
        *,
        by: str,
        choice: str | None = None,
        values: Mapping[str, Any] | None = None,
        reason: str = "",
    ) -> dict[str, Any]:
        """Answer a gate in the name of a person; see ``Gates.answer``.

        Who started the run answers an own gate only in a runtime that was opened for that one
        person; evidence says that it was their own.
        """
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
