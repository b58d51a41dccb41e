"""The calls that run now: counted, so that closing can wait for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING

from holon_core.errors import RuntimeNotOpen

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt

# How long closing lets calls go on, and then how long it waits for those that it cancelled.
WAIT_S = 3.0
CANCELLED_S = 2.0
_LOOK_S = 0.01


class Running:
    """The attempts that are under way, each with the thread that waits for it."""

    def __init__(self) -> None:
        self._attempts: dict[str, tuple[Attempt, int]] = {}
        self._closed = False

    @property
    def closing(self) -> bool:
        """Whether closing has begun: no further call is."""
        return self._closed

    @contextmanager
    def under_way(self, attempt: Attempt) -> Iterator[None]:
        """Count an attempt while the block runs.

        Raises:
            RuntimeNotOpen: Closing has begun meanwhile.
        """
        self.begin(attempt)
        try:
            yield
        finally:
            self.end(attempt)

    def begin(self, attempt: Attempt) -> None:
        """Count an attempt until ``end``; for the common call, which a block would slow."""
        # Entered before it looks, as closing looks after it has said so: one sees the other.
        self._attempts[attempt.call_id] = attempt, get_ident()
        if self._closed:
            self.end(attempt)
            raise RuntimeNotOpen("this runtime was closed; open another")

    def end(self, attempt: Attempt) -> None:
        """Count an attempt no longer."""
        self._attempts.pop(attempt.call_id, None)

    def close(self) -> list[str]:
        """Wait for the calls of other threads, cancel those that go on, wait once more.

        A call that waits in this very thread cannot end before this does, and is not waited for.

        Returns:
            The calls that still go on, by id and tool.
        """
        self._closed = True
        if self._ended(WAIT_S):
            return []
        for attempt in self._others():
            attempt.cancel.cancel()
        if self._ended(CANCELLED_S):
            return []
        return [f"call {each.call_id} of {each.tool_id}" for each in self._others()]

    def _others(self) -> list[Attempt]:
        own = get_ident()
        return [attempt for attempt, thread in list(self._attempts.values()) if thread != own]

    def _ended(self, within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while self._others():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
        return True
