"""What stands where an executor would: it calls nothing, and shows the request it would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import FAILURES, Refused
from holon_core.records.failure import failure
from holon_core.records.outcome import ExecutorFailure, ExecutorOutcome, ExecutorStatus
from holon_mcp.items.templates import expanded
from holon_mcp.lane import CLOSED
from holon_mcp.version import distribution_version

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall
    from holon_mcp.records import StoredItem, StoredServer

Find = Callable[[str], "tuple[StoredServer, StoredItem] | None"]
META = "io.modelcontextprotocol"


class ClosedExecutor:
    """Answers every call that it is closed, should one ever come this far.

    Args:
        find: Returns the server and the item behind an entry.
    """

    def __init__(self, find: Find) -> None:
        self._find = find

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Do nothing, and say so."""
        problem = ExecutorFailure(
            kind=FAILURES["live_execution_blocked"][0],
            code="live_execution_blocked",
            message=CLOSED,
        )
        return ExecutorOutcome(status=ExecutorStatus.BLOCKED, failure=problem, started=False)

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show the request that would be sent, in the form of the server's own revision."""
        found = self._find(call.tool.id)
        if found is None:
            raise Refused(failure("unknown_tool", "the server behind the entry is not known"))
        server, item = found
        method, params = _request(item, call.arguments)
        if server.protocol >= "2026-07-28":
            params = {**params, "_meta": _meta(server.protocol)}
        return {
            "server": server.name,
            "live": False,
            "request": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
        }


def _request(item: StoredItem, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    given = item.accepted
    assert given is not None, "an entry has an accepted definition"
    if item.kind == "tool":
        return "tools/call", {"name": item.name, "arguments": dict(arguments)}
    if item.kind == "prompt":
        return "prompts/get", {"name": item.name, "arguments": dict(arguments)}
    if item.kind == "resource":
        return "resources/read", {"uri": item.name}
    return "resources/read", {"uri": expanded(item.name, arguments)}


def _meta(protocol: str) -> dict[str, Any]:
    """Make what every request carries where there is no handshake."""
    return {
        f"{META}/protocolVersion": protocol,
        f"{META}/clientInfo": {"name": "holon", "version": distribution_version()},
        f"{META}/clientCapabilities": {},
    }
