"""Schema marks: what ``x-holon-secret`` covers, wherever a schema says it."""

from typing import Any

import pytest

from holon_core.wire import schema_marks
from holon_core.wire.schema_marks import marked_paths, mask

SECRET = {"type": "string", "x-holon-secret": True}
HIDDEN = "[redacted]"

CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "whole": (SECRET, "v", HIDDEN),
    "property": ({"properties": {"a": SECRET}}, {"a": "v", "b": "w"}, {"a": HIDDEN, "b": "w"}),
    "any type": ({"properties": {"a": SECRET}}, {"a": {"x": [1]}}, {"a": HIDDEN}),
    "nested": (
        {"properties": {"a": {"properties": {"b": SECRET}}}},
        {"a": {"b": "v", "c": 1}},
        {"a": {"b": HIDDEN, "c": 1}},
    ),
    "items": ({"items": {"properties": {"a": SECRET}}}, [{"a": 1}, 2], [{"a": HIDDEN}, 2]),
    "old items": ({"items": [{}, SECRET], "additionalItems": {}}, [1, 2, 3], [1, HIDDEN, 3]),
    "additional items": ({"items": [{}], "additionalItems": SECRET}, [1, 2], [HIDDEN, HIDDEN]),
    "prefix": ({"prefixItems": [{}, SECRET], "items": {}}, [1, 2, 3], [1, HIDDEN, 3]),
    "contains": ({"contains": SECRET}, [1], [HIDDEN]),
    "additional": (
        {"properties": {"a": {}}, "additionalProperties": SECRET},
        {"a": 1, "b": 2},
        {"a": 1, "b": HIDDEN},
    ),
    "unevaluated": ({"unevaluatedProperties": SECRET}, {"b": 2}, {"b": HIDDEN}),
    "pattern": ({"patternProperties": {"^k": SECRET}}, {"k1": 1}, {"k1": HIDDEN}),
    "allOf": ({"allOf": [{}, {"properties": {"a": SECRET}}]}, {"a": 1}, {"a": HIDDEN}),
    "anyOf": ({"anyOf": [{"properties": {"a": SECRET}}, {}]}, {"a": 1}, {"a": HIDDEN}),
    "oneOf": ({"oneOf": [{"type": "null"}, SECRET]}, "v", HIDDEN),
    "then": ({"if": {}, "then": {"properties": {"a": SECRET}}}, {"a": 1}, {"a": HIDDEN}),
    "dependent": (
        {"dependentSchemas": {"x": {"properties": {"a": SECRET}}}},
        {"a": 1},
        {"a": HIDDEN},
    ),
    "reference": (
        {"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": SECRET}},
        {"a": 1},
        {"a": HIDDEN},
    ),
    "escaped reference": (
        {"properties": {"a": {"$ref": "#/$defs/a~1b%25~0"}}, "$defs": {"a/b%~": SECRET}},
        {"a": 1},
        {"a": HIDDEN},
    ),
    "array reference": (
        {
            "properties": {"a": {"$ref": "#/anyOf/1/properties/s"}},
            "anyOf": [True, {"properties": {"s": SECRET}}],
        },
        {"a": 1, "s": 2, "t": 3},
        {"a": HIDDEN, "s": HIDDEN, "t": 3},
    ),
    "anchor": (
        {"properties": {"a": {"$ref": "#s"}}, "$defs": {"x": {"$anchor": "s", **SECRET}}},
        {"a": 1},
        {"a": HIDDEN},
    ),
    "dynamic": (
        {
            "properties": {"a": {"$dynamicRef": "#s"}},
            "$defs": {"x": {"$dynamicAnchor": "s", **SECRET}},
        },
        {"a": 1},
        {"a": HIDDEN},
    ),
    "embedded": (
        {
            "properties": {"a": {"$ref": "part.json#/$defs/s"}, "b": {"$ref": "part.json"}},
            "$defs": {
                "x": {
                    "$id": "https://example.org/part.json",
                    "$defs": {"s": SECRET},
                    "properties": {"c": {"$ref": "#/$defs/s"}},
                }
            },
        },
        {"a": 1, "b": {"c": 2, "d": 3}},
        {"a": HIDDEN, "b": {"c": HIDDEN, "d": 3}},
    ),
    "recursive": (
        {"properties": {"s": SECRET, "next": {"$ref": "#"}}},
        {"s": 1, "next": {"next": {"s": 2, "t": 3}}},
        {"s": HIDDEN, "next": {"next": {"s": HIDDEN, "t": 3}}},
    ),
    "root with an id": (
        {"$id": "whole", "properties": {"s": SECRET, "next": {"$ref": "whole#"}}},
        {"next": {"s": 1}},
        {"next": {"s": HIDDEN}},
    ),
    "itself": (
        {"allOf": [{"$ref": "#"}], "properties": {"s": SECRET}},
        {"s": 1, "t": 2},
        {"s": HIDDEN, "t": 2},
    ),
    "two speak": (
        {"properties": {"a": {}}, "allOf": [{"properties": {"a": SECRET}}]},
        {"a": 1},
        {"a": HIDDEN},
    ),
    "leads nowhere": (
        {"properties": {"a": {"$ref": "#/absent"}, "b": SECRET}},
        {"a": 1, "b": 2, "c": 3},
        {"a": HIDDEN, "b": HIDDEN, "c": 3},
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_marked_value_is_masked(name: str) -> None:
    """Whatever keyword leads to the mark, the value is hidden and its neighbours are not."""
    schema, value, expected = CASES[name]
    marks = marked_paths(schema)

    assert marks is not None
    assert mask(value, marks) == expected
    assert mask(value, marks) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"a": {"x-holon-secret": False}}},
        {"x-holon-secret": "true"},
        {"properties": {"a": {"$ref": "#/absent"}}},
    ],
    ids=["empty", "false", "text", "reference"],
)
def test_a_schema_without_marks_costs_nothing(schema: dict[str, Any]) -> None:
    """Only the value true marks; without any mark there is nothing to walk."""
    assert marked_paths(schema) is None


