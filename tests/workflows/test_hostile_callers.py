"""What a caller gives: ids that are somebody else's, values that break an expression."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_workflows.plugin as lane
from flows import call, definition, node

TEXT = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "many": {"type": "array"}},
    "additionalProperties": False,
}
GATE = node("ask", "human-gate", {"question": "Pay?", "choices": ["yes", "no"]})


@pytest.mark.parametrize(
    "run_id",
    [
        "order-9/ask",
        "order-9:pay.0",
        "schedule@1800000000",
        "two\nlines",
        "\x1b[31m",
        "a\u202eb",
        "a\u200bb",
        " spaced ",
        "-first",
        "",
        "a" * 101,
    ],
    ids=ascii,
)
def test_a_caller_gives_a_run_no_id_that_may_be_anothers(
    flows: Any, ann: Any, rt: holon.Runtime, run_id: str
) -> None:
    """Steps, runs within runs and scheduled runs have ids that no caller can take."""
    flows.create(definition(call("a")), by="olga")

    with pytest.raises(holon.Refused) as by_python:
        flows.start("demo", session=ann, run_id=run_id)
    given = {"definition": "demo", "run": run_id}
    with pytest.raises(holon.Refused) as by_protocol:
        rt.dispatch("workflow-run/start", given, caller=ann.caller)

    assert by_python.value.failure.details["path"] == "/run"
    assert by_protocol.value.failure.code == "arguments_invalid"
    assert flows.list() == []


def test_a_run_that_is_no_run_of_a_step_is_not_taken_for_it(flows: Any, ann: Any) -> None:
    """Whoever could write one under its id answers no gate within another's run."""
    review = definition(GATE, id="review", outputs={"choice": "steps.ask.output.choice"})
    flows.create(review, by="olga")
    echo = definition(
        node("t", "wait-timer", {"after_s": 0}), id="echo", outputs={"choice": '`"yes"`'}
    )
    flows.create(echo, by="olga")
    flows.create(
        definition(node("r", "sub-workflow", {"workflow": "review"}), call("pay", "send")),
        by="olga",
    )
    mallory = flows.start("echo", session=ann, run_id="mine")
    flows.ready_run("mine")
    bench = flows._parts.bench
    forged = {**bench.read(lambda view: view.get("runs", mallory.id)), "id": "order:r.0"}
    bench.change(lambda change: change.put("runs", "order:r.0", forged))

    flows.start("demo", session=ann, run_id="order")
    run = flows.ready_run("order")

    assert (run.state, run.failure["code"]) == ("failed", "conflict")
    assert run.step("pay").state == "skipped"


NOT_JSON = {
    "nan": ("floor(to_number(inputs.s))", "nan"),
    "infinity": ("to_number(inputs.s)", "inf"),
    "sum": ("sum([`1e308`, `1e308`])", ""),
    "integer": ("sum([`9007199254740991`, `9007199254740991`])", ""),
    "step-of-nothing": ("inputs.many[::0]", ""),
    "digits": ("to_number(inputs.s)", "9" * 5000),
    "surrogate": ('`"\\ud800"`', ""),
}


@pytest.mark.parametrize(("expression", "given"), NOT_JSON.values(), ids=NOT_JSON)
@pytest.mark.parametrize("where", ["input", "output", "timer"])
def test_a_value_that_breaks_an_expression_fails_its_run_and_no_other(
    flows: Any, ann: Any, where: str, expression: str, given: str
) -> None:
    """What serves the store goes on, and the run says why it failed."""
    if where == "input":
        made = definition(call("a", n={"from": expression}), inputs=TEXT)
    elif where == "output":
        made = definition(call("a"), inputs=TEXT, outputs={"o": expression})
    else:
        made = definition(node("a", "wait-timer", {"after_s": {"from": expression}}), inputs=TEXT)
    flows.create({**made, "id": "bad"}, by="olga")
    flows.create(definition(call("a")), by="olga")
    flows.start("bad", {"s": given, "many": [1]}, session=ann, run_id="bad")
    flows.start("demo", session=ann, run_id="good")

    assert flows.serve(until_idle=True) == 2

    assert flows.read("good").state == "completed"
    bad = flows.read("bad")
    assert (bad.state, bad.failure["code"]) == ("failed", "workflow_expression")


