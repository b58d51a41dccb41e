"""Agents as a host sees them (`rt.agents`): profiles, sessions, outputs, dialects."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from holon_core.agents.profiles import Profiles
from holon_core.agents.sessions import Sessions
from holon_core.errors import Misuse
from holon_core.structured_output.judging import NO_FACTS, Judgement, judge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holon_core.agents.projection import Projector
    from holon_core.guard.guard import Guard
    from holon_core.records.dialect import FunctionDialect
    from holon_core.records.output import OutputClass, OutputFacts


class Outputs:
    """Classes of structured output (`rt.agents.outputs`)."""

    def __init__(self, guard: Guard) -> None:
        self._classes = guard.outputs

    def list(self) -> tuple[OutputClass, ...]:
        """Return the classes: the core's seven, then others by id."""
        return self._classes.list()

    def read(self, class_id: str) -> OutputClass:
        """Return one class.

        Raises:
            Refused: ``unknown_output_class``.
        """
        return self._classes.get(class_id)[0]

    def register(self, output_class: OutputClass) -> OutputClass:
        """Register a class of the host's own, for as long as this runtime is open.

        Args:
            output_class: Its id holds a dot; its gate is the schema, and its ``check``.

        Returns:
            The class with the schema that counts, closed where it was silent.

        Raises:
            Rejected: With every finding.
        """
        return self._classes.register(output_class)

    def check(
        self, class_id: str, answer: object, *, facts: OutputFacts | None = None
    ) -> Judgement:
        """Judge an answer without a caller: nothing is recorded or kept, so nothing is accepted.

        Args:
            class_id: The class.
            answer: Text or a JSON value, as ``Session.accept_output`` takes it.
            facts: What the runtime says of it.

        Returns:
            The value and its digest, or the failure. Gates that ask for evidence or policy fail.

        Raises:
            Refused: ``unknown_output_class``.
        """
        if not isinstance(class_id, str):
            raise Misuse("class_id is the id of an output class")
        output_class, schema_digest = self._classes.get(class_id)
        return judge(output_class, schema_digest, answer, facts=facts or NO_FACTS)


class Agents:
    """What concerns agents as such (`rt.agents`)."""

    def __init__(self, guard: Guard, dialects: Iterable[FunctionDialect] = ()) -> None:
        self.profiles = Profiles(guard)
        self.sessions = Sessions(guard, self.profiles)
        guard.profiles = self.sessions
        guard.class_elsewhere = self.sessions.own_class
        self._guard = guard
        self._offered = tuple(dialects)

    @cached_property
    def outputs(self) -> Outputs:
        """Classes of structured output."""
        return Outputs(self._guard)

    @cached_property
    def projector(self) -> Projector:
        """What shows tools to models; made when first asked for."""
        from holon_core.agents.dialects import DIALECTS
        from holon_core.agents.projection import Projector

        more = {each.id: each for each in self._offered}
        return Projector(self._guard, {**DIALECTS, **more})

    def dialects(self) -> tuple[FunctionDialect, ...]:
        """Return the dialects of function calling: the core's five, then those of plugins."""
        return tuple(self.projector.dialects.values())
