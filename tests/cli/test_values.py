"""Values from the command line: what a word becomes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_cli.values import JsonParam, pairs
from support import label

SCHEMA = {
    "properties": {
        "text": {"type": "string"},
        "word": {"enum": ["a", "1"]},
        "count": {"type": "integer"},
        "mixed": {"type": ["string", "integer"]},
        "odd": True,
    }
}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("count=1", {"count": 1}),
        ("count=x", {"count": "x"}),
        ("text=1", {"text": "1"}),
        ("text=", {"text": ""}),
        ("text=a=b", {"text": "a=b"}),
        ("text=null", {"text": "null"}),
        ("word=1", {"word": "1"}),
        ("mixed=1", {"mixed": 1}),
        ("odd=true", {"odd": True}),
        ("other=[1, 2]", {"other": [1, 2]}),
        ("other=hello", {"other": "hello"}),
        ("other=01", {"other": "01"}),
        ("other=NaN", {"other": "NaN"}),
        ("text:=1", {"text": 1}),
        ('other:={"a": null}', {"other": {"a": None}}),
    ],
)
def test_a_pair_is_read_by_the_schema_of_the_tool(word, expected):
    """Text stays text where the schema says so; elsewhere JSON that reads as JSON is JSON."""
    assert pairs([word], SCHEMA) == expected


@pytest.mark.parametrize(
    "words",
    [["novalue"], ["=x"], [":=1"], ["a=1", "a=2"], ["a:={"], ["a:=NaN"], ['a:={"b":1,"b":2}']],
    ids=label,
)
def test_a_word_that_is_no_pair_is_a_usage_error(words):
    """Nothing is guessed: no sign, no key, a key twice, JSON that is none."""
    with pytest.raises(click.UsageError):
        pairs(words, SCHEMA)


@given(st.text())
def test_any_text_reaches_a_text_parameter_unchanged(text):
    """Where the schema says string, the value is the text after the first sign."""
    assert pairs([f"text={text}"], SCHEMA) == {"text": text}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
)
def test_any_json_reaches_a_parameter_by_its_sign(value):
    """`KEY:=JSON` carries every JSON value."""
    assert pairs([f"x:={json.dumps(value)}"], SCHEMA) == {"x": value}


def test_json_is_taken_from_a_file(tmp_path: Path):
    """`@FILE` reads it strictly."""
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}', encoding="utf-8")

    assert JsonParam().convert(f"@{path}", None, None) == {"a": 1}


def test_json_is_taken_from_standard_input(holon):
    """`-` reads all of it."""
    done = holon("tool", "call", "host.cli/add", "--args", "-", "--json", stdin=b'{"a":1,"b":2}')

    assert done.json["output"] == {"sum": 3}


def test_pairs_add_to_whole_arguments(holon):
    """What is in both is a mistake, and what is in one is put together."""
    call = ("tool", "call", "host.cli/add", "--args", '{"a":1}', "b=5", "--json")

    assert holon(*call).json["output"] == {"sum": 6}
