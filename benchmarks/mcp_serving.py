"""A governed call by `holon mcp serve` against the same function in a bare FastMCP server.

One client, FastMCP's, over standard input and output, speaks to both in one run. What counts is the
CPU time of the two servers, each a process of its own; the client's is left out.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from pairs import report

BLOCKS = 12
CALLS = 60
FUNCTION = '''
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}
'''
GOVERNED = f"""
import holon_core as holon
{FUNCTION}
add = holon.tool(effects={{"none"}})(add)
"""
BARE = f"""
from fastmcp import FastMCP
{FUNCTION}
server = FastMCP("bare")
server.tool(add)
server.run(show_banner=False)
"""


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process with its threads, from /proc, in seconds."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += int((task / "schedstat").read_text(encoding="utf-8").split()[0])
    return found / 1e9


def children() -> set[int]:
    """Return the processes that this one started."""
    folder = Path(f"/proc/{os.getpid()}/task")
    found: set[int] = set()
    for task in folder.iterdir():
        found |= {int(each) for each in (task / "children").read_text(encoding="utf-8").split()}
    return found


async def block(client: Any, pid: int) -> float:
    """Call so many times, and return the server's CPU time of one call in µs."""
    began = cpu_s(pid)
    for number in range(CALLS):
        result = await client.call_tool("add", {"a": number, "b": 2})
        assert result.structured_content == {"sum": number + 2}, result
    return (cpu_s(pid) - began) / CALLS * 1e6


async def measure(folder: Path) -> dict[str, object]:
    """Measure both in alternating blocks."""
    tools, bare = folder / "tools.py", folder / "bare.py"
    tools.write_text(GOVERNED, encoding="utf-8")
    bare.write_text(BARE, encoding="utf-8")
    holon = str(Path(sys.executable).with_name("holon"))
    words = ["mcp", "serve", "--root", str(folder / "root"), "--tools", str(tools)]
    words += ["--workspace", "-", "--actor", "bench"]
    async with Client(StdioTransport(sys.executable, [str(bare)], keep_alive=False)) as plain:
        [bare_pid] = children()
        async with Client(StdioTransport(holon, words, keep_alive=False)) as governed:
            [holon_pid] = children() - {bare_pid}
            await plain.list_tools()
            await governed.list_tools()
            await block(plain, bare_pid)
            await block(governed, holon_pid)
            pairs = [
                (await block(plain, bare_pid), await block(governed, holon_pid))
                for _ in range(BLOCKS)
            ]
    ratios = [other / base for base, other in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "call": "add, by stdio",
        "bare_us": statistics.median(base for base, _ in pairs),
        "governed_us": statistics.median(other for _, other in pairs),
        "ratio": middle,
        "low": low,
        "high": high,
    }


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        report("mcp_serving", [asyncio.run(measure(Path(folder)))])


if __name__ == "__main__":
    main()
