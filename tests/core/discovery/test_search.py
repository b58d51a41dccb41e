"""The two search indexes: what they find, in which order, and that both keep their bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.catalogue.search_fts import MAX_ROWS, FtsIndex
from holon_core.catalogue.search_plain import PlainIndex
from holon_core.catalogue.search_rows import Hit, Row, row_of
from holon_core.catalogue.words import terms

KINDS: list[Any] = [FtsIndex, PlainIndex]
NAMES = [kind.__name__ for kind in KINDS]


def row(name: str, description: str = "", *, lane: str = "acme", **more: Any) -> Row:
    tool = {
        "id": f"acme/{name}",
        "lane": lane,
        "name": name,
        "title": "",
        "description": description,
        "examples": [],
        "input_schema": {},
        **more,
    }
    return row_of(tool)


@pytest.fixture(params=KINDS, ids=NAMES)
def index(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An empty index of either kind."""
    made = request.param()
    yield made
    made.close()


def ask(index: Any, query: str, *, lanes: tuple[str, ...] = ()) -> list[str]:
    hits = index.match(terms(query), lanes=lanes, after=None, limit=100)
    return [hit.id.removeprefix("acme/") for hit in hits]


def test_bent_words_find_their_tool(index: Any) -> None:
    """Plurals, endings and case do not keep a tool from being found."""
    index.replace([row("delete-invoice"), row("sendMail"), row("grep")], [])

    assert ask(index, "Deleting INVOICES") == ["delete-invoice"]
    assert ask(index, "send mails") == ["sendMail"]


def test_a_name_counts_more_than_a_mention(index: Any) -> None:
    """The tool that is named so stands before one that only speaks of it."""
    mention = row("close-ticket", "Close a ticket and refund its cost.")
    index.replace([mention, row("refund", "Give money back for an order.")], [])

    assert ask(index, "refund") == ["refund", "close-ticket"]


@pytest.mark.parametrize(
    "more",
    [
        {"title": "Zebra crossing"},
        {"description": "Count zebras."},
        {"examples": ["where is the zebra"]},
        {"input_schema": {"properties": {"zebra_id": {"type": "string"}}}},
        {"input_schema": {"properties": {"n": {"description": "Which zebra."}}}},
        {"input_schema": {"properties": {"l": {"items": {"properties": {"zebra": {}}}}}}},
    ],
    ids=["title", "description", "example", "parameter", "parameter text", "nested parameter"],
)
def test_each_text_of_a_tool_is_searched(index: Any, more: dict[str, Any]) -> None:
    """Titles, descriptions, examples, and names and texts of parameters."""
    index.replace([row("other"), row("tool-x", **more)], [])

    assert ask(index, "zebra") == ["tool-x"]


def test_a_replaced_tool_is_found_by_its_new_words_alone(index: Any) -> None:
    """Nothing of the earlier definition is left."""
    index.replace([row("a", "lion"), row("b", "lion")], [])
    index.replace([row("a", "tiger")], ["acme/b"])

    assert ask(index, "lion") == []
    assert ask(index, "tiger") == ["a"]
    assert index.count(lanes=()) == 1


def test_replacing_leaves_the_scores_of_a_fresh_index(index: Any) -> None:
    """Two processes that came to one catalogue by different ways rank alike."""
    final = [row("a", "tiger and lion"), row("c", "lion"), row("d", "a lion of stone")]
    index.replace([row("a", "lion"), row("b", "lion lion"), *final[1:]], [])
    index.replace(final[:1], ["acme/b"])
    fresh = type(index)()
    fresh.replace(final, [])

    query = {"lanes": (), "after": None, "limit": 10}
    assert index.match(("lion",), **query) == fresh.match(("lion",), **query)
    fresh.close()


def test_lanes_narrow_what_is_found(index: Any) -> None:
    """Only tools of the lanes asked for, in ranking, counting and listing."""
    index.replace([row("a", "lion", lane="x"), row("b", "lion", lane="y")], [])

    assert ask(index, "lion", lanes=("y",)) == ["b"]
    assert index.count_matches(("lion",), lanes=("y",)) == 1
    assert index.by_id(lanes=("y",), after="", limit=9) == ["acme/b"]
    assert index.count(lanes=("x", "y")) == 2


def test_equal_scores_go_by_id(index: Any) -> None:
    """The order is the same each time."""
    index.replace([row(f"t{n}", "lion") for n in (3, 1, 2)], [])

    assert ask(index, "lion") == ["t1", "t2", "t3"]


def test_a_very_common_word_gives_way_to_a_rare_one() -> None:
    """Beyond the bound on rows only what tells tools apart is looked for."""
    index = FtsIndex()
    rows = [row(f"t{n:05}", "record" + (" lion" if n % 1000 == 7 else "")) for n in range(2500)]
    assert len(rows) > MAX_ROWS
    index.replace(rows, [])

    assert ask(index, "record lion") == ["t00007", "t01007", "t02007"]
    assert len(ask(index, "record")) == 100
    index.close()


WORDS = st.sampled_from(["lion", "tiger", "record", "lions", "read", "file", "größe", "2"])
TEXT = st.lists(WORDS, max_size=6).map(" ".join)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@given(texts=st.lists(TEXT, max_size=25), query=TEXT, size=st.integers(1, 7))
def test_paging_meets_each_match_once(kind: Any, texts: list[str], query: str, size: int) -> None:
    """Pages of any size join to the whole ranking, in its order."""
    index = kind()
    index.replace([row(f"t{n}", text) for n, text in enumerate(texts)], [])
    asked = terms(query)
    paged: list[Hit] = []
    while asked:
        after = paged[-1] if paged else None
        page = index.match(asked, lanes=(), after=after, limit=size)
        if not page:
            break
        paged += page
    whole = index.match(asked, lanes=(), after=None, limit=100) if asked else []

    assert paged == whole
    assert len({hit.id for hit in paged}) == len(paged)
    if asked:
        assert index.count_matches(asked, lanes=()) == len(whole)
    index.close()


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@pytest.mark.parametrize(
    "query",
    ['lion" OR "', "lion NEAR tiger", "name:lion", "lion*", "-lion", "(lion", "lion\0", "^lion"],
)
def test_operators_are_words_or_nothing(kind: Any, query: str) -> None:
    """Syntax of the engine in a query neither fails nor steers it."""
    index = kind()
    index.replace([row("a", "lion")], [])

    assert ask(index, query) == ["a"]
    index.close()
