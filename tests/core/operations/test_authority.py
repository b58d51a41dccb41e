"""Authority: what a caller sees and does, and what takes an operator or an approver."""

from __future__ import annotations

import pytest

import holon_core as holon
from holon_core.errors import Refused
from holon_core.operations.table import ROWS
from holon_core.records.words import Authority

ALL = frozenset(Authority)
APPROVER = frozenset({Authority.APPROVER})
OPERATOR = frozenset({Authority.OPERATOR})
WRITE = {"tool": "host.app/write", "arguments": {"text": "hi"}}
ROWS_BY_AUTHORITY = {
    Authority.APPROVER: {"approve", "deny", "edit", "grant", "revoke"},
    Authority.OPERATOR: {"export", "erase", "open", "retire"},
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.method)
def test_an_operation_needs_its_authority(ask, row, written):
    """Without it the request is refused before its parameters are read."""
    others = frozenset(Authority) - {row.authority, *row.also}

    with pytest.raises(Refused) as refused:
        ask(row.method, authorities=others, nonsense=1)

    assert refused.value.failure.code == "not_allowed"
    assert refused.value.failure.details == {"authority": row.authority.value}


def test_deciding_takes_an_approver_and_the_host_an_operator():
    """The rows say so."""
    for authority, verbs in ROWS_BY_AUTHORITY.items():
        found = {row.verb for row in ROWS if row.authority is authority}
        assert verbs <= found


def test_the_list_of_operations_is_what_the_caller_may_use(ask):
    """A caller is offered caller operations only."""
    offered = ask("protocol/list")["operations"]
    every = ask("protocol/list", authorities=ALL)["operations"]

    assert {row["authority"] for row in offered} == {"caller"}
    assert len(every) == len(ROWS)


def test_a_caller_sees_its_own_approvals(ask):
    """Those of another principal are neither listed, read nor waited for."""
    held = ask("runtime-tool/call", who="ann", **WRITE)["held"]

    assert len(ask("execution-approval/list", who="ann")["approvals"]) == 1
    assert ask("execution-approval/list", who="eve")["approvals"] == []
    for method, more in (("read", {}), ("wait", {"timeout_s": 0})):
        with pytest.raises(Refused, match="not_allowed"):
            ask(f"execution-approval/{method}", who="eve", id=held, **more)


def test_an_approver_sees_all_approvals(ask):
    """Whoever decides sees what waits, in whichever workspace."""
    ask("runtime-tool/call", who="ann", **WRITE)

    seen = ask(
        "execution-approval/list",
        who="bo",
        where=None,
        authorities=APPROVER | {Authority.CALLER},
    )

    assert [each["principal"] for each in seen["approvals"]] == ["ann"]


def test_who_asked_does_not_decide(ask, written):
    """An approver's authority does not reach its own calls, except for the operator."""
    held = ask("runtime-tool/call", who="ann", **WRITE)["held"]

    with pytest.raises(Refused) as refused:
        ask("execution-approval/approve", who="ann", authorities=ALL, id=held, reason="me")

    assert refused.value.failure.code == "self_approval"
    assert written == []


def test_the_decision_names_who_holds_the_door(ask):
    """The approver is the caller of the request, never a parameter."""
    held = ask("runtime-tool/call", who="ann", **WRITE)["held"]

    decided = ask("execution-approval/approve", who="bo", authorities=ALL, id=held, reason="ok")

    assert decided["decided_by"] == "bo"
    with pytest.raises(Refused, match="arguments_invalid"):
        ask("execution-approval/deny", who="bo", authorities=ALL, id=held, reason="x", by="eve")


def test_a_caller_releases_its_own_calls(ask, written):
    """Another principal's is refused, and the refusal recorded."""
    held = ask("runtime-tool/call", who="ann", **WRITE)["held"]
    ask("execution-approval/approve", who="bo", authorities=ALL, id=held, reason="ok")

    other = ask("runtime-tool/release", who="eve", call_id=held)
    own = ask("runtime-tool/release", who="ann", call_id=held)

    assert other["failure"]["code"] == "not_allowed"
    assert (own["status"], written) == ("completed", ["hi"])


def test_an_approver_releases_anybodys_call_as_its_caller(ask, written):
    """It runs under the stored caller, whose trail it stays."""
    held = ask("runtime-tool/call", who="ann", **WRITE)["held"]
    ask("execution-approval/approve", who="bo", authorities=ALL, id=held, reason="ok")

    released = ask("runtime-tool/release", who="bo", where=None, authorities=ALL, call_id=held)

    assert (released["status"], released["call_id"], written) == ("completed", held, ["hi"])


