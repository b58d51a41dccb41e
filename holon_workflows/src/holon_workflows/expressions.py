"""Mappings and conditions: JMESPath, compiled once, evaluated within bounds, never ``eval``."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jmespath.parser import ParsedResult

MAX_EXPRESSION_CHARS = 1000
# Bounds of one evaluation: nodes visited, members of a list, characters of a text, and JSON
# values in what it gives.
MAX_VISITS = 200_000
MAX_LIST = 100_000
MAX_TEXT = 1_000_000
MAX_VALUES = 200_000
# In place of a name: the scope as a whole.
WHOLE = "@"


class ExpressionError(Exception):
    """An expression that cannot be read or evaluated within its bounds; the text says why."""


@lru_cache(maxsize=2048)
def compiled(expression: str) -> ParsedResult:
    """Compile an expression.

    Raises:
        ExpressionError: It is no JMESPath, or longer than 1,000 characters.
    """
    import jmespath

    if not 0 < len(expression) <= MAX_EXPRESSION_CHARS:
        raise ExpressionError(f"an expression has 1 to {MAX_EXPRESSION_CHARS} characters")
    try:
        return jmespath.compile(expression)
    except Exception as error:
        raise ExpressionError(f"not a JMESPath expression: {_said(error)}") from None


def evaluate(expression: str, scope: dict[str, Any]) -> Any:
    """Evaluate an expression on a scope.

    Returns:
        A JSON value; parts of it may be shared with the scope.

    Raises:
        ExpressionError: It cannot be read, does not fit the values, costs too much, or gives
            what is no JSON value: infinity, an integer beyond ±(2**53-1), half a character.
    """
    parsed = compiled(expression)
    if parsed.parsed["type"] == "field":
        return scope.get(parsed.parsed["value"])
    try:
        found = _interpreter()(MAX_VISITS).visit(parsed.parsed, scope)
    except ExpressionError:
        raise
    except Exception as error:
        # Functions raise what they like on values that nobody foresaw; a run fails by that, and
        # nothing else does.
        raise ExpressionError(_said(error)) from None
    _check_size(found)
    return found if _only_selects(expression) else _sound(found)


def _said(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _sound(value: Any) -> Any:
    try:
        return normalise(value).value
    except JsonRefused as error:
        raise ExpressionError(
            f"gives no JSON value: {error.message} at {error.path or '/'}"
        ) from None


@lru_cache(maxsize=2048)
def _only_selects(expression: str) -> bool:
    """Tell whether an expression gives parts of its scope alone, which are sound already."""
    todo: list[Any] = [_tree(expression)]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            if node["type"] in ("function_expression", "literal"):
                return False
            todo += node["children"]
    return True


def condition(expression: str, scope: dict[str, Any]) -> bool:
    """Evaluate a condition, which has to give true or false.

    Raises:
        ExpressionError: As for ``evaluate``, or it gives another value.
    """
    found = evaluate(expression, scope)
    if type(found) is not bool:
        kind = "null" if found is None else type(found).__name__
        raise ExpressionError(f"a condition gives true or false, and this gave {kind}")
    return found


def paths(expression: str) -> list[tuple[str, ...]]:
    """Return the chains of plain fields that an expression begins with at its scope.

    ``steps.find.output.files[0].name`` gives ``("steps", "find", "output", "files")``. Where the
    whole scope is taken, as by ``@`` or ``*``, that is ``("@",)``.
    """
    return list(_paths(_tree(expression), rooted=True))


def whole_path(expression: str) -> tuple[str, ...] | None:
    """Return the fields of an expression that is nothing but a chain of them, else ``None``."""
    try:
        return _chain(_tree(expression))
    except ExpressionError:
        return None


def _tree(expression: str) -> dict[str, Any]:
    tree: Any = compiled(expression).parsed
    return tree  # type: ignore[no-any-return]


def _chain(node: dict[str, Any]) -> tuple[str, ...] | None:
    if node["type"] == "field":
        return (node["value"],)
    if node["type"] != "subexpression":
        return None
    parts: tuple[str, ...] = ()
    for child in node["children"]:
        found = _chain(child)
        if found is None:
            return None
        parts += found
    return parts


def _paths(node: dict[str, Any], *, rooted: bool) -> Iterator[tuple[str, ...]]:
    """Follow what is evaluated on the scope itself; what is applied to a part is not of it."""
    kind, children = node["type"], node["children"]
    values_of_all = kind == "value_projection" and children[0]["type"] == "identity"
    if rooted and (kind == "current" or values_of_all):
        yield (WHOLE,)
    if kind in ("field", "subexpression"):
        prefix: tuple[str, ...] = ()
        for child in children if kind == "subexpression" else [node]:
            found = _chain(child)
            if found is None:
                break
            prefix += found
        if prefix and rooted:
            yield prefix
        if not prefix and children:
            yield from _paths(children[0], rooted=rooted)
        return
    # Of these the first part sees the scope, and the others what it gave.
    applied = kind in ("pipe", "projection", "filter_projection", "value_projection")
    applied = applied or kind in ("index_expression", "flatten")
    for position, child in enumerate(children):
        if isinstance(child, dict) and kind != "expref":
            yield from _paths(child, rooted=rooted and (position == 0 or not applied))


def _check_size(value: Any) -> None:
    left, todo = MAX_VALUES, [value]
    while todo:
        item = todo.pop()
        left -= 1
        if left < 0:
            raise ExpressionError(f"the result holds more than {MAX_VALUES} values")
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)


@lru_cache(maxsize=1)
def _interpreter() -> Any:
    from jmespath.visitor import TreeInterpreter

    class Bounded(TreeInterpreter):
        """Counts what it does, and gives up where it is too much."""

        def __init__(self, visits: int) -> None:
            super().__init__()
            self.left = visits

        def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise ExpressionError(f"evaluating takes more than {MAX_VISITS} steps")
            found = super().visit(node, *args, **kwargs)
            if isinstance(found, list) and len(found) > MAX_LIST:
                raise ExpressionError(f"a list of more than {MAX_LIST} members")
            if isinstance(found, str) and len(found) > MAX_TEXT:
                raise ExpressionError(f"a text of more than {MAX_TEXT} characters")
            return found

    return Bounded
