"""The lines of keys, which the standard parser does not tell."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.config.lines import Path, line_of, lines_of, toml

TEXT = '''\
# comment = 1
top = 1 # [not.a.table]
"quo\\u0074ed key" = """
multi = 2
\\""" still
"""""
'lit' = \'\'\'
a = 1
\'\'\'

[a.b] # after
c.d = [ # one
  1, # }
  { x = "]", y = [2,
    3] },

  1979-05-27 07:32:00,
]

[[list]]
k = 1
[list.sub]
k = 2
[[list.deep]]
k = 3
[[list.deep]]
k = 4

[[list]]
[[list.deep]]
k = 5
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("top",), 2),
        (("quoted key",), 3),
        (("lit",), 7),
        (("a",), 11),
        (("a", "b"), 11),
        (("a", "b", "c", "d"), 12),
        (("a", "b", "c", "d", 0), 13),
        (("a", "b", "c", "d", 1, "x"), 14),
        (("a", "b", "c", "d", 1, "y", 1), 15),
        (("a", "b", "c", "d", 2), 17),
        (("list", 0), 20),
        (("list", 0, "sub", "k"), 23),
        (("list", 0, "deep", 1, "k"), 27),
        (("list", 1), 29),
        (("list", 1, "deep", 0, "k"), 31),
        (("list", 1, "missing"), 29),
        (("nowhere", 3, "x"), 1),
    ],
)
def test_the_line_of_a_key(path: Path, line: int) -> None:
    """Comments, strings of many lines, dotted keys and nested arrays mislead nothing."""
    toml().loads(TEXT)

    assert line_of(lines_of(TEXT), path) == line


keys = st.sampled_from(["a", "b-c", "d e", "é", "x.y", "#", "1"])
values = st.recursive(
    st.integers(0, 99) | st.booleans() | st.text("ab\"'\\#[]{},=\n\té", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
gaps = st.sampled_from(["", " ", "\n", " # ]}\"' = \n"])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, dict):
        pairs = [f"{json.dumps(key)} = {draw(written(item))}" for key, item in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        items = [draw(gaps) + draw(written(item)) + draw(gaps) for item in value]
        return "[" + ",".join(items) + draw(gaps) + "]"
    if isinstance(value, str) and "'" not in value and "\n" not in value and draw(st.booleans()):
        return f"'{value}'"
    if isinstance(value, str) and draw(st.booleans()):
        return '"""\n' + value.replace("\\", "\\\\").replace('"""', '""\\"') + ' """'
    return json.dumps(value, ensure_ascii=False)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for key, value in draw(st.dictionaries(keys, values, max_size=4)).items():
        lines += [draw(gaps), f"{json.dumps(key)} = {draw(written(value))}"]
    for table in draw(st.lists(st.dictionaries(keys, values, max_size=3), max_size=3)):
        lines += ["[[ z . list ]]"]
        lines += [f"{json.dumps(key)} = {draw(written(item))}" for key, item in table.items()]
    return "\n".join(lines) + "\n"


def paths(value: Any, at: Path = ()) -> set[Path]:
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return {at}.union(*(paths(item, (*at, step)) for step, item in steps))


@given(text=documents())
def test_every_key_of_a_document_is_found(text: str) -> None:
    """What the parser finds has a line, nothing else has, and a key stands in its line."""
    lines = lines_of(text)

    assert set(lines) == paths(toml().loads(text))
    rows = text.split("\n")
    for path, line in lines.items():
        if len(path) == 1 and path != ("z",):
            assert rows[line - 1].startswith(json.dumps(path[0]))


@pytest.mark.parametrize("text", ["a = 1\n= 2", "a = 1\nb = [1,", "a = 1\n[", "a = 1\nb {"])
def test_text_that_is_no_toml_gives_the_lines_before_the_fault(text: str) -> None:
    """The scan ends where it loses the thread, and raises nothing."""
    assert lines_of(text)[("a",)] == 1
