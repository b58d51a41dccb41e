"""Dispatch: from a method and its parameters to an answer that fits its schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

import holon_core as holon
from holon_core.errors import JsonRefused, Misuse, Refused, Rejected, StoreError
from holon_core.operations.faults import problem_of
from holon_core.operations.table import OPERATIONS
from holon_core.records.finding import Finding
from holon_core.records.words import Authority
from support import label

ALL = frozenset(Authority)
WRITE = {"tool": "host.app/write", "arguments": {"text": "hi"}}


def test_every_operation_can_be_asked(ask, tmp_path, runtime):
    """A story through every row; the fixture holds each answer to its response schema."""
    asked: set[str] = set()

    def do(method: str, **params: Any) -> Any:
        asked.add(method)
        return ask(method, who="bo", authorities=ALL, **params)

    def hold(text: str) -> str:
        call = do("runtime-tool/call", tool="host.app/write", arguments={"text": text})
        return str(call["held"])

    do("runtime-tool/list")
    do("runtime-tool/read", tool="host.app/add")
    do("runtime-tool/pin", tool="host.app/add", reason="reviewed")
    do("runtime-tool/list-pins")
    do("runtime-tool/diff", tool="host.app/add")
    do("runtime-tool/unpin", tool="host.app/add", reason="trusted")
    do("runtime-tool/refresh")
    do("runtime-capability/discover", query="add")
    do("runtime-tool/dry-run", **WRITE)
    do("runtime-tool/explain", **WRITE)
    do("policy/explain", **WRITE)
    do("execution-approval/request", tool="host.app/write", arguments={"text": "later"})
    first, second, third = hold("1"), hold("2"), hold("3")
    do("execution-approval/list")
    do("execution-approval/read", id=first)
    do("execution-approval/approve", id=first, reason="ok")
    do("execution-approval/wait", id=first, timeout_s=0)
    do("runtime-tool/release", call_id=first)
    do("execution-approval/deny", id=second, reason="no")
    do("execution-approval/edit", call_id=third, arguments={"text": "4"}, reason="better")
    granted = do(
        "execution-approval/grant",
        tool="host.app/write",
        pattern={"text": {"glob": "x*"}},
        principal="ann",
        uses=2,
        ttl_s=60,
        reason="often",
    )
    do("execution-approval/revoke", id=granted["id"], reason="enough")
    head = do("evidence/head")
    do("evidence/list", limit=2)
    do("evidence/list", newest=True)
    do("evidence/read", call_id=first)
    do("evidence/verify", head=head)
    do("evidence/export", path=str(tmp_path / "bundle.jsonl"))
    do("evidence/erase", call_id=first, reason="asked for")
    opened = do("workspace/open", path=str(tmp_path / "place"), name="p", principals=["bo"])
    do("workspace/list")
    do("workspace/read", workspace_id=opened["id"])
    do("plugin/list")
    runtime.plugins.settle_guards(["old"], [])
    runtime.plugins.settle_guards([], [])
    do("plugin/retire", guard="old", reason="replaced")
    do("protocol/list")

    # Those of skills and of frozen tools need a lane, and answers of agents a class of them: they
    # are asked in the tests of these.
    elsewhere = {
        *("skill", "skill-source", "runtime-skill"),
        *("structured-output", "frozen-tool-proposal", "agent-profile", "agent-session"),
    }
    assert asked == {row.method for row in OPERATIONS.values() if row.noun not in elsewhere}


def test_an_answer_is_plain_json(ask):
    """What is answered survives a trip through JSON unchanged."""
    answer = ask("runtime-tool/list")

    assert json.loads(json.dumps(answer)) == answer
    assert [tool["side_effect_class"] for tool in answer["tools"]] == ["none", "machine_write"]


def test_a_completed_call_is_a_result(ask):
    """The result holds status, output, evidence and call id."""
    result = ask("runtime-tool/call", tool="host.app/add", arguments={"a": 1, "b": 2})

    assert (result["status"], result["output"]) == ("completed", {"sum": 3})
    assert [ref["seq"] for ref in result["evidence_refs"]] == [1, 2]


def test_a_refused_call_is_a_result_and_is_recorded(ask):
    """Wrong arguments of a tool are judged, and recorded, by the guarded call."""
    result = ask("runtime-tool/call", tool="host.app/add", arguments={"a": 1, "b": "x"})

    assert result["failure"]["code"] == "arguments_invalid"
    assert result["failure"]["details"]["path"] == "/b"
    records = ask("evidence/read", call_id=result["call_id"])["records"]
    assert [record["kind"] for record in records] == ["refused"]


@pytest.mark.parametrize(
    "arguments", [[1], "text", {"a": float("nan")}, {1: 2}, {"a": 2**60}], ids=label
)
def test_arguments_that_are_no_json_object_are_judged_by_the_call(ask, arguments):
    """The request is not refused as a whole: the attempt leaves its trail."""
    result = ask("runtime-tool/call", tool="host.app/add", arguments=arguments)

    assert result["failure"]["code"] == "arguments_invalid"
    assert len(result["evidence_refs"]) == 1


def test_a_held_call_is_a_result(ask, written):
    """Waiting for a person is an answer with the id to release."""
    result = ask("runtime-tool/call", **WRITE)

    assert result["status"] == "blocked"
    assert result["held"] == result["call_id"]
    assert result["failure"]["next_action"]
    assert written == []


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({}, ""),
        ({"tool": 1}, "/tool"),
        ({"tool": ""}, "/tool"),
        ({"tool": "x", "caller": {"principal": "root"}}, ""),
        ({"tool": "x", "principal": "root"}, ""),
        ({"tool": "x" * 401}, "/tool"),
        ({"tool": "x", "key": None}, "/key"),
        ({"tool": "\ud800"}, "/tool"),
    ],
    ids=["missing", "number", "empty", "caller", "principal", "long", "null", "surrogate"],
)
def test_a_request_that_does_not_fit_is_refused_with_its_path(ask, params, path):
    """Requests are read strictly; nothing is guessed, nothing runs."""
    with pytest.raises(Refused) as refused:
        ask("runtime-tool/call", **params)

    assert refused.value.failure.code == "arguments_invalid"
    assert refused.value.failure.details["path"] == path
    assert problem_of(refused.value).status == "misused"


def test_parameters_are_an_object(runtime):
    """A list of parameters is no request."""
    caller = runtime.session(principal="ann").caller

    with pytest.raises(Refused, match="JSON object"):
        runtime.dispatch("runtime-tool/list", ["x"], caller=caller)


def test_an_unknown_operation_is_named(ask, runtime):
    """A method without a row is misuse, and says where the rows are listed."""
    caller = runtime.session(principal="ann").caller

    with pytest.raises(Misuse, match="protocol/list"):
        runtime.dispatch("runtime-tool/destroy", {}, caller=caller)


def test_a_closed_runtime_answers_nothing(runtime):
    """Dispatch is part of the runtime's life."""
    caller = runtime.session(principal="ann").caller
    runtime.close()

    with pytest.raises(holon.RuntimeNotOpen):
        runtime.dispatch("runtime-tool/list", {}, caller=caller)


