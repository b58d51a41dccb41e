"""Pydantic AI tools and toolsets behind the door."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import holon_core as holon

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed")

from pydantic import BaseModel
from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool
from pydantic_ai.messages import ToolReturn
from pydantic_ai.toolsets import CombinedToolset, ExternalToolset


class Receipt(BaseModel):
    """What a refund gives."""

    order: str
    cents: int


def refund(ctx: RunContext[str], order: str, cents: int) -> Receipt:
    """Refund part of an order.

    Args:
        ctx: Who pays.
        order: Number of the order.
        cents: How much.
    """
    return Receipt(order=f"{ctx.deps}:{order}", cents=cents)


async def look_up(item: str) -> list[str]:
    """Look an item up."""
    await asyncio.sleep(0)
    return [item]


def retry(item: str) -> str:
    """Ask for other words."""
    raise ModelRetry("say it in other words")


def test_a_toolset_brings_its_tools_with_texts_and_schemas(rt) -> None:
    """Names, descriptions of parameters and result schemas are those of the framework."""
    toolset = FunctionToolset([refund, look_up]).prefixed("shop")

    first, second = rt.register_tools(toolset, effects="none")

    assert [first.id, second.id] == ["host.desk/shop_refund", "host.desk/shop_look_up"]
    assert first.input_schema["properties"]["cents"]["description"] == "How much."
    assert "ctx" not in first.input_schema["properties"]
    assert set(first.output_schema["properties"]) == {"order", "cents"}


def test_dependencies_come_from_the_host(rt, ann) -> None:
    """They are given at registration, never by a caller, and models become JSON."""
    rt.register_tools(FunctionToolset([refund]), effects="none", context="till-1")

    result = ann.call("host.desk/refund", {"order": "o1", "cents": 5})

    assert result.output == {"order": "till-1:o1", "cents": 5}


def test_an_asynchronous_tool_answers_both_ways(rt, ann) -> None:
    """Awaited on the caller's loop, or on the runtime's own."""
    rt.register_tools(Tool(look_up), effects="none")

    assert ann.call("host.desk/look_up", {"item": "tea"}).output == {"result": ["tea"]}
    awaited = asyncio.run(ann.acall("host.desk/look_up", {"item": "tea"}))
    assert awaited.output == {"result": ["tea"]}


def test_nested_results_validate_against_the_stated_schema(rt, ann) -> None:
    """References of a result's schema still lead somewhere when it is wrapped."""

    def copies(order: str) -> list[Receipt]:
        return [Receipt(order=order, cents=1)]

    rt.register_tools(Tool(copies), effects="none")

    assert ann.call("host.desk/copies", {"order": "o"}).output == {
        "result": [{"order": "o", "cents": 1}]
    }


def test_a_wish_to_be_called_again_is_a_failure(rt, ann) -> None:
    """The text for the model is the message."""
    rt.register_tools(Tool(retry), effects="none")

    failure = ann.call("host.desk/retry", {"item": "tea"}).failure

    assert (failure.code, failure.message) == ("tool_failed", "say it in other words")


def test_a_validator_of_its_own_refuses_before_anything_runs(rt, ann) -> None:
    """A refusal of the tool's validator is an invalid argument."""
    ran: list[str] = []

    def check(ctx: RunContext[None], item: str) -> None:
        if item != "tea":
            raise ModelRetry("there is tea")

    def order(item: str) -> str:
        ran.append(item)
        return item

    rt.register_tools(Tool(order, args_validator=check), effects="none")

    assert ann.call("host.desk/order", {"item": "cake"}).failure.code == "arguments_invalid"
    assert ann.call("host.desk/order", {"item": "tea"}).output == {"result": "tea"}
    assert ran == ["tea"]


def test_a_tool_that_asks_for_approval_asks_here(rt, ann) -> None:
    """Its requirement is the door's, and one approval lets one call through."""
    rt.register_tools(Tool(look_up, requires_approval=True), effects="none")

    held = ann.call("host.desk/look_up", {"item": "tea"}).held
    rt.approvals.approve(held, by="boss", reason="ok")

    assert ann.release(held).output == {"result": ["tea"]}


def test_a_tool_s_own_limit_is_kept(rt, ann) -> None:
    """The time that it states bounds the call."""

    async def wait(item: str) -> str:
        await asyncio.sleep(30)
        return item

    (shown,) = rt.register_tools(Tool(wait, timeout=0.1), effects="none", timeout_s=20)
    begun = time.monotonic()

    assert shown.limits.timeout_s == 0.1
    assert ann.call("host.desk/wait", {"item": "tea"}).failure.code == "timeout"
    assert time.monotonic() - begun < 10


def test_a_return_for_the_model_gives_its_value(rt, ann) -> None:
    """What stands beside the value is for a conversation, and there is none."""

    def dress(item: str) -> ToolReturn:
        return ToolReturn(return_value={"item": item}, content="look", metadata={"a": 1})

    rt.register_tools(Tool(dress), effects="none")

    assert ann.call("host.desk/dress", {"item": "tea"}).output["result"] == {"item": "tea"}


def test_what_others_carry_out_is_kept_out(rt) -> None:
    """A tool whose result comes from outside has nothing that could run it here."""
    from pydantic_ai.tools import ToolDefinition

    with pytest.raises(holon.Rejected, match="carried out by others"):
        rt.register_tools(ExternalToolset([ToolDefinition(name="far")]), effects="none")


def test_a_live_mcp_server_is_kept_out(rt) -> None:
    """However deep it is wrapped: live MCP stays closed, and nothing is started to find out."""
    mcp = pytest.importorskip("pydantic_ai.mcp", reason="the MCP extra is not installed")
    server = mcp.MCPToolset("http://127.0.0.1:9/mcp")
    wrapped: Any = CombinedToolset([FunctionToolset([look_up]), server.prefixed("far")])

    with pytest.raises(holon.Rejected, match="live MCP server"):
        rt.register_tools(wrapped, effects="none")

    assert len(rt.tools) == 0


def test_a_toolset_that_hangs_is_rejected(rt, monkeypatch) -> None:
    """Listing is bounded, as reading a source is."""
    from holon_core import parts

    monkeypatch.setattr(parts, "LISTING_S", 0.1)

    class Hanging(FunctionToolset):
        async def get_tools(self, ctx: Any) -> Any:
            await asyncio.sleep(60)

    with pytest.raises(holon.Rejected, match="Timeout"):
        rt.register_tools(Hanging(), effects="none")
