"""The threads of a runtime: one loop for asynchronous tools, a pool, and those given up on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from holon_core.errors import Misuse

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")

# Wide enough that calls nested in calls do not starve one another.
POOL_SIZE = 64


class Threads:
    """Threads started when first needed and ended at close, but for abandoned ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread: threading.Thread | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._abandoned: list[threading.Thread] = []

    def pool(self) -> ThreadPoolExecutor:
        """Return the pool in which ``acall`` runs what may block."""
        if self._pool is None:
            with self._lock:
                if self._pool is None:
                    from concurrent.futures import ThreadPoolExecutor

                    self._pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="holon-call")
        return self._pool

    def run_on_loop(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the runtime's own loop thread."""
        import asyncio

        return asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())

    def refuse_on_loop(self) -> None:
        """Raise where the current thread is the loop thread, which must never wait for itself."""
        if threading.current_thread() is self._loop_thread:
            raise Misuse(
                "session.call on the runtime's loop thread would wait for itself;"
                " await session.acall(…) in asynchronous tools"
            )

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                import asyncio

                self._loop = asyncio.new_event_loop()
                self._loop_thread = threading.Thread(
                    target=self._loop.run_forever, name="holon-loop", daemon=True
                )
                self._loop_thread.start()
            return self._loop

    def run_limited(self, work: Callable[[], T], limit_s: float) -> T | None:
        """Run ``work`` in a thread of its own and wait at most ``limit_s`` for it.

        Returns:
            What it returned, or ``None`` when the time was up; the thread then goes on,
            abandoned, since Python cannot end it.
        """
        box: list[T] = []
        done = threading.Event()

        def body() -> None:
            try:
                box.append(work())
            finally:
                done.set()

        thread = threading.Thread(target=body, name="holon-limited", daemon=True)
        thread.start()
        if done.wait(limit_s):
            return box[0] if box else None
        self.abandon(thread)
        return None

    def abandon(self, thread: threading.Thread) -> None:
        """Note a thread that could not be ended."""
        with self._lock:
            self._abandoned = [t for t in self._abandoned if t.is_alive()]
            self._abandoned.append(thread)

    def abandoned(self) -> list[str]:
        """Return the names of threads that still run though their call is over."""
        with self._lock:
            return [thread.name for thread in self._abandoned if thread.is_alive()]

    def close(self) -> list[str]:
        """End what can be ended; return the names of threads that cannot."""
        with self._lock:
            loop, loop_thread, pool = self._loop, self._loop_thread, self._pool
            self._loop = self._loop_thread = self._pool = None
        left: list[str] = []
        if loop is not None and loop_thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            loop_thread.join(3)
            if loop_thread.is_alive():
                left.append(loop_thread.name)
            else:
                loop.close()
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
            left += _join_pool(pool)
        return left + self.abandoned()


def _join_pool(pool: ThreadPoolExecutor) -> list[str]:
    import time

    deadline = time.monotonic() + 3
    threads = list(pool._threads)
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread.name for thread in threads if thread.is_alive()]