def test_unmarked_parts_are_shared() -> None:
    """Masking copies only what lies on the way to a mark."""
    marks = marked_paths({"properties": {"a": SECRET, "b": {"items": {}}}})
    assert marks is not None
    value: dict[str, Any] = {"b": [{"c": 1}], "d": {}}

    assert mask(value, marks) is value
    changed = mask({"a": 1, **value}, marks)
    assert changed["b"] is value["b"]


def test_a_mark_that_speaks_of_nothing_hides_nothing() -> None:
    """The mark stands where no value of the schema can be."""
    marks = marked_paths({"$defs": {"s": SECRET}, "type": "object"})
    assert marks is not None
    value = {"a": [1]}

    assert mask(value, marks) is value


def test_many_names_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values with ever new names are masked rightly past the bound as well."""
    monkeypatch.setattr(schema_marks, "MAX_PLACES", 3)
    marks = marked_paths({"additionalProperties": SECRET})
    assert marks is not None

    masked = mask({str(i): i for i in range(10)}, marks)

    assert masked == {str(i): HIDDEN for i in range(10)}
    assert len(marks.root._children) == 3  # type: ignore[union-attr]


def test_a_schema_with_too_many_places_hides_all_further_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where marks can't be followed any more, they are everywhere."""
    monkeypatch.setattr(schema_marks, "MAX_PLACES", 2)
    marks = marked_paths({"properties": {c: {"title": c} for c in "abc"} | {"s": SECRET}})
    assert marks is not None

    assert mask({"a": 1, "b": 2, "s": 3}, marks) == {"a": 1, "b": HIDDEN, "s": HIDDEN}


def test_a_schema_that_is_all_secret_below_a_dangling_reference_is_hidden_whole() -> None:
    """At the root, too."""
    marks = marked_paths({"$ref": "#/absent", "properties": {"a": SECRET}})
    assert marks is not None

    assert mask({"b": {"c": 1}}, marks) == HIDDEN
