"""The built-in memory bridge's boundary: approvals, packages and the command's own words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import holon_core as holon
import holon_plugin_packages.plugin as packages
from command import Command
from holon_builtin_memory import plugin
from memory_lane import ADDED, FULL, HEALTH, REQUEST, SEARCH, WRITE, code_of, printing
from plugin_packages import Asked, capability, manifest, write_package
from terminal import terminal

CLAIMED = "holon-plugin-packages.elegy.memory/write-workspace-memory"


class Clock:
    """A clock that a test moves."""

    at = 1_800_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@pytest.mark.parametrize(
    "same",
    [
        {"type": "fact", "content": "The port is 8080"},
        '{ "type" : "fact",\n "content": "The port is 8080" }',
        {"content": "The port is 8080", "type": "fact", "importance": 0.5},
    ],
    ids=["order", "text", "default-said"],
)
def test_an_approval_is_of_the_payload_as_it_is_normalised(rt, project, same):
    """What is the same payload is served by it; a default that is said is another."""
    session = rt.session(principal="ann", workspace=project)
    asked = session.call(REQUEST, {"content": "The port is 8080", "type": "fact"})
    rt.approvals.approve(asked.output["approval"], by="bob", reason="true")

    result = session.call(WRITE, same)

    if isinstance(same, dict) and "importance" in same:
        assert code_of(result) == "approval_mismatch"
    else:
        assert result.status is holon.Status.COMPLETED


def test_an_approval_that_nobody_used_in_time_serves_no_more(tmp_path, project):
    """It expires as any approval does, and nothing is written."""
    clock = Clock()
    with holon.Runtime.open(tmp_path / "root", plugins=[plugin], discover=False, clock=clock) as rt:
        session = rt.session(principal="ann", workspace=project)
        asked = session.call(REQUEST, {"content": "The port is 8080"})
        rt.approvals.approve(asked.output["approval"], by="bob", reason="true")
        clock.at += 2 * 86_400

        result = session.call(WRITE, {"content": "The port is 8080"})

        assert code_of(result) == "approval_expired"
        assert session.call(SEARCH, {"query": "port"}).output["results"] == []


def test_one_approval_serves_one_of_many_writes_at_once(rt, project):
    """Eight threads with the approved payload: one writes, and one memory is there."""
    session = rt.session(principal="ann", workspace=project)
    asked = session.call(REQUEST, {"content": "The port is 8080"})
    rt.approvals.approve(asked.output["approval"], by="bob", reason="true")

    with ThreadPoolExecutor(8) as pool:
        payload = {"content": "The port is 8080"}
        results = list(pool.map(lambda _: session.call(WRITE, payload), range(8)))

    assert sum(bool(each) for each in results) == 1
    refused = {code_of(each) for each in results if not each}
    assert refused <= {"approval_consumed", "approval_required"}
    assert len(session.call(SEARCH, {"query": "port"}).output["results"]) == 1


def test_requests_at_once_make_one_approval(rt, project):
    """Whoever asks for the same payload finds what another asked for."""
    session = rt.session(principal="ann", workspace=project)

    with ThreadPoolExecutor(8) as pool:
        payload = {"content": "The port is 8080"}
        asked = list(pool.map(lambda _: session.call(REQUEST, payload).output, range(8)))

    assert len({each["approval"] for each in asked}) == 1
    assert len(rt.approvals.list()) == 1


def test_an_imported_memory_package_changes_nothing_that_callers_see(opened, project, tmp_path):
    """It claims other schemas, no effects, no approval, by ids of its own or by the wrapper's."""
    before = {tool.id: tool.definition() for tool in opened().tools.list()}
    anything = {"type": "object", "additionalProperties": True}
    claims: list[dict[str, Any]] = [
        capability(
            id=name, input_schema=anything, output_schema=anything, effects=["none"], lane="api"
        )
        for name in ("write-workspace-memory", "search-workspace-memory")
    ]
    claimed = {
        "capabilities": claims,
        "adapter_bindings": [{"adapter": "memory", "capability": WRITE}],
    }
    for each in claims:
        del each["command"]
    rt = opened(packages)
    ask = Asked(rt)
    ask.session = rt.session(principal="ann", workspace=project)
    given = manifest(id="elegy.memory", **claimed)
    ask.installed(write_package(tmp_path / "own", given))
    taken = manifest(id="holon.built-in.memory", **claimed)
    with pytest.raises(holon.Rejected, match="belongs to another owner"):
        ask.installed(write_package(tmp_path / "taken", taken))

    after = {tool.id: tool.definition() for tool in rt.tools.list()}

    assert {each: after[each] for each in before} == before
    assert CLAIMED in after
    assert code_of(ask.session.call(WRITE, {"content": "x"})) == "approval_required"
    assert ask.session.call(WRITE, {"text": "x"}).failure.code == "arguments_invalid"
    assert ask.session.call(CLAIMED, {"content": "x"}).status is holon.Status.BLOCKED


def test_no_row_and_no_tool_reaches_purge(rt):
    """The command can delete everything; nothing of this lane asks it to."""
    rows = {row.method for row in rt._parts.operations.values() if row.noun == "memory"}

    assert rows == {
        f"memory/{verb}"
        for verb in ("search", "write", "list", "read", "health", "export", "import")
    }
    assert {tool.id.rpartition("/")[2] for tool in rt.tools.list()} == {
        each.rpartition("/")[2] for each in (SEARCH, WRITE, REQUEST)
    }


def test_a_result_that_says_more_than_it_has_to_is_taken(opened, fake, write):
    """The published results are closed, and the real program says more."""
    more = {**ADDED, "memory": {**FULL, "tenantId": None, "extra": [1]}, "warnings": []}
    rt = opened(memory={"command": fake(f"{HEALTH}\n{printing(more)}")})

    result = write(rt, content="a note")

    assert result.output["memory"]["id"] == "m1"


@pytest.mark.parametrize(
    ("health", "code"),
    [
        (printing({}, schemaVersion="elegy.cli/v9"), "output_schema"),
        ("sys.exit(1)", "tool_exit"),
        ("print('elegy-memory 3.1')", "output_not_json"),
    ],
    ids=["another-envelope", "fails", "a-version-text"],
)
def test_a_command_is_probed_by_its_health_before_it_is_searched(
    opened, fake, project, health, code
):
    """It has no --version: what does not answer as the contract says is not used."""
    body = f"if words[0] != 'health': open('/dev/null').nothing\n{health}"
    rt = opened(memory={"command": fake(body)})

    result = rt.session(principal="ann", workspace=project).call(SEARCH, {"query": "x"})

    assert code_of(result) == code


def test_write_walks_a_person_through_the_approval(tmp_path):
    """At a terminal the exact payload is shown; `a` and a reason, and it is written."""
    command = Command(tmp_path)
    words = ("memory", "write", "Deploys happen on Tuesdays", "--type", "procedure")
    where = ("--workspace", str(command.folder))

    argv = command.argv(*words, *where)
    with terminal(argv, cwd=command.folder, environment=command.environment) as made:
        view = made.read_until("quit (q): ")
        made.type("a")
        made.read_until("reason: ")
        made.type("the team agreed\n")
        code = made.end()
    found = command("memory", "search", "deploys", *where, "--json").json

    assert code == 0, made.seen
    assert "Deploys happen on Tuesdays" in view
    assert [hit["type"] for hit in found["output"]["results"]] == ["procedure"]