def test_no_fault_of_a_run_or_a_schedule_stops_a_server(
    flows: Any, ann: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is raised while one is served is logged once, and the others are served."""
    flows.create(definition(call("a")), by="olga")
    flows.schedules.add("demo", {}, caller=ann.caller, when={"at": clock.at})
    for name in ("bad", "good"):
        flows.start("demo", session=ann, run_id=name)
    engine, drive = flows.engine, flows.engine.drive

    def broken(root: str, **more: Any) -> Any:
        if root == "bad":
            raise ZeroDivisionError("of a kind of somebody's")
        return drive(root, **more)

    monkeypatch.setattr(engine, "drive", broken)
    monkeypatch.setattr(flows.schedules, "_fire", lambda *_: math.sqrt(-1))

    assert flows.serve(until_idle=True) == 1
    assert flows.read("good").state == "completed"


def test_tools_of_every_version_that_is_used_are_bound(tmp_path: Path) -> None:
    """Of two versions of one workflow both are pinned, and the newest is what no version means."""

    def opened(text: str) -> holon.Runtime:
        def late() -> str:
            return text

        late.__doc__ = f"Say {text}."
        tool = holon.tool(effects={"none"})(late)
        return holon.Runtime.open(tmp_path / "root", discover=False, plugins=[lane], tools=[tool])

    late = {"id": "a", "kind": "capability", "config": {"tool": "host.app/late"}}
    with opened("one") as rt:
        flows: Any = rt.service("workflows")
        flows.create(definition(node("t", "wait-timer", {"after_s": 0}), id="w"), by="olga")
        flows.create(definition(late, id="w", version="2"), by="olga")
        uses = [
            node("first", "sub-workflow", {"workflow": "w", "version": "1"}),
            node("second", "sub-workflow", {"workflow": "w"}),
        ]
        flows.create(definition(GATE, *uses), by="olga")
        run = flows.run("demo", session=rt.session(principal="ann"))
        flows.answer(run.waits_for[0]["gate"], by="boss", choice="yes")

    with opened("two") as rt:
        flows = rt.service("workflows")
        run = flows.ready_run(run.id)

        assert run.step("first").state == "completed"
        changed = flows.read(f"{run.id}:second.0").step("a")
        assert (changed.state, changed.failure["code"]) == ("blocked", "definition_changed")


@pytest.fixture
def told(rt: holon.Runtime, ann: holon.Session) -> str:
    """A call of Ann that nobody else is to read about."""
    return ann.call("host.app/double", {"n": 4711}).call_id


def test_no_run_is_called_like_a_call(flows: Any, rt: holon.Runtime, told: str) -> None:
    """Under its id something else is recorded."""
    flows.create(definition(call("a")), by="olga")

    with pytest.raises(holon.Refused) as refused:
        flows.start("demo", session=rt.session(principal="mallory"), run_id=told)

    assert refused.value.failure.details["path"] == "/run"


@pytest.mark.parametrize("placed", ["neither", "ann", "mallory"])
def test_a_run_shows_nothing_of_what_else_is_recorded_under_its_id(
    flows: Any, rt: holon.Runtime, tmp_path: Path, placed: str
) -> None:
    """What is listed of a run, and read under its id, is of the run and of who started it."""
    (tmp_path / "desk").mkdir()
    where = {"workspace": tmp_path / "desk"}
    ann = rt.session(principal="ann", **(where if placed == "ann" else {}))
    mallory = rt.session(principal="mallory", **(where if placed == "mallory" else {}))
    bench = flows._parts.bench
    draft = bench.draft(ann.caller, "deals", "note", {"price": "4711"})
    bench.change(lambda change: change.record(draft))
    flows.create(definition(call("a")), by="olga")
    flows.start("demo", session=mallory, run_id="deals")

    def ask(method: str, **given: str) -> list[Any]:
        found: list[Any] = rt.dispatch(method, given, caller=mallory.caller)["records"]
        return found

    found = ask("workflow-evidence/list", run="deals")
    assert "4711" not in str(ask("evidence/read", call_id="deals"))
    assert {each["kind"] for each in found} == {"workflow"}
    assert {each["body"]["caller"]["principal"] for each in found} == {"mallory"}


def test_a_reason_that_names_a_call_shows_nothing_of_it(
    flows: Any, rt: holon.Runtime, told: str
) -> None:
    """What somebody writes into an event is no way to the evidence of others."""
    mallory = rt.session(principal="mallory")
    flows.create(definition(GATE), by="olga")
    run = flows.run("demo", session=mallory)
    flows.answer(run.waits_for[0]["gate"], by="boss", choice="yes", reason=f"call {told}")

    given = {"run": run.id, "step": "ask"}
    found = rt.dispatch("workflow-evidence/read", given, caller=mallory.caller)["records"]

    assert {each["kind"] for each in found} == {"workflow"}
