"""The abuse cases of the area workflow, by id."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from flows import call, definition, line, node


def rejected(flows: Any, document: dict[str, Any]) -> dict[str, str]:
    """Return the findings of a definition that is refused, by path."""
    with pytest.raises(holon.Rejected) as refused:
        flows.create(document, by="olga")
    return {each.path: each.message for each in refused.value.findings if each.severity == "error"}


def test_ab_workflow_001(flows: Any) -> None:
    """A cycle is refused with the ring written out."""
    ring = definition(call("a"), call("b"), call("c"), edges=line("a", "b", "c", "a"))

    found = rejected(flows, ring)

    assert "a -> b -> c -> a" in found["/nodes/0"]


def test_ab_workflow_002(flows: Any) -> None:
    """Missing, unreachable and duplicate nodes are told at once, with pointers."""
    edges = [{"from": "a", "to": "b"}, {"from": "b", "to": "ghost"}]
    broken = definition(call("a"), call("a"), call("b"), call("island"), entry="a", edges=edges)

    found = rejected(flows, broken)

    assert found.keys() == {"/nodes/1/id", "/edges/1/to", "/nodes/3"}


def test_ab_workflow_003(flows: Any, ann: Any) -> None:
    """A branch without a match fails the run there, with the value and the conditions."""
    cases = [{"equals": "ok", "to": "x"}, {"equals": "bad", "to": "y"}]
    flows.create(
        definition(
            node("q", "branch-condition", {"on": "inputs.status", "cases": cases}),
            call("x"),
            call("y"),
            inputs={"type": "object", "properties": {"status": {"type": "string"}}},
            edges=[],
        ),
        by="olga",
    )

    run = flows.run("demo", {"status": "odd"}, session=ann)

    assert run.state == "failed"
    assert run.failure["code"] == "workflow_no_branch"
    assert run.failure["details"]["values"] == {"inputs.status": "'odd'"}
    assert len(run.failure["details"]["conditions"]) == 2
    assert run.step("x").state == "skipped"


@pytest.mark.parametrize(
    "config",
    [
        {"until": "9999-12-31T23:59:59Z"},
        {"until": "10000-01-01T00:00:00Z"},
        {"after_s": -1},
        {"after_s": float("nan")},
        {"until": "2030-01-01T00:00:00"},
    ],
    ids=["far", "year-10000", "negative", "nan", "no-offset"],
)
def test_ab_workflow_004_refused(flows: Any, config: dict[str, Any]) -> None:
    """Times that are none, or too far away, are refused at registration."""
    assert rejected(flows, definition(node("t", "wait-timer", config)))


def test_ab_workflow_004_past(flows: Any, ann: Any) -> None:
    """A time in the past passes at once, and says so."""
    timer = node("t", "wait-timer", {"until": "2001-01-01T00:00:00Z"})
    flows.create(definition(timer), by="olga")

    run = flows.run("demo", session=ann)

    assert run.state == "completed"
    assert run.step("t").output["passed_at_once"] is True


DYING = Path(__file__).with_name("dying.py")
# Where the tool lies that runs in a process of its own.
AROUND = {**os.environ, "PYTHONPATH": str(DYING.parents[1] / "support")}


def run(command: list[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a host that may die."""
    return subprocess.run(
        command, check=check, capture_output=True, timeout=60, text=True, env=AROUND
    )


@pytest.mark.parametrize(
    ("point", "lines", "state"),
    [
        ("before", 1, "completed"),
        ("started", 0, "blocked"),
        ("effect", 1, "blocked"),
        ("ended", 1, "completed"),
    ],
)
def test_ab_workflow_005(tmp_path: Path, point: str, lines: int, state: str) -> None:
    """A kill around a step with side effects: run once, asked about, or taken as recorded."""
    command = [sys.executable, str(DYING), str(tmp_path)]
    died = subprocess.run(
        [*command, point], check=False, capture_output=True, timeout=60, env=AROUND
    )
    assert died.returncode == -9, died.stderr

    went_on = run([*command, "none"])

    said, code = went_on.stdout.split()
    assert said == state
    assert code == ("workflow_step_indeterminate" if state == "blocked" else "-")
    file = tmp_path / "effects"
    assert (file.read_text().count("x") if file.exists() else 0) == lines


def test_ab_workflow_006(rt: holon.Runtime, flows: Any, ann: Any) -> None:
    """One resume owns the run, the other is refused and told the owner."""
    begun, go_on, ran = threading.Event(), threading.Event(), []

    @holon.tool(effects={"none"}, name="slow")
    def slow(n: int) -> int:
        """Wait until the other has tried."""
        ran.append(n)
        begun.set()
        go_on.wait(10)
        return n

    rt.register(slow)
    flows.create(definition(call("a", "slow")), by="olga")
    run = flows.start("demo", session=ann)
    first = threading.Thread(target=flows.resume, args=[run.id])
    first.start()
    assert begun.wait(10)

    with pytest.raises(holon.Refused) as refused:
        flows.resume(run.id)
    go_on.set()
    first.join()

    assert refused.value.failure.code == "workflow_state"
    assert refused.value.failure.details["owner"]
    assert flows.read(run.id).state == "completed"
    assert ran == [1]


