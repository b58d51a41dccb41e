"""Telling clients that the tools they may call are others now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged

from holon_core.errors import HolonError

if TYPE_CHECKING:
    from holon_mcp.serving.server import Serving

LOOK_S = 1.0
TELL_S = 5.0


async def telling_changes(serving: Serving) -> None:
    """Look for changes of the catalogue, of any process on the root, and tell clients."""
    seen = await asyncio.to_thread(_moment, serving)
    while True:
        await asyncio.sleep(LOOK_S)
        now = await asyncio.to_thread(_moment, serving)
        if now is not None and now != seen:
            seen = now
            await _tell(serving)


def _moment(serving: Serving) -> Any:
    guard = serving.runtime._guard
    try:
        guard.learn(guard.revision)
    except HolonError:
        # The store does not answer now; calls say so themselves.
        return None
    return guard.revision, guard.catalogue.changes


async def _tell(serving: Serving) -> None:
    await serving.bus.publish(ToolsListChanged())
    await serving.bus.publish(PromptsListChanged())
    for key, session in list(serving.listeners.items()):
        try:
            await asyncio.wait_for(session.send_tool_list_changed(), TELL_S)
            await asyncio.wait_for(session.send_prompt_list_changed(), TELL_S)
        except Exception:
            # A client that is gone, or does not read, is told no more.
            serving.listeners.pop(key, None)
