"""The time that one call has for everything it does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from holon_builtin_workspace.refusals import refuse

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

DEFAULT_TIMEOUT_S = 30.0


class Clock:
    """Counts a call's time from its making; also ends a call that nobody wants any more."""

    def __init__(self, call: SealedCall) -> None:
        self._call = call
        self._limit = call.limits.timeout_s or DEFAULT_TIMEOUT_S
        self._until = time.monotonic() + self._limit

    def left_s(self) -> float:
        """Return the seconds left.

        Raises:
            Refused: ``timeout`` or ``cancelled``.
        """
        if self._call.cancel.cancelled:
            raise refuse("cancelled")
        left = self._until - time.monotonic()
        if left <= 0:
            text = f"ended by the time limit of {self._limit:g} s"
            raise refuse("timeout", text, limit_s=self._limit)
        return left
