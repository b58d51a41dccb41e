"""Progress of calls, from whatever thread, to the client that asked for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from holon_mcp.serving.clients import BEGUN

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.records.progress import Progress

MAX_WAITING = 100
# How long an answer waits for what is still to be told before it.
FLUSH_S = 1.0


class Reports:
    """Who is told of the progress of which call.

    Args:
        loop: The event loop of the server.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._by_call: dict[str, asyncio.Queue[Progress]] = {}

    def listen(self, report: Progress) -> None:
        """Take a report from any thread; the runtime calls this."""
        self._loop.call_soon_threadsafe(self._take, report)

    def _take(self, report: Progress) -> None:
        queue = self._by_call.get(report.call_id)
        # What a client is too slow for is left out: the next one says more.
        if queue is not None and not queue.full():
            queue.put_nowait(report)

    @asynccontextmanager
    async def telling(self, context: Any) -> AsyncIterator[None]:
        """Tell the client of a request how far its call is, while the block runs."""
        queue: asyncio.Queue[Progress] = asyncio.Queue(MAX_WAITING)
        calls: list[str] = []

        def begun(attempt: Attempt) -> None:
            calls.append(attempt.call_id)
            self._by_call[attempt.call_id] = queue

        token = BEGUN.set(begun)
        teller = asyncio.create_task(_tell(queue, context.session))
        try:
            yield
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(queue.join(), FLUSH_S)
        finally:
            BEGUN.reset(token)
            for call_id in calls:
                self._by_call.pop(call_id, None)
            teller.cancel()


async def _tell(queue: asyncio.Queue[Progress], session: Any) -> None:
    last = -1.0
    while True:
        report = await queue.get()
        # The protocol wants numbers that rise.
        if report.done > last:
            last = report.done
            text = report.message or report.stage
            await session.report_progress(report.done, report.total, text)
        queue.task_done()
