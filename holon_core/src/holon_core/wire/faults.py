"""Where a value breaks the JSON rules: pointers, and the search for the first fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holon_core.wire.json_types import JsonValue

# A path while it is being walked: the outer path and the last step; None at the top.
Trail = tuple["Trail | None", "str | int"]


class Mark:
    """Stands in a parsed value for something that JSON, or Holon, does not allow there."""

    __slots__ = ("key", "message", "rule")

    def __init__(self, rule: str, message: str, key: str | None = None) -> None:
        self.rule, self.message, self.key = rule, message, key


def pointer(parts: Iterable[str | int]) -> str:
    """Write the JSON pointer (RFC 6901) of a path; always encodable, lone surrogates escaped."""
    return "".join(f"/{_step(part)}" for part in parts)


def shown(name: str) -> str:
    """Quote a name for a message: nothing that cannot be encoded, and no part of a long one.

    A part could be of a secret, and would not be recognised as one.
    """
    if len(name) > 80:
        return f"of {len(name)} characters"
    return ascii(name) if has_surrogate(name) else repr(name)


def has_surrogate(text: str) -> bool:
    """Tell whether the text holds a lone surrogate, so that no UTF-8 exists for it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def first_fault(value: Any) -> JsonRefused | None:
    """Find the first mark or lone surrogate of a parsed or copied value, in document order."""
    stack: list[tuple[Any, Trail | None]] = [(value, None)]
    while stack:
        node, trail = stack.pop()
        fault = _fault_of(node, trail)
        if fault is not None:
            return fault
        stack.extend(_children(node, trail))
    return None


def walked(trail: Trail | None) -> list[str | int]:
    """Unfold a trail into its steps, outermost first."""
    parts: list[str | int] = []
    while trail is not None:
        trail, part = trail
        parts.append(part)
    return parts[::-1]


def _step(part: str | int) -> str:
    text = str(part).replace("~", "~0").replace("/", "~1")
    return text.encode(errors="backslashreplace").decode()


def _fault_of(node: Any, trail: Trail | None) -> JsonRefused | None:
    if type(node) is Mark:
        parts = walked(trail) + ([] if node.key is None else [node.key])
        return JsonRefused(node.rule, node.message, pointer(parts))
    if type(node) is str:
        return _surrogate("string", trail) if has_surrogate(node) else None
    if type(node) is dict and any(map(has_surrogate, node)):
        return _surrogate("key", trail)
    return None


def _surrogate(what: str, trail: Trail | None) -> JsonRefused:
    return JsonRefused("surrogate", f"the {what} holds a lone surrogate", pointer(walked(trail)))


def _children(node: Any, trail: Trail | None) -> list[tuple[JsonValue | Mark, Trail]]:
    if type(node) is dict:
        return [(child, (trail, key)) for key, child in reversed(node.items())]
    if type(node) is list:
        return [(node[at], (trail, at)) for at in range(len(node) - 1, -1, -1)]
    return []
