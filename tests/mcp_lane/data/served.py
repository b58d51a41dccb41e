"""Functions that a test serves by MCP."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import holon_core as holon


@holon.tool(effects={"none"})
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@holon.tool(effects={"network_write"})
def refund(order_id: str) -> dict[str, str]:
    """Refund an order."""
    return {"refunded": order_id}


@holon.tool(effects={"none"})
async def wait(mark: str) -> str:
    """Wait for long; leave a mark where the waiting was ended."""
    Path(mark).write_text("began", encoding="utf-8")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        Path(mark).write_text("cancelled", encoding="utf-8")
        raise
    return "done"


@holon.tool(effects={"none"})
def noisy() -> str:
    """Print where the protocol is spoken."""
    print("not a message")
    time.sleep(0)
    return "quiet"
