"""Human gates: questions that wait for a person, each answered once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import JsonRefused, Refused
from holon_core.names import same_person
from holon_core.records.failure import failure
from holon_core.wire.canonical import digest
from holon_core.wire.schema_engine import compiled
from holon_core.wire.values import normalise
from holon_workflows.engine.ledger import event_of, run_now, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.clock import Clock
    from holon_core.workbench import Change, Workbench
    from holon_workflows.engine.ledger import Ledger

GATES = "gates"
FORM_DOMAIN = "holon-workflow-gate/1"
OPEN, ANSWERED, EXPIRED, CLOSED = "open", "answered", "expired", "closed"


@frozen(kw_only=True)
class Answerer:
    """Who answers, and whether that person may answer for a run of their own."""

    principal: str
    may_answer_own: bool = False


class Gates:
    """Opens, lists and answers gates.

    Args:
        bench: The store.
        ledger: For events and evidence.
        clock: For times.
    """

    def __init__(self, bench: Workbench, ledger: Ledger, clock: Clock) -> None:
        self._bench = bench
        self._ledger = ledger
        self._clock = clock

    def open(self, gate: dict[str, Any]) -> dict[str, Any]:
        """Keep a gate that is asked; one that is there already stays as it is."""

        def work(change: Change) -> dict[str, Any]:
            before: dict[str, Any] | None = change.get(GATES, gate["id"])
            if before is None:
                change.put(GATES, gate["id"], gate)
            return before or gate

        return self._bench.change(work)

    def read(self, gate_id: str) -> dict[str, Any]:
        """Return a gate.

        Raises:
            Refused: ``unknown_gate``.
        """
        found: dict[str, Any] | None = self._bench.read(lambda view: view.get(GATES, gate_id))
        if found is None:
            raise Refused(failure("unknown_gate", f"no gate {gate_id[:200]}"))
        return found

    def list(
        self, *, run: str | None = None, state: str | None = OPEN, after: str = "", limit: int = 50
    ) -> Sequence[dict[str, Any]]:
        """Return gates by id: of one run and those within it, in one state."""
        found: list[dict[str, Any]] = []
        while len(found) < limit:
            rows = self._bench.read(
                lambda view, after=after: view.under(GATES, run or "", after=after, limit=500)  # type: ignore[misc]
            )
            if not rows:
                break
            after = rows[-1][0]
            found += [each for _, each in rows if _is_listed(each, run=run, state=state)]
        return found[:limit]

    def end(self, gate_id: str, state: str) -> dict[str, Any] | None:
        """End a gate that nobody answered: it expired, or its step has ended."""

        def work(change: Change) -> dict[str, Any] | None:
            gate: dict[str, Any] | None = change.get(GATES, gate_id)
            if gate is not None and gate["state"] == OPEN:
                gate = {**gate, "state": state, "ended_at": self._clock.now()}
                change.put(GATES, gate_id, gate)
            return gate

        return self._bench.change(work)

    def answer(
        self,
        gate_id: str,
        *,
        by: Answerer,
        choice: str | None = None,
        values: Mapping[str, Any] | None = None,
        reason: str = "",
    ) -> dict[str, Any]:
        """Answer a gate; the first answer stands.

        Args:
            gate_id: Of the instance: run, step and attempt.
            by: Who answers.
            choice: One of its choices, where it has some.
            values: What its form asks for.
            reason: Why, for the record.

        Raises:
            Refused: ``unknown_gate``; ``workflow_state``: it was answered, and when, or it is no
                longer open; ``not_allowed``: it is another's to answer; ``arguments_invalid``.
        """
        gate = self.read(gate_id)
        _check_open(gate, self._clock.now())
        _check_person(gate, by)
        given = _checked(gate, choice, values)
        answer = {
            **given,
            "by": by.principal,
            "at": self._clock.now(),
            "reason": reason,
            "self_answered": same_person(by.principal, gate["principal"]),
        }
        run = self._ledger.run(gate["run"])
        if run is None:
            raise Refused(failure("unknown_run", f"no run {gate['run']}"))
        event = event_of(run, "gate_answered", state=ANSWERED, note=reason, by=by.principal)
        event = {**event, "step": gate["step"], "choice": choice, "gate": gate_id}
        event["self_answered"] = answer["self_answered"]
        at = self._clock.now()
        draft = self._ledger.draft(run, {**event, "answer": given})

        def work(change: Change) -> dict[str, Any]:
            found = change.get(GATES, gate_id)
            _check_open(found, at)
            if run_now(change, gate["run"]) is None:
                raise Refused(failure("unknown_run", f"no run {gate['run']}"))
            made = {**found, "state": ANSWERED, "answer": answer, "ended_at": at}
            change.put(GATES, gate_id, made)
            tell(change, run.root, {**event, "at": at}, draft)
            return made

        return self._bench.change(work)


def _is_listed(gate: Mapping[str, Any], *, run: str | None, state: str | None) -> bool:
    # Ids of runs may begin with one another; what is within a run is behind a colon.
    within = run is None or f"{gate['run']}:".startswith(f"{run}:")
    return within and state in (None, gate["state"])


def _check_open(gate: Mapping[str, Any], now: float) -> None:
    if gate["state"] == ANSWERED:
        first = gate["answer"]
        text = f"{first['by']} answered it at {int(first['at'])}; the first answer stands"
        details = {"gate": gate["id"], "answered_at_unix_seconds": int(first["at"])}
        raise Refused(failure("workflow_state", text, **details))
    late = gate["expires_at"] is not None and now >= gate["expires_at"]
    if gate["state"] != OPEN or late:
        state = EXPIRED if late else gate["state"]
        text = f"it is {state}, and no longer waits for an answer"
        raise Refused(failure("workflow_state", text, gate=gate["id"]))


def _check_person(gate: Mapping[str, Any], by: Answerer) -> None:
    assignee = gate["assignee"]
    if assignee is not None and assignee != by.principal:
        raise Refused(failure("not_allowed", f"it is for {assignee} to answer", gate=gate["id"]))
    own = same_person(by.principal, gate["principal"])
    if assignee is None and own and not by.may_answer_own:
        text = "who started the run may not answer for it; have somebody else do it"
        raise Refused(failure("self_approval", text, gate=gate["id"]))


def _checked(
    gate: Mapping[str, Any], choice: str | None, values: Mapping[str, Any] | None
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if gate["choices"] and choice not in gate["choices"]:
        text = f"one of {', '.join(gate['choices'])} is to be chosen"
        raise Refused(failure("arguments_invalid", text, path="/choice"))
    if not gate["choices"] and choice is not None:
        raise Refused(failure("arguments_invalid", "there is nothing to choose", path="/choice"))
    if choice is not None:
        made["choice"] = choice
    if gate["form"] is None:
        if values is not None:
            raise Refused(failure("arguments_invalid", "it has no form", path="/values"))
        return made
    try:
        read: Any = normalise({} if values is None else dict(values)).value
    except JsonRefused as error:
        raise Refused(
            failure("arguments_invalid", error.message, path="/values" + error.path)
        ) from None
    errors = compiled(gate["form"], digest(gate["form"], domain=FORM_DOMAIN)).errors(read)
    if errors:
        shown = [{"path": "/values" + e.path, "message": e.message} for e in errors[:20]]
        text = f"{errors[0].message} at /values{errors[0].path}"
        raise Refused(failure("arguments_invalid", text, path=shown[0]["path"], errors=shown))
    return {**made, "values": read}
