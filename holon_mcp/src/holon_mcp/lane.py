"""Names and rules of the lane: source ids of servers, ids of what they offer, and its gate."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from holon_core.ids import MAX_CAPABILITY_BYTES, capability_id
from holon_core.records.words import LaneKind, Posture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.records.failure import StructuredFailure
    from holon_core.records.gate import GateCall
from holon_core.records.lane import CapabilityLane

KIND = LaneKind.MCP.value
SOURCE = "holon-mcp"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# Names of devices on Windows, which no file of any folder may have.
DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
# Risk hints that say why a tool is not to be used; a gate goes by them.
CHANGED = "definition_changed"
UNUSABLE = "schema_unusable"
CLOSED = "MCP servers are known by their metadata alone: this lane never calls one"
_DIGEST_CHARS = 16


def source_id(server: str, kind: str) -> str:
    """Make the id of the source of one kind of a server's entries; names have no dot in them."""
    return f"{SOURCE}.{server}" if kind == "tool" else f"{SOURCE}.{server}.{kind}s"


def entry_id(server: str, kind: str, name: str) -> str:
    """Make the catalogue id of an entry of a server, a function of its name alone.

    Names that are too long for an id are cut and carry a digest of the whole.
    """
    made = capability_id(name)
    if len(made) > MAX_CAPABILITY_BYTES:
        mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
        head = re.sub(r"%[0-9A-F]?$", "", made[: MAX_CAPABILITY_BYTES - _DIGEST_CHARS - 1])
        made = f"{head}~{mark}"
    return f"{source_id(server, kind)}/{made}"


def gate(call: GateCall) -> Iterator[StructuredFailure]:
    """Yield what keeps an entry from running: always that live execution is closed."""
    from holon_core.records.failure import failure

    if CHANGED in call.tool.risk_hints:
        text = "the server gives another definition than the accepted one: see mcp-server/diff"
        yield failure("definition_changed", text)
    if UNUSABLE in call.tool.risk_hints:
        text = "the server gives a schema that cannot be used: see mcp-server/read"
        yield failure("schema_unusable", text)
    yield failure("live_execution_blocked", CLOSED)


def lane() -> CapabilityLane:
    """Make the lane."""
    from holon_core.records.lane import CapabilityLane

    return CapabilityLane(kind=KIND, postures=frozenset({Posture.MODEL_INVOKED}), gates=(gate,))
