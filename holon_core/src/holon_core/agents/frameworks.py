"""The tools of a session as those of other frameworks: every call goes through ``answer``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from holon_core.errors import Misuse, Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from holon_core.agents.showing import ToolList
    from holon_core.session import Session

# Calls of a framework that gives none an id.
_NUMBERS = count(1)


def toolset(session: Session, framework: str, **options: Any) -> Any:
    """Make the tools of a session for a framework; see ``Session.toolset``."""
    made = _FRAMEWORKS.get(framework)
    if made is None:
        raise Misuse(f"no framework {framework!r:.50}; there are {', '.join(_FRAMEWORKS)}")
    try:
        return made(session, **options)
    except ImportError:
        text = f"{framework} is not installed: pip install holon-core[{framework}]"
        raise Refused(failure("dependency_missing", text)) from None


def _call(name: str, arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _text(message: Any) -> str:
    return str(message["content"][0]["text"])


def _mcp(session: Session, options: dict[str, Any]) -> ToolList:
    return session.tools("mcp", **options)


def _functions(session: Session, name: str) -> tuple[Callable[..., str], Callable[..., Any]]:
    """Make the two functions of a tool, for a thread and for a loop."""

    def run(**arguments: Any) -> str:
        return _text(session.answer(_call(name, arguments), dialect="mcp"))

    async def arun(**arguments: Any) -> str:
        return _text(await session.aanswer(_call(name, arguments), dialect="mcp"))

    return run, arun


def _langchain(session: Session, **options: Any) -> list[Any]:
    from langchain_core.tools import StructuredTool

    tools = []
    for each in _mcp(session, options):
        run, arun = _functions(session, each["name"])
        tools.append(
            StructuredTool(
                name=each["name"],
                description=each["description"],
                args_schema=each["inputSchema"],
                func=run,
                coroutine=arun,
            )
        )
    return tools


def _openai_agents(session: Session, **options: Any) -> list[Any]:
    from agents import FunctionTool

    def invoking(name: str) -> Callable[[Any, str], Any]:
        async def invoke(context: Any, arguments: str) -> str:
            call_id = getattr(context, "tool_call_id", None) or f"agents-{next(_NUMBERS)}"
            call = {"type": "function_call", "call_id": call_id, "name": name}
            message = await session.aanswer({**call, "arguments": arguments})
            return str(message["output"])

        return invoke

    return [
        FunctionTool(
            name=each["name"],
            description=each["description"],
            params_json_schema=each["parameters"],
            on_invoke_tool=invoking(each["name"]),
            strict_json_schema=each["strict"],
        )
        for each in session.tools("openai-responses", **options)
    ]


def _pydantic_ai(session: Session, **options: Any) -> Any:
    from pydantic_ai import FunctionToolset, Tool

    tools = []
    for each in _mcp(session, options):
        _, arun = _functions(session, each["name"])
        tools.append(
            Tool.from_schema(
                arun,
                name=each["name"],
                description=each["description"],
                json_schema=each["inputSchema"],
            )
        )
    return FunctionToolset(tools=tools)


_FRAMEWORKS: dict[str, Callable[..., Any]] = {
    "langchain": _langchain,
    "openai-agents": _openai_agents,
    "pydantic-ai": _pydantic_ai,
}
