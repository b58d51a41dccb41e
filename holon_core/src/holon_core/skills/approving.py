"""Approvals of postures: which capability may run under which authority, by which definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holon_core.catalogue.catalogue import TOOLS
from holon_core.catalogue.codec import descriptor_from
from holon_core.errors import Refused
from holon_core.records.failure import failure
from holon_core.records.skill import (
    CapabilityBindingRecord,
    PostureApproval,
    SkillDefinitionRecord,
    SkillEntry,
    SkillLifecycle,
)
from holon_core.records.words import Posture
from holon_core.skills.codec import approval_body, approval_from
from holon_core.skills.gates import APPROVALS, CARDS, approval_key, card_from

if TYPE_CHECKING:
    from holon_core.store.protocol import Store, Tables

Record = Callable[["Tables", str, dict[str, str]], None]
NOT_LOADED = frozenset({SkillLifecycle.DRAFT, SkillLifecycle.ARCHIVED})


def chosen(entry: SkillEntry, target: str) -> tuple[CapabilityBindingRecord, ...]:
    """Return the binding of a tool, or all of a skill's; the narrower where an id is both."""
    one = tuple(each for each in entry.bindings if each.tool == target)
    return one or entry.bindings


def approve(
    store: Store,
    bindings: Sequence[CapabilityBindingRecord],
    *,
    posture: Posture,
    by: str,
    reason: str,
    at: int,
    record: Record,
) -> tuple[PostureApproval, ...]:
    """Keep an approval of each binding by what is defined now, all or none of them."""

    def work(tables: Tables) -> tuple[PostureApproval, ...]:
        made = []
        for binding in bindings:
            card, tool = tables.document(CARDS, binding.tool), tables.document(TOOLS, binding.tool)
            if card is None or tool is None:
                text = f"{binding.tool} is not in the catalogue; see the findings of its skill"
                raise Refused(failure("unknown_skill", text))
            found = card_from(card.body)
            approval = PostureApproval(
                tool=binding.tool,
                posture=posture,
                tool_digest=descriptor_from(tool.body).digest,
                skill_digest=found.skill_digest,
                by=by,
                reason=reason,
                at_unix_seconds=at,
            )
            key = approval_key(binding.tool, posture)
            tables.put_document(APPROVALS, key, approval_body(approval), at=at)
            record(tables, "posture_approved", _fields(approval))
            made.append(approval)
        # Every process has to look at the approvals anew.
        tables.bump_revision()
        return tuple(made)

    return store.transact(work, full=True)


def revoke(
    store: Store,
    bindings: Sequence[CapabilityBindingRecord],
    *,
    postures: Sequence[Posture],
    by: str,
    reason: str,
    at: int,
    record: Record,
) -> tuple[str, ...]:
    """Take approvals back; return the tools that had one."""

    def work(tables: Tables) -> tuple[str, ...]:
        gone: dict[str, None] = {}
        for binding in bindings:
            for posture in postures:
                if tables.remove_document(APPROVALS, approval_key(binding.tool, posture), at=at):
                    gone[binding.tool] = None
                    said = {"tool_id": binding.tool, "posture": posture.value}
                    record(tables, "posture_revoked", {**said, "by": by, "reason": reason})
        tables.bump_revision()
        return tuple(gone)

    return store.transact(work, full=True)


def note_loaded(
    store: Store,
    skill: SkillDefinitionRecord,
    *,
    by: str,
    record: Record,
    resource: str = "",
) -> None:
    """Record that somebody loads the instructions of a skill, or one of its files."""
    said = {"skill_id": skill.id, "digest": skill.digest, "by": by}
    if resource:
        said["resource"] = resource
    store.transact(lambda tables: record(tables, "skill_loaded", said))


def of_bindings(store: Store, bindings: Sequence[CapabilityBindingRecord]) -> list[PostureApproval]:
    """Return the approvals of bindings, by tool and posture."""

    def work(tables: Tables) -> list[PostureApproval]:
        keys = [approval_key(each.tool, posture) for each in bindings for posture in Posture]
        rows = [tables.document(APPROVALS, key) for key in keys]
        return [approval_from(row) for row in rows if row is not None]

    return store.read(work)


def clear(tables: Tables, tool_id: str, *, at: int) -> bool:
    """Remove every approval of a tool; tell whether there was one."""
    gone = [
        tables.remove_document(APPROVALS, approval_key(tool_id, posture), at=at)
        for posture in Posture
    ]
    return any(gone)


def _fields(approval: PostureApproval) -> dict[str, str]:
    return {
        "tool_id": approval.tool,
        "posture": approval.posture.value,
        "digest": approval.tool_digest,
        "skill_digest": approval.skill_digest,
        "by": approval.by,
        "reason": approval.reason,
    }
