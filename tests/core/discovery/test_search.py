"""The search index: what it finds, in which order, and what a change touches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holon_core as holon
from holon_core.catalogue.search_index import Index
from holon_core.catalogue.search_postings import BLOCK
from holon_core.catalogue.search_query import Part, read
from holon_core.catalogue.search_rank import BEST, MAX_TOUCHED, beyond, rank
from holon_core.catalogue.search_rows import Row, row_of
from holon_core.catalogue.words import MAX_TERMS


def row(
    name: str, description: str = "", *, lane: str = "acme", **more: Any
) -> tuple[Row, dict[str, int]]:
    """Make what is indexed of a tool."""
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


def put(index: Index, *rows: tuple[Row, dict[str, int]]) -> None:
    with index.changing():
        index.put(rows)


@pytest.fixture
def index() -> Iterator[Index]:
    """An empty index in memory."""
    made = Index()
    yield made
    made.close()


def ask(index: Index, query: str, *, lanes: tuple[str, ...] = ()) -> list[str]:
    parts = [Part(index, frozenset())]
    ranking = rank(parts, query, lanes=lanes)
    hits = [*ranking.best, *beyond(parts, ranking)]
    return [hit.id.removeprefix("acme/") for hit in hits]


def test_bent_words_find_their_tool(index: Index) -> None:
    """Plurals, endings and case do not keep a tool from being found."""
    put(index, row("delete-invoice"), row("sendMail"), row("grep"))

    assert ask(index, "Deleting INVOICES") == ["delete-invoice"]
    assert ask(index, "send mails") == ["sendMail"]


def test_misspelt_words_find_their_tool(index: Index) -> None:
    """A word that no tool holds stands for those that are written much like it."""
    put(index, row("delete-invoice"), row("translate", "Translate a text."), row("grep"))

    assert ask(index, "delte invioce")[0] == "delete-invoice"
    assert ask(index, "trasnlate")[0] == "translate"


def test_other_scripts_find_their_tool(index: Index) -> None:
    """Accents are folded; scripts without spaces are found by pairs of characters."""
    put(
        index,
        row("a", "Größe einer Datei messen"),
        row("b", "ファイルを検索する"),
        row("c", "搜索文件内容"),
        row("d", "Отправить письмо"),
        row("e", "ค้นหาไฟล์"),
    )

    assert ask(index, "grosse")[0] == "a"
    assert ask(index, "検索")[0] == "b"
    assert ask(index, "请搜索一个文件")[0] == "c"
    assert ask(index, "письмо отправить")[0] == "d"
    assert ask(index, "ไฟล์")[0] == "e"


def test_a_name_counts_more_than_a_mention(index: Index) -> None:
    """The tool that is named so stands before one that only speaks of it."""
    mention = row("close-ticket", "Close a ticket and refund its cost.")
    put(index, mention, row("refund", "Give money back for an order."))

    assert ask(index, "refund") == ["refund", "close-ticket"]


def test_an_exact_id_or_name_stands_first(index: Index) -> None:
    """Whoever names a tool gets it, whatever its words are worth."""
    put(index, row("get"), *(row(f"get-{n}", "get get get") for n in range(20)))

    assert ask(index, "get")[0] == "get"
    assert ask(index, "acme/get-7")[0] == "get-7"


def test_what_is_said_again_buys_no_better_place() -> None:
    """Examples and keywords count once, however often and in what case they are repeated."""
    once = row("a", "x", examples=["convert money"], keywords=["euro"])
    again = row(
        "a", "x", examples=["convert money", "Convert  money"] * 9, keywords=["euro", "Euro"]
    )

    assert again == once


def test_parameters_and_examples_are_searched(index: Index) -> None:
    """What a tool takes, and what people ask it, say what it is for."""
    schema = {"properties": {"pull_request": {"description": "Number", "enum": ["squash"]}}}
    put(index, row("x", input_schema=schema), row("y", examples=["make the lamp brighter"]))

    assert ask(index, "pull request") == ["x"]
    assert ask(index, "squash") == ["x"]
    assert ask(index, "brighter lamps") == ["y"]


def test_keywords_are_searched(index: Index) -> None:
    """Other names of a tool, and of its skill, find it where its own texts say nothing of them."""
    put(index, row("x", "Moves parcels.", keywords=["Courier Desk"]), row("y", "Moves chairs."))

    assert ask(index, "courier") == ["x"]


def test_a_function_says_under_which_words_it_is_found() -> None:
    """Its keywords are part of what it is, and so of its digest."""

    @holon.tool(name="x", effects={"none"}, keywords=["courier"])
    def with_keyword() -> int:
        """Moves parcels."""
        return 1

    @holon.tool(name="x", effects={"none"})
    def without() -> int:
        """Moves parcels."""
        return 1

    with (
        holon.Runtime.in_memory(tools=[with_keyword]) as rt,
        holon.Runtime.in_memory(tools=[without]) as other,
    ):
        found = rt.session(principal="ann").discover("courier").items
        assert [item.name for item in found] == ["x"]
        assert found[0].digest != other.session(principal="ann").discover("parcels").items[0].digest


def test_common_words_do_not_outweigh_a_rare_one(index: Index) -> None:
    """Even in a catalogue so small that every word is rare in it."""
    put(
        index,
        row("a", "Get the latest detailed information with the best recommendations."),
        row("b", "Chess puzzles."),
    )

    assert ask(index, "detailed information about chess")[0] == "b"


def test_lanes_narrow_what_is_found(index: Index) -> None:
    """Only tools of the lanes asked for."""
    put(index, row("send-a"), row("send-b", lane="mcp"))

    assert ask(index, "send", lanes=("mcp",)) == ["send-b"]
    assert index.by_id(lanes=("acme",), after="", limit=9) == ["acme/send-a"]


def test_a_changed_tool_is_found_by_its_new_words_alone(index: Index) -> None:
    """And one that was taken out by none."""
    put(index, row("a", "About lions."), row("b", "About lions."))
    put(index, row("a", "About tigers."))
    with index.changing():
        index.remove("acme/b")

    assert ask(index, "lions") == []
    assert ask(index, "tigers") == ["a"]
    assert index.size() == 1


def test_a_stem_of_many_tools_goes_on_in_further_blocks(index: Index) -> None:
    """Each tool once, in ascending order, whether added together or one by one."""
    put(index, *(row(f"send-{n}") for n in range(BLOCK + 10)))
    for n in range(3):
        put(index, row(f"more-send-{n}"))

    found = index.postings("send")

    assert len(found.tools) == len(found.impacts) == BLOCK + 13
    assert list(found.tools) == sorted(set(found.tools))
    assert len(ask(index, "send")) == BLOCK + 13


def test_an_addition_touches_the_blocks_of_its_own_stems_alone(tmp_path: Path) -> None:
    """However many tools there are: that is what makes it quick."""
    index = Index(str(tmp_path / "i.db"))
    put(index, *(row(f"send-{n}", f"word{n} and more") for n in range(3000)))
    before = sqlite3.connect(tmp_path / "i.db").execute("select key, body from blocks").fetchall()

    put(index, row("send-letter"))

    after = sqlite3.connect(tmp_path / "i.db").execute("select key, body from blocks").fetchall()
    index.close()
    assert len(set(after) - set(before)) == 3


def test_two_openers_of_one_file_see_each_others_changes(tmp_path: Path) -> None:
    """What one keeps in memory is dropped when the other writes."""
    one, other = Index(str(tmp_path / "i.db")), Index(str(tmp_path / "i.db"))
    put(one, row("send-mail"))
    other.refresh()
    assert ask(other, "send") == ["send-mail"]

    put(one, row("send-fax"))
    other.refresh()
    assert sorted(ask(other, "send")) == ["send-fax", "send-mail"]
    one.close()
    other.close()


def test_an_index_of_another_version_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows were made by other rules."""
    index = Index(str(tmp_path / "i.db"))
    put(index, row("send-mail"))
    index.close()

    monkeypatch.setattr("holon_core.catalogue.search_index.VERSION", "another")
    index = Index(str(tmp_path / "i.db"))

    assert (index.size(), index.meta("at")) == (0, None)
    index.close()


