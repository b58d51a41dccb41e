"""What the lane does, through the governed door."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from holon_core import Authority, Runtime, Session, Status, ToolResult
from holon_core.operations.door import Door
from holon_core.testing import EvidenceReader, named
from shop import make_shop

from holon_sql_files import plugin
from holon_sql_files.folder import Folder
from holon_sql_files.operation import files_operation
from holon_sql_files.tools import SOURCE

Query = Callable[..., ToolResult]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "queries"
    made.mkdir()
    return made


@pytest.fixture
def opened(holon_open: Callable[..., Runtime], folder: Path) -> Callable[[], Runtime]:
    config = {"lane": {SOURCE: {"folder": str(folder)}}}
    return lambda: holon_open(plugins=[named(plugin, SOURCE)], config=config)


@pytest.fixture
def query(folder: Path, opened: Callable[[], Runtime], holon_workspace: Path) -> Query:
    """Run a statement as a tool on the shop's database."""
    make_shop(holon_workspace)

    def query(sql: str, *, front: str = "database: shop.db", **arguments: Any) -> ToolResult:
        lines = "".join(f"-- {line}\n" for line in ("Q.", *filter(None, front.split("|"))))
        (folder / "q.sql").write_text(f"{lines}{sql}\n", encoding="utf-8")
        runtime = opened()
        session = runtime.session(principal="ann", workspace=holon_workspace)
        return session.call(f"{SOURCE}/q", arguments)

    return query


def code(result: ToolResult) -> str:
    assert result.failure is not None, result.output
    return result.failure.code


def test_a_file_is_a_tool_that_answers_rows(query: Query) -> None:
    result = query(
        "select customer, cents from orders where day >= :since order by id",
        front="database: shop.db|param since date: First day.",
        since="2024-01-15",
    )

    assert result.output == {
        "columns": ["customer", "cents"],
        # Beyond what JSON holds exactly, a number is a text.
        "rows": [["ann", 250], ["bob", str(2**60)]],
        "truncated": False,
    }


def test_values_are_bound_and_never_part_of_the_statement(query: Query) -> None:
    result = query(
        "select count(*) from orders where customer = :who",
        front="database: shop.db|param who text: Name.",
        who="x' or '1'='1",
    )

    assert result.output["rows"] == [[0]]


def test_a_default_stands_in_for_what_is_not_given(query: Query) -> None:
    result = query("select :n", front="database: shop.db|param n integer = 7: N.")

    assert result.output["rows"] == [[7]]


def test_cells_are_what_json_holds(query: Query) -> None:
    result = query("select null, x'0aff', 1.5, 9e999, 'ä'")

    assert result.output["rows"] == [[None, "x'0aff'", 1.5, "inf", "ä"]]


def test_rows_beyond_the_limit_of_the_file_are_left_out(query: Query) -> None:
    result = query("select id from orders", front="database: shop.db|rows: 2")

    assert (len(result.output["rows"]), result.output["truncated"]) == (2, True)


@pytest.mark.parametrize(
    "sql",
    [
        "insert into orders(customer) values ('x')",
        "update orders set cents = 0",
        "delete from orders",
        "drop table orders",
        "create table t(a)",
        "create temp table t(a)",
        "attach 'other.db' as o",
        "vacuum into 'copy.db'",
        "pragma user_version = 3",
        "select load_extension('x')",
        "select zeroblob(100000000)",
    ],
)
def test_whatever_would_do_more_than_read_is_refused(
    query: Query, holon_workspace: Path, sql: str
) -> None:
    before = (holon_workspace / "shop.db").read_bytes()

    result = query(sql)

    assert code(result) == "tool_failed"
    assert (holon_workspace / "shop.db").read_bytes() == before
    assert [path.name for path in holon_workspace.iterdir()] == ["shop.db"]


def test_a_value_that_would_fill_the_memory_ends_the_statement(query: Query) -> None:
    if not hasattr(sqlite3.Connection, "setlimit"):
        pytest.skip("this Python cannot limit the length of a value")

    wide = "printf('%1000c', 'x')"
    result = query(f"select length(replace(replace({wide}, ' ', {wide}), ' ', {wide}))")

    assert code(result) == "tool_failed"
    assert "too big" in result.failure.message  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("../shop.db", "path_escape"),
        ("/etc/hostname", "path_escape"),
        ("link.db", "path_escape"),
        ("absent.db", "path_not_found"),
        (".", "not_regular_file"),
        ("a\0b", "path_invalid"),
        ("notes.txt", "tool_failed"),
    ],
)
def test_only_a_database_inside_the_workspace_is_read(
    query: Query, holon_workspace: Path, tmp_path: Path, path: str, expected: str
) -> None:
    (tmp_path / "outside.db").write_bytes((holon_workspace / "shop.db").read_bytes())
    (holon_workspace / "link.db").symlink_to(tmp_path / "outside.db")
    (holon_workspace / "notes.txt").write_text("no database " * 100, encoding="utf-8")

    assert code(query("select * from orders", front="", database=path)) == expected


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_file_beside_the_database_that_leads_out_is_refused(
    query: Query, holon_workspace: Path, tmp_path: Path, end: str
) -> None:
    outside = tmp_path / "outside"
    (holon_workspace / f"shop.db{end}").symlink_to(outside)

    assert code(query("select * from orders")) == "not_regular_file"
    assert not outside.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "select * from pragma_database_list",
        "select * from pragma_table_info('orders')",
        "begin",
        "savepoint a",
        "detach main",
        "analyze",
        "delete from orders returning id",
    ],
)
def test_nothing_of_the_connection_is_told_or_changed(query: Query, sql: str) -> None:
    assert code(query(sql)) == "tool_failed"


