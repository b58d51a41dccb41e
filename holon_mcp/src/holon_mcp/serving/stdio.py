"""Serving one client over standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import mcp.server.stdio

from holon_mcp.serving.changes import telling_changes
from holon_mcp.serving.server import Serving

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime
    from holon_mcp.serving.server import ServeOptions


def serve_stdio(runtime: Runtime, caller: CallerContext, options: ServeOptions) -> None:
    """Serve until the client closes the input; calls that run then are cancelled.

    What tools print goes to standard error.
    """
    asyncio.run(_serve(Serving(runtime, caller, options)))


async def _serve(serving: Serving) -> None:
    serving.begin()
    changes = asyncio.create_task(telling_changes(serving))
    try:
        async with mcp.server.stdio.stdio_server() as (source, sink):
            await serving.server.run(source, sink, serving.initialization())
    finally:
        changes.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await changes