def test_an_approver_needs_no_other_authority_to_release(ask, written):
    """Who may decide a call may let it run, and sees that this is offered."""
    held = ask("runtime-tool/call", who="ann", **WRITE)["held"]
    ask("execution-approval/approve", who="bo", authorities=ALL, id=held, reason="ok")
    approver = frozenset({Authority.APPROVER})

    offered = ask("protocol/list", who="bo", authorities=ALL)["operations"]
    released = ask("runtime-tool/release", who="bo", authorities=approver, call_id=held)

    assert "runtime-tool/release" in {row["method"] for row in offered}
    assert (released["status"], written) == ("completed", ["hi"])
    with pytest.raises(Refused, match="not_allowed"):
        ask("runtime-tool/call", who="bo", authorities=approver, **WRITE)


def test_a_release_by_an_approver_names_who_released_it(ask):
    """The record of what runs says so; a caller's own release needs no name beside its own."""
    said = {}
    for who in ("ann", "bo"):
        held = ask("runtime-tool/call", who="ann", **WRITE)["held"]
        ask("execution-approval/approve", who="bo", authorities=ALL, id=held, reason="ok")
        ask("runtime-tool/release", who=who, authorities=ALL, call_id=held)
        records = ask("evidence/read", who="ann", call_id=held)["records"]
        [said[who]] = [r["body"] for r in records if r["kind"] == "accepted"]

    assert "released_by" not in said["ann"]
    assert said["bo"]["released_by"] == "bo"
    assert said["bo"]["caller"]["principal"] == "ann"


def test_a_release_is_named_where_policy_asks_no_more(ask, runtime, tmp_path):
    """What needs no approval by now is released by name, too."""
    held = ask("runtime-tool/call", who="ann", **WRITE)["held"]
    ask("execution-approval/approve", who="bo", authorities=ALL, id=held, reason="ok")
    runtime.close()
    allowing = {"rules": [{"id": "host.app/write", "decision": "allow"}]}

    @holon.tool(effects={"machine_write"})
    def write(text: str) -> dict[str, int]:
        """Write a text."""
        return {"count": 1}

    with holon.Runtime.open(
        tmp_path / "root", tools=[write], discover=False, config=allowing
    ) as again:
        bo = again.session(principal="bo").caller
        given = {"call_id": held}
        released = again.dispatch("runtime-tool/release", given, caller=bo, authorities=ALL)
        [accepted] = [r for r in again.evidence.read(held) if r.kind == "accepted"]

    assert released["status"] == "completed"
    assert accepted.body["policy"]["decision"] == "allow"
    assert accepted.body["released_by"] == "bo"


def test_a_caller_sees_the_evidence_of_its_own_calls(ask):
    """All records of its calls, its decisions by others included, and no one else's."""
    mine = ask("runtime-tool/call", who="ann", **WRITE)["call_id"]
    ask("execution-approval/approve", who="bo", authorities=ALL, id=mine, reason="ok")
    other = ask("runtime-tool/call", who="eve", tool="host.app/add", arguments={"a": 1, "b": 1})

    seen = ask("evidence/list", who="ann")["records"]

    assert [(r["call_id"], r["kind"]) for r in seen] == [(mine, "held"), (mine, "approved")]
    assert ask("evidence/read", who="ann", call_id=other["call_id"])["records"] == []
    assert len(ask("evidence/list", who="bo", authorities=ALL)["records"]) == 4


@pytest.mark.parametrize("verb", ["list", "verify", "head"])
def test_a_caller_has_the_evidence_of_its_own_workspace(ask, verb):
    """Another chain is refused; to an operator it is not."""
    with pytest.raises(Refused, match="not_allowed"):
        ask(f"evidence/{verb}", workspace="other")

    assert ask(f"evidence/{verb}", workspace=None, authorities=ALL)


def test_a_caller_without_a_workspace_sees_no_others_calls_there(ask):
    """The chain of calls without a workspace is shared, its records are not."""
    add = {"tool": "host.app/add", "arguments": {"a": 1, "b": 1}}
    ask("runtime-tool/call", who="ann", where=None, **add)
    ask("runtime-tool/call", who="eve", where=None, **add)

    seen = ask("evidence/list", who="ann", where=None)["records"]

    assert len(seen) == 2


def test_a_caller_sees_its_own_workspace(ask, tmp_path):
    """Others are neither listed nor read."""
    other = tmp_path / "other"
    other.mkdir()
    theirs = ask("workspace/open", authorities=ALL, path=str(other))

    assert [w["name"] for w in ask("workspace/list")["workspaces"]] == ["place"]
    assert len(ask("workspace/list", authorities=ALL)["workspaces"]) == 2
    with pytest.raises(Refused, match="not_allowed"):
        ask("workspace/read", workspace_id=theirs["id"])
