"""Names of tools for models: valid, unique, stable, and never another's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.agents.names import RESERVED, id_of, name_of
from holon_core.ids import capability_id

# What each provider takes (the strictest of all: the first character of Gemini).
VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
SOURCES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,40}", fullmatch=True)
NAMES = st.text(min_size=1, max_size=60).map(capability_id).filter(lambda c: len(c) <= 200)
IDS = st.one_of(
    st.builds("{}/{}".format, SOURCES, NAMES),
    st.builds("{}/{}".format, SOURCES, st.from_regex(r"[a-z_.]{1,70}", fullmatch=True)),
    st.builds("host.app/{}".format, st.from_regex(r"[a-z_-]{1,70}", fullmatch=True)),
    st.builds("holon.built-in.x/{}".format, st.from_regex(r"[a-z_-]{1,70}", fullmatch=True)),
)


@pytest.mark.parametrize(
    ("tool_id", "name"),
    [
        ("holon.built-in.workspace/workspace-read-file", "workspace-read-file"),
        ("host.shop/refund", "refund"),
        ("host.shop/get_order", "get_order"),
        ("host.shop/search_tools", "host_shop__search_tools"),
        ("host.shop/workspace-glob", "host_shop__workspace-glob"),
        ("acme-text/upper", "acme-text__upper"),
        ("holon-mcp.github/create-issue", "holon-mcp_github__create-issue"),
        ("frozen.place-1/report~2", "frozen_place-1__report_2__ffb705dce8"),
    ],
)
def test_a_name_is_as_short_as_it_can_be(tool_id, name):
    """Built-ins and functions of the host keep theirs; others say where they are from."""
    assert name_of(tool_id) == name


@given(IDS)
def test_every_name_is_valid_for_every_provider(tool_id):
    """Whatever the id is."""
    assert VALID.fullmatch(name_of(tool_id))
    assert name_of(tool_id) not in RESERVED


@given(st.sets(IDS, min_size=2, max_size=20))
def test_no_two_ids_have_one_name(ids):
    """Uniqueness needs no look at the other tools."""
    assert len({name_of(each) for each in ids}) == len(ids)


@given(IDS)
def test_an_id_that_can_be_read_back_is_the_right_one(tool_id):
    """A name never leads to another tool."""
    assert id_of(name_of(tool_id)) in (tool_id, None)


@given(IDS, IDS)
def test_a_name_taken_as_a_capability_gives_another_name(one, other):
    """Nobody shadows a tool by calling his own as it is shown."""
    mine = f"{other.partition('/')[0]}/{name_of(one)}"

    assert mine == one or name_of(mine) != name_of(one)
