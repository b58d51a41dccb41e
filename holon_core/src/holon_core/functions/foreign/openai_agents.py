"""Function tools of the OpenAI Agents SDK."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from holon_core.functions.foreign.records import ForeignTool
from holon_core.records.finding import Finding
from holon_core.records.words import ApprovalRequirement

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

FRAMEWORK = "openai-agents"
MODULE = "agents.tool"
# What the runner of that SDK does around a tool, and nobody would do here.
_AROUND = {
    "tool_input_guardrails": "its input guardrails run only in the SDK's runner",
    "tool_output_guardrails": "its output guardrails run only in the SDK's runner",
}
_INSTEAD = "; leave them out here and say the same as a policy or a schema"


def understands(module: Any, given: object) -> bool:
    """Tell whether an object is a function tool of the SDK."""
    return isinstance(given, module.FunctionTool)


def tools_of(given: Any, context: Any, _: Callable[[Any], Any]) -> Iterator[ForeignTool]:
    """Describe one function tool.

    Args:
        given: What ``understands`` took.
        context: What the tool gets as its ``context``, or ``None``.
    """
    yield ForeignTool(
        framework=FRAMEWORK,
        name=given.name,
        description=given.description,
        input_schema=given.params_json_schema,
        returns=getattr(given, "output_json_schema", None),
        is_async=True,
        invoke=_invoker(_raising(given), context),
        # A condition of the SDK's can only be asked in its runner: here it always asks.
        approval=(
            ApprovalRequirement.REQUIRED if given.needs_approval else ApprovalRequirement.NONE
        ),
        timeout_s=given.timeout_seconds,
        findings=tuple(_findings(given)),
    )


def _findings(given: Any) -> Iterator[Finding]:
    for name, why in _AROUND.items():
        if getattr(given, name, None):
            yield Finding(code="record_invalid", message=why + _INSTEAD, path=f"/{name}")
    if given.is_enabled is not True:
        text = "it is not enabled, or only at times, which the SDK's runner alone can tell"
        yield Finding(code="record_invalid", message=text, path="/is_enabled")
    origin = getattr(given, "_tool_origin", None)
    if getattr(getattr(origin, "type", None), "value", "") == "mcp":
        text = "it is called on a live MCP server, which stays closed"
        yield Finding(code="record_invalid", message=text)


def _raising(given: Any) -> Any:
    """Copy a tool so that its errors come out as exceptions, not as texts for a model."""
    tool = copy.copy(given)
    tool._failure_error_function = None
    tool._use_default_failure_error_function = False
    return tool


def _invoker(tool: Any, context: Any) -> Callable[[SealedCall], Any]:
    async def invoke(call: SealedCall) -> Any:
        from agents.exceptions import ModelBehaviorError
        from agents.tool_context import ToolContext

        from holon_core.functions.codec import ArgumentRefused

        arguments = call.arguments_json.decode()
        made: Any = ToolContext(
            context=context,
            tool_name=tool.name,
            tool_call_id=call.call_id,
            tool_arguments=arguments,
        )
        try:
            return await tool.on_invoke_tool(made, arguments)
        except ModelBehaviorError:
            # The SDK's own validation, before the function is entered; its text quotes values.
            raise ArgumentRefused("the tool's own validation refuses the arguments") from None

    return invoke
