"""What is said to a server, and what it answers: discover or initialize, then its lists.

The era is found as the specification says: `server/discover` comes first, and any error but a
modern one, or silence, means a server with a handshake.

Source: MCP specification 2026-07-28, "Lifecycle" and "Pagination"; MCP 2025-11-25, "Lifecycle".
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from holon_core.errors import Refused
from holon_mcp.reading.answers import answer_of, joined_listing
from holon_mcp.reading.paging import Pages
from holon_mcp.records import LISTS, MEMBERS, Listing
from holon_mcp.version import distribution_version

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
UNSUPPORTED_VERSION = -32022
META = "io.modelcontextprotocol"
# Which capability a server declares where it has a list.
_CAPABILITIES = {
    "tool": "tools",
    "prompt": "prompts",
    "resource": "resources",
    "template": "resources",
}


def _client() -> dict[str, str]:
    return {"name": "holon-probe", "version": distribution_version()}


class Dialogue:
    """One conversation with a server; safe for the thread that reads and one that keeps time.

    Args:
        send: Sends a message.
        finished: Called once, when nothing more is asked.
    """

    def __init__(
        self, send: Callable[[dict[str, Any]], None], finished: Callable[[], None]
    ) -> None:
        self._send, self._finished = send, finished
        self._lock = threading.RLock()
        self._next_id = 0
        self._waiting: dict[int, tuple[str, str]] = {}
        self._todo: list[str] = []
        self._lists: dict[str, Pages | str] = {}
        self.modern = False
        self.head: Any = None
        self.failure: Refused | None = None
        self.done = False

    def begin(self) -> None:
        """Send the first message."""
        with self._lock:
            self._ask("server/discover", {}, modern=True)

    def fall_back(self) -> None:
        """Take silence for a server with a handshake, where nothing was answered yet."""
        with self._lock:
            if self.head is None and not self.done and self._asks("server/discover"):
                self._initialize()

    def take(self, message: Any) -> None:
        """Take a message of the server; what nobody asked for is left alone."""
        with self._lock:
            if not isinstance(message, dict) or self.done:
                return
            if "method" in message:
                self._decline(message)
                return
            request_id = message.get("id")
            asked = self._waiting.pop(request_id, None) if type(request_id) is int else None
            if asked is not None:
                self._answered(*asked, message)

    def listing(self) -> Listing:
        """Return what was learnt.

        Raises:
            Refused: The server said nothing of itself, or answered its first request wrongly.
        """
        if self.failure is not None:
            raise self.failure
        return joined_listing("probe", self.head, modern=self.modern, lists=self._lists)

    def lists_left(self, why: str) -> None:
        """Say of every list that was not answered in full why it is not there."""
        with self._lock:
            for kind in self._todo:
                self._lists.setdefault(kind, why)
            for method, _ in self._waiting.values():
                for kind, name in LISTS.items():
                    if name == method:
                        self._lists[kind] = why

    def _asks(self, method: str) -> bool:
        return any(each == method for each, _ in self._waiting.values())

    def _ask(self, method: str, params: dict[str, Any], *, modern: bool) -> None:
        self._next_id += 1
        self._waiting[self._next_id] = method, ""
        if modern:
            meta = {
                f"{META}/protocolVersion": MODERN,
                f"{META}/clientInfo": _client(),
                f"{META}/clientCapabilities": {},
            }
            params = {**params, "_meta": meta}
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})

    def _initialize(self) -> None:
        self._waiting.clear()
        self.modern = False
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _client()}
        self._ask("initialize", params, modern=False)

    def _answered(self, method: str, _: str, message: dict[str, Any]) -> None:
        if method == "server/discover":
            self._discovered(message)
        elif method == "initialize":
            self._initialized(message)
        else:
            self._listed(method, message)

    def _discovered(self, message: dict[str, Any]) -> None:
        result = message.get("result")
        versions = result.get("supportedVersions") if isinstance(result, dict) else None
        if isinstance(versions, list) and MODERN in versions:
            self.modern, self.head = True, result
            self._plan()
        else:
            self._initialize()

    def _initialized(self, message: dict[str, Any]) -> None:
        try:
            self.head = answer_of(message, "initialize")
        except Refused as error:
            self.failure = error
            self._end()
            return
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._plan()

    def _plan(self) -> None:
        capabilities = self.head.get("capabilities") if isinstance(self.head, dict) else None
        declared = capabilities if isinstance(capabilities, dict) else {}
        self._todo = [kind for kind, word in _CAPABILITIES.items() if word in declared]
        self._go_on()

    def _go_on(self) -> None:
        if not self._todo:
            self._end()
            return
        kind = self._todo[0]
        self._lists[kind] = Pages(LISTS[kind], MEMBERS[kind])
        self._ask(LISTS[kind], {}, modern=self.modern)

    def _listed(self, method: str, message: dict[str, Any]) -> None:
        kind = self._todo[0]
        pages = self._lists[kind]
        assert isinstance(pages, Pages), "a list that failed is asked no further"
        try:
            cursor = pages.add(answer_of(message, method))
        except Refused as error:
            self._lists[kind] = f"{error.failure.code}: {error.failure.message}"
            cursor = None
        if cursor is not None:
            self._ask(method, {"cursor": cursor}, modern=self.modern)
            return
        del self._todo[0]
        self._go_on()

    def _decline(self, message: dict[str, Any]) -> None:
        """Answer a request of the server: this client offers nothing."""
        if "id" in message:
            error = {"code": -32601, "message": "Method not found"}
            self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _end(self) -> None:
        if not self.done:
            self.done = True
            self._finished()
