"""Pins: what differs from what was accepted waits for a person, and nothing goes around that."""

from __future__ import annotations

from typing import Any

import pytest

from holon_core.errors import Refused
from holon_mcp.kept import Kept

ADD = "holon-mcp.calc/add"


@pytest.fixture
def calc(do, tool):
    """A registered server with one tool."""
    return do("register", name="calc", document={"tools": [tool("add")]})


def test_the_same_answers_in_another_key_order_change_nothing(calc, do, tool):
    """A pin is a digest of canonical JSON, and not of bytes."""
    turned = dict(reversed(list(tool("add").items())))

    made = do("refresh", name="calc", document={"tools": [turned]})

    assert made["changed"] == []
    assert made["items"][0]["state"] == "accepted"


def test_a_change_waits_until_it_is_accepted(calc, do, session, tool):
    """The entry keeps the accepted text, and is blocked; the difference names both texts."""
    made = do("refresh", name="calc", document={"tools": [tool("add", "Sends all your files.")]})

    assert made["items"][0]["state"] == "changed"
    assert session.call(ADD, {}).failure.code == "definition_changed"
    assert "Sends" not in session.discover("add two numbers").items[0].description
    [waiting] = made["waiting"]["waiting"]
    assert [each["path"] for each in waiting["changes"]] == ["/description"]


def test_accepting_takes_the_difference_that_was_read(calc, do, session, tool, rt):
    """Afterwards the new definition counts, and the digest is another than before."""
    before = rt.tools.read(ADD).digest
    made = do("refresh", name="calc", document={"tools": [tool("add", "Adds.")]})

    done = do("accept", name="calc", difference=made["waiting"]["difference"], reason="read it")
    assert done["waiting"] is None

    found = rt.tools.read(ADD)
    assert found.description == "Adds."
    assert found.digest != before
    assert session.call(ADD, {}).failure.code == "live_execution_blocked"


def test_another_difference_than_the_one_that_was_read_is_not_accepted(calc, do, tool):
    """Between reading and accepting the server may have changed once more."""
    read = do("refresh", name="calc", document={"tools": [tool("add", "Adds.")]})
    do("refresh", name="calc", document={"tools": [tool("add", "Sends all your files.")]})

    with pytest.raises(Refused) as caught:
        do("accept", name="calc", difference=read["waiting"]["difference"], reason="read it")

    assert caught.value.failure.code == "conflict"


def test_a_tool_that_appears_later_waits_as_well(calc, do, session, tool):
    """Nobody has read it yet, so that it is not in the catalogue."""
    made = do("refresh", name="calc", document={"tools": [tool("add"), tool("sub")]})

    assert [each["state"] for each in made["items"]] == ["accepted", "new"]
    assert session.call("holon-mcp.calc/sub", {}).failure.code == "unknown_tool"

    do(
        "accept",
        name="calc",
        difference=made["waiting"]["difference"],
        entries=["holon-mcp.calc/sub"],
        reason="read it",
    )
    assert session.dry_run("holon-mcp.calc/sub", {}).status == "completed"


def test_a_tool_that_goes_and_comes_back_otherwise_is_still_pinned(calc, do, session, tool):
    """Leaving a definition out for once does not lose its pin."""
    gone = do("refresh", name="calc", document={"tools": []})
    assert gone["removed"] == [ADD]
    assert gone["waiting"]["gone"] == [ADD]

    made = do("refresh", name="calc", document={"tools": [tool("add", "Sends all your files.")]})

    assert made["items"][0]["state"] == "changed"
    assert session.call(ADD, {}).failure.code == "definition_changed"


def test_a_list_that_fails_takes_nothing_away(calc, do):
    """What was known of a kind stays where its list could not be read."""
    made = do("refresh", name="calc", document={"tools/list": {"error": {"code": 1}}})

    assert made["removed"] == []
    assert made["items"][0]["state"] == "accepted"


def test_a_difference_can_be_looked_at_before_a_refresh(calc, do, tool):
    """Nothing is stored by it."""
    shown = do("diff", name="calc", document={"tools": [tool("add", "Adds.")]})

    assert shown["waiting"][0]["entry"] == ADD
    assert do("diff", name="calc")["waiting"] == []
    assert do("read", name="calc")["items"][0]["state"] == "accepted"


def test_callers_cannot_register_refresh_or_accept(calc, rt, session):
    """A caller reads and lists; what changes the catalogue is for operators and approvers."""
    asked: dict[str, dict[str, Any]] = {
        "refresh": {"document": {}},
        "accept": {"difference": "x", "reason": "y"},
    }
    for verb, more in asked.items():
        with pytest.raises(Refused) as caught:
            rt.dispatch(f"mcp-server/{verb}", {"name": "calc", **more}, caller=session.caller)
        assert caught.value.failure.code == "not_allowed"
    assert rt.dispatch("mcp-server/list", {}, caller=session.caller)["servers"]


def test_pins_outlive_the_process(tmp_path, tool):
    """They are in the store: the next process blocks a change of what an earlier one accepted."""
    import holon_core as holon
    import holon_mcp.plugin as lane

    with holon.Runtime.open(tmp_path / "root", discover=False, plugins=[lane]) as first:
        first.service("mcp-servers").register("calc", {"tools": [tool("add")]}, by="olga")
    with holon.Runtime.open(tmp_path / "root", discover=False, plugins=[lane]) as second:
        second.service("mcp-servers").refresh("calc", {"tools": [tool("add", "Other.")]})
        result = second.session(principal="ann").call(ADD, {})

    assert result.failure.code == "definition_changed"


def test_of_two_that_register_at_once_the_second_is_told(do, tool, monkeypatch):
    """Between its look and its change another has registered: the pins of the first stay."""
    monkeypatch.setattr(Kept, "knows", lambda *_: False)
    do("register", name="calc", document={"tools": [tool("add")]})

    with pytest.raises(Refused) as caught:
        do("register", name="calc", document={"tools": [tool("add", "Sends all your files.")]})

    assert caught.value.failure.code == "conflict"
    assert do("read", name="calc")["items"][0]["state"] == "accepted"
    assert do("diff", name="calc")["waiting"] == []


def test_what_is_accepted_is_what_was_compared(calc, do, tool, monkeypatch):
    """A refresh that comes between the look and the change is not lost: the acceptance is."""
    made = do("refresh", name="calc", document={"tools": [tool("add", "Adds.")]})
    whole = Kept.write

    def late(kept: Kept, *given: Any) -> Any:
        monkeypatch.setattr(Kept, "write", whole)
        do("refresh", name="calc", document={"tools": [tool("add", "Sends all your files.")]})
        return whole(kept, *given)

    monkeypatch.setattr(Kept, "write", late)
    with pytest.raises(Refused) as caught:
        do("accept", name="calc", difference=made["waiting"]["difference"], reason="read it")

    assert caught.value.failure.code == "conflict"
    assert do("read", name="calc")["items"][0]["state"] == "changed"
