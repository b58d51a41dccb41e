"""What is kept of an MCP server: where it was read from, and each thing that it offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.records.finding import Finding
from holon_core.records.words import Word

LISTS: Mapping[str, str] = {
    "tool": "tools/list",
    "prompt": "prompts/list",
    "resource": "resources/list",
    "template": "resources/templates/list",
}
# Under which member the answer of each list has its items.
MEMBERS: Mapping[str, str] = {
    "tool": "tools",
    "prompt": "prompts",
    "resource": "resources",
    "template": "resourceTemplates",
}


class ItemState(Word):
    """What is true of one thing that a server offers."""

    ACCEPTED = "accepted"
    UNUSABLE = "unusable"
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


@frozen(kw_only=True)
class Listing:
    """A server's own word of itself, as it was read; nothing of it is trusted.

    ``lists`` has what each list gave, in order and as sent; a kind that is absent was not asked.
    ``errors`` says of kinds whose list failed why, so that what was known of them stays.
    """

    form: str
    server_name: str = ""
    server_version: str = ""
    protocol: str = ""
    transport: str = ""
    instructions: str = ""
    launch: Mapping[str, Any] = field(factory=dict)
    lists: Mapping[str, tuple[Any, ...]] = field(factory=dict)
    pages: Mapping[str, int] = field(factory=dict)
    errors: Mapping[str, str] = field(factory=dict)
    envelope: Mapping[str, Any] = field(factory=dict)

    @property
    def modern(self) -> bool:
        """Whether it speaks without a handshake (2026-07-28 and later)."""
        return self.protocol >= "2026-07-28"


@frozen(kw_only=True)
class RefusedItem:
    """One thing that a server lists and that has no place in the catalogue, with the reason."""

    kind: str
    position: int
    name: str
    findings: tuple[Finding, ...]


@frozen(kw_only=True)
class StoredItem:
    """One thing that a server offers: its accepted definition, and another where it changed.

    ``pin`` is the digest of ``accepted``; ``offered`` is what the server gives now where that
    is another definition, or none was accepted yet.
    """

    server: str
    kind: str
    name: str
    accepted: Mapping[str, Any] | None = None
    pin: str = ""
    offered: Mapping[str, Any] | None = None
    offered_pin: str = ""
    usable: bool = True
    present: bool = True
    risk_hints: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def state(self) -> ItemState:
        """What is true of it now."""
        if self.accepted is None:
            return ItemState.NEW
        if not self.present:
            return ItemState.GONE
        if self.offered is not None:
            return ItemState.CHANGED
        return ItemState.ACCEPTED if self.usable else ItemState.UNUSABLE


@frozen(kw_only=True)
class StoredServer:
    """A server as it is kept; ``launch`` is without any value of its environment.

    ``risk_hints`` and ``findings`` are about what it says of itself: its name and instructions.
    """

    name: str
    form: str
    server_name: str = ""
    server_version: str = ""
    protocol: str = ""
    transport: str = ""
    instructions: str = ""
    launch: Mapping[str, Any] = field(factory=dict)
    pages: Mapping[str, int] = field(factory=dict)
    errors: Mapping[str, str] = field(factory=dict)
    envelope: Mapping[str, Any] = field(factory=dict)
    refused: tuple[RefusedItem, ...] = ()
    risk_hints: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    registered_by: str
    registered_at_unix_seconds: int
    refreshed_at_unix_seconds: int
