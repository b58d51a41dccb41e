"""Workflows by their operations: plans, people's answers over JSON-RPC, and who may what."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_workflows.plugin as lane
from command import Command
from flows import call, definition, node
from holon_core.records.words import Authority

PLAN = {
    "goal": "Send a number",
    "steps": [
        {"id": "look", "summary": "Double", "tool": "host.app/double", "arguments": {"n": 2}},
        {"id": "ask", "summary": "Ask", "question": "Sure?"},
    ],
}


@pytest.fixture
def ask(rt: holon.Runtime, ann: holon.Session) -> Any:
    """Asks an operation as ann, with all authorities."""

    def ask(method: str, **params: Any) -> Any:
        return rt.dispatch(method, params, caller=ann.caller, authorities=[*Authority])

    return ask


def test_the_schema_of_definitions_judges_as_creating_does(ask: Any) -> None:
    """Anybody may read it, with the kinds and their configs; what breaks it is refused."""
    from jsonschema import Draft202012Validator

    told = ask("workflow-definition/schema")
    validator = Draft202012Validator(told["schema"])
    good, bad = definition(call("a")), {**definition(call("a")), "nodes": []}

    assert {"capability", "human-gate", "ai-step", "loop"} <= {e["kind"] for e in told["kinds"]}
    assert list(validator.iter_errors(good)) == []
    [error] = validator.iter_errors(bad)
    with pytest.raises(holon.Rejected) as refused:
        ask("workflow-definition/create", document=bad)
    assert [each.path for each in refused.value.findings] == [
        "/" + "/".join(map(str, error.absolute_path))
    ]


def test_a_plan_is_made_a_definition_by_its_row(ask: Any, ann: holon.Session) -> None:
    """What passed its gate is kept; with `only_show` nothing is."""
    accepted = ann.accept_output("planner_output", PLAN).raise_for_failure()

    shown = ask("workflow-definition/from-plan", output=accepted.output_id, id="p", only_show=True)
    assert ask("workflow-definition/list")["definitions"] == []
    made = ask("workflow-definition/from-plan", output=accepted.output_id, id="p")

    assert (shown["kept"], made["kept"]) == (False, True)
    assert shown["document"] == made["document"]
    assert made["document"]["plan_digest"] == accepted.digest
    kept = ask("workflow-definition/read", id="p")
    assert [each["kind"] for each in kept["document"]["nodes"]] == ["capability", "human-gate"]


def test_a_plan_with_errors_is_told_and_not_kept(ask: Any, ann: holon.Session) -> None:
    """A step that would be lost keeps the whole of it out."""
    plan = {"goal": "Write", "steps": [{"id": "w", "summary": "Write", "instruction": "Write it"}]}
    accepted = ann.accept_output("planner_output", plan).raise_for_failure()

    made = ask("workflow-definition/from-plan", output=accepted.output_id, id="p")

    assert not made["kept"]
    assert ("workflow_unmapped", "/steps/0") in {(f["code"], f["path"]) for f in made["findings"]}
    assert ask("workflow-definition/list")["definitions"] == []


def test_a_plan_of_somebody_else_is_handed_to_nobody(
    ask: Any, rt: holon.Runtime, ann: holon.Session
) -> None:
    """An output is its caller's."""
    bob = rt.session(principal="bob")
    accepted = bob.accept_output("planner_output", PLAN).raise_for_failure()

    with pytest.raises(holon.Refused):
        ask("workflow-definition/from-plan", output=accepted.output_id, id="p")


def test_a_reviewed_plan_is_released_by_the_person_who_is_named(
    ask: Any, rt: holon.Runtime, ann: holon.Session
) -> None:
    """By rows alone: definition, start, gate, answer of the boss and of nobody else."""
    plan = ann.accept_output("planner_output", PLAN).raise_for_failure()
    said = {"verdict": "approve", "summary": "fine", "findings": [], "plan_digest": plan.digest}
    review = ann.accept_output("reviewer_output", said).raise_for_failure()
    inputs = {"plan": {"value": plan.output_id}, "review": {"value": review.output_id}}
    gate = node("p", "plan-approval", {"assignee": "boss"}, inputs=inputs)
    document = definition(gate, call("a"), plan_digest=plan.digest)
    ask("workflow-definition/create", document=document)
    ask("workflow-run/start", definition="demo", run="r")
    assert ask("workflow-run/ready-run", run="r")["state"] == "waiting"
    [shown] = ask("human-gate/list", run="r")["gates"]
    assert shown["shown"]["plan"]["goal"] == "Send a number"
    assert shown["shown"]["plan_digest"] == plan.digest

    with pytest.raises(holon.Refused) as refused:
        ask("human-gate/answer", gate=shown["id"], choice="release")
    boss = rt.session(principal="boss").caller
    params = {"gate": shown["id"], "choice": "release", "reason": "read it"}
    rt.dispatch("human-gate/answer", params, caller=boss, authorities=[Authority.APPROVER])

    assert refused.value.failure.code == "not_allowed"
    run = ask("workflow-run/ready-run", run="r")
    assert run["state"] == "completed"
    assert run["steps"][0]["output"]["by"] == "boss"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("workflow-run/read", {"run": "r"}),
        ("workflow-run/ready-run", {"run": "r"}),
        ("workflow-run/cancel", {"run": "r", "reason": "mine"}),
        ("workflow-step/list", {"run": "r"}),
        ("workflow-event/list", {"run": "r"}),
        ("workflow-evidence/list", {"run": "r"}),
    ],
)
def test_a_run_of_somebody_else_is_not_there(
    ask: Any, rt: holon.Runtime, method: str, params: dict[str, str]
) -> None:
    """A caller sees and drives its own."""
    ask("workflow-definition/create", document=definition(call("a")))
    ask("workflow-run/start", definition="demo", run="r")

    with pytest.raises(holon.Refused) as refused:
        rt.dispatch(method, params, caller=rt.session(principal="bob").caller)

    assert refused.value.failure.code == "unknown_run"


