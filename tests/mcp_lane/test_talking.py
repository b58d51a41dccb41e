"""What the protocol knows beyond a call: asking a person, progress, cancelling, changes, skills."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

import holon_core as holon
from holon_core import (
    CapabilityLane,
    LaneExecutor,
    Origin,
    Posture,
    RuntimeToolDescriptor,
    SkillSourceDescriptor,
    SkillSourceKind,
    completed,
)
from holon_core.records.words import ApprovalState
from holon_mcp.serving.server import ServeOptions, Serving
from mcp_served import text_of

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@holon.tool(effects={"network_write"})
def refund(order_id: str) -> dict[str, str]:
    """Refund an order."""
    return {"refunded": order_id}


@pytest.fixture
def rt() -> Iterator[holon.Runtime]:
    """A runtime with a function that asks for an approval."""
    with holon.Runtime.in_memory(tools=[refund]) as opened:
        yield opened


def _serving(rt: holon.Runtime, **options: Any) -> Serving:
    return Serving(rt, rt.session(principal="ann").caller, ServeOptions(**options))


def _answering(action: str, content: Any, asked: list[str]) -> Any:
    async def answer(_: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=action, content=content)

    return answer


async def _asked(serving: Serving, mode: str, answer: Any) -> Any:
    serving.begin()
    async with Client(serving.server, mode=mode, elicitation_callback=answer) as client:
        await client.list_tools()
        return await client.call_tool("refund", {"order_id": "o\u200b1"})


@ERAS
@pytest.mark.parametrize(
    ("action", "content", "status"),
    [
        ("accept", {"approve": True, "reason": "fine"}, "done"),
        ("accept", {"approve": False}, "approval_denied"),
        ("decline", None, "approval_denied"),
        ("cancel", None, "held"),
        ("accept", {}, "held"),
    ],
    ids=["yes", "no", "declined", "cancelled", "nothing-said"],
)
def test_a_client_that_can_ask_asks_its_user(rt, mode, action, content, status):
    """Only a clear yes lets the call run; the question shows all of it, and what hides in it."""
    asked: list[str] = []
    serving = _serving(rt, approver="boss")

    result = asyncio.run(_asked(serving, mode, _answering(action, content, asked)))

    assert "host.app/refund" in asked[0]
    assert "\\u200b" in asked[0]
    assert "network_write" in asked[0]
    said = text_of(result)
    if status == "done":
        assert said == {"refunded": "o\u200b1"}
        [approval] = rt.approvals.list(state=ApprovalState.CONSUMED)
        assert (approval.decided_by, approval.reason) == ("boss", "fine")
    elif status == "held":
        assert said["status"] == "held"
    else:
        assert said["failure"]["code"] == status


@ERAS
def test_nobody_is_asked_where_no_approver_was_named(rt, mode):
    """The user of a client decides nothing unless the host said so when it started."""
    asked: list[str] = []

    result = asyncio.run(_asked(_serving(rt), mode, _answering("accept", {"approve": True}, asked)))

    assert asked == []
    assert text_of(result)["status"] == "held"


def test_who_asked_cannot_approve_by_the_client(rt):
    """An approver that is the caller itself is refused, whatever was answered."""
    answer = _answering("accept", {"approve": True}, [])

    result = asyncio.run(_asked(_serving(rt, approver="ann"), "legacy", answer))

    assert text_of(result)["failure"]["code"] == "self_approval"


def test_what_cannot_be_shown_whole_is_not_asked(rt):
    """Nobody says yes to what was cut: such a call waits for another way."""
    asked: list[str] = []
    serving = _serving(rt, approver="boss")

    async def talk():
        serving.begin()
        answer = _answering("accept", {"approve": True}, asked)
        async with Client(serving.server, elicitation_callback=answer) as client:
            return await client.call_tool("refund", {"order_id": "o" * 10_000})

    assert text_of(asyncio.run(talk()))["status"] == "held"
    assert asked == []


@pytest.mark.parametrize("state", ["{held}", "{held}.0", "x.y", ""])
def test_an_answer_to_what_was_not_asked_is_refused(rt, state):
    """The state that comes back is marked: a client cannot name another held call."""
    serving = _serving(rt, approver="boss")
    held = rt.session(principal="ann").call("host.app/refund", {"order_id": "o2"}).held

    async def talk():
        serving.begin()
        async with Client(serving.server, mode="auto") as client:
            params = types.CallToolRequestParams(
                name="refund",
                arguments={"order_id": "o1"},
                input_responses={
                    "approval": types.ElicitResult(action="accept", content={"approve": True})
                },
                request_state=state.format(held=held),
            )
            request = types.CallToolRequest(params=params)
            with pytest.raises(MCPError, match="no answer to anything"):
                await client.session.send_request(request, types.CallToolResult)

    asyncio.run(talk())
    assert rt.approvals.held_call(held).state == "held"


class Counting:
    """A lane with one tool, which says how far it is."""

    name = "acme-count"

    @holon.hookimpl
    def holon_capability_lanes(self) -> list[Any]:
        """Offer the lane."""
        return [CapabilityLane(kind="acme-count", postures=frozenset({Posture.LANE_LIVE}))]

    @holon.hookimpl
    def holon_skill_sources(self) -> list[Any]:
        """Offer the source."""
        return [self]

    @holon.hookimpl
    def holon_executors(self) -> list[Any]:
        """Offer the executor."""
        return [LaneExecutor(source="acme-count", executor=self, self_limiting=True)]

    descriptor = SkillSourceDescriptor(
        id="acme-count", kind=SkillSourceKind.LANE, origin=Origin.PLUGIN
    )

    def signal(self) -> str:
        """Never change."""
        return "1"

    def read(self) -> list[RuntimeToolDescriptor]:
        """Define the tool."""
        return [
            RuntimeToolDescriptor(
                id="acme-count/count",
                lane="acme-count",
                origin=Origin.PLUGIN,
                posture=Posture.LANE_LIVE,
                version="1",
                name="count",
                input_schema={"type": "object", "additionalProperties": False},
                effects=frozenset({holon.Effect.NONE}),
            )
        ]

    def execute(self, call: Any) -> Any:
        """Count to three."""
        for done in (1, 2, 3):
            call.progress("counting", done=done, total=3)
        return completed({"counted": 3})

    def preview(self, call: Any) -> Any:
        """Say nothing."""
        return {}


@ERAS
def test_progress_reaches_the_client_that_asked(mode):
    """Each report of a tool is a notification of the request that called it."""
    seen: list[float] = []

    async def told(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    with holon.Runtime.in_memory(plugins=[Counting()]) as rt:
        serving = _serving(rt)

        async def talk() -> Any:
            serving.begin()
            async with Client(serving.server, mode=mode) as client:
                name = (await client.list_tools()).tools[0].name
                return await client.call_tool(name, {}, progress_callback=told)

        result = asyncio.run(talk())

    assert text_of(result) == {"counted": 3}
    assert seen == [1, 2, 3]


@ERAS
def test_a_client_is_told_of_changes(rt, mode):
    """A tool that comes in while a client is connected is announced, and is in the next list."""
    serving = _serving(rt)

    async def talk():
        from holon_mcp.serving.changes import telling_changes

        serving.begin()
        told = asyncio.Event()

        async def message(each: Any) -> None:
            if isinstance(each, types.ToolListChangedNotification):
                told.set()

        changes = asyncio.create_task(telling_changes(serving))
        try:
            async with Client(serving.server, mode=mode, message_handler=message) as client:
                before = await client.list_tools()
                await asyncio.sleep(0.2)

                @holon.tool(effects={"none"})
                def fresh() -> str:
                    """Be new."""
                    return "new"

                if mode == "auto":
                    async with client.listen(tools_list_changed=True) as events:
                        rt.register(fresh)
                        async for _ in events:
                            break
                else:
                    rt.register(fresh)
                    await asyncio.wait_for(told.wait(), 20)
                after = await client.list_tools()
        finally:
            changes.cancel()
        return before, after

    before, after = asyncio.run(talk())

    assert {t.name for t in after.tools} - {t.name for t in before.tools} == {"fresh"}


def test_a_large_catalogue_is_found_by_search():
    """Beyond the limit tools are not listed; what a search names can be called at once."""
    with holon.Runtime.in_memory() as rt:
        for number in range(12):
            rt.register(_numbered(number))
        serving = _serving(rt, max_tools=5)

        async def talk():
            serving.begin()
            async with Client(serving.server) as client:
                listed = await client.list_tools()
                found = await client.call_tool(
                    "search_tools", {"query": "paint the wall number 11"}
                )
                name = text_of(found)["tools"][0]["name"]
                return listed, await client.call_tool(name, {})

        listed, done = asyncio.run(talk())

    names = [each.name for each in listed.tools]
    assert "search_tools" in names
    assert len(names) == 6
    assert text_of(done)["result"].startswith("painted")


def _numbered(number: int) -> Any:
    def paint() -> str:
        return f"painted {number}"

    paint.__name__ = f"paint_{number}"
    paint.__doc__ = f"Paint the wall number {number}."
    return holon.tool(effects={"none"})(paint)
