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
# How long a thread that is late, and was told so, is watched for its end.
SETTLE_S = 0.1
# How long closing waits for the loop, and for the threads of the pool.
JOIN_S = 3.0


class Late(Exception):
    """Work that did not end within its time; ``running`` says whether its thread goes on."""

    def __init__(self, *, running: bool) -> None:
        super().__init__("late")
        self.running = running


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
                if self._pool is None:  # pragma: no branch - another thread was first
                    from concurrent.futures import ThreadPoolExecutor

                    self._pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="holon-call")
        return self._pool

    def run_on_loop(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the runtime's own loop thread."""
        import asyncio

        return asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())

    def refuse_on_loop(self) -> None:
        """Raise where the current thread is the loop thread, which must never wait for itself."""
        own = self._loop_thread
        if own is not None and threading.current_thread() is own:
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
                    target=_run, args=(self._loop,), name="holon-loop", daemon=True
                )
                self._loop_thread.start()
            return self._loop

    def run_limited(self, work: Callable[[], T], limit_s: float, *, stop: Callable[[], None]) -> T:
        """Run ``work`` in a thread of its own and wait at most ``limit_s`` for it.

        Args:
            work: What to run.
            limit_s: In seconds.
            stop: Called when the time is up; ends what it can, and waits for that.

        Returns:
            What it returned in time.

        Raises:
            Late: The time was up. A thread that goes on is abandoned: Python cannot end it.
            BaseException: What ``work`` raised.
        """
        from concurrent.futures import Future, wait

        future: Future[T] = Future()
        thread = threading.Thread(
            target=_work_into, args=(future, work), name="holon-limited", daemon=True
        )
        thread.start()
        try:
            wait({future}, limit_s)
            if not future.done():
                stop()
                wait({future}, SETTLE_S)
                raise Late(running=not future.done())
        finally:
            if not future.done():
                self.abandon(thread)
        return future.result()

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
            left += _end_loop(loop, loop_thread)
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
            left += _join_pool(pool)
        return left + self.abandoned()


def _work_into(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _end_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> list[str]:
    """Cancel what runs on the loop, so that whoever waits for it gets an answer; then stop it."""
    import asyncio

    drained = asyncio.run_coroutine_threadsafe(_drain(), loop)
    # However late: a tool that blocks the loop now is answered when it lets go of it.
    drained.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    thread.join(2 * JOIN_S)
    return [thread.name] if thread.is_alive() else []


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _drain() -> None:
    import asyncio

    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=JOIN_S)
    await asyncio.get_running_loop().shutdown_asyncgens()


def _join_pool(pool: ThreadPoolExecutor) -> list[str]:
    import time

    deadline = time.monotonic() + JOIN_S
    threads = list(pool._threads)
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread.name for thread in threads if thread.is_alive()]
