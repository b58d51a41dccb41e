"""Work beside the loop that cannot be ended, and keeps no process from ending."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from holon_core.operations.pool import Pool

T = TypeVar("T")


class Beside:
    """Runs one thing after the other in a daemon thread of its own.

    Threads of asyncio and anyio are waited for when the interpreter ends: one that reads from a
    silent client would keep it for ever.

    Args:
        name: What the thread is called.
    """

    def __init__(self, name: str) -> None:
        self._pool = Pool(1, name=name)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, or raise what it raises."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def told() -> None:
            result: Any = None
            problem: BaseException | None = None
            try:
                result = work()
            except BaseException as error:
                problem = error
            # A loop that was closed meanwhile has nobody left to tell.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, done, result, problem)

        self._pool.submit(told)
        return await done


def _settle(done: asyncio.Future[Any], result: Any, problem: BaseException | None) -> None:
    if done.cancelled():
        return
    if problem is None:
        done.set_result(result)
    else:
        done.set_exception(problem)
