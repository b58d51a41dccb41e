"""References of a schema resolved inside itself, and its combined parts put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_TEXTS = ("description", "title", "default")


class Recursive(Exception):
    """A schema refers to itself."""


class Unresolved(Exception):
    """A reference is of a kind that is not followed here: an anchor or another document."""


def resolve(root: dict[str, Any], ref: object) -> Any:
    """Return what a reference of the form ``#/…`` points at."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        raise Unresolved(str(ref)[:100])
    at: Any = root
    for part in ref[2:].split("/") if ref != "#" else ():
        name = part.replace("~1", "/").replace("~0", "~").replace("%25", "%")
        try:
            at = at[int(name)] if isinstance(at, list) else at[name]
        except (KeyError, IndexError, ValueError, TypeError):
            raise Unresolved(ref[:100]) from None
    return at


def flat(
    root: dict[str, Any],
    schema: dict[str, Any],
    seen: tuple[str, ...],
    moved: Callable[[str, Any], None],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a schema without ``$ref`` and ``allOf`` at its own level.

    Args:
        root: The whole document.
        schema: The part.
        seen: References on the way here, which must not come again.
        moved: Told of each keyword that could not be put together with the others.

    Returns:
        The part, and the references that its own parts must not use again.
    """
    made = dict(schema)
    while "$ref" in made:
        ref = made.pop("$ref")
        if ref in seen:
            raise Recursive(str(ref)[:100])
        target = resolve(root, ref)
        seen = (*seen, str(ref))
        if isinstance(target, dict):
            made = _joined(dict(target), made, moved, texts_win=True)
        elif target is False:
            raise Unresolved("a reference to nothing")
    for part in made.pop("allOf", ()):
        if isinstance(part, dict):
            inner, seen = flat(root, part, seen, moved)
            made = _joined(made, inner, moved, texts_win=False)
    return made, seen


def _joined(
    made: dict[str, Any],
    more: dict[str, Any],
    moved: Callable[[str, Any], None],
    *,
    texts_win: bool,
) -> dict[str, Any]:
    for keyword, held in more.items():
        if keyword not in made:
            made[keyword] = held
        elif keyword in _TEXTS:
            made[keyword] = held if texts_win else made[keyword]
        elif keyword == "properties" and isinstance(held, dict):
            made[keyword] = {**held, **made[keyword]}
            if any(made[keyword][name] != held[name] for name in held):
                moved("allOf", "another rule for the same property")
        elif keyword == "required" and isinstance(held, list):
            made[keyword] = [*made[keyword], *(n for n in held if n not in made[keyword])]
        elif keyword in ("$defs", "definitions") or made[keyword] == held:
            continue
        else:
            moved(keyword, held)
    return made
