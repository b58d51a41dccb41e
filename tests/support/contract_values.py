"""Values made from the schemas of contracts: mostly fitting, now and then something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from elegy_contracts import names, schema

# What breaks things: empty, long, odd characters, deep, numbers at the edges.
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**60), max_value=2**60),
    st.floats(),
    st.text(max_size=40),
    st.sampled_from(["", " ", "\0", "\ud800", "${x}", "-", "--", "../x", "a" * 3000, "\u202e"]),
    st.recursive(
        st.none() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=6,
    ),
)
PLAIN = st.sampled_from(
    ["a", "demo", "note-add", "1.0.0", "./x", "https://elegy/x/data-result.schema.json", "${a}"]
)


@st.composite
def values(draw: Any, contract: str | None = None) -> Any:
    """Make a value of a contract, of any where none is named."""
    name = contract or draw(st.sampled_from(names()))
    root = schema(name)
    return draw(_made(root, root, draw(st.integers(0, 60))))


@st.composite
def _made(draw: Any, given: Any, root: Mapping[str, Any], luck: int) -> Any:
    # The higher the luck, the rarer is something that does not fit.
    # Numbers at the ends are drawn more often than others.
    if draw(st.integers(0, 4 + luck * 6)) == 2 + luck * 3:
        return draw(ODD)
    if not isinstance(given, dict) or not given:
        return draw(ODD)
    if "$ref" in given:
        return draw(_made(root["$defs"][given["$ref"].rsplit("/", 1)[1]], root, luck))
    for word in ("oneOf", "anyOf"):
        if word in given and "properties" not in given:
            return draw(_made(draw(st.sampled_from(given[word])), root, luck))
    if "const" in given:
        return given["const"]
    if "enum" in given:
        return draw(st.sampled_from(given["enum"]))
    kind = given.get("type")
    if isinstance(kind, list):
        kind = draw(st.sampled_from(kind))
    return draw(_of_type(kind, given, root, luck))


@st.composite
def _of_type(draw: Any, kind: Any, given: Any, root: Mapping[str, Any], luck: int) -> Any:
    if kind == "object":
        made = {}
        required = given.get("required", ())
        for name, inner in given.get("properties", {}).items():
            if name in required or draw(st.integers(0, 2)) == 0:
                made[name] = draw(_made(inner, root, luck))
        if draw(st.integers(0, 20 + luck * 6)) == 11:
            made[draw(st.text(max_size=8))] = draw(ODD)
        return made
    if kind == "array":
        count = draw(st.integers(given.get("minItems", 0), 2))
        return [draw(_made(given.get("items", {}), root, luck)) for _ in range(count)]
    if kind == "string" and given.get("format") == "date-time":
        return "2026-03-31T10:00:00Z"
    if kind in ("integer", "number"):
        return draw(st.integers(given.get("minimum", 0), 1000))
    if kind == "boolean":
        return draw(st.booleans())
    return None if kind == "null" else draw(PLAIN)
