"""Schemas of plain parts: what is admitted at a glance is what the whole admission admits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.wire import schema_check
from holon_core.wire.engine import Engine
from holon_core.wire.engine_py import PythonEngine
from holon_core.wire.engine_rs import RustEngine
from holon_core.wire.schema_plain import _INNER, _SOUND, MAX_PARTS, is_plain

ENGINES: list[Engine] = [RustEngine(), PythonEngine()]
WORDS = st.sampled_from(["object", "string", "null", "a", "", "date", "uri", "duration", "obj\0"])
NUMBERS = st.sampled_from([0, 1, -1, 0.5, 2**53 - 1, 1e300, -0.0, 5e-324])
SCALARS = WORDS | NUMBERS | st.booleans() | st.none()
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(WORDS, SCALARS, max_size=2)
KEYWORDS = st.sampled_from(
    [*sorted(_SOUND), "x-own", "x-", "pattern", "$ref", "allOf", "title2", "$id", "id", "minLenght"]
)


def _object(inner: Any) -> Any:
    return st.builds(
        lambda plain, nested, top: {**plain, **nested, **top},
        st.dictionaries(KEYWORDS, VALUES, max_size=3),
        st.dictionaries(st.sampled_from(sorted(_INNER)), inner, max_size=1)
        | st.fixed_dictionaries({"properties": st.dictionaries(WORDS, inner, max_size=3)}),
        st.sampled_from([{}, {"type": "object"}, {"type": ["object"]}, {"type": "string"}]),
    )


SCHEMAS = st.recursive(st.booleans() | _object(SCALARS), _object, max_leaves=5)


@pytest.mark.parametrize("engine", ENGINES, ids=["rust", "python"])
@given(schema=SCHEMAS, role=st.sampled_from(["input", "output"]))
def test_a_glance_says_what_the_whole_admission_says(
    engine: Engine, schema: Any, role: Any
) -> None:
    """Schema and findings are the same whether the glance is taken or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema_check, "is_plain", lambda _: False)
        whole = schema_check.check_schema(schema, role=role, engine=engine)

    assert schema_check.check_schema(schema, role=role, engine=engine) == whole


@pytest.mark.parametrize("keyword", sorted(_SOUND))
@given(value=VALUES)
def test_no_value_is_plain_that_an_engine_refuses(keyword: str, value: Any) -> None:
    """Each keyword alone, with values of every kind: a glance never admits too much."""
    schema = {"type": "object", "properties": {"a": {keyword: value}}}
    if is_plain(schema):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schema_check, "is_plain", lambda _: False)
            report = schema_check.check_schema(schema, role="output")
        assert report.findings == ()


def test_what_most_tools_say_is_plain() -> None:
    """Else the glance would be worth nothing."""
    text = {"type": "string", "description": "Which.", "minLength": 1, "x-holon-secret": True}
    assert is_plain(
        {
            "type": "object",
            "properties": {"id": text, "tags": {"type": "array", "items": {"enum": ["a", None]}}},
            "required": ["id"],
            "additionalProperties": False,
        }
    )


def test_a_large_schema_is_not_judged_at_a_glance() -> None:
    """What may be costly is counted by the whole admission."""
    properties = {f"p{number}": {"type": "null"} for number in range(MAX_PARTS)}

    assert not is_plain({"type": "object", "properties": properties})
    properties.popitem()
    assert is_plain({"type": "object", "properties": properties})
