"""What a session keeps of its model: which tools it was shown, and which it found."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from holon_core.ids import new_id

if TYPE_CHECKING:
    from holon_core.agents.projection import Rendered

MAX_FOUND = 200


class Modelling:
    """The model's side of one session. Safe for many threads.

    ``uid`` keeps the calls of this session apart from others with the same ids of a provider.
    """

    def __init__(self) -> None:
        self.uid = new_id("m")
        self._lock = threading.Lock()
        self._shown: dict[tuple[str, str], tuple[str, bool]] = {}
        self._found: dict[str, None] = {}

    def note(self, dialect: str, shown: Iterable[Rendered]) -> None:
        """Keep the definitions that the model was shown last, and whether they were strict."""
        with self._lock:
            for each in shown:
                self._shown[dialect, each.name] = (each.digest, each.strict)

    def pinned(self, dialect: str, name: str) -> tuple[str, bool] | None:
        """Return digest and strictness of a tool that the model was shown."""
        return self._shown.get((dialect, name))

    def find(self, tool_ids: Iterable[str]) -> None:
        """Keep what a search gave: it is shown from now on, behind all that was shown before."""
        with self._lock:
            for each in tool_ids:
                if len(self._found) < MAX_FOUND:
                    self._found.setdefault(each)

    @property
    def found(self) -> tuple[str, ...]:
        """Ids of found tools, first found first."""
        with self._lock:
            return tuple(self._found)
