"""What a file has to be to become a tool."""

from __future__ import annotations

from typing import Any

import pytest

from holon_sql_files.query import MAX_FILE_BYTES, BadQuery, read_query


def test_front_comments_become_description_and_parameters() -> None:
    query = read_query(
        "q",
        b"-- Count orders.\n-- Of one customer.\n-- database: shop.db\n-- rows: 5\n"
        b"-- param who text: Name.\n-- param least integer = 2: How many.\n"
        b"select :who, :least\n",
    )

    assert query.description == "Count orders. Of one customer."
    assert (query.database, query.rows) == ("shop.db", 5)
    assert [(p.name, p.type, p.default) for p in query.parameters] == [
        ("who", "text", None),
        ("least", "integer", 2),
    ]


@pytest.mark.parametrize(
    ("text", "default"),
    [("number = 1.5", 1.5), ("boolean = true", True), ("text = 'a b'", "a b"), ("date = x", "x")],
)
def test_a_default_is_of_its_type(text: str, default: Any) -> None:
    query = read_query("q", f"-- Q.\n-- param p {text}: P.\nselect :p".encode())

    assert query.parameters[0].default == default


def test_colons_in_texts_names_and_comments_are_no_parameters() -> None:
    sql = b"-- Q.\nselect ':a', \":b\", [:c], `:d` -- :e\n/* :f ; */ from t where x = 'it''s :g'"

    assert read_query("q", sql).parameters == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"select 1", "does not say what the query is for"),
        (b"-- Q.\n", "no statement"),
        (b"-- Q.\n ; ", "no statement"),
        (b"-- Q.\nselect 1; select 2", "one statement"),
        (b"-- Q.\nselect :p", "differ: p"),
        (b"-- Q.\n-- param p text: P.\nselect 1", "differ: p"),
        (b"-- Q.\nselect ?", "written :name"),
        (b"-- Q.\nselect @p", "written :name"),
        (b"-- Q.\n-- param p: P.\nselect :p", "not `param NAME TYPE"),
        (b"-- Q.\n-- param p blob: P.\nselect :p", "the types are"),
        (b"-- Q.\n-- param p integer = x: P.\nselect :p", "x is no integer"),
        (b"-- Q.\n-- param p integer = true: P.\nselect :p", "true is no integer"),
        (b"-- Q.\n-- param p text: P.\n-- param p text: P.\nselect :p", "described twice"),
        (b"-- Q.\n-- param database text: P.\nselect :database", "own parameter"),
        (b"-- Q.\n-- param n integer: N.\nselect printf('%.*c', :n, 'x')", "literal text"),
        (b"-- Q.\n-- param f text: F.\nselect FORMAT (:f, 1)", "literal text"),
        (b"-- Q.\nselect printf('%99999c', 'x')", "literal text"),
        (b"-- Q.\nselect printf('%' || '9c', 'x')", "literal text"),
        (b"-- Q.\n-- rows: many\nselect 1", "whole number"),
        (b"-- Q.\n-- rows: 10001\nselect 1", "whole number"),
        (b"-- \xff\nselect 1", "not UTF-8"),
        (b"-- Q.\n" + b" " * MAX_FILE_BYTES, "larger than"),
    ],
)
def test_what_is_no_query_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BadQuery, match=reason.replace("(", r"\(")):
        read_query("q", data)
