"""Structured outputs: a class with its gate, what a gate is told, and what came of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import field, frozen
from attrs.validators import ge, optional

from holon_core.errors import CallFailed
from holon_core.records.base import Record
from holon_core.records.failure import StructuredFailure
from holon_core.records.finding import Finding
from holon_core.records.result import EvidenceRef
from holon_core.records.words import Status, Word


class OutputGate(Word):
    """One requirement of a gate; a class names all of its own, and all have to hold."""

    SCHEMA = "schema"
    DECLARED_OUTPUT_SCHEMA = "declared_output_schema"
    BUDGET = "budget"
    FALLBACK_POLICY = "fallback_policy"
    PURPOSE = "purpose"
    INPUTS = "inputs"
    COMMAND = "command"
    SIDE_EFFECTS = "side_effects"
    VALIDATION = "validation"
    PROVENANCE = "provenance"
    EVIDENCE = "evidence"
    POLICY = "policy"


@frozen(kw_only=True, eq=False, repr=False)
class OutputClass(Record):
    """A class of structured output: who makes it, who may use it, and what it has to pass.

    ``id`` of a host's or a plugin's own class holds a dot (``shop.refund_decision``); those
    without one are the core's. ``schema`` is a JSON Schema of an object. ``check`` is asked last,
    with the value (a copy of its own), and gives findings; an error among them refuses.
    """

    id: str
    version: str = "1"
    description: str = ""
    schema: Mapping[str, Any] = field(repr=False)
    producer: str
    consumers: tuple[str, ...]
    gate: tuple[OutputGate, ...] = (OutputGate.SCHEMA,)
    check: Callable[[dict[str, Any]], Iterable[Finding]] | None = field(default=None, repr=False)


@frozen(kw_only=True, eq=False, repr=False)
class OutputBudget(Record):
    """What one AI step may use; ``None`` where nothing is stated. Costs are in millionths."""

    max_tokens: int | None = field(default=None, validator=optional(ge(1)))
    max_duration_ms: int | None = field(default=None, validator=optional(ge(1)))
    max_attempts: int | None = field(default=None, validator=optional(ge(1)))
    max_cost_micros: int | None = field(default=None, validator=optional(ge(0)))


@frozen(kw_only=True, eq=False, repr=False)
class OutputFacts(Record):
    """What the runtime, not the model, says of an answer; gates compare the answer with it.

    ``declared_schema`` is the output schema of the tool or step. ``budget`` and
    ``fallback_policy`` are those of the AI step. A gate whose fact is absent is not passed.
    """

    declared_schema: Mapping[str, Any] | None = field(default=None, repr=False)
    budget: OutputBudget | None = None
    fallback_policy: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class OutputResult(Record):
    """What came of one answer: accepted under an id, or a typed failure with paths.

    ``value`` is the accepted JSON value. ``failure.details["errors"]`` lists paths (JSON
    pointers into the value), rules and messages.
    """

    status: Status
    output_class: str
    class_version: str = ""
    output_id: str | None = None
    value: Any = field(default=None, repr=False)
    digest: str | None = None
    failure: StructuredFailure | None = None
    evidence_refs: tuple[EvidenceRef, ...] = ()

    def raise_for_failure(self) -> OutputResult:
        """Return the result itself where the answer was accepted.

        Raises:
            CallFailed: It was not; the exception carries the failure.
        """
        if self.failure is not None:
            raise CallFailed(self.failure, self.output_id or "")
        return self
