"""Rules that hold for whatever a server says: pins, pages, names, and a life of refreshes."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import holon_core as holon
import holon_mcp.plugin as lane
from holon_core.errors import Refused
from holon_core.ids import id_problem
from holon_core.wire.canonical import canonical
from holon_mcp.items.judging import PINNED, judge, pin_of
from holon_mcp.lane import entry_id
from holon_mcp.reading.paging import Pages, joined

WORDS = st.text(string.printable, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
MEMBERS = [*PINNED["tool"], "_meta", "icons"]
DEFINITIONS = st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=len(MEMBERS))


def pinned(definition: dict[str, Any]) -> bytes:
    """Return what a person accepts of a definition, in the one canonical form."""
    return canonical({name: definition[name] for name in PINNED["tool"] if name in definition})


def turned(value: Any) -> Any:
    """Return the same value with its members in another order."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    return [turned(each) for each in value] if isinstance(value, list) else value


@given(DEFINITIONS, DEFINITIONS)
def test_two_definitions_have_one_pin_exactly_where_they_say_the_same(
    one: dict[str, Any], other: dict[str, Any]
):
    """The order of members counts for nothing, every pinned member for something."""
    assert (pin_of("tool", one) == pin_of("tool", other)) == (pinned(one) == pinned(other))
    assert pin_of("tool", turned(one)) == pin_of("tool", one)
    assert pin_of("tool", {**one, "_meta": {"x": 1}}) == pin_of("tool", one)


@given(DEFINITIONS, st.sampled_from(PINNED["tool"]), JSON)
def test_a_change_of_any_pinned_member_is_another_pin(
    definition: dict[str, Any], member: str, value: Any
):
    """Also where a member comes in that was not there."""
    changed = {**definition, member: value}

    same = member in definition and canonical(definition[member]) == canonical(value)

    assert (pin_of("tool", changed) == pin_of("tool", definition)) is same


@given(st.lists(st.text(max_size=4), max_size=8))
def test_pages_end_where_no_cursor_is_given_and_never_take_one_twice(cursors: list[str]):
    """Any text is a cursor, the empty one, too; a second time it is an error."""
    pages = Pages("tools/list", "tools")
    seen: set[str] = set()
    for at, cursor in enumerate(cursors):
        page = {"tools": [at], "nextCursor": cursor}
        if cursor in seen:
            with pytest.raises(Refused) as refused:
                pages.add(page)
            assert refused.value.failure.code == "mcp_pagination"
            return
        assert pages.add(page) == cursor
        seen.add(cursor)
    assert pages.add({"tools": ["last"]}) is None
    assert pages.items == [*range(len(cursors)), "last"]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_saved_pages_give_every_item_once_in_order(sizes: list[int]):
    """However a list was cut into pages."""
    items = list(range(sum(sizes)))
    rest, pages = list(items), []
    for at, size in enumerate(sizes):
        page: dict[str, Any] = {"tools": rest[:size]}
        rest = rest[size:]
        if at + 1 < len(sizes):
            page["nextCursor"] = "" if at == 0 else str(at)
        pages.append(page)

    assert joined("tools/list", "tools", pages).items == items


@given(st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=5, unique=True))
def test_names_give_ids_that_are_sound_and_stay_apart(names: list[str]):
    """Whatever a server calls its tools: an id that the catalogue takes, one for each name."""
    sound = [name for name in names if name.strip() and _is_json(name)]
    ids = {name: entry_id("calc", "tool", name) for name in sound}

    assert len(set(ids.values())) == len(ids)
    assert not any(map(id_problem, ids.values()))
    good, refused = judge("calc", "tool", [{"name": name, "inputSchema": {}} for name in sound])
    assert (set(good), refused) == (set(ids.values()), ())


def _is_json(name: str) -> bool:
    try:
        canonical(name)
    except holon.HolonError:
        return False
    return True


