"""Pydantic AI: tools, and toolsets, whose tools are listed once when they are registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from holon_core.functions.foreign.records import ForeignTool, ToolSaidNo, refused_by_pydantic
from holon_core.records.finding import Finding
from holon_core.records.words import ApprovalRequirement

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

FRAMEWORK = "pydantic-ai"
MODULE = "pydantic_ai.tools"
MCP = "pydantic_ai.mcp"


def understands(module: Any, given: object) -> bool:
    """Tell whether an object is a tool or a toolset of Pydantic AI."""
    from pydantic_ai.toolsets import AbstractToolset

    return isinstance(given, (module.Tool, AbstractToolset))


def tools_of(given: Any, context: Any, run: Callable[[Any], Any]) -> Iterator[ForeignTool]:
    """Describe a tool, or each tool of a toolset.

    Args:
        given: What ``understands`` took.
        context: What the tools get as their dependencies (``RunContext.deps``), or ``None``.
        run: Runs a coroutine to its end, within a time.
    """
    from pydantic_ai.tools import Tool
    from pydantic_ai.toolsets import FunctionToolset

    toolset: Any = FunctionToolset([given]) if isinstance(given, Tool) else given
    if _is_live_mcp(toolset):
        text = "its tools are called on a live MCP server, which stays closed"
        yield _unusable(type(given).__name__, text)
        return
    for name, tool in run(_listed(toolset, context)).items():
        yield _described(toolset, name, tool, context)


def _is_live_mcp(toolset: Any) -> bool:
    leaves: list[Any] = []
    toolset.apply(leaves.append)
    return any(kind.__module__ == MCP for leaf in leaves for kind in type(leaf).__mro__)


def _unusable(name: str, text: str) -> ForeignTool:
    return ForeignTool(
        framework=FRAMEWORK,
        name=name,
        description="",
        input_schema={"type": "object"},
        is_async=True,
        invoke=_never,
        findings=(Finding(code="record_invalid", message=text),),
    )


def _never(_: SealedCall) -> Any:
    raise AssertionError("a tool with an error finding is not registered")


async def _listed(toolset: Any, context: Any) -> dict[str, Any]:
    async with toolset:
        return await toolset.get_tools(_run_context(context))  # type: ignore[no-any-return]


def _run_context(deps: Any, **facts: Any) -> Any:
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tools import RunContext
    from pydantic_ai.usage import RunUsage

    # A context has to name a model; none is asked here, and this one answers nothing by itself.
    return RunContext(deps=deps, model=TestModel(), usage=RunUsage(), **facts)


def _described(toolset: Any, name: str, tool: Any, context: Any) -> ForeignTool:
    stated = tool.tool_def
    findings = []
    if stated.kind not in ("function", "unapproved"):
        text = f"a tool of kind {stated.kind} is carried out by others, so nothing runs it here"
        findings.append(Finding(code="record_invalid", message=text))
    return ForeignTool(
        framework=FRAMEWORK,
        name=name,
        description=stated.description or "",
        input_schema=stated.parameters_json_schema,
        returns=stated.return_schema,
        is_async=True,
        invoke=_invoker(toolset, name, tool, context),
        approval=(
            ApprovalRequirement.REQUIRED
            if stated.kind == "unapproved"
            else ApprovalRequirement.NONE
        ),
        timeout_s=stated.timeout,
        findings=tuple(findings),
    )


def _invoker(toolset: Any, name: str, tool: Any, deps: Any) -> Callable[[SealedCall], Any]:
    async def invoke(call: SealedCall) -> Any:
        from pydantic_ai.exceptions import ModelRetry, ToolFailed
        from pydantic_ai.messages import ToolReturn

        # A person approved it, or nobody had to: both were settled before the call got here.
        context = _run_context(
            deps, tool_name=name, tool_call_id=call.call_id, tool_call_approved=True
        )
        arguments = await _validated(tool, call, context)
        try:
            async with toolset:
                answer = await toolset.call_tool(name, arguments, context, tool)
        except (ModelRetry, ToolFailed) as error:
            raise ToolSaidNo(str(error)) from error
        return answer.return_value if isinstance(answer, ToolReturn) else answer

    return invoke


async def _validated(tool: Any, call: SealedCall, context: Any) -> dict[str, Any]:
    from pydantic import ValidationError
    from pydantic_ai.exceptions import ModelRetry, ToolFailed

    from holon_core.functions.codec import ArgumentRefused

    try:
        arguments: dict[str, Any] = tool.args_validator.validate_json(call.arguments_json)
        if tool.args_validator_func is not None:
            said = tool.args_validator_func(context, **arguments)
            if isawaitable(said):
                await said
    except ValidationError as error:
        raise refused_by_pydantic(error) from None
    except (ModelRetry, ToolFailed) as error:
        raise ArgumentRefused(str(error)) from None
    return arguments
