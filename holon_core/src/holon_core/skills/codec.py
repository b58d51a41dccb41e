"""Skills, bindings and approvals of postures as stored JSON, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holon_core.records.finding import Finding
from holon_core.records.skill import (
    CapabilityBindingRecord,
    PostureApproval,
    SkillDefinitionRecord,
    SkillEntry,
    SkillLifecycle,
    SkillSourceDescriptor,
    SkillSourceKind,
)
from holon_core.records.words import Origin, Posture, Severity
from holon_core.store.rows import decodes

if TYPE_CHECKING:
    from holon_core.store.document_tables import Document

_TEXT_TUPLES = ("aliases", "keywords", "examples")


def skill_json(skill: SkillDefinitionRecord) -> dict[str, Any]:
    """Return a skill as plain JSON."""
    return {
        "id": skill.id,
        "source": skill.source,
        "version": skill.version,
        "name": skill.name,
        "description": skill.description,
        "lifecycle": skill.lifecycle.value,
        "aliases": list(skill.aliases),
        "keywords": list(skill.keywords),
        "examples": list(skill.examples),
        "metadata": dict(skill.metadata),
        "instructions": skill.instructions,
        "definition": dict(skill.definition),
        "digest": skill.digest,
    }


def binding_json(binding: CapabilityBindingRecord) -> dict[str, Any]:
    """Return a binding as plain JSON."""
    return {
        "skill": binding.skill,
        "capability": binding.capability,
        "tool": binding.tool,
        "lane": binding.lane,
        "input_schema": binding.input_schema,
        "output_schema": binding.output_schema,
        "implementation": dict(binding.implementation),
        "blocked": list(binding.blocked),
        "needs_posture_approval": binding.needs_posture_approval,
    }


def written(data: Any) -> bytes:
    """Write a document's body."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True).encode()


def entry_body(
    skill: SkillDefinitionRecord,
    bindings: tuple[CapabilityBindingRecord, ...],
    findings: tuple[Finding, ...],
) -> bytes:
    """Write a skill with its bindings and findings."""
    return written(
        {
            "skill": skill_json(skill),
            "bindings": [binding_json(each) for each in bindings],
            "findings": [[f.code, f.severity.value, f.path, f.message] for f in findings],
        }
    )


@decodes("a skill")
def entry_from(row: Document) -> SkillEntry:
    """Return the skill that was stored."""
    data = json.loads(row.body)
    return SkillEntry(
        skill=_skill(data["skill"]),
        bindings=tuple(map(binding_of, data["bindings"])),
        findings=tuple(
            Finding(code=code, severity=Severity(severity), path=path, message=message)
            for code, severity, path, message in data["findings"]
        ),
        revision=row.revision,
        at_unix_seconds=row.at,
    )


def _skill(data: dict[str, Any]) -> SkillDefinitionRecord:
    texts = {name: tuple(data[name]) for name in _TEXT_TUPLES}
    lifecycle = SkillLifecycle(data["lifecycle"])
    return SkillDefinitionRecord(**{**data, **texts, "lifecycle": lifecycle})


def binding_of(data: dict[str, Any]) -> CapabilityBindingRecord:
    """Return a binding of its JSON."""
    return CapabilityBindingRecord(**{**data, "blocked": tuple(data["blocked"])})


def card_body(binding: CapabilityBindingRecord, skill: SkillDefinitionRecord, digest: str) -> bytes:
    """Write what gates look at: a binding, with its skill's state and the tool's digest."""
    return written(
        {
            "binding": binding_json(binding),
            "lifecycle": skill.lifecycle.value,
            "skill_digest": skill.digest,
            "tool_digest": digest,
        }
    )


def approval_body(approval: PostureApproval) -> bytes:
    """Write an approval of a posture."""
    return written(
        {
            "tool": approval.tool,
            "posture": approval.posture.value,
            "tool_digest": approval.tool_digest,
            "skill_digest": approval.skill_digest,
            "by": approval.by,
            "reason": approval.reason,
        }
    )


@decodes("an approval of a posture")
def approval_from(row: Document) -> PostureApproval:
    """Return the approval that was stored."""
    data = json.loads(row.body)
    return PostureApproval(**{**data, "posture": Posture(data["posture"])}, at_unix_seconds=row.at)


def source_body(source: SkillSourceDescriptor) -> bytes:
    """Write a registered source."""
    data = {"kind": source.kind.value, "origin": source.origin.value, "title": source.title}
    return written(data)


@decodes("a source of skills")
def source_from(row: Document) -> SkillSourceDescriptor:
    """Return the source that was registered."""
    data = json.loads(row.body)
    return SkillSourceDescriptor(
        id=row.id,
        kind=SkillSourceKind(data["kind"]),
        origin=Origin(data["origin"]),
        title=data["title"],
    )
