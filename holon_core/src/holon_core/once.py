"""Making a part of a runtime when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Makes something at its first use, once for all threads; what it takes is paid by who asks.

    Args:
        make: Makes it; never asks for it.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self._lock = threading.Lock()

    def __call__(self) -> T:
        """Return what is made."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    @property
    def made(self) -> T | None:
        """What was made, ``None`` where nobody asked for it yet."""
        return self._made