def test_what_is_beyond_the_best_scores_below_them(index: Index) -> None:
    """So that one page follows the other."""
    put(index, *(row(f"send-{n}", "mail " * (n % 7)) for n in range(3 * BEST)))
    parts = [Part(index, frozenset())]

    ranking = rank(parts, "send mail")
    rest = beyond(parts, ranking)

    assert len({hit.id for hit in (*ranking.best, *rest)}) == 3 * BEST
    assert max(hit.score for hit in rest) <= min(hit.score for hit in ranking.best)


def test_words_that_most_tools_hold_do_not_slow_a_query(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rarest come first; others only count for what those found."""
    monkeypatch.setattr("holon_core.catalogue.search_rank.MAX_TOUCHED", 50)
    put(index, row("grep", "file"), *(row(f"t{n}", "file") for n in range(200)))

    assert MAX_TOUCHED > 50
    assert ask(index, "grep file") == ["grep"]
    assert len(ask(index, "file")) == 201


@pytest.mark.parametrize(
    "query",
    [
        '"read" OR "file"',
        "read AND NOT (file*)",
        "read NEAR/3 file; drop table tools; --",
        "read'); delete from tools; --\0file",
        "{read} +file -read ^file %_?*[]",
        "read file " + "\0" * 5000 + "'" * 5000,
    ],
    ids=["quotes", "operators", "near", "injection", "signs", "NUL"],
)
def test_operators_are_text(index: Index, query: str) -> None:
    """Signs of a query language find nothing, leave nothing out and change nothing."""
    put(index, row("read-file"), row("write-note", "Append a line."))

    assert ask(index, query)[0] == "read-file"
    assert index.size() == 2


def test_a_query_of_a_megabyte_is_read_no_further_than_a_page(index: Index) -> None:
    """What comes after says nothing more, and costs nothing."""
    put(index, row("read-file"), row("write-note"))
    parts = [Part(index, frozenset())]

    query = read(parts, "read " + "note " * 250_000)
    other = read(parts, "read " + " ".join(f"w{n}" for n in range(200_000)))

    assert set(query.words) == {"read", "note"}
    assert len(other.words) == MAX_TERMS


def test_no_query_touches_more_of_a_common_word_than_it_must(index: Index) -> None:
    """A word that all tools hold is counted for the best of the others alone."""
    put(index, row("grep", "file"), *(row(f"t{n}", "file") for n in range(MAX_TOUCHED)))
    parts = [Part(index, frozenset())]

    assert rank(parts, "file grep").total == 1
    assert rank(parts, "file").total == MAX_TOUCHED + 1


@given(st.text(max_size=200))
def test_no_query_raises(query: str) -> None:
    """Operators, quotes, NUL: all of it is text."""
    index = Index()
    put(index, row("read-file", "Größe 検索"), row("write-file"))
    ask(index, query.encode(errors="replace").decode())
    index.close()
