"""Both spellings are read: names in snake_case become the camelCase ones of the contracts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from elegy_contracts.finding import Finding, pointer
from elegy_contracts.shapes import schema

_SNAKE = re.compile(r"_+([a-zA-Z0-9])")


def camel(name: str) -> str:
    """Write a name in camelCase."""
    head = name[:1]
    return head + _SNAKE.sub(lambda match: match.group(1).upper(), name[1:])


def snake(name: str) -> str:
    """Write a name in snake_case."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


@lru_cache(maxsize=256)
def _schema(contract: str) -> Mapping[str, Any]:
    return schema(contract)


def contract_names(contract: str, data: Any) -> tuple[Any, list[Finding]]:
    """Return data with the names of its contract; what is free-form keeps its own.

    Args:
        contract: A name of ``shapes.names()``.
        data: JSON.

    Returns:
        A copy as far as anything changed, and an error for each member that is there in both
        spellings.
    """
    found: list[Finding] = []
    if not _has_other(data):
        return data, found
    root = _schema(contract)
    return _renamed(data, root, root, (), found), found


def _has_other(data: Any) -> bool:
    """Tell whether any member could be in the other spelling; most data has none."""
    todo = [data]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            if any("_" in name for name in each):
                return True
            todo.extend(each.values())
        elif isinstance(each, list):
            todo.extend(each)
    return False


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(schema, dict):
        return {}
    ref = schema.get("$ref", "")
    if ref.startswith("#/$defs/"):
        target = root["$defs"].get(ref.removeprefix("#/$defs/"), {})
        return target if isinstance(target, dict) else {}
    for word in ("anyOf", "oneOf"):
        if word in schema and "properties" not in schema:
            members: dict[str, Any] = {}
            for choice in schema[word]:
                members.update(_resolved(choice, root).get("properties", {}))
            return {**schema, "properties": members} if members else schema
    return schema


def _renamed(
    data: Any,
    schema: Any,
    root: Mapping[str, Any],
    path: tuple[str | int, ...],
    found: list[Finding],
) -> Any:
    shape = _resolved(schema, root)
    if isinstance(data, list):
        items = shape.get("items", {})
        return [_renamed(e, items, root, (*path, at), found) for at, e in enumerate(data)]
    members = shape.get("properties")
    further = shape.get("additionalProperties")
    if not isinstance(data, dict) or (not members and not isinstance(further, dict)):
        return data
    made: dict[str, Any] = {}
    for name, value in data.items():
        known = _known(name, members or {}, data, path, found)
        below = (members or {}).get(known, further if isinstance(further, dict) else {})
        made[known] = _renamed(value, below, root, (*path, name), found)
    return made


def _known(
    name: str,
    members: Mapping[str, Any],
    data: Mapping[str, Any],
    path: tuple[str | int, ...],
    found: list[Finding],
) -> str:
    other = camel(name)
    if name in members or other not in members:
        return name
    if other in data:
        text = f"{other} is there in both spellings"
        found.append(Finding(code="spelled_twice", message=text, path=pointer(*path, name)))
        return name
    return other
