"""The words of the memory contract as callers of this lane spell them."""

TYPES = ("fact", "preference", "decision", "procedure", "observation")
PROVENANCE = ("user-stated", "agent-observed", "agent-inferred")
