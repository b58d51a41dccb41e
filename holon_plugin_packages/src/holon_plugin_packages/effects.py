"""From the words for side effects that packages use to effects as Holon knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holon_core.records.words import Effect

UNKNOWN = frozenset({Effect.UNKNOWN})
# Words of Elegy's vocabularies; docs/elegy.md has the table, and a test compares.
EFFECTS: Mapping[str, frozenset[Effect]] = {
    "none": frozenset({Effect.NONE}),
    "pure": frozenset({Effect.NONE}),
    "read_only": frozenset({Effect.MACHINE_READ}),
    "disk_read": frozenset({Effect.MACHINE_READ}),
    "read": frozenset({Effect.MACHINE_READ}),
    "query": frozenset({Effect.MACHINE_READ}),
    "disk_write": frozenset({Effect.MACHINE_WRITE}),
    "write": frozenset({Effect.MACHINE_WRITE}),
    "mutation": frozenset({Effect.MACHINE_WRITE}),
    "fenced-mutation": frozenset({Effect.MACHINE_WRITE}),
    "network_outbound": frozenset({Effect.NETWORK_WRITE}),
    "external": frozenset({Effect.NETWORK_WRITE}),
    "process_spawn": frozenset({Effect.PROCESS}),
    "desktop_ui": frozenset({Effect.MACHINE_WRITE, Effect.NETWORK_WRITE, Effect.PROCESS}),
    "destructive": frozenset({Effect.MACHINE_WRITE, Effect.DESTRUCTIVE}),
}


def effects_of(words: Iterable[str], effects: Iterable[str] = ()) -> frozenset[Effect]:
    """Join words of side effects and effects by name; nothing, or one unknown, is ``unknown``."""
    found = {Effect(each) for each in effects}
    for word in words:
        found |= EFFECTS.get(word, UNKNOWN)
    if not found or Effect.UNKNOWN in found:
        return UNKNOWN
    return frozenset(found - {Effect.NONE}) or frozenset({Effect.NONE})
