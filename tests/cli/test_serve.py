"""`holon serve`: the server as a command, and whom its options make the caller."""

from __future__ import annotations

import json
from typing import Any

import pytest

from command import Command


def lines(*messages: dict[str, Any]) -> bytes:
    """Write requests, numbered from 1."""
    return b"".join(
        json.dumps({"jsonrpc": "2.0", "id": number, **message}).encode() + b"\n"
        for number, message in enumerate(messages, 1)
    )


def answers(out: str) -> dict[int, Any]:
    """Read answers by the number of their request."""
    return {message["id"]: message for message in map(json.loads, out.splitlines())}


ADD = {
    "method": "runtime-tool/call",
    "params": {"tool": "host.cli/add", "arguments": {"a": 1, "b": 2}},
}
WRITE = {
    "method": "runtime-tool/call",
    "params": {"tool": "host.cli/write", "arguments": {"path": "x", "text": "hi"}},
}
PLUGINS = {"method": "plugin/list"}


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["plain", "json"])
def test_standard_output_carries_messages_alone(holon: Command, flags: tuple[str, ...]) -> None:
    """What tools print goes to standard error, and the end of the input ends it."""
    done = holon("serve", *flags, stdin=lines(ADD))

    assert done.code == 0
    assert answers(done.out)[1]["result"]["output"] == {"sum": 3}
    assert "noise on standard output" in done.err


def test_a_caller_is_offered_what_callers_may(holon: Command) -> None:
    """Unless it is started with more."""
    plain = answers(holon("serve", stdin=lines(PLUGINS)).out)[1]
    more = answers(holon("serve", "--operator", stdin=lines(PLUGINS)).out)[1]

    assert plain["error"]["data"]["failure"]["code"] == "not_allowed"
    assert more["result"]["missing_guards"] == []


def test_the_options_say_who_asks(holon: Command) -> None:
    """Evidence names the actor and the role, which no message could give."""
    done = holon("serve", "--actor", "ann", "--role", "clerk", stdin=lines(ADD))
    call_id = answers(done.out)[1]["result"]["call_id"]
    record = holon("evidence", "read", call_id, "--json").json["records"][0]["body"]

    assert (record["caller"]["principal"], record["caller"]["role"]) == ("ann", "clerk")


def test_nobody_served_approves_what_they_asked_for(holon: Command) -> None:
    """The prompt's own right to do so is not handed on."""
    held = answers(holon("serve", "--actor", "ann", stdin=lines(WRITE)).out)[1]["result"]["held"]
    decide = {"method": "execution-approval/approve", "params": {"id": held, "reason": "mine"}}

    own = holon("serve", "--actor", "ann", "--approver", "ann", stdin=lines(decide))
    other = holon("serve", "--actor", "ann", "--approver", "boss", stdin=lines(decide))

    assert answers(own.out)[1]["error"]["data"]["failure"]["code"] == "self_approval"
    assert answers(other.out)[1]["result"]["decided_by"] == "boss"


def test_a_workspace_that_is_not_there_is_a_refusal(holon: Command) -> None:
    """It is said before anything is served."""
    done = holon("serve", "--workspace", "no-such", stdin=lines(ADD))

    assert (done.code, done.out) == (3, "")
    assert "wrong_workspace" in done.err
