"""The tools of a session in other frameworks, by the installed packages; and response formats."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import holon_core as holon


@pytest.fixture
def session():
    """An agent that may add and has to ask before it sends."""

    @holon.tool(effects={"none"})
    def add(a: int, b: int = 2) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    @holon.tool(effects={"network_write"})
    def send(to: str) -> str:
        """Send something."""
        return to

    with holon.Runtime.in_memory(tools=[add, send]) as runtime:
        yield runtime.session(principal="agent")


def test_langchain_takes_and_calls_them(session):
    """In a thread and on a loop; what is held or wrong is told as text."""
    pytest.importorskip("langchain_core")
    add, send = session.toolset("langchain")

    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert json.loads(add.invoke({"a": 1})) == {"sum": 3}
    assert json.loads(asyncio.run(add.ainvoke({"a": 1, "b": 5}))) == {"sum": 6}
    assert json.loads(add.invoke({"a": "x"}))["failure"]["code"] == "arguments_invalid"
    assert json.loads(send.invoke({"to": "bo"}))["status"] == "held"


def test_openai_agents_take_and_call_them(session):
    """Strict schemas come back as the tool takes them."""
    agents = pytest.importorskip("agents")
    add, send = session.toolset("openai-agents")

    def call(tool: Any, arguments: str) -> Any:
        return json.loads(asyncio.run(tool.on_invoke_tool(None, arguments)))

    assert isinstance(add, agents.FunctionTool)
    assert add.strict_json_schema
    assert call(add, '{"a": 1, "b": null}') == {"sum": 3}
    assert call(add, "{")["failure"]["code"] == "arguments_invalid"
    assert call(send, '{"to": "bo"}')["status"] == "held"


def test_pydantic_ai_takes_and_calls_them(session):
    """By an agent whose model is a function."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    told: list[str] = []

    def model(messages: Any, info: Any) -> Any:
        if len(messages) == 1:
            assert [each.name for each in info.function_tools] == ["add", "send"]
            return ModelResponse(parts=[ToolCallPart("add", {"a": 1}, tool_call_id="c")])
        told.append(str(messages[-1].parts[0].content))
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(model), toolsets=[session.toolset("pydantic-ai")])

    assert asyncio.run(agent.run("add")).output == "done"
    assert json.loads(told[0]) == {"sum": 3}


def test_a_framework_that_is_not_known_is_misuse(session):
    """The text names those there are."""
    with pytest.raises(holon.Misuse, match="langchain"):
        session.toolset("langchian")


def test_a_class_is_asked_for_in_the_shape_of_the_provider():
    """Strict where it can be; the answer is mapped back before the gate."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["n"],
    }
    mine = holon.OutputClass(id="shop.n", schema=schema, producer="p", consumers=("till",))
    with holon.Runtime.in_memory() as runtime:
        outputs = runtime.agents.outputs
        outputs.register(mine)
        session = runtime.session(principal="agent")

        form = outputs.response_format("shop.n", "openai-responses")["format"]
        assert (form["type"], form["name"], form["strict"]) == ("json_schema", "shop_n", True)
        assert form["schema"]["required"] == ["n", "note"]
        answer = '{"n": 1, "note": null}'
        assert session.accept_output("shop.n", answer).failure.details["path"] == "/note"
        made = session.accept_output("shop.n", answer, dialect="openai-responses")
        assert made.value == {"n": 1}
        assert outputs.response_format("shop.n", "anthropic")["format"]["type"] == "json_schema"
        assert not outputs.response_format("planner_output", "openai-chat")["json_schema"]["strict"]
        for dialect in ("anthropic", "gemini"):
            with pytest.raises(holon.Refused):
                outputs.response_format("planner_output", dialect)
