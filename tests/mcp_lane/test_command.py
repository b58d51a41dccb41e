"""The command that serves: over standard input, and over HTTP, with real clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from holon_cli.main import run
from mcp_served import HOLON, Served, text_of

TOKEN = "a-token-of-enough-characters"
LEGACY = "2025-11-25"
HELLO = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """A root that is served by a process."""
    return Served(tmp_path)


class Raw:
    """A client that writes the protocol itself, over the input of a server."""

    def __init__(self, served: Served) -> None:
        self.process = subprocess.Popen(
            [HOLON, *served.arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=served.root.parent,
        )

    def send(self, method: str, params: Any, request_id: int | None = None) -> None:
        """Send a message."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if request_id is not None:
            message["id"] = request_id
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer(self, request_id: int) -> Any:
        """Return the answer of a request; what else comes is passed over."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == request_id and "method" not in message:
                return message
        raise AssertionError("the server ended")

    def close(self) -> int:
        """Close the input, and wait for the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=30)

    def kill(self) -> None:
        """End it, whatever it does, and close what is open of it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def test_a_cancelled_request_ends_its_call_and_nothing_else(served: Served, tmp_path: Path):
    """`notifications/cancelled` of a client that lives: the tool is told, the server goes on."""
    mark = tmp_path / "mark"
    client = Raw(served)
    try:
        client.send("initialize", HELLO, 1)
        assert client.answer(1)["result"]["serverInfo"]["version"] == version("holon-mcp")
        client.send("notifications/initialized", {})
        client.send("tools/call", {"name": "wait", "arguments": {"mark": str(mark)}}, 2)
        until(mark.exists)

        client.send("notifications/cancelled", {"requestId": 2, "reason": "not wanted"})

        until(lambda: mark.read_text(encoding="utf-8") == "cancelled")
        client.send("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, 3)
        assert client.answer(3)["result"]["structuredContent"] == {"result": 3}
        assert client.close() == 0
    finally:
        client.kill()
    records = served.run("evidence", "list", "--workspace", "-")["records"]
    assert [each["kind"] for each in records] == ["accepted", "failed", "accepted", "completed"]
    assert "cancelled" in json.dumps(records[1])


def test_fifty_calls_at_once_over_one_connection_are_each_answered(served: Served):
    """None is lost on the way through the pipes, and each has its own answer."""

    async def talk() -> list[Any]:
        async with served.client() as client:
            calls = [client.call_tool("add", {"a": n, "b": n}) for n in range(50)]
            return await asyncio.gather(*calls)

    results = asyncio.run(talk())

    assert [each.structured_content["result"] for each in results] == [2 * n for n in range(50)]


def test_a_client_is_told_of_what_another_process_changes(served: Served, tmp_path: Path):
    """A server that somebody registers at a prompt meanwhile is announced to who is connected."""
    told = asyncio.Event()

    async def message(each: Any) -> None:
        if isinstance(each, types.ToolListChangedNotification):
            told.set()

    answers = tmp_path / "answers.json"
    answers.write_text('{"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}')

    async def talk() -> None:
        async with served.client(mode="legacy", message_handler=message) as client:
            await client.list_tools()
            words = ("mcp", "register", "calc", str(answers))
            await asyncio.to_thread(served.run, *words)
            await asyncio.wait_for(told.wait(), 30)

    asyncio.run(talk())


@contextlib.contextmanager
def listening(served: Served, *more: str, **environment: str) -> Iterator[int]:
    """Serve HTTP by the command; yield its port, and end it as a terminal would."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    process = subprocess.Popen(
        [HOLON, *served.arguments("--http", str(port), *more)],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
        cwd=served.root.parent,
    )
    try:
        until(lambda: _answers(port) or process.poll() is not None)
        assert process.poll() is None, process.stderr and process.stderr.read()
        yield port
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) in (0, 130, -signal.SIGINT)
    finally:
        process.kill()
        process.communicate()


def _answers(port: int, host: str = "127.0.0.1") -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def test_the_command_serves_http_to_those_who_hold_the_token(served: Served, tmp_path: Path):
    """A real client with the token of the file goes through; all others stay outside."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    mark = tmp_path / "mark"
    with listening(served, "--token-file", str(file)) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        good = {
            "Authorization": f"Bearer {TOKEN}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": LEGACY,
        }
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        refused = [
            ({"Authorization": ""}, 401),
            ({"Authorization": f"Bearer {TOKEN}x"}, 401),
            ({"Host": "evil.example"}, 421),
            ({"Origin": "http://evil.example"}, 403),
        ]
        for changed, status in refused:
            answer = httpx.post(url, json=ping, headers={**good, **changed}, timeout=20)
            assert (changed, answer.status_code) == (changed, status)
        assert [each for each in _addresses() if _answers(port, each)] == []

        paid, cancelled = asyncio.run(_talk(served, url, good, mark))

    assert paid.structured_content == {"refunded": "o1"}
    assert cancelled == "cancelled"


async def _talk(served: Served, url: str, headers: dict[str, str], mark: Path) -> Any:
    given = {"Authorization": headers["Authorization"]}
    async with httpx2.AsyncClient(headers=given, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode="legacy") as client:
            await client.list_tools()
            held = text_of(await client.call_tool("refund", {"order_id": "o1"}))["held"]
            await asyncio.to_thread(served.approve, held)
            paid = await client.call_tool("refund", {"order_id": "o1"})
            waiting = asyncio.create_task(client.call_tool("wait", {"mark": str(mark)}))
            await asyncio.to_thread(until, mark.exists)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiting
            done = "cancelled"
            await asyncio.to_thread(until, lambda: mark.read_text(encoding="utf-8") == done)
    return paid, mark.read_text(encoding="utf-8")


def _addresses() -> list[str]:
    """Return this machine's own addresses beyond loopback."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.connect(("192.0.2.1", 9))
        return [found.getsockname()[0]]
    return []


@pytest.mark.parametrize(
    ("more", "environment", "said"),
    [
        ((), {}, "a token of 16 characters or more is needed"),
        ((), {"HOLON_MCP_TOKEN": "short"}, "a token of 16 characters or more is needed"),
        (("--token-file", "there-is-none"), {}, "there-is-none"),
        (("--approver", "ann"), {"HOLON_MCP_TOKEN": TOKEN}, "--approver"),
    ],
    ids=["none", "short", "no-file", "oneself"],
)
def test_without_a_token_the_command_serves_nothing(
    served: Served,
    request: pytest.FixtureRequest,
    more: tuple[str, ...],
    environment: dict[str, str],
    said: str,
):
    """It ends as wrongly used, before anything listens, and says what is missing."""
    monkeypatch = request.getfixturevalue("monkeypatch")
    capsys = request.getfixturevalue("capsys")
    monkeypatch.delenv("HOLON_MCP_TOKEN", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert run(served.arguments("--http", "8765", *more)) == 2
    assert said in capsys.readouterr().err


def until(true: Any, limit_s: float = 40.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)