def test_bytes_that_are_no_text_are_shown_as_such(query: Query) -> None:
    result = query("select cast(x'61ff62' as text)")

    assert result.output["rows"] == [["a\ufffdb"]]


def test_a_view_that_never_ends_is_ended(query: Query, holon_workspace: Path) -> None:
    with closing(sqlite3.connect(holon_workspace / "shop.db")) as maker:
        maker.execute(
            "create view endless as with recursive n(i) as"
            " (select 1 union all select i + 1 from n) select max(i) from n"
        )
    (holon_workspace / "pyproject.toml").write_text(
        "[tool.holon.limits]\ntimeout_s = 0.3\n", encoding="utf-8"
    )

    assert code(query("select * from endless")) == "timeout"


def test_a_query_that_became_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "q.sql")

    assert Folder(str(folder)).query("q") is None


def test_a_database_in_write_ahead_mode_is_read_with_what_its_log_holds(
    query: Query, holon_workspace: Path
) -> None:
    with closing(sqlite3.connect(holon_workspace / "shop.db")) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute("insert into orders(customer) values ('new')")
        writer.commit()

        result = query("select count(*) from orders")

    assert result.output["rows"] == [[5]]


def test_a_file_that_changed_since_it_was_registered_does_not_run(
    folder: Path, opened: Callable[[], Runtime], holon_workspace: Path
) -> None:
    make_shop(holon_workspace)
    (folder / "q.sql").write_text("-- Q.\n-- database: shop.db\nselect 1", encoding="utf-8")
    runtime = opened()
    session = runtime.session(principal="ann", workspace=holon_workspace)
    (folder / "q.sql").write_text("-- Q.\n-- database: shop.db\nselect 2", encoding="utf-8")

    assert code(session.call(f"{SOURCE}/q")) == "artifact_changed"
    runtime.tools.refresh()
    assert session.call(f"{SOURCE}/q").output["rows"] == [[2]]
    (folder / "q.sql").unlink()
    assert code(session.call(f"{SOURCE}/q")) == "artifact_not_ready"


def test_a_dry_run_shows_the_statement_and_its_values(
    folder: Path, opened: Callable[[], Runtime], holon_workspace: Path
) -> None:
    text = "-- Q.\n-- param n integer = 7: N.\nselect :n"
    (folder / "q.sql").write_text(text, encoding="utf-8")
    session = opened().session(principal="ann", workspace=holon_workspace)

    shown = session.dry_run(f"{SOURCE}/q", {"database": "absent.db"})

    assert shown.output == {
        "sql": "select :n",
        "values": {"n": 7},
        "database": "absent.db",
        "rows": 200,
    }


def test_a_call_without_a_workspace_is_blocked(folder: Path, opened: Callable[[], Runtime]) -> None:
    (folder / "q.sql").write_text("-- Q.\n-- database: a.db\nselect 1", encoding="utf-8")

    result = opened().session(principal="ann").call(f"{SOURCE}/q")

    assert result.status is Status.BLOCKED
    assert code(result) == "workspace_required"


def test_every_call_is_recorded(query: Query, opened: Callable[[], Runtime]) -> None:
    result = query("select 1")

    assert EvidenceReader(opened()).trail(result) == ["accepted", "completed"]


def test_the_operation_names_good_and_bad_files(
    folder: Path, opened: Callable[[], Runtime], caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "good.sql").write_text("-- Q.\nselect 1", encoding="utf-8")
    (folder / "bad.sql").write_text("select 1", encoding="utf-8")
    (folder / "Bad Name.sql").write_text("-- Q.\nselect 1", encoding="utf-8")
    session: Session = opened().session(principal="ann")
    door = Door(runtime=opened(), session=session, authorities=frozenset({Authority.CALLER}))

    files = files_operation(Folder(str(folder))).handler(door, {})["files"]

    assert [(each["file"], each["tool"]) for each in files] == [
        ("good.sql", f"{SOURCE}/good"),
        ("Bad Name.sql", None),
        ("bad.sql", None),
    ]
    assert "bad.sql is no tool" in caplog.text


def test_without_a_folder_there_are_no_tools(holon_open: Callable[..., Runtime]) -> None:
    runtime = holon_open(plugins=[named(plugin, SOURCE)])

    assert len(runtime.tools) == 0
