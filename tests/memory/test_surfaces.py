"""Where the tools can be called from: a workflow's step and the server, never a projection."""

from __future__ import annotations

import json
from typing import Any

import pytest

import holon_core as holon
import holon_workflows.plugin as workflows
from command import Command
from flows import definition
from holon_core.records.words import Surface
from memory_lane import REQUEST, SEARCH, WRITE, code_of


def step(node_id: str, tool: str, **inputs: str) -> dict[str, Any]:
    """Make a node that calls a tool of the memory."""
    mapped = {name: {"value": value} for name, value in inputs.items()}
    return {"id": node_id, "kind": "capability", "config": {"tool": tool}, "inputs": mapped}


@pytest.fixture
def rt(opened):
    """The memory beside workflows."""
    return opened(workflows)


@pytest.fixture
def session(rt, project):
    """Who starts runs."""
    return rt.session(principal="ann", workspace=project)


def test_a_write_is_a_step_that_waits_for_its_approval(rt, session):
    """The run stops at the held call, and goes on to a search that finds what was written."""
    flows, content = rt.service("workflows"), "Deploys happen on Tuesdays"
    nodes = step("keep", WRITE, content=content), step("find", SEARCH, query="deploys")
    flows.create(definition(*nodes), by="olga")

    run = flows.run("demo", session=session)
    held = run.waits_for[0]["call"]
    waiting = run.state
    rt.approvals.approve(held, by="bob", reason="as agreed")
    run = flows.ready_run(run.id)

    assert waiting == "waiting"
    assert run.state == "completed"
    assert run.step("keep").output["gate_result"] == "accepted"
    assert [hit["snippet"] for hit in run.step("find").output["results"]] == [content]


def test_a_step_may_ask_for_the_approval_of_a_write(rt, session):
    """The request runs at once; the write of the same payload is served by what it made."""
    flows, content = rt.service("workflows"), "The port is 8080"
    flows.create(definition(step("ask", REQUEST, content=content)), by="olga")

    run = flows.run("demo", session=session)
    asked = run.step("ask").output
    rt.approvals.approve(asked["approval"], by="bob", reason="as agreed")

    assert (run.state, asked["state"]) == ("completed", "pending")
    assert session.call(WRITE, {"content": content}).status is holon.Status.COMPLETED


def test_a_step_whose_write_is_denied_writes_nothing(rt, session):
    """A run has no more authority than its caller."""
    flows = rt.service("workflows")
    flows.create(definition(step("keep", WRITE, content="The port is 8080")), by="olga")

    run = flows.run("demo", session=session)
    rt.approvals.deny(run.waits_for[0]["call"], by="bob", reason="no")
    run = flows.ready_run(run.id)

    assert run.state == "failed"
    assert session.call(SEARCH, {"query": "port"}).output["results"] == []


@pytest.mark.parametrize("tool", [WRITE, REQUEST])
@pytest.mark.parametrize("mode", ["call", "dry_run"])
def test_a_caller_by_function_calling_is_not_allowed_and_recorded(rt, project, tool, mode):
    """Whatever the name it was called by: the surface itself has no such tool."""
    session = rt.session(principal="ann", workspace=project, surface=Surface.FUNCTION_CALLING)

    result = getattr(session, mode)(tool, {"content": "x"})

    assert code_of(result) == "not_allowed"
    (record,) = rt.evidence.read(result.call_id)
    assert record.body["failure"]["code"] == "not_allowed"
    assert record.body["caller"]["surface"] == "function_calling"
    assert rt.approvals.list() == ()


def test_the_server_asks_holds_and_finds(tmp_path):
    """Over JSON-RPC: a search, a request for approval, and a write that is held."""
    command = Command(tmp_path)
    calls = [(SEARCH, {"query": "x"}), (REQUEST, {"content": "a"}), (WRITE, {"content": "b"})]
    lines = b"".join(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "runtime-tool/call",
                "params": {"tool": tool, "arguments": arguments},
            }
        ).encode()
        + b"\n"
        for number, (tool, arguments) in enumerate(calls)
    )

    done = command("serve", "--workspace", str(command.folder), stdin=lines)
    told = {each["id"]: each["result"] for each in map(json.loads, done.out.splitlines())}

    assert told[0]["output"]["results"] == []
    assert told[1]["output"]["state"] == "pending"
    assert told[2]["failure"]["code"] == "approval_required"
    assert told[2]["held"] is not None
