"""The operations table: every row is whole, and the reference page is what it says."""

from __future__ import annotations

import pytest

from holon_core.operations import reference
from holon_core.operations.table import OPERATIONS, ROWS
from holon_core.records.operation import Operation
from holon_core.wire.schema_check import check_schema
from support import ROOT

EACH_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.method)


def test_no_method_has_two_rows():
    """A method says which row is meant."""
    assert len(OPERATIONS) == len(ROWS)


@EACH_ROW
def test_a_request_schema_is_admitted_as_it_stands(row: Operation):
    """Nothing is left to be closed or warned of: a request is read by exactly this schema."""
    report = check_schema(row.request, role="input")

    assert report.findings == ()
    assert report.schema == row.request


@EACH_ROW
def test_a_response_schema_is_admitted_as_it_stands(row: Operation):
    """An answer can be checked by the schema that is told of it."""
    report = check_schema(row.response, role="output")

    assert report.findings == ()


@EACH_ROW
def test_no_request_says_who_asks(row: Operation):
    """The caller comes from the host's authentication alone."""
    names = set(row.request["properties"])

    assert not names & {"caller", "by", "on_behalf_of", "authority", "authorities", "actor"}


@EACH_ROW
def test_every_parameter_says_what_it_is(row: Operation):
    """Commands and reference pages take their text from the table."""
    silent = [n for n, schema in row.request["properties"].items() if not schema["description"]]

    assert silent == []
    assert row.doc.endswith(".")


@EACH_ROW
def test_what_a_row_names_is_in_its_schemas(row: Operation):
    """Positional and unread parameters, the listing and its columns exist."""
    properties = row.request["properties"]

    assert {*row.positional, *row.unread} <= set(properties)
    if row.listing is not None:
        items = row.response["properties"][row.listing]["items"]
        assert set(row.columns) <= set(items["properties"])


def test_the_reference_page_is_what_the_table_says():
    """The page in the manual is the one that the generator writes."""
    page = (ROOT / reference.PAGE).read_text(encoding="utf-8")

    assert page == reference.page()
