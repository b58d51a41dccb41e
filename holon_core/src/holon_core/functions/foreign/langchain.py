"""LangChain tools: whatever is a ``BaseTool`` of langchain-core, and toolkits of such."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.functions.foreign.records import ForeignTool, ToolSaidNo, refused_by_pydantic
from holon_core.records.finding import Finding
from holon_core.records.words import Severity

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

FRAMEWORK = "langchain"
MODULE = "langchain_core.tools"


def understands(module: Any, given: object) -> bool:
    """Tell whether an object is a tool or a toolkit of LangChain."""
    return isinstance(given, (module.BaseTool, module.BaseToolkit))


def tools_of(given: Any, context: Any, _: Callable[[Any], Any]) -> Iterator[ForeignTool]:
    """Describe a tool, or each tool of a toolkit.

    Args:
        given: What ``understands`` took.
        context: The configuration that the tools get (``RunnableConfig``), or ``None``.
    """
    from langchain_core.tools import BaseToolkit

    for tool in given.get_tools() if isinstance(given, BaseToolkit) else [given]:
        yield _described(tool, context)


def _accepted(tool: Any) -> Any:
    """Return what models may send: a model class of pydantic, or a JSON Schema."""
    from langchain_core.tools import Tool

    if isinstance(tool, Tool) and tool.args_schema is None:
        # Made for one text; its own schema describes the wrapper around the function.
        return {"type": "object", "properties": dict(tool.args), "required": list(tool.args)}
    return tool.tool_call_schema


def _described(tool: Any, context: Any) -> ForeignTool:
    # What a tool reports as an error comes out as an exception, not as a text like any other.
    strict = tool.model_copy(update={"handle_tool_error": False, "handle_validation_error": False})
    accepted = _accepted(tool)
    call_ids, findings = _injected(tool, accepted)
    if tool.response_format == "content_and_artifact":
        text = "the artifact that it returns beside its content is not kept"
        findings.append(_finding(text, path="/return", severity=Severity.WARNING))
    is_async = _is_async(tool)
    return ForeignTool(
        framework=FRAMEWORK,
        name=tool.name,
        description=tool.description,
        input_schema=_json_schema(accepted),
        is_async=is_async,
        invoke=_Invoker(strict, context, call_ids=call_ids).of(is_async),
        findings=tuple(findings),
    )


def _is_async(tool: Any) -> bool:
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    from langchain_core.tools import BaseTool

    return type(tool)._arun is not BaseTool._arun


def _json_schema(accepted: Any) -> Mapping[str, Any]:
    if isinstance(accepted, dict):
        return accepted
    made = getattr(accepted, "model_json_schema", None) or accepted.schema
    return made()  # type: ignore[no-any-return]


def _injected(tool: Any, accepted: Any) -> tuple[frozenset[str], list[Finding]]:
    """Find parameters for the id of the call, and what only an agent of LangChain's fills."""
    from langchain_core.tools import InjectedToolCallId

    if isinstance(accepted, dict):
        return frozenset(), []
    full: Any = tool.get_input_schema()
    hidden = set(_fields(full)) - set(_fields(accepted))
    ids = {name for name in hidden if _has_mark(_fields(full)[name], InjectedToolCallId)}
    required = {name for name in hidden - ids if _fields(full)[name].is_required()}
    required |= set(getattr(tool, "_injected_args_keys", ())) - ids - {"tool_call_id"}
    findings = [
        _finding(f"{name} is filled by an agent of LangChain, and there is none here", f"/{name}")
        for name in sorted(required)
    ]
    return frozenset(ids), findings


def _fields(model: Any) -> Mapping[str, Any]:
    return getattr(model, "model_fields", {})


def _has_mark(field: Any, mark: type) -> bool:
    return any(isinstance(each, mark) or each is mark for each in field.metadata)


def _finding(message: str, path: str = "", severity: Severity = Severity.ERROR) -> Finding:
    return Finding(code="signature_unsupported", message=message, path=path, severity=severity)


class _Invoker:
    def __init__(self, tool: Any, context: Any, *, call_ids: frozenset[str]) -> None:
        self._tool = tool
        self._validate = getattr(tool.args_schema, "model_validate", None)
        self._context = context
        self._call_ids = call_ids

    def of(self, is_async: bool) -> Callable[[SealedCall], Any]:
        return self._ainvoke if is_async else self._invoke

    def _input(self, call: SealedCall) -> dict[str, Any]:
        arguments = dict(call.arguments)
        if self._validate is not None:
            from pydantic import ValidationError

            try:
                self._validate({**arguments, **dict.fromkeys(self._call_ids, call.call_id)})
            except ValidationError as error:
                raise refused_by_pydantic(error) from None
        if not self._call_ids:
            return arguments
        return {
            "type": "tool_call",
            "id": call.call_id,
            "name": self._tool.name,
            "args": arguments,
        }

    def _invoke(self, call: SealedCall) -> Any:
        from langchain_core.tools import ToolException

        given = self._input(call)
        try:
            return self._output(self._tool.invoke(given, self._context))
        except ToolException as error:
            raise ToolSaidNo(str(error)) from error

    async def _ainvoke(self, call: SealedCall) -> Any:
        from langchain_core.tools import ToolException

        given = self._input(call)
        try:
            return self._output(await self._tool.ainvoke(given, self._context))
        except ToolException as error:
            raise ToolSaidNo(str(error)) from error

    def _output(self, answer: Any) -> Any:
        from langchain_core.messages import ToolMessage

        return answer.content if isinstance(answer, ToolMessage) else answer
