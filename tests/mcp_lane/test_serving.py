"""Holon as an MCP server, met by the official Python client in both eras of the protocol."""

from __future__ import annotations

import asyncio

import pytest
from mcp.shared.exceptions import MCPError

from mcp_served import Served, text_of

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture
def served(tmp_path):
    """A root that is served by a process."""
    return Served(tmp_path)


@ERAS
def test_a_client_lists_calls_and_is_held_until_a_person_approves(served, mode):
    """After the approval the same call goes through, once."""

    async def talk():
        async with served.client(mode=mode) as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}
            done = await client.call_tool("add", {"a": 1, "b": 2})
            held = await client.call_tool("refund", {"order_id": "o1"})
            call_id = text_of(held)["held"]
            await asyncio.to_thread(served.approve, call_id)
            paid = await client.call_tool("refund", {"order_id": "o1"})
            again = await client.call_tool("refund", {"order_id": "o1"})
        return tools, done, held, paid, again

    tools, done, held, paid, again = asyncio.run(talk())

    assert tools["add"].annotations.read_only_hint is True
    assert tools["refund"].annotations.open_world_hint is True
    assert tools["add"].output_schema["properties"] == {"result": {"type": "integer"}}
    assert done.structured_content == {"result": 3}
    assert held.is_error
    assert "holon approval approve" in text_of(held)["approve"]
    assert paid.structured_content == {"refunded": "o1"}
    assert text_of(again)["status"] == "held"


def test_a_held_call_is_released_by_its_tool(served):
    """`holon-release` runs the arguments that were held; before the approval it still waits."""

    async def talk():
        async with served.client() as client:
            await client.list_tools()
            call_id = text_of(await client.call_tool("refund", {"order_id": "o2"}))["held"]
            early = await client.call_tool("holon-release", {"call_id": call_id})
            await asyncio.to_thread(served.approve, call_id)
            paid = await client.call_tool("holon-release", {"call_id": call_id})
            unknown = await client.call_tool("holon-release", {"call_id": "c0"})
        return early, paid, unknown

    early, paid, unknown = asyncio.run(talk())

    assert text_of(early)["status"] == "held"
    assert text_of(paid) == {"refunded": "o2"}
    assert text_of(unknown)["failure"]["code"] == "not_held"


def test_refusals_are_answers_with_a_code(served):
    """A model corrects itself by them; malformed requests are faults of the protocol."""

    async def talk():
        async with served.client() as client:
            await client.list_tools()
            wrong = await client.call_tool("add", {"a": "x", "b": 2})
            unknown = await client.call_tool("no-such-tool", {})
            quiet = await client.call_tool("noisy", {})
            with pytest.raises(MCPError):
                await client.call_tool("holon-release", {"id": 7})
        return wrong, unknown, quiet

    wrong, unknown, quiet = asyncio.run(talk())

    assert text_of(wrong)["failure"]["code"] == "arguments_invalid"
    assert text_of(unknown)["failure"]["code"] == "unknown_tool"
    assert text_of(quiet) == {"result": "quiet"}


def test_evidence_names_the_client(served):
    """By its own word, which is no authentication, beside the principal that the host stated."""

    async def talk():
        async with served.client() as client:
            await client.list_tools()
            await client.call_tool("add", {"a": 1, "b": 2})

    asyncio.run(talk())
    found = served.run("evidence", "list", "--workspace", "-")

    callers = [each["body"]["caller"] for each in found["records"] if "caller" in each["body"]]
    assert any(
        each["principal"] == "ann" and each["trace_id"].startswith("mcp-client:mcp/")
        for each in callers
    )
