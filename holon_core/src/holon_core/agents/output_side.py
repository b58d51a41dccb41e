"""The output side of a session: what one caller puts through gates and hands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Misuse
from holon_core.governed import Facet, operation
from holon_core.guard.outputs import accept, hand_over
from holon_core.names import MAX_NAME, required_text
from holon_core.records.output import OutputFacts
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.agents.facet import Agents
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.output import OutputResult
    from holon_core.store.protocol import Tables


def said(answer: object) -> Any:
    """Return an answer as policy sees it; nothing where it is no JSON, which its gate judges."""
    try:
        return normalise(answer).value
    except JsonRefused:
        return None


def _validated(
    output_class: str, answer: object, *, consumer: str | None = None, **_: object
) -> dict[str, Any]:
    named = {} if consumer is None else {"consumer": consumer}
    return {"output_class": output_class, "answer": said(answer), **named}


class OutputSide(Facet):
    """What ``Session.accept_output`` and ``hand_output`` do; operations, as all that is kept is.

    Args:
        guard: The parts.
        caller: Of the session.
        agents: Of the runtime, where the session is one of it.
    """

    def __init__(
        self, guard: Guard, caller: CallerContext, agents: Callable[[], Agents] | None
    ) -> None:
        self._guard = guard
        self._agents = agents
        self.asker = caller
        self._caller = caller
        self.through = guard.through

    @operation("structured-output/validate", given=_validated)
    def accept(
        self,
        output_class: str,
        answer: object,
        *,
        facts: OutputFacts | None = None,
        consumer: str | None = None,
        dialect: str | None = None,
    ) -> OutputResult:
        """Judge an answer and keep it where it passed; see ``Session.accept_output``."""
        required_text(output_class, "an output class", MAX_NAME)
        if consumer is not None:
            required_text(consumer, "a consumer", MAX_NAME)
        return accept(
            self._guard,
            self._caller,
            output_class,
            answer,
            facts=facts or OutputFacts(),
            consumer=consumer,
            back=None if dialect is None else self._back(output_class, dialect),
            within=self._kept,
        )

    @operation("structured-output/hand-over")
    def hand_over(self, output_id: str, *, consumer: str) -> OutputResult:
        """Hand an accepted output to a consumer of its class; see ``Session.hand_output``."""
        return hand_over(self._guard, self._caller, output_id, consumer)

    def _back(self, output_class: str, dialect: str) -> Callable[[Any], Any]:
        """Return what maps an answer in a provider's response format back."""
        if self._agents is None:
            raise Misuse("open the session with runtime.session(…)")
        return self._agents().back(output_class, dialect)

    def _kept(self, tables: Tables, output_id: str) -> StructuredFailure | None:
        """Note an accepted output in the session of a caller with a profile."""
        if self._caller.profile is None or self._agents is None:
            return None
        return self._agents().sessions.keep_output(tables, self._caller, output_id)
