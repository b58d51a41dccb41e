"""Taking the one JSON value out of text: what is accepted, what is not, and why."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.structured_output.extraction import NotExtracted, extract

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' \n{"a": 1}\n',
        b'{"a": 1}',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        '~~~ JSON\n{"a": 1}\n~~~',
        'Here it is.\n\n```json\n{"a": 1}\n```\n\nThat is all, see [1].',
        '````json\n{"a": 1}\n````',
        'First some code:\n```python\nx = []\n```\nand\n```json\n{"a": 1}\n```',
        '```json\r\n{"a": 1}\r\n```\r\n',
    ],
)
def test_one_value_is_taken(text):
    """Bare, or in one fenced block with prose around it."""
    assert extract(text) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("no", "not_json"),
        ('{"a": 1} thanks', "prose_around"),
        ('I think {"a": 1}', "prose_around"),
        ('I think {"a": 1} or {"b": 1}', "prose_around"),
        ('{"a": 1', "not_json"),
        ('[a] {"a": 1}', "not_json"),
        ('{"a": 1}\n{"a": 2}', "two_candidates"),
        ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', "two_candidates"),
        ('```json\n{"a": 1}\n```\nor rather {"a": 2}', "two_candidates"),
        ('```json\n{"a": 1}\n```\n[1, 2]', "two_candidates"),
        ('```json\n{"a": 1}\n```\n```python\n{"a": 2}\n```', "two_candidates"),
        ('```json\n{"a": 1}', "unclosed_fence"),
        ('```json\n{"a": 1, "a": 2}\n```', "duplicate_key"),
        ('{"a": NaN}', "not_json"),
        ('{"a": 9007199254740993}', "number_range"),
        (b'{"a": "\xff"}', "not_utf8"),
        ('{"a": "\\ud800"}', "surrogate"),
        ("[" * 200 + "]" * 200, "depth"),
    ],
)
def test_what_is_not_one_value_is_refused_with_the_reason(text, reason):
    """Nothing is guessed, and the failure says what was in the way."""
    with pytest.raises(NotExtracted) as caught:
        extract(text)

    assert caught.value.failure.code == "extraction_failure"
    assert caught.value.failure.details["reason"] == reason
    assert "None" not in caught.value.failure.message


def test_many_braces_in_prose_are_too_many_to_tell():
    """The search for a second value is bounded, and refuses where it ends."""
    text = '```json\n{"a": 1}\n```\n' + "{ " * 1000

    with pytest.raises(NotExtracted):
        extract(text)


@given(JSON)
def test_a_value_comes_back_from_text_block_and_itself(value):
    """Whatever the value is, the three ways give the same; a text is text, not a value."""
    text = json.dumps(value)

    assert extract(text) == extract(f"so:\n```json\n{text}\n```\n") == value
    assert isinstance(value, str) or extract(value) == value


@given(JSON.filter(lambda value: isinstance(value, dict) and value), st.text(max_size=20))
def test_two_objects_are_never_one(value, between):
    """Whatever stands between two objects, none of them is chosen."""
    text = json.dumps(value)

    with pytest.raises(NotExtracted):
        extract(f"{text}{between}{text}")
