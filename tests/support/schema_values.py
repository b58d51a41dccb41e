"""Values that fit a schema, for property tests: the part of JSON Schema that our APIs use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

MAX_DEPTH = 3
_TEXT = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))


def values(
    schema: Mapping[str, Any], *, whole: Any = None, depth: int = 0
) -> st.SearchStrategy[Any]:
    """Make values of a schema; references are followed, recursion ends after three levels."""
    whole = whole or schema
    if "$ref" in schema:
        target = whole["$defs"][schema["$ref"].rpartition("/")[2]]
        return values(target, whole=whole, depth=depth)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        chosen = [values(each, whole=whole, depth=depth) for each in schema["anyOf"]]
        return st.one_of(chosen)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, whole, depth)
    if kind == "array":
        if depth >= MAX_DEPTH:
            return st.just([])
        most = min(3, schema.get("maxItems", 3))
        items = values(schema["items"], whole=whole, depth=depth + 1)
        return st.lists(items, max_size=most, min_size=schema.get("minItems", 0))
    return _scalar(kind, schema)


def _object(schema: Mapping[str, Any], whole: Any, depth: int) -> st.SearchStrategy[Any]:
    required = set(schema.get("required", ()))
    members = {
        name: values(each, whole=whole, depth=depth)
        for name, each in schema.get("properties", {}).items()
    }
    return st.fixed_dictionaries(
        {name: each for name, each in members.items() if name in required},
        optional={name: each for name, each in members.items() if name not in required},
    )


def _scalar(kind: Any, schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if kind == "integer":
        least = schema.get("exclusiveMinimum", schema.get("minimum", -(2**31)) - 1) + 1
        return st.integers(least, schema.get("maximum", 2**31))
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    assert kind == "string", schema
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].replace("$", r"\Z"), fullmatch=True)
    most = min(20, schema.get("maxLength", 20))
    return st.text(_TEXT, min_size=schema.get("minLength", 0), max_size=most)
