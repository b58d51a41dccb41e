"""Skills: where they come from, what they say, and what they bind to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.records.approval_view import ViewChange
from holon_core.records.base import Record
from holon_core.records.finding import Finding
from holon_core.records.skill_source import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Posture, Word

__all__ = [
    "CapabilityBindingRecord",
    "ImportedCapability",
    "ImportedSkill",
    "PostureApproval",
    "SkillDefinitionRecord",
    "SkillEntry",
    "SkillLifecycle",
    "SkillOutcome",
    "SkillSourceDescriptor",
    "SkillSourceKind",
    "SkillState",
]


class SkillLifecycle(Word):
    """The lifecycle of a skill definition; only what is active may be executed."""

    DRAFT = "draft"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    ARCHIVED = "archived"


class SkillState(Word):
    """What became of a skill that was given to the registry."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"


@frozen(kw_only=True, eq=False, repr=False)
class SkillDefinitionRecord(Record):
    """A skill as Holon keeps it: identity, discovery and governance metadata, contracts.

    It carries no execution authority, secret material or approval state. ``id`` is
    ``<source id>/<key>``; ``definition`` is the portable definition as it was read;
    ``instructions`` is the text that an agent may load, empty where there is none. ``digest``
    is set by the registry and covers everything of the skill and of its bindings.
    """

    id: str
    source: str
    version: str
    name: str
    description: str = ""
    lifecycle: SkillLifecycle = SkillLifecycle.ACTIVE
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(factory=dict)
    instructions: str = ""
    definition: Mapping[str, Any] = field(factory=dict)
    digest: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class CapabilityBindingRecord(Record):
    """How one capability of a skill maps onto a catalogue entry.

    ``tool`` is the entry's id. A schema that is ``None`` is not usable, and the capability not
    executable. ``implementation`` is what the definition says of how it is invoked, as data.
    ``blocked`` says what else of the definition keeps it from being executed, in a text each.
    ``needs_posture_approval`` is false only where a lane's own rules stand for that approval.
    """

    skill: str
    capability: str
    tool: str
    lane: str
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    implementation: Mapping[str, Any] = field(factory=dict)
    blocked: tuple[str, ...] = ()
    needs_posture_approval: bool = True


@frozen(kw_only=True, eq=False, repr=False)
class ImportedCapability(Record):
    """One capability that a lane gives to the registry: its binding and its catalogue entry."""

    binding: CapabilityBindingRecord
    tool: RuntimeToolDescriptor


@frozen(kw_only=True, eq=False, repr=False)
class ImportedSkill(Record):
    """A skill that a lane read and normalised, ready for the registry."""

    skill: SkillDefinitionRecord
    capabilities: tuple[ImportedCapability, ...] = ()
    findings: tuple[Finding, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class SkillOutcome(Record):
    """What became of one skill at an import.

    ``changes`` say how a changed one differs from before; ``voided`` names the tools whose
    approvals of a posture no longer hold.
    """

    id: str
    state: SkillState
    digest: str = ""
    tools: tuple[str, ...] = ()
    changes: tuple[ViewChange, ...] = ()
    voided: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class SkillEntry(Record):
    """A skill of the registry with its bindings and what was found when it was imported."""

    skill: SkillDefinitionRecord
    bindings: tuple[CapabilityBindingRecord, ...]
    findings: tuple[Finding, ...] = ()
    revision: int = 1
    at_unix_seconds: int = 0


@frozen(kw_only=True, eq=False, repr=False)
class PostureApproval(Record):
    """That somebody lets one imported capability run under a posture, by these definitions."""

    tool: str
    posture: Posture
    tool_digest: str
    skill_digest: str
    by: str
    reason: str
    at_unix_seconds: int