class Life(RuleBasedStateMachine):
    """A server that changes as it likes, a person who accepts some of it, and what is callable.

    The model: what was accepted of each name, and what the server gives now.
    """

    NAMES = ("add", "sub", "mul")

    def __init__(self) -> None:
        super().__init__()
        self.rt = holon.Runtime.in_memory(plugins=[lane])
        self.servers = self.rt.service("mcp-servers")
        self.session = self.rt.session(principal="ann")
        self.accepted: dict[str, str] | None = None
        self.offered: dict[str, str] = {}

    def teardown(self) -> None:
        """Close the runtime."""
        self.rt.close()

    @rule(offered=st.dictionaries(st.sampled_from(NAMES), st.sampled_from("abc"), min_size=1))
    def give(self, offered: dict[str, str]) -> None:
        """The server says of its tools what it likes; a first time it is registered by that."""
        schema = {"type": "object"}
        tools = [{"name": n, "inputSchema": schema, "description": t} for n, t in offered.items()]
        if self.accepted is None:
            self.servers.register("calc", {"tools": tools}, by="olga")
            self.accepted = dict(offered)
        else:
            self.servers.refresh("calc", {"tools": tools})
        self.offered = offered

    @precondition(lambda self: self.accepted is not None)
    @rule()
    def fail_to_list(self) -> None:
        """Its list fails for once."""
        self.servers.refresh("calc", {"tools/list": {"error": {"code": 1}}})

    @precondition(lambda self: self.accepted is not None)
    @rule(name=st.sampled_from([*NAMES, ""]))
    def accept(self, name: str) -> None:
        """A person accepts one thing that waits, or all."""
        assert self.accepted is not None
        shown = self.servers.compare("calc")
        entry = entry_id("calc", "tool", name)
        waiting = {each.entry for each in shown.items}
        if name and entry not in waiting:
            with pytest.raises(Refused):
                self.servers.accept("calc", shown.digest, entries=[entry])
            return
        self.servers.accept("calc", shown.digest, entries=[entry] if name else None)
        for each in [name] if name else self.offered:
            self.accepted[each] = self.offered[each]

    @precondition(lambda self: self.accepted is not None)
    @rule()
    def accept_what_is_no_more(self) -> None:
        """Another difference than the one that waits is never accepted."""
        with pytest.raises(Refused) as refused:
            self.servers.accept("calc", "0" * 64)
        assert refused.value.failure.code == "conflict"

    @precondition(lambda self: self.accepted is not None)
    @rule()
    def remove(self) -> None:
        """The server is removed, and its name is free."""
        self.servers.remove("calc")
        self.accepted, self.offered = None, {}

    @invariant()
    def the_catalogue_has_what_was_accepted_and_is_there(self) -> None:
        """Nothing that nobody accepted is ever shown; what differs is blocked as changed."""
        accepted = self.accepted or {}
        shown = {each.id: each for each in self.rt.tools.list(limit=100)}
        there = {name for name in accepted if name in self.offered}
        assert set(shown) == {entry_id("calc", "tool", name) for name in there}
        for name in there:
            tool = shown[entry_id("calc", "tool", name)]
            assert tool.description == accepted[name]
            result = self.session.call(tool.id, {})
            codes = {each.code for each in result.blocking_reasons}
            changed = accepted[name] != self.offered[name]
            assert codes == {"definition_changed" if changed else "live_execution_blocked"}

    @invariant()
    def what_waits_is_what_differs(self) -> None:
        """The difference names exactly the changed and the new."""
        if self.accepted is None:
            assert self.servers.list() == []
            return
        waiting = {each.name for each in self.servers.compare("calc").items}
        assert waiting == {n for n, t in self.offered.items() if self.accepted.get(n) != t}


Life.TestCase.settings = settings(max_examples=8, stateful_step_count=10, deadline=None)
TestLife = Life.TestCase


def test_removing_frees_the_name_and_takes_everything(do: Any, tool: Any, rt: Any):
    """Entries of all kinds go, with their pins; callers cannot do it."""
    answers = {"tools": [tool("add")], "prompts": [{"name": "p"}]}
    do("register", name="calc", document=answers)
    caller = rt.session(principal="ann").caller
    with pytest.raises(Refused):
        rt.dispatch("mcp-server/remove", {"name": "calc", "reason": "x"}, caller=caller)

    gone = do("remove", name="calc", reason="not used")

    assert gone["removed"] == ["holon-mcp.calc/add", "holon-mcp.calc.prompts/p"]
    assert rt.tools.list(limit=10) == ()
    assert json.dumps(do("list")["servers"]) == "[]"
    other = {"tools": [tool("add", "Other.")]}
    assert do("register", name="calc", document=other)["items"][0]["state"] == "accepted"
