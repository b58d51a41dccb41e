"""Words of names and of queries."""

from __future__ import annotations

from collections import Counter
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.catalogue.common_words import _MANY, _MOST, _SOME
from holon_core.catalogue.stems import stem
from holon_core.catalogue.words import MAX_TERMS, STOP_WORDS, terms, tokens
from support import ABSENT, shared_json_lines


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("readFile", ["read", "file"]),
        ("workspace-read_file.now", ["workspace", "read", "file", "now"]),
        ("HTTPServer", ["http", "server"]),
        ("oauth2Token", ["oauth", "2", "token"]),
        ("Größe", ["grosse"]),
        ("Crème brûlée", ["creme", "brulee"]),
        ("ファイル検索", ["ファ", "ァイ", "イル", "ル検", "検索"]),
        ("字", ["字"]),
        ("", []),
    ],
)
def test_a_name_is_split_by_case_punctuation_and_digits(name: str, parts: list[str]) -> None:
    """Accents are folded, and a script without spaces gives pairs of characters."""
    assert tokens(name) == parts


@pytest.mark.parametrize(
    ("word", "cut"),
    [
        ("invoices", "invoic"),
        ("recommendations", "recommend"),
        ("hopping", "hop"),
        ("organization", "organiz"),
        ("generously", "generous"),
        ("flies", "fli"),
        ("skies", "sky"),
        ("psychologist", "psycholog"),
        ("größe", "größe"),
        ("x2", "x2"),
    ],
)
def test_a_stem_is_what_the_forms_of_a_word_share(word: str, cut: str) -> None:
    """By the rules of the Snowball project's English stemmer, whose results these are."""
    assert stem(word) == cut


def test_stems_are_those_of_the_reference() -> None:
    """Over every word that these lists hold."""
    reference = pytest.importorskip("Stemmer").Stemmer("english")
    words = [word for text in (_MOST, _MANY, _SOME) for word in text.split()]
    known = {"evening"}  # of a newer edition of the rules

    assert [w for w in words if w not in known and stem(w) != reference.stemWord(w)] == []


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
        # A vowel or tone of some scripts is a mark, and a part of its word.
        assert all(char.isalnum() or category(char)[0] == "M" for char in term)


@pytest.mark.parametrize("sign", ["\u0e31", "\u0e3f", "\u30fb", "\u0e4f"], ids=ascii)
def test_a_sign_alone_is_no_word(sign: str) -> None:
    """A mark, a currency, a dot: blocks of scripts hold more than letters."""
    assert terms(sign) == ()


def test_stop_words_are_single_words() -> None:
    """Each is compared with one word of a query."""
    assert all(terms(word) == (word,) for word in STOP_WORDS)


def test_common_words_are_not_those_of_the_public_sets() -> None:
    """A table taken from their queries and tools would hold what is common there, and no other."""
    texts = [
        query["query"] if "query" in query else f"{query['name']} {query['description']}"
        for of in ("metatool", "bfcl")
        for kind in ("queries", "tools")
        for query in shared_json_lines(f"discovery-bench/{of}/{kind}.jsonl")
    ]
    if not texts:
        pytest.skip(ABSENT)
    found = Counter(word for text in texts for word in set(tokens(text)))
    listed = {word for text in (_MOST, _MANY, _SOME) for word in text.split()}

    common = {word for word, _ in found.most_common(1000)} - STOP_WORDS

    assert len(listed & common) < len(common) / 2
    assert sum(word not in found for word in listed) > len(listed) / 30


def test_no_common_word_is_the_name_of_a_service() -> None:
    """Words of the language alone: what names a tool of the public sets and is none stays out."""
    names = {
        tool["name"].casefold()
        for of in ("metatool", "bfcl")
        for tool in shared_json_lines(f"discovery-bench/{of}/tools.jsonl")
    }
    if not names:
        pytest.skip(ABSENT)
    listed = {word for text in (_MOST, _MANY, _SOME) for word in text.split()}

    # Some tools are called by a plain verb or noun ("search"); a table of names would hold most.
    assert len(listed & names) < len(names) / 50
