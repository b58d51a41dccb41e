"""What an operation touches: by its method, and stricter where the document hints at it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_adapters.openapi.document import text, texts
from holon_core.records.words import EFFECT_ORDER, Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

READS = frozenset({Effect.NETWORK_READ})
WRITES = frozenset({Effect.NETWORK_WRITE})
DELETES = frozenset({Effect.NETWORK_WRITE, Effect.DESTRUCTIVE})
# First words of operations that change something, whatever their method says.
_CHANGING = re.compile(
    "add|archive|cancel|create|disable|enable|execute|insert|invoke|merge|patch|post|publish|put|"
    "rename|replace|reset|restart|revoke|run|send|set|start|stop|submit|trigger|update|write"
)
_DESTROYING = re.compile("clear|delete|destroy|drop|erase|flush|purge|remove|truncate|wipe")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@frozen(kw_only=True)
class Touched:
    """The effects of an operation, and what people should know of how they were found."""

    effects: frozenset[Effect]
    hints: tuple[str, ...] = ()


def effects_of(method: str, operation: Mapping[str, Any]) -> Touched:
    """Say what an operation touches.

    Args:
        method: In capitals. GET, HEAD and OPTIONS read, DELETE destroys, all others write.
        operation: May say ``x-holon-effects``, which only adds: no document, by whomever, makes
            an operation milder than its method.
    """
    by_method = READS if method in ("GET", "HEAD", "OPTIONS") else WRITES
    by_method = DELETES if method == "DELETE" else by_method
    said = frozenset(map(Effect, _known(operation)))
    hints: list[str] = []
    if said and strictness(said) < strictness(by_method):
        hints.append(f"{method} declared as {'+'.join(sorted(said))}")
    effects = by_method | said
    word = _first_word(text(operation.get("operationId")))
    if _DESTROYING.fullmatch(word) and Effect.DESTRUCTIVE not in effects:
        effects |= DELETES
        hints.append(f"named {word}, though {method}")
    elif _CHANGING.fullmatch(word) and not effects & WRITES:
        effects |= WRITES
        hints.append(f"named {word}, though {method}")
    if effects & WRITES:
        effects -= READS
    if operation.get("deprecated") is True:
        hints.append("deprecated")
    return Touched(effects=effects, hints=tuple(hints))


def strictness(effects: frozenset[Effect]) -> int:
    """Rank a set of effects by its strictest."""
    return max(EFFECT_ORDER[effect] for effect in effects)


def _known(operation: Mapping[str, Any]) -> list[str]:
    words = {effect.value for effect in Effect} - {Effect.UNKNOWN.value, Effect.NONE.value}
    return [word for word in texts(operation.get("x-holon-effects")) if word in words]


def _first_word(operation_id: str) -> str:
    # `repos/delete-file` and `petsDelete` speak of their group first, so every word of the last
    # part is a candidate only where it begins it.
    last = re.split(r"[/.:]", operation_id)[-1]
    found = _WORDS.search(last)
    return "" if found is None else found[0].lower()
