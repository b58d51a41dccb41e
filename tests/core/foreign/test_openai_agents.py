"""Function tools of the OpenAI Agents SDK behind the door."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import holon_core as holon

pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import (
    FunctionTool,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    function_tool,
    tool_input_guardrail,
)
from pydantic import BaseModel


class Weather(BaseModel):
    """A forecast."""

    city: str
    degrees: int


@function_tool
def weather(ctx: RunContextWrapper[Any], city: str) -> Weather:
    """Tell the weather.

    Args:
        ctx: Whatever the host hands over.
        city: Where.
    """
    return Weather(city=f"{city}/{ctx.context}", degrees=20)


@function_tool
async def broken(city: str) -> str:
    """Break."""
    raise ValueError(f"no weather in {city}")


def test_a_tool_is_listed_with_its_strict_schema(rt) -> None:
    """The SDK's strict schema is what arguments have to fit."""
    (shown,) = rt.register_tools(weather, effects="network_read")

    assert (shown.id, shown.description) == ("host.desk/weather", "Tell the weather.")
    assert shown.input_schema["properties"]["city"]["description"] == "Where."
    assert shown.input_schema["additionalProperties"] is False


def test_the_context_of_the_host_reaches_the_tool(rt, ann) -> None:
    """Given at registration; models become JSON."""
    rt.register_tools([weather], effects="none", context="acme")

    assert ann.call("host.desk/weather", {"city": "Rome"}).output == {
        "result": {"city": "Rome/acme", "degrees": 20}
    }


def test_it_answers_awaited_too(rt, ann) -> None:
    """On the caller's own loop."""
    rt.register_tools([weather], effects="none")

    awaited = asyncio.run(ann.acall("host.desk/weather", {"city": "Rome"}))

    assert awaited.output["result"]["city"] == "Rome/None"


def test_an_error_that_the_sdk_turns_into_a_text_is_a_failure(rt, ann) -> None:
    """The SDK's default tells models a text; here the call fails, and the original is untouched."""
    rt.register_tools(broken, effects="none")

    failure = ann.call("host.desk/broken", {"city": "Rome"}).failure

    assert (failure.code, failure.message) == ("tool_raised", "ValueError: no weather in Rome")
    assert broken._use_default_failure_error_function is True


@pytest.mark.parametrize("needed", [True, lambda *_: False], ids=["always", "at times"])
def test_a_tool_that_asks_for_approval_asks_here(rt, ann, needed: Any) -> None:
    """A condition that only the SDK's runner can ask counts as always."""

    @function_tool(needs_approval=needed)
    def send(text: str) -> str:
        """Send."""
        return text

    rt.register_tools(send, effects="none")
    result = ann.call("host.desk/send", {"text": "hi"})
    rt.approvals.approve(result.held, by="boss", reason="ok")

    assert ann.release(result.held).output == {"result": "hi"}


def test_guardrails_that_nobody_would_run_keep_a_tool_out(rt) -> None:
    """A tool is not taken without what its author put around it."""

    @tool_input_guardrail
    def no_secrets(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.allow()

    @function_tool(tool_input_guardrails=[no_secrets])
    def send(text: str) -> str:
        """Send."""
        return text

    with pytest.raises(holon.Rejected, match="guardrails run only in the SDK's runner"):
        rt.register_tools(send, effects="none")


def test_a_tool_that_is_switched_off_stays_out(rt) -> None:
    """What its framework would not offer is not offered here."""

    @function_tool(is_enabled=False)
    def send(text: str) -> str:
        """Send."""
        return text

    with pytest.raises(holon.Rejected, match="not enabled"):
        rt.register_tools(send, effects="none")


def test_a_tool_made_by_hand_answers(rt, ann) -> None:
    """A FunctionTool needs no decorator."""

    async def invoke(ctx: Any, text: str) -> Any:
        return {"seen": text, "call": ctx.tool_call_id}

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    made = FunctionTool(
        name="raw", description="Raw.", params_json_schema=schema, on_invoke_tool=invoke
    )
    rt.register_tools(made, effects="none", timeout_s=5)

    result = ann.call("host.desk/raw", {"n": 1})

    assert result.output == {"result": {"seen": '{"n":1}', "call": result.call_id}}


def test_a_tool_of_a_live_mcp_server_is_kept_out(rt) -> None:
    """The SDK marks what it took from a server; live MCP stays closed."""
    from agents.tool import ToolOrigin, ToolOriginType

    @function_tool
    def far(text: str) -> str:
        """Far away."""
        return text

    far._tool_origin = ToolOrigin(type=ToolOriginType.MCP, mcp_server_name="far")

    with pytest.raises(holon.Rejected, match="live MCP server"):
        rt.register_tools(far, effects="none")
