"""Words of names and of queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.catalogue.words import MAX_TERMS, STOP_WORDS, split, terms


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("readFile", ["readFile", "read", "File"]),
        ("workspace-read_file.now", ["workspace", "read", "file", "now"]),
        ("HTTPServer", ["HTTPServer", "HTTP", "Server"]),
        ("oauth2Token", ["oauth2Token", "oauth", "2", "Token"]),
        ("Größe", ["Größe"]),
        ("ファイル検索", list("ファイル検索")),
        ("", []),
    ],
)
def test_a_name_is_split_by_case_punctuation_and_digits(name: str, parts: list[str]) -> None:
    """The whole words stand first, so that a query for the name itself finds it."""
    assert split(name).split() == parts


def test_a_query_loses_what_names_no_tool() -> None:
    """Requests speak of themselves; that is no word of a tool."""
    assert terms("Could you please help me to delete the invoices?") == ("delete", "invoices")


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    """A tool may be named by such a word, and nothing better was said."""
    assert terms("tell me") == ("tell", "me")


@given(st.text(max_size=300))
def test_terms_are_bounded_plain_words_whatever_the_query(query: str) -> None:
    """No character of a query syntax gets through."""
    found = terms(query)
    assert len(found) <= MAX_TERMS
    assert len(set(found)) == len(found)
    for term in found:
        assert all(char.isalnum() for char in term)


def test_stop_words_are_single_words() -> None:
    """Each is compared with one word of a query."""
    assert all(terms(word) == (word,) for word in STOP_WORDS)
