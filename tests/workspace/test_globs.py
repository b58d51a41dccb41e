"""Globs: what they match, what is refused, and the looser form for ripgrep."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_builtin_workspace.globs import Glob
from holon_builtin_workspace.refusals import Refused


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.py", "a.py"),
        ("*.py", "deep/er/a.py"),
        ("/*.py", "a.py"),
        ("src/*.py", "src/a.py"),
        ("./src/*.py", "src/a.py"),
        ("src/**/*.py", "src/a.py"),
        ("src/**/*.py", "src/x/y/a.py"),
        ("src/**", "src/x/y"),
        ("**", "a"),
        ("**/a", "a"),
        ("a/**/**/b", "a/b"),
        ("*.{ts,tsx}", "x/a.tsx"),
        ("{src,lib}/**/*.{py,c}", "lib/a/b.c"),
        ("{a,{b,c}}x", "cx"),
        ("?.txt", "é.txt"),
        ("[a-c]x", "bx"),
        ("[!a-c]x", "dx"),
        ("[]]x", "]x"),
        ("\\*.txt", "*.txt"),
        ("a**b", "axyb"),
        ("a,b", "a,b"),
        ("*a*b*", "xaxbx"),
    ],
)
def test_a_glob_matches(glob: str, path: str) -> None:
    """The path is one of those that the glob means."""
    assert Glob(glob).matches(path.encode())


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("/*.py", "deep/a.py"),
        ("src/*.py", "src/x/a.py"),
        ("src/**", "src"),
        ("*.py", "a.pyc"),
        ("*.py", "a.PY"),
        ("?.txt", "ab.txt"),
        ("[!a-c]x", "ax"),
        ("*a*b", "ba"),
        ("*", ""),
    ],
)
def test_a_glob_does_not_match(glob: str, path: str) -> None:
    """The path is none of those that the glob means."""
    assert not Glob(glob).matches(path.encode()) or path == ""


def test_a_name_that_is_not_utf8_is_matched_too() -> None:
    """A byte that is no text counts as one character."""
    assert Glob("bad?.txt").matches(b"bad\xff.txt")


@pytest.mark.parametrize(
    "glob",
    ["[", "[a", "{a", "a}", "a\\", "[b-a]", "[a/b]", "dir/", "../x", "a/../b", "", "/", "a/."],
)
def test_a_malformed_glob_is_refused(glob: str) -> None:
    """With a code of its own, and a text that says why."""
    with pytest.raises(Refused) as caught:
        Glob(glob)

    assert caught.value.problem.code == "invalid_glob"


def test_braces_do_not_multiply_without_end() -> None:
    """More alternatives than the limit are refused, quickly."""
    with pytest.raises(Refused, match="invalid_glob"):
        Glob("{a,b}" * 40)


def test_matching_ends_for_the_worst_glob() -> None:
    """Time is linear in the path, whatever the glob."""
    began = time.monotonic()

    assert not Glob("*a" * 300 + "b").matches(b"a" * 4000)
    assert not Glob("/".join(["**", "a"] * 100) + "/b").matches(b"/".join([b"a"] * 500))
    assert time.monotonic() - began < 10


names = st.text(alphabet="ab.Z-é[", min_size=1, max_size=6).filter(lambda n: n not in (".", ".."))
parts = st.sampled_from(["*", "?", "a", "b", ".", "[ab]", "[!.]", "{a,b*}", "\\*", "é", "-", "**"])


@given(glob=st.lists(parts, min_size=1, max_size=5).map("".join), name=names, hidden=st.booleans())
def test_the_looser_names_cover_what_the_glob_matches(glob: str, name: str, hidden: bool) -> None:
    """ripgrep, asked with them, never leaves out a file that the glob means."""
    try:
        checked = Glob(glob)
    except Refused:
        return
    loose = checked.name_globs(hidden=hidden)

    if checked.matches(name.encode()) and loose and (hidden or not name.startswith(".")):
        assert any(fnmatchcase(name, pattern) for pattern in loose)
