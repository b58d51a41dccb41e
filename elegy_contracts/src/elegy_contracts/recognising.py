"""What a JSON object is: by its own marker, else by the members that it has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from elegy_contracts.shapes import schema
from elegy_contracts.spelling import camel

# The text of `schemaVersion` (or the like) says which contract it is.
MARKS: Mapping[str, str] = {
    "elegy-plugin-package/v1": "elegy-plugin-package",
    "elegy-plugin-package/v2": "elegy-plugin-package",
    "elegy-plugin-readiness/v1": "elegy-plugin-readiness-v1",
    "elegy-plugin-lock/v1": "elegy-plugin-lock-v1",
    "elegy-capability-catalog/v1": "elegy-capability-catalog-v1",
    "elegy-capability-catalog/v2": "elegy-capability-catalog-v2",
    "elegy-package/v1": "elegy-package-v1",
    "elegy-lock/v1": "elegy-lock-v1",
    "elegy-sbom/v1": "elegy-sbom-v1",
    "elegy-readiness/v1": "elegy-readiness-v1",
    "elegy-plugin/v2": "elegy-plugin-v2",
    "elegy-plugin/v3": "elegy-plugin-v3",
    "elegy.cli/v1": "elegy-cli-envelope",
    "elegy-crystallized-capability/v1": "crystallized-capability",
    "agent-capability-profile/v1": "agent-capability-profile",
}
# Contracts without a mark of their own, the narrower before the wider.
BY_MEMBERS = (
    "elegy-plugin-v1",
    "elegy-plugin-v1-sdk",
    "canonical-workflow-graph",
    "canonical-workflow",
    "capability-definition",
    "tool-projection",
    "skill-discovery-index",
    "execution-event",
    "invocation-response",
    "invocation-request",
    "agent-event-envelope",
    "agent-response-envelope",
    "agent-request-envelope",
    "summary-only-session-context-envelope",
    "governed-memory-record-projection",
    "governed-memory-record",
    "observation-summary",
    "observation-session",
    "observation-event",
    "piloting-adapter-manifest",
    "piloting-fixture-pack",
    "piloting-surface-descriptor",
    "piloting-target-descriptor",
    "mcp-analysis-result",
    "mcp-server-descriptor",
    "mcp-tool-definition",
    "elegy-catalog-entry",
    "install-receipt",
    "skill-definition",
    "structured-failure",
)
_ALIASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "structured-failure": {"code": ("kind", "category"), "category": ("kind", "code")},
    "execution-event": {"eventType": ("kind",)},
}


def recognise(data: Any) -> str | None:
    """Name the contract that a JSON value is of, whatever is wrong with it.

    Returns:
        A name of ``shapes.names()``; ``None`` where it is none that is known.
    """
    if not isinstance(data, dict):
        return None
    names = {camel(name) for name in data}
    if "skillFormat" in names:
        return "skill"
    for member in ("schemaVersion", "schema_version", "profileVersion", "formatVersion"):
        mark = data.get(member)
        if isinstance(mark, str) and mark in MARKS:
            return MARKS[mark]
    fitting = [each for each in BY_MEMBERS if _fits(each, names)]
    return min(fitting, key=lambda each: len(names - _members(each)[1]), default=None)


def _fits(contract: str, names: set[str]) -> bool:
    required, known, closed = _members(contract)
    aliases = _ALIASES.get(contract, {})
    for name in required:
        if name not in names and not names & set(aliases.get(name, ())):
            return False
    # One member that is not known is a mistake in it; many are another contract.
    return not closed or len(names - known) <= max(1, len(names) // 3)


@lru_cache(maxsize=64)
def _members(contract: str) -> tuple[frozenset[str], frozenset[str], bool]:
    made = schema(contract)
    known = frozenset(made.get("properties", {}))
    required = frozenset(made.get("required", ()))
    return required, known, made.get("additionalProperties") is False
