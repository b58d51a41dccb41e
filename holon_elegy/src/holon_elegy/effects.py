"""One table from the three vocabularies of side effects to effects as Holon knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from holon_core.records.words import Effect

if TYPE_CHECKING:
    from elegy_contracts.normal import NormalCapability

# (vocabulary, word): effects. docs/elegy.md shows this table; a test compares.
EFFECTS: Mapping[tuple[str, str], frozenset[Effect]] = {
    ("host_class", "none"): frozenset({Effect.NONE}),
    ("host_class", "read_only"): frozenset({Effect.MACHINE_READ}),
    ("host_class", "disk_read"): frozenset({Effect.MACHINE_READ}),
    ("host_class", "disk_write"): frozenset({Effect.MACHINE_WRITE}),
    ("host_class", "network_outbound"): frozenset({Effect.NETWORK_WRITE}),
    ("host_class", "process_spawn"): frozenset({Effect.PROCESS}),
    ("host_class", "desktop_ui"): frozenset(
        {Effect.MACHINE_WRITE, Effect.NETWORK_WRITE, Effect.PROCESS}
    ),
    ("capability_class", "none"): frozenset({Effect.NONE}),
    ("capability_class", "read"): frozenset({Effect.MACHINE_READ}),
    ("capability_class", "write"): frozenset({Effect.MACHINE_WRITE}),
    ("capability_class", "external"): frozenset({Effect.NETWORK_WRITE}),
    ("capability_class", "destructive"): frozenset({Effect.MACHINE_WRITE, Effect.DESTRUCTIVE}),
    ("catalogue_class", "pure"): frozenset({Effect.NONE}),
    ("catalogue_class", "query"): frozenset({Effect.MACHINE_READ}),
    ("catalogue_class", "mutation"): frozenset({Effect.MACHINE_WRITE}),
    ("catalogue_class", "fenced-mutation"): frozenset({Effect.MACHINE_WRITE}),
    ("has_side_effects", "true"): frozenset({Effect.MACHINE_WRITE}),
    ("has_side_effects", "false"): frozenset({Effect.MACHINE_READ}),
}
UNKNOWN = frozenset({Effect.UNKNOWN})


def effects_of(capability: NormalCapability) -> frozenset[Effect]:
    """Return the effects of a capability: everything that any claim says, since none loosens.

    Absent claims are ``unknown``, and so is a word that no vocabulary has.
    """
    claims: list[tuple[str, str]] = list(capability.claims)
    if capability.has_side_effects is not None:
        claims.append(("has_side_effects", str(capability.has_side_effects).lower()))
    return joined(EFFECTS.get(claim, UNKNOWN) for claim in claims)


def joined(claimed: Iterable[frozenset[Effect]]) -> frozenset[Effect]:
    """Join what several claims say; what does nothing adds nothing."""
    found = frozenset().union(*claimed)
    if not found or Effect.UNKNOWN in found:
        return UNKNOWN
    return found - {Effect.NONE} or frozenset({Effect.NONE})
