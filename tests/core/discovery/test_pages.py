"""What a page of discovery holds: duplicates in one, budgets, a stable order, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holon_core as holon
from holon_core.catalogue.search_score import PARTS

Open = Callable[..., holon.Runtime]
Make = Callable[..., Any]


@holon.tool(effects={"none"})
def send_mail() -> str:
    """Send a letter to somebody."""
    return "sent"


def test_tools_of_other_sources_that_say_the_same_are_named_beside_one(
    lane: Any, open_runtime: Open, make: Make
) -> None:
    """One of them stands for all; what says something else of itself stands alone."""
    with holon.Runtime.in_memory(tools=[send_mail]) as rt:
        mine = rt.tools.list()[0]
    lane.definitions = [
        make("send_mail", mine.description, input_schema=dict(mine.input_schema)),
        make("send_fax", "Send a fax to somebody."),
    ]
    rt = open_runtime(send_mail, app="shop")

    items = rt.session(principal="ann").discover("send a letter to somebody").items

    assert {items[0].id, *items[0].duplicates} == {"acme-tools/send_mail", "host.shop/send_mail"}
    assert [item.id for item in items[1:]] == ["acme-tools/send_fax"]


def test_of_duplicates_the_one_that_may_run_stands_for_all(
    lane: Any, open_runtime: Open, make: Make
) -> None:
    """A blocked twin does not hide what could be called."""
    with holon.Runtime.in_memory(tools=[send_mail]) as rt:
        mine = rt.tools.list()[0]
    twin = {"input_schema": dict(mine.input_schema), "effects": frozenset({holon.Effect.UNKNOWN})}
    lane.definitions = [make("send_mail", mine.description, **twin)]
    rt = open_runtime(send_mail, app="shop")

    [item] = rt.session(principal="ann").discover("send a letter").items

    assert (item.id, item.availability) == ("host.shop/send_mail", "executable")
    assert item.duplicates == ("acme-tools/send_mail",)


def test_twins_of_one_source_are_two_tools(lane: Any, open_runtime: Open, make: Make) -> None:
    """Its publisher has a reason for both."""
    lane.definitions = [make("send-mail", "Send it."), make("send_mail", "Send it.")]

    items = open_runtime().session(principal="ann").discover("send mail").items

    assert [item.duplicates for item in items] == [(), ()]


def test_a_budget_of_tools_ends_a_page_and_the_next_goes_on(
    lane: Any, open_runtime: Open, make: Make
) -> None:
    """Nothing is lost by it, and nothing is said twice."""
    lane.definitions = [make(f"send-{n}", "Send mail.") for n in range(7)]
    session = open_runtime().session(principal="ann")

    seen, cursor = [], None
    while True:
        page = session.discover("send mail", limit=20, max_tools=3, cursor=cursor)
        assert len(page.items) <= 3
        seen += [item.id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert sorted(seen) == sorted(f"acme-tools/send-{n}" for n in range(7))


@pytest.mark.parametrize("query", ["send mail", None], ids=["ranked", "listed"])
def test_a_budget_of_tokens_is_kept_unless_one_tool_alone_is_beyond_it(
    lane: Any, open_runtime: Open, make: Make, query: str | None
) -> None:
    """Each tool says what it takes; the first always has a place, so that a page goes on."""
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(40)}}
    lane.definitions = [make(f"send-{n}", "Send mail.", input_schema=schema) for n in range(4)]
    session = open_runtime().session(principal="ann")
    each = session.discover(query, limit=1).items[0].schema_tokens

    small = session.discover(query, max_schema_tokens=1)
    two = session.discover(query, max_schema_tokens=2 * each)
    rest = session.discover(query, max_schema_tokens=2 * each, cursor=two.next_cursor)

    assert each > 100
    assert len(small.items) == 1
    assert small.next_cursor is not None
    ids = [item.id for item in (*two.items, *rest.items)]
    assert (len(two.items), len(rest.items), len(set(ids))) == (2, 2, 4)


def test_at_equal_relevance_what_may_run_stands_first_then_the_id_decides(
    lane: Any, open_runtime: Open, make: Make
) -> None:
    """Whatever the order in which the tools came, and again the next time."""
    unknown = {"effects": frozenset({holon.Effect.UNKNOWN})}
    tools = [
        make("mail-x", "Send.", **unknown),
        make("mail-z", "Send."),
        make("mail-y", "Send."),
    ]
    wanted = ["acme-tools/mail-y", "acme-tools/mail-z", "acme-tools/mail-x"]
    lane.definitions = tools
    with open_runtime() as rt:
        session = rt.session(principal="ann")
        first = [item.id for item in session.discover("mail").items]
        again = [item.id for item in session.discover("mail").items]
        lane.definitions = tools[::-1]
        rt.tools.refresh()
        turned = [item.id for item in session.discover("mail").items]

    assert first == again == turned == wanted


def test_a_tool_says_field_by_field_why_it_ranks_where_it_does(
    lane: Any, open_runtime: Open, make: Make
) -> None:
    """Which of its words met the query, and what its score is the sum of; only where asked."""
    schema = {"type": "object", "properties": {"recipient": {"type": "string"}}}
    lane.definitions = [
        make("send-mail", "Write to somebody.", input_schema=schema, examples=("post a letter",)),
        make("read-mail", "Open what came."),
    ]
    session = open_runtime().session(principal="ann")
    query = "send letters to a recipient"

    explained = session.discover(query, explain=True).items[0]
    plain = session.discover(query).items[0]

    assert {match.field: match.words for match in explained.matches} == {
        "name": ("send",),
        "schema": ("recipient",),
        "examples": ("letter",),
    }
    parts = {each.part: each.score for each in explained.score_parts}
    assert set(parts) <= set(PARTS)
    assert parts["stems"] == 1.0
    assert sum(parts.values()) > 1
    assert (plain.matches, plain.score_parts) == ((), ())
    assert plain.score == explained.score
