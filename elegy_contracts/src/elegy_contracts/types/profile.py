"""Agent capability profiles."""

from __future__ import annotations

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class AgentCapabilityProfile:
    """Which skills and capabilities an agent is given."""

    schema_version: str
    profile_id: str
    include_skills: tuple[str, ...] | Unset = UNSET
    include_capabilities: tuple[str, ...] | Unset = UNSET
    exclude_capabilities: tuple[str, ...] | Unset = UNSET
    always_include_router: bool | Unset = UNSET
