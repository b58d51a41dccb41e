"""Cancellation that crosses threads: one token per call, raised once, never lowered."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class CancelToken:
    """Tells running work, in whatever thread, that its caller no longer wants it.

    Safe to use from any thread and from a signal handler. Cancelling twice is cancelling once.
    """

    __slots__ = ("_cancelled", "_lock", "_wakes")

    def __init__(self) -> None:
        # Re-entrant: a signal handler may cancel while its own thread is subscribing.
        self._lock = threading.RLock()
        self._cancelled = False
        self._wakes: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel, and wake everybody who waits. Returns without waiting for them."""
        with self._lock:
            if not self._cancelled:
                self._cancelled = True
                self._wake_all()

    def subscribe(self, wake: Callable[[], None], /) -> Callable[[], None]:
        """Have ``wake`` called once, on cancellation; at once where that has happened.

        Args:
            wake: Quick, raises nothing, waits for nothing: it runs in the cancelling thread.

        Returns:
            A function that ends the subscription. After it returned, ``wake`` is not running
            and never will be, so what it uses (a descriptor) may be closed.
        """
        with self._lock:
            self._wakes.append(wake)
            if self._cancelled:
                self._wake_all()
        return lambda: self._unsubscribe(wake)

    def _wake_all(self) -> None:
        # Under the lock: a wake that ran after its end would write to a descriptor reused since.
        wakes, self._wakes = self._wakes, []
        for wake in wakes:
            wake()

    def _unsubscribe(self, wake: Callable[[], None]) -> None:
        with self._lock:
            if wake in self._wakes:
                self._wakes.remove(wake)
