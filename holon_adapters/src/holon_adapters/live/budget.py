"""The time of one call, and its end from outside: what every wait of the call looks at."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from holon_core.cancel import CancelToken


class TimeIsUp(Exception):
    """The call's time is over, or its caller is gone."""


class Budget:
    """How long a call may still take. Waits for the network end with it, and by cancelling.

    Args:
        timeout_s: Seconds from now.
        cancel: Raised where nobody wants the answer any more.
    """

    def __init__(self, timeout_s: float, cancel: CancelToken) -> None:
        self._deadline = time.monotonic() + timeout_s
        self._cancel = cancel
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def left(self) -> float:
        """Return the seconds left.

        Raises:
            TimeIsUp: None are, or the call was cancelled.
        """
        left = self._deadline - time.monotonic()
        if left <= 0 or self._cancel.cancelled:
            raise TimeIsUp
        return left

    @property
    def over(self) -> bool:
        """Whether the time is up; false where the caller went away before."""
        return time.monotonic() >= self._deadline

    def wait(self, seconds: float) -> None:
        """Wait before another try; raises ``TimeIsUp`` where there is no time for one after it."""
        if seconds >= self.left():
            raise TimeIsUp
        woken = threading.Event()
        forget = self._cancel.subscribe(woken.set)
        try:
            woken.wait(seconds)
        finally:
            forget()
        self.left()

    @contextlib.contextmanager
    def watching(self, using: Any) -> Iterator[float]:
        """Let a socket be shut while it is waited on, where the call is cancelled.

        Yields:
            The seconds left.
        """
        left = self.left()
        with self._lock:
            self._socket = using
        forget = self._cancel.subscribe(self._shut)
        try:
            yield left
        finally:
            forget()
            with self._lock:
                self._socket = None

    def _shut(self) -> None:
        from socket import SHUT_RDWR

        with self._lock:
            if self._socket is not None:
                # It may be closed already, which is what is wanted.
                with contextlib.suppress(OSError):
                    self._socket.shutdown(SHUT_RDWR)


_current = threading.local()


@contextlib.contextmanager
def spending(budget: Budget) -> Iterator[None]:
    """Have what this thread does on the network spend a budget."""
    _current.budget = budget
    try:
        yield
    finally:
        _current.budget = None


def current() -> Budget:
    """Return the budget that this thread spends."""
    budget: Budget = _current.budget
    return budget
