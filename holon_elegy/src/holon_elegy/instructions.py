"""The text of a skill that an agent may load into its context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elegy_contracts.normal import NormalSkill

MAX_CHARS = 64 * 1024


def instructions_of(skill: NormalSkill) -> str:
    """Write what a skill says of itself: purpose, triggers, constraints, capabilities."""
    return "\n".join(_lines(skill))[:MAX_CHARS]


def _lines(skill: NormalSkill) -> Iterator[str]:
    yield f"# {skill.name} {skill.version}"
    if skill.description:
        yield f"\n{skill.description}"
    for title, texts in (("When to use", skill.examples), ("Constraints", skill.constraints)):
        if texts:
            yield f"\n## {title}\n"
            yield from (f"- {text}" for text in texts)
    yield "\n## Capabilities\n"
    for each in skill.capabilities:
        yield f"- `{each.id}`: {each.description}"
