"""What a server says its tools do, taken as hints that may only add caution.

An annotation is the server's own word, so none makes a tool less than the specification's worst
case: destructive, in an open world, not to be repeated.

Source: MCP specification 2026-07-28, "Tool annotations".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holon_core.records.words import Effect

WORST = frozenset(
    {
        Effect.MACHINE_READ,
        Effect.NETWORK_READ,
        Effect.MACHINE_WRITE,
        Effect.NETWORK_WRITE,
        Effect.DESTRUCTIVE,
    }
)
# Reading a resource or a prompt runs code of the server as well, for an answer alone.
READING = frozenset({Effect.MACHINE_READ, Effect.NETWORK_READ})
_READ_WORDS = ("get", "list", "read", "search", "find", "show", "describe", "count")
_WRITE_WORDS = ("delete", "remove", "drop", "destroy", "purge", "kill", "write", "update", "create")


def risk_hints(name: str, annotations: Any) -> Iterator[str]:
    """Yield what the annotations of a tool add, and where they contradict themselves."""
    if not isinstance(annotations, Mapping):
        yield "hints_absent"
        return
    reads, destroys = annotations.get("readOnlyHint"), annotations.get("destructiveHint")
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    if reads is None and destroys is None:
        yield "hints_absent"
    if destroys is True:
        yield "says_destructive"
    if annotations.get("openWorldHint") is True:
        yield "says_open_world"
    if (reads is True and destroys is True) or (
        reads is True and words and words[0] in _WRITE_WORDS
    ):
        yield "hints_contradict"
    elif reads is False and words[0] in _READ_WORDS:
        yield "says_it_writes"
    known = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    if any(name in annotations and type(annotations[name]) is not bool for name in known):
        yield "hints_malformed"
