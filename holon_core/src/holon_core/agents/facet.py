"""Agents as a host sees them (`rt.agents`): profiles, sessions, outputs, dialects."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holon_core.agents.profiles import Profiles
from holon_core.agents.sessions import Sessions
from holon_core.errors import Misuse, Refused
from holon_core.records.failure import failure
from holon_core.structured_output.judging import NO_FACTS, Judgement, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from holon_core.agents.projection import Projector, Shown
    from holon_core.guard.guard import Guard
    from holon_core.records.dialect import FunctionDialect
    from holon_core.records.output import OutputClass, OutputFacts


def shown_class(output_class: OutputClass, dialect: FunctionDialect) -> Shown:
    """Show the schema of a class in a dialect, strictly where that is possible."""
    from holon_core.agents.projection import shown_schema

    return shown_schema(output_class.schema, dialect, strict=True)


class Outputs:
    """Classes of structured output (`rt.agents.outputs`)."""

    def __init__(self, guard: Guard, projector: Callable[[], Projector]) -> None:
        self._classes = guard.outputs
        self._projector = projector

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

    def response_format(self, class_id: str, dialect: str) -> dict[str, Any]:
        """Return how a provider is asked for an answer of a class.

        Args:
            class_id: The class.
            dialect: ``openai-responses`` (for ``text``), ``openai-chat`` (``response_format``) or
                ``anthropic`` (``output_config``).

        Returns:
            The parameter's value. What comes back is given to ``accept_output`` or ``finish``
            with the same ``dialect``, which maps it back before the gate.

        Raises:
            Refused: ``unknown_output_class``; ``unsupported_capability`` where the provider has
                no response format, or one that cannot express the class.
            Misuse: There is no such dialect.
        """
        from holon_core.agents.shapes import filled
        from holon_core.agents.showing import dialect_named

        named = dialect_named(self._projector(), dialect)
        shown = shown_class(self._classes.get(class_id)[0], named)
        if named.response_format is None or (not shown.strict and not named.lax_format):
            text = f"{dialect} has no response format for {class_id}: {'; '.join(shown.notes)}"
            raise Refused(failure("unsupported_capability", text))
        name = re.sub(r"[^A-Za-z0-9_-]", "_", class_id)[:64]
        values = {"name": name, "schema": shown.schema, "strict": shown.strict}
        made: dict[str, Any] = filled(named.response_format, values)
        return made

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
        self.sessions = Sessions(guard, self.profiles, self.back)
        self._guard = guard
        self._offered = tuple(dialects)

    @cached_property
    def outputs(self) -> Outputs:
        """Classes of structured output."""
        return Outputs(self._guard, lambda: self.projector)

    @cached_property
    def projector(self) -> Projector:
        """What shows tools to models; made when first asked for."""
        from holon_core.agents.dialects import DIALECTS
        from holon_core.agents.projection import Projector

        more = {each.id: each for each in self._offered}
        return Projector(self._guard, {**DIALECTS, **more})

    def back(self, class_id: str, dialect: str) -> Callable[[Any], Any]:
        """Return what maps an answer in a dialect's response format back to its class.

        Raises:
            Refused: ``unknown_output_class``.
            Misuse: There is no such dialect.
        """
        from holon_core.agents.showing import dialect_named

        named = dialect_named(self.projector, dialect)
        return shown_class(self.outputs.read(class_id), named).plan.back

    def dialects(self) -> tuple[FunctionDialect, ...]:
        """Return the dialects of function calling: the core's five, then those of plugins."""
        return tuple(self.projector.dialects.values())
