"""What a grant may cover: the pattern over the arguments of one tool, checked when it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Misuse
from holon_core.records.rule import glob

if TYPE_CHECKING:
    from holon_core.records.tool import RuntimeToolDescriptor

_FORMS = '{"equals": v}, {"one_of": [v, …]} or {"glob": "text*"}'


def checked_pattern(pattern: object, tool: RuntimeToolDescriptor) -> dict[str, Any]:
    """Return a grant's pattern as sound JSON of our own.

    Args:
        pattern: Argument name to condition.
        tool: The tool that is granted.

    Raises:
        Misuse: It is no JSON, a condition has no known form or meets nothing, or it names an
            argument that the tool does not take.
    """
    from holon_core.wire.values import normalise

    if not isinstance(pattern, Mapping):
        raise Misuse(f"a pattern maps names of arguments to {_FORMS}")
    try:
        value: Any = normalise(dict(pattern)).value
    except JsonRefused as error:
        raise Misuse(f"pattern is no JSON: {error}") from None
    for name, condition in value.items():
        _check_condition(name, condition)
    _check_taken(value, tool)
    return value  # type: ignore[no-any-return]


def _check_condition(name: str, condition: Any) -> None:
    keys = set(condition) if isinstance(condition, dict) else set()
    if len(keys) != 1 or not keys <= {"equals", "one_of", "glob"}:
        raise Misuse(f"pattern[{name!r}] is {_FORMS}")
    if "one_of" in keys and (not isinstance(condition["one_of"], list) or not condition["one_of"]):
        raise Misuse(f"pattern[{name!r}].one_of is a list of one value or more")
    if "glob" in keys and not isinstance(condition["glob"], str):
        raise Misuse(f"pattern[{name!r}].glob is a text")
    if "glob" in keys:
        try:
            glob(condition["glob"])
        except ValueError as error:
            raise Misuse(f"pattern[{name!r}].glob: {error}") from None


def _check_taken(pattern: Mapping[str, Any], tool: RuntimeToolDescriptor) -> None:
    schema = tool.input_schema
    # Whatever else the schema says, this alone refuses what it does not name.
    closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
    taken = schema.get("properties", {})
    unknown = sorted(set(pattern) - set(taken)) if closed else []
    if unknown:
        raise Misuse(f"{tool.id} takes no argument {', '.join(map(repr, unknown))}")
