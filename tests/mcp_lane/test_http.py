"""Streamable HTTP: on loopback, for those who hold the token, under this server's own name."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

import holon_core as holon
from holon_core.errors import Misuse
from holon_mcp.serving.http import application
from holon_mcp.serving.server import ServeOptions, Serving

TOKEN = "a-token-of-enough-characters"


@holon.tool(effects={"none"})
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def url(tmp_path) -> Iterator[str]:
    """The address of a server on loopback."""
    with holon.Runtime.open(tmp_path / "root", discover=False, tools=[add]) as rt:
        port = _free_port()
        serving = Serving(rt, rt.session(principal="ann").caller, ServeOptions())
        app = application(serving, host="127.0.0.1", port=port, token=TOKEN)
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}/mcp"
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_the_token_lists_and_calls(url, mode):
    """Both eras of the protocol go through."""

    async def talk() -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode) as client:
                tools = await client.list_tools()
                return tools, await client.call_tool("add", {"a": 1, "b": 2})

    tools, done = asyncio.run(talk())

    assert [each.name for each in tools.tools] == ["add", "holon-release"]
    assert done.structured_content == {"result": 3}


BODY = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
GOOD = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong-token-of-enough"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1"}, 403),
    ],
    ids=["none", "wrong", "no-scheme", "host", "port", "origin", "null", "other-scheme"],
)
def test_requests_without_the_token_or_of_another_origin_are_refused(url, changed, status):
    """Nothing of the protocol is read of them."""
    answer = httpx.post(url, json=BODY, headers={**GOOD, **changed})

    assert answer.status_code == status


TWICE = b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}'


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (TWICE, (400, "duplicate_key", 7)),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}', (400, "syntax", 7)),
        (b"[" * 100_000, (400, "depth", None)),
        (b" " * 5_000_000, (413, "too_large", None)),
    ],
    ids=["twice", "nan", "deep", "long"],
)
def test_bodies_are_read_strictly(url, version, body, told):
    """In both eras, before the SDK has them; the answer says what is wrong."""
    headers = {**GOOD, "MCP-Protocol-Version": version, "Content-Type": "application/json"}
    answer = httpx.post(url, content=body, headers=headers)
    said = answer.json()

    assert (answer.status_code, said["error"]["data"]["rule"], said["id"]) == told
    assert said["error"]["code"] == -32700


def test_nothing_is_read_of_a_body_from_another_origin(url):
    """Host and Origin come before it."""
    headers = {**GOOD, "Origin": "http://evil.example", "Content-Type": "application/json"}
    answer = httpx.post(url, content=TWICE, headers=headers)

    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("host", "token"),
    [("0.0.0.0", TOKEN), ("192.168.1.1", TOKEN), ("127.0.0.1", "short"), ("127.0.0.1", "ü" * 20)],
    ids=["all", "lan", "short", "not-ascii"],
)
def test_other_addresses_and_weak_tokens_are_refused(host, token):
    """Whoever asks for them is told before anything listens."""
    with holon.Runtime.in_memory() as rt:
        serving = Serving(rt, rt.session(principal="ann").caller, ServeOptions())

        with pytest.raises(Misuse):
            application(serving, host=host, port=1234, token=token)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
