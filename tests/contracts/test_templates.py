"""Argument templates: every case of the contract, in its safer reading."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elegy_contracts import TemplateError, render
from support import label

CASES: list[tuple[list[str], dict[str, Any], list[str]]] = [
    (["add", "${content}"], {"content": "hi"}, ["add", "hi"]),
    (["add", "${content}"], {}, ["add"]),
    (["add", "${content}"], {"content": None}, ["add"]),
    (["x", "${n}"], {"n": 3}, ["x", "3"]),
    (["x", "${n}"], {"n": 1.5}, ["x", "1.5"]),
    (["x", "${b}"], {"b": True}, ["x", "true"]),
    (["x", "${o}"], {"o": {"a": 1}}, ["x", '{"a":1}']),
    (["x", "${l}"], {"l": ["a", "b"]}, ["x", "a", "b"]),
    (["x", "${l}"], {"l": []}, ["x"]),
    (["--limit", "${limit}"], {"limit": 5}, ["--limit", "5"]),
    (["--limit", "${limit}", "--all"], {}, ["--all"]),
    (["--json", "${json}"], {"json": True}, ["--json"]),
    (["--json", "${json}"], {"json": False}, []),
    (["--tag", "${tags}"], {"tags": ["a", "b"]}, ["--tag", "a", "--tag", "b"]),
    (["file=${file}"], {"file": "a b"}, ["file=a b"]),
    (["file=${file}", "x"], {}, ["x"]),
    (["f=${f}"], {"f": ["a", "b"]}, ["f=a", "f=b"]),
    (["${a}:${b}"], {"a": "1", "b": "2"}, ["1:2"]),
    (["${a}:${b}"], {"a": "1"}, []),
    (["--x=${x}"], {"x": "-1"}, ["--x=-1"]),
    (["--", "${x}"], {"x": "--db"}, ["--", "--db"]),
    (["${Name}"], {"name": "same"}, ["same"]),
    (["$HOME", "`id`", "a;b", "${"], {}, ["$HOME", "`id`", "a;b", "${"]),
    (["${x}"], {"x": "$(id); rm -rf /"}, ["$(id); rm -rf /"]),
    (["${x}"], {"x": "${y}", "y": "no"}, ["${y}"]),
]


@pytest.mark.parametrize(("template", "values", "made"), CASES, ids=label)
def test_a_template_takes_values_as_the_contract_says(
    template: list[str], values: dict[str, Any], made: list[str]
):
    """Pairs go together only where the first is an option; nothing is taken for a shell."""
    assert list(render("tool", template, values).arguments) == made


REFUSED: list[tuple[list[str], dict[str, Any], str]] = [
    (["add", "${content}"], {"content": "--db"}, "/content"),
    (["--text", "${text}"], {"text": "-x"}, "/text"),
    (["--tag", "${tags}"], {"tags": ["a", "-b"]}, "/tags/1"),
    (["${a}${b}"], {"a": "-", "b": "x"}, "/a"),
    (["${x}"], {"x": "-"}, "/x"),
    (["${x}"], {"x": "a\0b"}, "/x"),
    (["${x}"], {"x": "\ud800"}, "/x"),
    (["${a}=${b}"], {"a": ["1"], "b": ["2"]}, "/b"),
    (["${x}"], {"x": "a" * 200_000}, "/x"),
    (["${x}"], {"x": ["a" * 1000] * 2000}, ""),
    (["-${x}", "${y}"], {"x": "a", "y": "-z"}, "/y"),
]


@pytest.mark.parametrize(("template", "values", "path"), REFUSED, ids=label)
def test_a_value_that_could_do_harm_is_refused_with_its_place(
    template: list[str], values: dict[str, Any], path: str
):
    """A value cannot become an option, end early, or grow without bounds."""
    with pytest.raises(TemplateError) as refused:
        render("tool", template, values)

    assert refused.value.findings[0].path == path


def test_a_lone_dash_is_standard_input_where_the_type_says_so():
    """Only for parameters that are a path or standard input."""
    made = render("tool", ["--in", "${input}"], {"input": "-"}, dash_names=["input"])

    assert made.arguments == ("--in", "-")


@pytest.mark.parametrize(
    ("form", "value", "made"),
    [
        ("json", {"a": 1}, b'{"a":1}'),
        ("json", "[1]", b"[1]"),
        ("text", "h\u00e9", b"h\xc3\xa9"),
        (None, "x", None),
        ("json", None, None),
    ],
)
def test_standard_input_comes_from_the_value_stdin(form: str | None, value: Any, made: Any):
    """Only where the definition has it; otherwise it is closed."""
    assert render("tool", [], {"stdin": value}, stdin_format=form).stdin == made


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
_NAMES = st.sampled_from(["a", "b", "c"])
_ITEMS = st.one_of(
    st.sampled_from(["add", "--flag", "-x", "--", "k=${a}", "${b}${c}"]),
    _NAMES.map(lambda name: f"${{{name}}}"),
)


@given(template=st.lists(_ITEMS, max_size=8), values=st.dictionaries(_NAMES, _VALUES))
def test_no_value_ever_adds_an_option(template: list[str], values: dict[str, Any]):
    """Before a literal --, whatever begins with a dash stands in the template itself."""
    try:
        made = render("tool", template, values).arguments
    except TemplateError:
        return
    literal = set(template)

    for each in made:
        if each == "--":
            break
        assert not each.startswith("-") or each in literal
