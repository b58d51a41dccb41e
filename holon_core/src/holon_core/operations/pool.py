"""A bounded pool of daemon threads: one that cannot be ended never keeps the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Pool:
    """Runs work in at most ``size`` threads, each started when first needed.

    Args:
        size: How many run at once; more work waits in its order.
        name: What its threads are called.
    """

    def __init__(self, size: int, *, name: str) -> None:
        self._size = size
        self._name = name
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0

    def submit(self, work: Work) -> None:
        """Have work done; it must not raise."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
        self._queue.put(work)

    def close(self) -> None:
        """Let each thread end when it is free; takes no more work."""
        with self._lock:
            for _ in range(self._threads):
                self._queue.put(None)

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            with self._lock:
                self._free += 1
