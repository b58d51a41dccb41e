"""The closed words of the contract, each in its three spellings (contract, section 12.2)."""

from __future__ import annotations

from collections.abc import Iterable

# Narrow to wide: a scope sees itself and what stands after it.
SCOPES = ("session", "workspace", "user", "agent")
TYPES = ("fact", "preference", "decision", "procedure", "observation")
STATES = ("active", "dormant", "deleted")
# With the reliability that a memory starts with.
PROVENANCE = {
    "user-stated": 1.0,
    "agent-observed": 0.8,
    "consolidated": 0.7,
    "imported": 0.6,
    "agent-inferred": 0.5,
}
SENSITIVITIES = ("low", "medium", "high", "critical")


def title(word: str) -> str:
    """Spell a word as full memory objects do: ``user-stated`` is ``UserStated``."""
    return "".join(part.capitalize() for part in word.replace("_", "-").split("-"))


def column(word: str) -> str:
    """Spell a word as the columns do: ``user-stated`` is ``user_stated``."""
    return word.replace("-", "_")


def flag(word: str) -> str:
    """Spell a word of a column as flags and short rows do."""
    return word.replace("_", "-")


def read(text: object, words: Iterable[str]) -> str | None:
    """Return the word that a text means, in any case and punctuation; ``None`` for none."""
    if not isinstance(text, str):
        return None
    plain = _plain(text)
    return next((word for word in words if _plain(word) == plain), None)


def visible(scope: str) -> tuple[str, ...]:
    """Return the scopes that a scope sees: itself and those above it."""
    return SCOPES[SCOPES.index(scope) :]


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
