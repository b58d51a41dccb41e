"""Schemas rewritten for providers: nothing lost on the way back, and the original decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holon_core.agents.dialects import ANTHROPIC, DIALECTS, GEMINI, OPENAI_RESPONSES
from holon_core.agents.projection import shown_schema
from holon_core.agents.rewriting import Inexpressible, rewrite
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import compiled

STRICT = [OPENAI_RESPONSES, ANTHROPIC]
EACH = pytest.mark.parametrize("dialect", STRICT, ids=lambda each: each.id)
SCALARS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "maxLength": 3},
        {"type": "integer", "minimum": 0, "maximum": 9},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["a", "b", 1, None]},
        {"const": "x"},
        {"type": ["string", "null"], "default": None},
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        {"$ref": "#/$defs/short"},
        {"allOf": [{"$ref": "#/$defs/short"}], "description": "short"},
    ]
)


def objects(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make closed objects of parts, some of them required."""
    return st.dictionaries(st.sampled_from(["a", "b", "$c", "dé"]), parts, max_size=3).flatmap(
        lambda properties: st.sets(st.sampled_from(sorted(properties) or ["-"])).map(
            lambda needed: {
                "type": "object",
                "properties": properties,
                "required": sorted(needed & set(properties)),
                "additionalProperties": False,
            }
        )
    )


SCHEMAS = objects(
    st.recursive(
        SCALARS,
        lambda inner: (
            objects(inner)
            | inner.map(lambda item: {"type": "array", "items": item, "maxItems": 2})
            | st.tuples(objects(inner), SCALARS).map(lambda two: {"anyOf": list(two)})
        ),
        max_leaves=4,
    )
).map(lambda schema: {**schema, "$defs": {"short": {"type": "string", "maxLength": 2}}})


def from_schema(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Make values that fit a schema of these tests, or what it was rewritten to."""
    if "$ref" in schema or "allOf" in schema:
        return st.text(max_size=2)
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if "anyOf" in schema:
        return st.one_of(*map(from_schema, schema["anyOf"]))
    kind = schema["type"]
    if isinstance(kind, list):
        return st.one_of(*(from_schema({**schema, "type": each}) for each in kind))
    if kind == "array":
        return st.lists(from_schema(schema["items"]), max_size=2)
    if kind == "object":
        needed = schema.get("required", ())
        parts = {name: from_schema(part) for name, part in schema["properties"].items()}
        return st.fixed_dictionaries(
            {name: part for name, part in parts.items() if name in needed},
            optional={name: part for name, part in parts.items() if name not in needed},
        )
    return {
        "string": st.text(max_size=schema.get("maxLength", 4)),
        "integer": st.integers(0, 9),
        "number": st.integers(-5, 5) | st.just(0.5),
        "boolean": st.booleans(),
        "null": st.none(),
    }[kind]


def valid(schema: Any, value: Any) -> bool:
    return compiled(schema, digest(schema, domain="test")).is_valid(value)


def strictly(schema: Any, dialect: Any) -> Any:
    try:
        return rewrite(schema, dialect.strict, property_pattern=dialect.property_pattern)
    except Inexpressible:
        return None


def nulls(value: Any) -> bool:
    """Tell whether a null is anywhere in a value."""
    if isinstance(value, dict):
        return any(map(nulls, value.values()))
    return any(map(nulls, value)) if isinstance(value, list) else value is None


@EACH
@settings(max_examples=40)
@given(data=st.data())
def test_what_the_tool_takes_can_be_said_strictly_and_comes_back(dialect, data):
    """A value of the original has a strict form, which maps back to one that is valid."""
    schema = data.draw(SCHEMAS)
    made = strictly(schema, dialect)
    assume(made is not None)
    value = data.draw(from_schema(schema))

    shown = made.plan.there(value)

    assert valid(made.schema, shown)
    assert valid(schema, made.plan.back(shown))
    assert nulls(value) or made.plan.back(shown) == value


@EACH
@settings(max_examples=40)
@given(data=st.data())
def test_a_value_is_valid_for_the_tool_where_it_is_after_mapping(dialect, data):
    """Valid or not, what goes there and back is judged as it was."""
    schema = data.draw(SCHEMAS)
    made = strictly(schema, dialect)
    assume(made is not None)
    other = data.draw(SCHEMAS)
    value = data.draw(from_schema(other))
    assume(not nulls(value))

    assert valid(schema, made.plan.back(made.plan.there(value))) == valid(schema, value)


@settings(max_examples=40)
@given(data=st.data())
def test_what_a_model_says_strictly_is_valid_where_nothing_was_moved(data):
    """A strict answer needs no second attempt, unless a keyword could not be shown."""
    schema = data.draw(SCHEMAS)
    made = strictly(schema, OPENAI_RESPONSES)
    assume(made is not None)
    assume(not any("moved" in each.what for each in made.rewrites))

    assert valid(schema, made.plan.back(data.draw(from_schema(made.schema))))


def shown(properties: dict[str, Any], dialect: Any = OPENAI_RESPONSES, **more: Any) -> Any:
    given = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return shown_schema(check_schema(given, role="input").schema, dialect, strict=True)


def test_an_optional_property_is_required_and_nullable():
    """Strict mode of OpenAI takes no others; null comes back as left out."""
    made = shown({"a": {"type": "string"}})

    assert made.schema["properties"]["a"]["type"] == ["string", "null"]
    assert made.schema["required"] == ["a"]
    assert made.plan.back({"a": None}) == {}


def test_an_optional_enum_takes_null_as_one_of_its_values():
    """Else the model could not leave it out."""
    made = shown({"a": {"enum": ["x"]}})

    assert made.schema["properties"]["a"] == {"type": ["string", "null"], "enum": ["x", None]}


def test_keywords_that_strict_mode_does_not_take_move_to_the_description():
    """They are told, behind the tool's own text."""
    made = shown(
        {"a": {"type": "string", "maxLength": 3, "description": "A text."}}, required=["a"]
    )

    assert made.schema["properties"]["a"] == {
        "type": "string",
        "description": "A text. (maxLength: 3)",
    }
    assert [(each.path, each.what) for each in made.rewrites] == [
        ("/properties/a", "maxLength moved to the description")
    ]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object"}, "any properties"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "any name"),
        ({"type": "object", "patternProperties": {"^a": {}}}, "by pattern"),
        ({}, "of any kind"),
        ({"type": "array"}, "of any kind"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "places differ"),
        ({"type": ["string", "null"]}, "two things"),
        ({"enum": [{"a": 1}]}, "objects or lists"),
        ({"$ref": "#/$defs/tree"}, "holds itself"),
        (
            {
                "anyOf": [
                    {"type": "object", "properties": {"x": {"type": "string"}}},
                    {"type": "object", "properties": {"y": {"type": "string"}}},
                ]
            },
            "several alternatives",
        ),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_strict_mode_cannot_express_is_not_strict_and_says_why(schema, why):
    """The tool is shown all the same, with the reason in its notes."""
    tree = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/tree"}},
        "additionalProperties": False,
    }

    made = shown({"a": schema}, **{"$defs": {"tree": tree}})

    assert not made.strict
    assert why in made.notes[0]
    assert "/properties/a" in made.notes[0]


