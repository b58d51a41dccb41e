"""What a catalogue entry says of an imported capability: text, words, hints."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elegy_contracts.normal import NormalCapability, NormalSkill

MAX_EXAMPLES = 20
MAX_WORDS = 60
MAX_TEXT = 4000


def description_of(normal: NormalSkill, each: NormalCapability) -> str:
    """Return the text of a capability, with its skill's and what constrains it."""
    about = " ".join(normal.description.split())
    parts = [each.description.strip(), f"Skill: {normal.name}. {about}".strip()]
    parts += [f"Constraint: {text}" for text in islice(normal.constraints, MAX_EXAMPLES)]
    return "\n".join(part for part in parts if part)[:MAX_TEXT]


def keywords_of(normal: NormalSkill) -> tuple[str, ...]:
    """Return the words under which a skill is found, its own name first."""
    words = dict.fromkeys((normal.name, *normal.aliases, *normal.keywords))
    return tuple(islice(words, MAX_WORDS))


def hints_of(governance: Mapping[str, Any], each: NormalCapability) -> list[str]:
    """Return what approvers and policies see of a skill's governance."""
    hints = []
    for name, key in (("risk", "riskLevel"), ("trust", "trustLevel")):
        if governance.get(key):
            hints.append(f"{name}:{governance[key]}")
    if governance.get("approvalRequirement") == "advisory":
        hints.append("approval:advisory")
    hints += [f"policy:{ref}" for ref in islice(governance.get("policyRefs", ()), MAX_EXAMPLES)]
    hints += [f"context:{c}" for c in islice(governance.get("allowedContexts", ()), MAX_EXAMPLES)]
    if each.is_deterministic is False:
        hints.append("not deterministic")
    return hints