@pytest.mark.parametrize("given", [{"accept": ["host.app/double"]}, {"take_over": True}])
def test_an_operator_alone_accepts_and_takes_over(
    ask: Any, rt: holon.Runtime, ann: holon.Session, given: dict[str, Any]
) -> None:
    """Who started a run does not change what it is bound to."""
    ask("workflow-definition/create", document=definition(call("a")))
    ask("workflow-run/start", definition="demo", run="r")

    with pytest.raises(holon.Refused) as refused:
        rt.dispatch("workflow-run/resume", {"run": "r", **given}, caller=ann.caller)

    assert refused.value.failure.code == "not_allowed"
    assert ask("workflow-run/resume", run="r", **given)["state"] == "completed"


class Client:
    """Speaks JSON-RPC to `holon serve`, one request after the other."""

    def __init__(self, holon: Command, *options: str) -> None:
        self._process = subprocess.Popen(
            holon.argv("serve", *options),
            cwd=holon.folder,
            env=holon.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._number = 0

    def __call__(self, method: str, **params: Any) -> Any:
        """Ask; return the result, or the failure's code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        while True:
            answer = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._number:
                break
        if "error" in answer:
            return answer["error"]["data"]["failure"]
        return answer["result"]

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Any]:
    """Starts servers on one store, with a gate's definition kept in it."""
    holon_command = Command(tmp_path)
    form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    config = {"question": "How many?", "form": form, "choices": ["go", "stop"]}
    late = {**config, "expires_after_s": 0.05, "on_expiry": {"choose": "stop"}}
    with holon.Runtime.open(holon_command.root, discover=False, plugins=[lane]) as rt:
        flows = rt.service("workflows")
        flows.create(definition(node("g", "human-gate", config), id="gate"), by="olga")
        flows.create(definition(node("g", "human-gate", late), id="late"), by="olga")
    clients: list[Client] = []

    def serve(*options: str) -> Client:
        clients.append(Client(holon_command, *options))
        return clients[-1]

    yield serve
    for each in clients:
        each.close()


def test_a_gate_is_answered_over_json_rpc(serving: Any) -> None:
    """Asked, answered wrongly, answered once, refused twice, late, and gone on as it says."""
    ann = serving("--actor", "ann", "--operator", "--approver", "boss")
    ann("workflow-run/start", definition="gate", run="r")
    waits = ann("workflow-run/ready-run", run="r")["waits_for"][0]
    [gate] = ann("human-gate/list")["gates"]
    assert (gate["id"], gate["question"]) == (waits["gate"], "How many?")

    wrong = ann("human-gate/answer", gate=gate["id"], choice="go", values={"n": "many"})
    right = ann("human-gate/answer", gate=gate["id"], choice="go", values={"n": 3}, reason="so")
    twice = ann("human-gate/answer", gate=gate["id"], choice="stop", values={"n": 4})
    run = ann("workflow-run/ready-run", run="r")

    assert (wrong["code"], wrong["details"]["path"]) == ("arguments_invalid", "/values/n")
    assert (right["state"], right["answer"]["by"]) == ("answered", "boss")
    assert twice["code"] == "workflow_state"
    assert run["state"] == "completed"
    assert run["steps"][0]["output"]["values"] == {"n": 3}
    kinds = [each["kind"] for each in ann("workflow-event/list", run="r")["events"]]
    assert kinds.count("gate_answered") == 1

    ann("workflow-run/start", definition="late", run="l")
    ann("workflow-run/ready-run", run="l")
    import time

    time.sleep(0.1)
    refused = ann("human-gate/answer", gate="l/g/1", choice="go", values={"n": 3})
    run = ann("workflow-run/ready-run", run="l")
    assert refused["code"] == "workflow_state"
    assert run["state"] == "completed"
    assert (run["steps"][0]["output"]["choice"], run["steps"][0]["output"]["expired"]) == (
        "stop",
        True,
    )


def test_nobody_served_answers_for_an_own_run(serving: Any) -> None:
    """Whatever authorities it was started with: that is for the prompt's one person alone."""
    ann = serving("--actor", "ann", "--operator", "--approver", "ann")
    ann("workflow-run/start", definition="gate", run="r")
    gate = ann("workflow-run/ready-run", run="r")["waits_for"][0]["gate"]

    refused = ann("human-gate/answer", gate=gate, choice="go", values={"n": 3})

    assert refused["code"] == "self_approval"
