"""Pages by the rules of the specification."""

from __future__ import annotations

import pytest

from holon_core.errors import Refused
from holon_mcp.reading.paging import MAX_PAGES, Pages, joined

METHOD, MEMBER = "tools/list", "tools"


def _page(*names: str, **more: object) -> dict[str, object]:
    return {"tools": [{"name": name} for name in names], **more}


def test_pages_are_joined_in_order():
    """The list ends where no cursor is given."""
    made = joined(METHOD, MEMBER, [_page("a", nextCursor="1"), _page("b")])

    assert [each["name"] for each in made.items] == ["a", "b"]
    assert made.count == 2


@pytest.mark.parametrize("last", [{}, {"nextCursor": None}], ids=["absent", "null"])
def test_an_absent_and_a_null_cursor_end_a_list(last):
    """Both say that there is no further page."""
    assert Pages(METHOD, MEMBER).add(_page("a", **last)) is None


@pytest.mark.parametrize(
    ("pages", "what"),
    [
        ([_page("a", nextCursor="1"), _page("b", nextCursor="1")], "again"),
        ([_page("a", nextCursor=""), _page("b", nextCursor="")], "again"),
        ([_page("a", nextCursor="1")], "further"),
        ([_page("a"), _page("b")], "was the last"),
    ],
    ids=["repeats", "repeats-empty", "incomplete", "goes-on"],
)
def test_lists_that_do_not_end_by_the_rules_are_refused(pages, what):
    """A list that is not whole would take tools away that are there."""
    with pytest.raises(Refused) as caught:
        joined(METHOD, MEMBER, pages)

    assert caught.value.failure.code == "mcp_pagination"
    assert what in caught.value.failure.message


def test_a_list_without_end_is_stopped():
    """Cursors may all differ and still never end."""
    pages = Pages(METHOD, MEMBER)
    for number in range(MAX_PAGES):
        pages.add(_page(nextCursor=str(number)))

    with pytest.raises(Refused) as caught:
        pages.add(_page(nextCursor="more"))

    assert caught.value.failure.code == "mcp_pagination"


@pytest.mark.parametrize(
    "page", [None, [], {}, {"tools": None}, {"tools": [], "nextCursor": 7}], ids=repr
)
def test_what_is_no_page_is_refused(page):
    """It is told as a fault of the server's answer."""
    with pytest.raises(Refused) as caught:
        Pages(METHOD, MEMBER).add(page)

    assert caught.value.failure.code == "mcp_answer"