def test_pages_follow_one_another(ask):
    """`next_after` begins the next page and is null on the last."""
    first = ask("runtime-tool/list", limit=1)
    second = ask("runtime-tool/list", limit=1, after=first["next_after"])
    third = ask("runtime-tool/list", limit=1, after=second["next_after"])

    assert [t["id"] for t in first["tools"] + second["tools"]] == [
        "host.app/add",
        "host.app/write",
    ]
    assert (third["tools"], third["next_after"]) == ([], None)


def test_policy_explain_names_the_rule_that_decided(ask):
    """The answer is the decision, and the rule that made it."""
    asked = ask("policy/explain", **WRITE)
    stopped = ask("policy/explain", tool="host.app/write")

    assert asked["decision"] == "ask"
    assert asked["decided_by"].startswith("default:effects")
    assert stopped["decision"] is None
    assert "arguments_invalid" in stopped["stopped"]


def test_a_reading_of_an_approval_holds_the_view(ask):
    """Facts, payload and what the tool says of itself are there to decide by."""
    held = ask("runtime-tool/call", **WRITE)["held"]

    read = ask("execution-approval/read", id=held)

    assert read["held"][0]["call_id"] == held
    assert read["view"]["facts"]["principal"] == "ann"
    assert json.loads(read["view"]["payload"]["text"]) == {"text": "hi"}
    assert read["view"]["untrusted"]["description"] == "Write a text."


def test_the_view_shows_what_differs_from_the_last_approved(ask):
    """One changed character stands out."""
    first = ask("runtime-tool/call", **WRITE)["held"]
    ask("execution-approval/approve", who="bo", authorities=ALL, id=first, reason="ok")
    ask("runtime-tool/release", call_id=first)

    second = ask("runtime-tool/call", tool="host.app/write", arguments={"text": "ho"})["held"]

    changes = ask("execution-approval/read", id=second)["view"]["difference"]
    assert [(c["path"], c["before"], c["after"]) for c in changes] == [
        ("/arguments/text", '"hi"', '"ho"')
    ]


@pytest.mark.parametrize(
    ("error", "status", "member"),
    [
        (Misuse("wrong"), "misused", "failure"),
        (JsonRefused("nan", "NaN", "/a"), "misused", "failure"),
        (StoreError("store_corrupt", "damaged"), "failed", "failure"),
        (StoreError("store_locked", "busy"), "blocked", "failure"),
        (Rejected("tool", [Finding(code="invalid_id", message="m")]), "rejected", "findings"),
    ],
    ids=["misuse", "json", "corrupt", "locked", "rejected"],
)
def test_every_refusal_has_a_form_as_json(error, status, member):
    """One function turns what Holon raises into status and data."""
    problem = problem_of(error).to_json()

    assert problem["status"] == status
    assert problem[member]
    assert json.loads(json.dumps(problem)) == problem
