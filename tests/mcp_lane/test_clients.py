"""Real clients: each lists, calls, is held, is approved, and goes through; and one is killed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_served import HOLON, Served

SDK = "@modelcontextprotocol/sdk"
TALK = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { execFileSync } from "node:child_process";
const [holon, root, ...args] = process.argv.slice(2);
const client = new Client({ name: "typescript-test", version: "1" });
await client.connect(new StdioClientTransport({ command: holon, args }));
const tools = (await client.listTools()).tools.map((each) => each.name);
const done = await client.callTool({ name: "add", arguments: { a: 1, b: 2 } });
const held = await client.callTool({ name: "refund", arguments: { order_id: "o1" } });
const id = JSON.parse(held.content[0].text).held;
execFileSync(holon, ["approval", "approve", id, "--reason", "fine", "--actor", "boss", "--root",
    root, "--json"]);
const paid = await client.callTool({ name: "refund", arguments: { order_id: "o1" } });
await client.close();
console.log(JSON.stringify({ tools, done, held, paid }));
"""
STARTER = """
import asyncio, sys
sys.path.insert(0, {support!r})
from pathlib import Path
from mcp_served import Served
async def talk():
    async with Served(Path({folder!r})).client() as client:
        await client.call_tool("wait", {{"mark": {mark!r}}})
asyncio.run(talk())
"""


@pytest.fixture
def served(tmp_path):
    """A root that is served by a process."""
    return Served(tmp_path)


def test_the_client_of_fastmcp_goes_through(served):
    """FastMCP 4 speaks to it as to any other server."""
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async def talk():
        transport = StdioTransport(command=HOLON, args=served.arguments(), keep_alive=False)
        async with Client(transport) as client:
            tools = [each.name for each in await client.list_tools()]
            done = await client.call_tool("add", {"a": 1, "b": 2})
            asked = {"order_id": "o1"}
            held = await client.call_tool("refund", asked, raise_on_error=False)
            call_id = json.loads(held.content[0].text)["held"]
            await asyncio.to_thread(served.approve, call_id)
            paid = await client.call_tool("refund", asked)
        return tools, done, held, paid

    tools, done, held, paid = asyncio.run(talk())

    assert {"add", "refund", "holon-release"} <= set(tools)
    assert done.structured_content == {"result": 3}
    assert held.is_error
    assert paid.structured_content == {"refunded": "o1"}


def test_the_client_of_the_typescript_sdk_goes_through(served, tmp_path):
    """The official client of another language reads the same answers."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("no npm or node on this machine")
    installed = subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tmp_path), SDK],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if installed.returncode:
        pytest.skip(f"not installable here: {installed.stderr.strip()[-200:]}")
    script = tmp_path / "talk.mjs"
    script.write_text(TALK, encoding="utf-8")

    told = subprocess.run(
        ["node", str(script), HOLON, str(served.root), *served.arguments()],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert told.returncode == 0, told.stderr[-1000:]
    said = json.loads(told.stdout)
    assert {"add", "refund", "holon-release"} <= set(said["tools"])
    assert said["done"]["structuredContent"] == {"result": 3}
    assert said["held"]["isError"] is True
    assert said["paid"]["structuredContent"] == {"refunded": "o1"}


def test_a_client_that_is_killed_in_a_call_leaves_no_process(served, tmp_path):
    """The server sees the end of its input, cancels what runs, and ends."""
    mark = tmp_path / "mark"
    support = str(Path(__file__).parent.parent / "support")
    text = STARTER.format(support=support, folder=str(tmp_path), mark=str(mark))
    client = subprocess.Popen([sys.executable, "-c", text])
    try:
        _until(mark.exists)
        servers = _children(client.pid)
        assert servers
    finally:
        os.kill(client.pid, signal.SIGKILL)
        client.wait()

    _until(lambda: not any(map(_lives, servers)))
    assert mark.read_text(encoding="utf-8") == "cancelled"
    kinds = [each["kind"] for each in served.run("evidence", "list", "--workspace", "-")["records"]]
    assert kinds == ["accepted", "failed"]


def _children(pid: int) -> list[int]:
    folder = Path(f"/proc/{pid}/task/{pid}/children")
    if not folder.exists():
        pytest.skip("needs /proc to see the children of a process")
    return [int(each) for each in folder.read_text(encoding="utf-8").split()]


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def _until(true, limit_s: float = 40.0) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)
