"""The client of a request: who it says it is, and the session that its calls go through."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.session import Session
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime

MAX_CLIENTS = 256
MAX_LABEL = 120
# What the request of this task does when one of its calls begins.
BEGUN: ContextVar[Callable[[Attempt], None] | None] = ContextVar("holon-mcp-begun", default=None)


def label_of(params: Any) -> str:
    """Name a client by its own word, made safe to read; it is no authentication.

    Args:
        params: What the client said of itself, where it did.
    """
    info = getattr(params, "client_info", None)
    name, version = getattr(info, "name", None), getattr(info, "version", None)
    said = f"{name or 'unnamed'}/{version or '?'}"
    return f"mcp-client:{escape_unseen(said)[:MAX_LABEL]}"


class Clients:
    """One session for each client that was met, all of the one caller of the server.

    Args:
        runtime: The open runtime.
        caller: Who every client calls as.
    """

    def __init__(self, runtime: Runtime, caller: CallerContext) -> None:
        self._runtime = runtime
        self._caller = caller
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def session(self, label: str) -> Session:
        """Return the session of a client; evidence of its calls carries the label."""
        found = self._sessions.get(label)
        if found is None:
            runtime = self._runtime
            found = self._sessions[label] = Session(
                runtime._guard,
                evolve(self._caller, trace_id=label),
                lambda: runtime._open,
                begun=_begun,
                agents=lambda: runtime._parts.agents,
            )
            if len(self._sessions) > MAX_CLIENTS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(label)
        return found


def _begun(attempt: Attempt) -> None:
    told = BEGUN.get()
    if told is not None:
        told(attempt)