def test_ab_workflow_007(flows: Any, ann: Any, clock: Any) -> None:
    """The first answer of a gate stands; later ones are refused with its time."""
    gate = node("g", "human-gate", {"question": "Go?", "choices": ["approve", "reject"]})
    flows.create(definition(gate), by="olga")
    run = flows.run("demo", session=ann)
    gate_id = run.waits_for[0]["gate"]
    flows.answer(gate_id, by="a", choice="approve")

    for choice in ("approve", "reject"):
        clock.at += 5
        with pytest.raises(holon.Refused) as refused:
            flows.answer(gate_id, by="b", choice=choice)
        assert refused.value.failure.code == "workflow_state"
        at = refused.value.failure.details["answered_at_unix_seconds"]
        assert at < clock.at

    assert flows.ready_run(run.id).step("g").output["by"] == "a"


def turns(times: int) -> dict[str, Any]:
    """Make a loop that sends, and then asks whether to go on."""
    body = {
        "nodes": [
            call("s", "send"),
            node("g", "human-gate", {"question": "Again?", "choices": ["again", "enough"]}),
        ],
        "edges": line("s", "g"),
        "outputs": {"choice": "steps.g.output.choice"},
    }
    config = {"body": body, "while": "previous.choice == 'again'", "max_turns": times}
    return node("turns", "loop", config)


def test_ab_workflow_008(flows: Any, ann: Any, rt: holon.Runtime, shop: Any) -> None:
    """The write of each turn happens once; an answer for an earlier turn is refused."""
    flows.create(definition(turns(3)), by="olga")
    run = flows.run("demo", session=ann)
    answered = []
    for choice in ("again", "again", "enough"):
        rt.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ok")
        run = flows.ready_run(run.id)
        gate = run.waits_for[0]["gate"]
        flows.answer(gate, by="boss", choice=choice)
        for earlier in answered:
            with pytest.raises(holon.Refused):
                flows.answer(earlier, by="boss", choice="enough")
        answered.append(gate)
        run = flows.ready_run(run.id)

    assert run.state == "completed"
    assert shop.sent == [1, 1, 1]
    assert len(set(answered)) == 3


def test_ab_workflow_009(tmp_path: Path) -> None:
    """Cancelling ends the tree of the running step; what comes after never starts."""
    command = [sys.executable, str(DYING), str(tmp_path), "cancel"]

    done = subprocess.run(
        command, check=True, capture_output=True, timeout=60, text=True, env=AROUND
    )

    assert done.stdout.split() == ["cancelled", "completed", "cancelled", "cancelled", "gone"]


def test_ab_workflow_010(flows: Any, ann: Any, rt: holon.Runtime, shop: Any) -> None:
    """An approval is for the payload of the version that asked; another version's is refused."""
    flows.create(definition(call("a", "send", n={"value": 1})), by="olga")
    first = flows.run("demo", session=ann)
    flows.create(definition(call("a", "send", n={"value": 2}), version="2"), by="olga")
    rt.approvals.approve(first.waits_for[0]["call"], by="boss", reason="ok")

    second = flows.run("demo", session=ann)
    held = rt.approvals.held_call(second.waits_for[0]["call"])
    first = flows.ready_run(first.id)

    assert (first.version, second.version) == ("1", "2")
    assert held.arguments == {"n": 2}
    assert second.state == "waiting"
    assert first.state == "completed"
    assert shop.sent == [1]


def test_ab_workflow_011(flows: Any, ann: Any, model: Any) -> None:
    """An answer that breaks its schema is repaired once, then the step fails; nobody saw it."""
    model.answers = ["Sure! Here you go.", '{"title": 7}']
    config = model.config(budget={"max_attempts": 2})
    config["output_schema"] = {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "additionalProperties": False,
    }
    after = node("q", "branch-condition", {"cases": [{"when": "`true`", "to": "b"}]})
    flows.create(
        definition(node("a", "ai-step", config), after, call("b"), edges=line("a", "q")), by="olga"
    )

    run = flows.run("demo", session=ann)

    assert run.state == "failed"
    assert run.failure["code"] == "output_schema"
    assert len(model.asked) == 2
    assert run.step("a").output is None
    assert run.step("q").state == "skipped"


def test_ab_workflow_012(flows: Any, ann: Any, rt: holon.Runtime) -> None:
    """A loop that never ends is ended by its limit, and evidence shows the count."""
    body = {"nodes": [call("s")], "outputs": {"n": "steps.s.output.result"}}
    config = {"body": body, "while": "previous.n == `2`", "max_turns": 4}
    flows.create(definition(node("l", "loop", config)), by="olga")

    run = flows.run("demo", session=ann)

    assert run.state == "failed"
    assert run.failure["code"] == "workflow_limit"
    assert run.failure["details"]["turns"] == 4
    ended = [
        each
        for each in flows.events(run.id)
        if each["kind"] == "run_completed" and ":l." in each["run"]
    ]
    assert len(ended) == 4
