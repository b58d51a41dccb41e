"""LangChain tools behind the door."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

import holon_core as holon

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import (
    BaseTool,
    BaseToolkit,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
    tool,
)
from pydantic import BaseModel, field_validator


@tool
def price(item: str, count: int = 1) -> dict[str, Any]:
    """Price some items."""
    return {"item": item, "cents": 300 * count}


@tool
async def slow_price(item: str) -> int:
    """Price an item, slowly."""
    await asyncio.sleep(0)
    return len(item)


class Upper(BaseTool):
    """A tool as a class of its own."""

    name: str = "upper"
    description: str = "Say a text in capitals."

    def _run(self, text: str) -> str:
        return text.upper()


def refuse(item: str) -> str:
    """Refuse."""
    raise ToolException(f"no {item} today")


class Even(BaseModel):
    """Arguments with a rule that no JSON Schema states."""

    number: int

    @field_validator("number")
    @classmethod
    def _even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("an even number is needed")
        return number


def test_a_tool_is_listed_with_its_own_schema_and_text(rt) -> None:
    """What its author wrote is what the catalogue shows, closed against further arguments."""
    (shown,) = rt.register_tools(price, effects="none")

    assert (shown.id, shown.description) == ("host.desk/price", "Price some items.")
    assert shown.input_schema["required"] == ["item"]
    assert shown.input_schema["additionalProperties"] is False


def test_a_synchronous_tool_answers_under_guard(rt, ann) -> None:
    """The result keeps its structure, and the tool's own default counts."""
    rt.register_tools([price], effects="none")

    result = ann.call("host.desk/price", {"item": "tea"})

    assert result.output == {"result": {"item": "tea", "cents": 300}}
    assert [r.kind for r in rt.evidence.read(result.call_id)] == ["accepted", "completed"]


def test_arguments_are_strict_where_the_framework_would_coerce(rt, ann) -> None:
    """A number as text is refused, though pydantic would take it."""
    rt.register_tools([price], effects="none")

    assert ann.call("host.desk/price", {"item": "tea", "count": "2"}).failure.details["path"] == (
        "/count"
    )


def test_an_asynchronous_tool_answers_both_ways(rt, ann) -> None:
    """On the loop of who awaits it, and beside a caller without one."""
    rt.register_tools([slow_price], effects="none")

    assert ann.call("host.desk/slow_price", {"item": "tea"}).output == {"result": 3}
    awaited = asyncio.run(ann.acall("host.desk/slow_price", {"item": "cake"}))
    assert awaited.output == {"result": 4}


def test_a_tool_of_a_class_answers(rt, ann) -> None:
    """Subclasses of BaseTool are tools like others."""
    rt.register_tools(Upper(), effects="none")

    assert ann.call("host.desk/upper", {"text": "hi"}).output == {"result": "HI"}


def test_a_tool_of_one_text_answers(rt, ann) -> None:
    """The older kind takes one text under one name."""
    made = Tool(name="shout", description="Shout.", func=lambda text: text + "!")
    (shown,) = rt.register_tools(made, effects="none")
    (name,) = shown.input_schema["properties"]

    assert ann.call("host.desk/shout", {name: "hi"}).output == {"result": "hi!"}


def test_a_toolkit_brings_all_its_tools(rt) -> None:
    """One object stands for several."""

    class Kit(BaseToolkit):
        def get_tools(self) -> list[BaseTool]:
            return [price, Upper()]

    shown = rt.register_tools(Kit(), effects={"price": {"none"}})

    assert [each.id for each in shown] == ["host.desk/price", "host.desk/upper"]
    assert [each.side_effect_class for each in shown] == [
        holon.Effect.NONE,
        holon.Effect.UNKNOWN,
    ]


def test_an_error_that_the_tool_hides_from_models_is_a_failure(rt, ann) -> None:
    """A text that stands for an error is not taken for a result."""
    made = StructuredTool.from_function(refuse, handle_tool_error=True)
    rt.register_tools(made, effects="none")

    result = ann.call("host.desk/refuse", {"item": "tea"})

    assert (result.status, result.failure.code) == (holon.Status.FAILED, "tool_failed")
    assert result.failure.message == "no tea today"
    assert made.handle_tool_error is True


def test_its_own_validation_refuses_before_anything_runs(rt, ann) -> None:
    """What fits the schema and not the model is an invalid argument, with its path."""
    ran: list[int] = []
    made = StructuredTool.from_function(
        ran.append, name="halve", description="Halve.", args_schema=Even
    )
    rt.register_tools(made, effects="none")

    failure = ann.call("host.desk/halve", {"number": 3}).failure

    assert failure.code == "arguments_invalid"
    assert "/number" in failure.message
    assert ran == []


def test_a_tool_may_take_a_json_schema(rt, ann) -> None:
    """Schemas written by hand are taken as they are."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 3}},
        "required": ["n"],
    }
    made = StructuredTool.from_function(
        lambda n: n, name="echo", description="Echo.", args_schema=schema
    )
    rt.register_tools(made, effects="none")

    assert ann.call("host.desk/echo", {"n": 3}).output == {"result": 3}
    assert ann.call("host.desk/echo", {"n": 4}).failure.code == "arguments_invalid"


def test_a_call_id_is_that_of_the_call(rt, ann) -> None:
    """The parameter that names the call is no argument, and holds the id in evidence."""

    @tool
    def trace(text: str, call: Annotated[str, InjectedToolCallId]) -> str:
        """Say which call this is."""
        return call

    (shown,) = rt.register_tools(trace, effects="none")
    result = ann.call("host.desk/trace", {"text": "hi"})

    assert list(shown.input_schema["properties"]) == ["text"]
    assert result.output == {"result": result.call_id}


def test_a_parameter_that_nobody_would_fill_keeps_a_tool_out(rt) -> None:
    """What an agent of the framework injects is not there, and the finding names it."""

    @tool
    def greet(text: str, user: Annotated[str, InjectedToolArg]) -> str:
        """Greet."""
        return text + user

    with pytest.raises(holon.Rejected) as rejected:
        rt.register_tools([price, greet], effects="none")

    assert [finding.path for finding in rejected.value.findings if "fill" in finding.message] == [
        "/greet/user"
    ]
    assert len(rt.tools) == 0


def test_the_configuration_of_the_host_reaches_the_tool(rt, ann) -> None:
    """A RunnableConfig is given once, at registration."""

    @tool
    def who(text: str, config: RunnableConfig) -> str:
        """Say for whom."""
        return str(config["configurable"]["tenant"])

    rt.register_tools(who, effects="none", context={"configurable": {"tenant": "acme"}})

    assert ann.call("host.desk/who", {"text": "x"}).output == {"result": "acme"}