def test_names_that_a_provider_does_not_take_are_shown_under_another():
    """They come back as they were, in lists and alternatives, too."""
    inner = {"type": "object", "properties": {"$id": {"type": "string"}}, "required": ["$id"]}
    for dialect in (ANTHROPIC, GEMINI):
        made = shown({"$top": {"type": "array", "items": inner}}, dialect)
        (name,) = made.schema["properties"]
        held = made.schema["properties"][name]["items"]["properties"]
        value = {name: [dict.fromkeys(held, "v")]}

        assert made.plan.back(value) == {"$top": [{"$id": "v"}]}


def test_a_renamed_property_is_not_confused_with_its_original():
    """Who sends both names gets neither past the schema."""
    made = shown({"$a": {"type": "string"}}, ANTHROPIC)
    (name,) = made.schema["properties"]

    assert made.plan.back({name: "x", "$a": "y"}) == {name: "x", "$a": "y"}


def test_references_that_multiply_are_bounded():
    """A schema of a few lines does not become one of millions."""
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for n in range(1, 25):
        ref = {"$ref": f"#/$defs/d{n - 1}"}
        defs[f"d{n}"] = {"type": "object", "properties": {"a": ref, "b": ref}}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d8"}}, "$defs": defs}

    for dialect in DIALECTS.values():
        assert shown_schema(schema, dialect, strict=True).schema["type"].lower() == "object"


def test_gemini_gets_its_own_words():
    """Types in capitals, null as a keyword, no references, no alternatives of one."""
    made = shown(
        {
            "a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "b": {"type": "integer", "enum": [1]},
        },
        GEMINI,
    )

    assert made.schema["properties"]["a"] == {"type": "STRING", "nullable": True}
    assert made.schema["properties"]["b"] == {"type": "INTEGER", "description": "(enum: [1])"}
