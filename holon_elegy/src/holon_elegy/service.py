"""The service `elegy`: invocations and mappings, for lanes that may not import this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elegy_contracts.templates import Invocation
    from holon_core.records.outcome import ExecutorOutcome
    from holon_core.records.skill import CapabilityBindingRecord, ImportedSkill
    from holon_core.records.workflow import WorkflowEvent, WorkflowStepResult


class ElegyService:
    """What is asked of this lane by ``runtime.service("elegy")``; it holds nothing."""

    def invocation(
        self, binding: CapabilityBindingRecord, arguments: Mapping[str, Any]
    ) -> Invocation | None:
        """Return program, argument vector and standard input of a call; see ``invoking``."""
        from holon_elegy.invoking import invocation_of

        return invocation_of(binding, arguments)

    def preview(
        self, binding: CapabilityBindingRecord | None, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Show the invocation of a call, for an executor's own preview."""
        from holon_elegy.invoking import preview_of

        return preview_of(binding, arguments)

    def outcome(self, response: Any, events: Iterable[Any] = ()) -> ExecutorOutcome:
        """Make the outcome of an InvocationResponse; see ``mapping``."""
        from holon_elegy.mapping import outcome_of

        return outcome_of(response, events)

    def event(self, event: Any) -> WorkflowEvent:
        """Make a workflow event of an ExecutionEvent."""
        from holon_elegy.mapping import event_of

        return event_of(event)

    def step_result(self, response: Any) -> WorkflowStepResult:
        """Make the result of a workflow step of an InvocationResponse."""
        from holon_elegy.mapping import step_result_of

        return step_result_of(response)

    def read_skill(self, source: str, definition: Any) -> ImportedSkill:
        """Read a definition as an import would, and store nothing."""
        from holon_elegy.importing import import_definition

        return import_definition(source, definition)
