"""Serving a store: what waits is looked at and left untouched, and goes on when it can."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from flows import call, definition, node
from holon_core.records.words import Authority

HOUR = 3600


class Looks(threading.Event):
    """Ends a server when it has paused a number of times; nobody sleeps."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.pauses: list[float | None] = []
        self._most = most

    def wait(self, timeout: float | None = None) -> bool:
        """Count a pause."""
        self.pauses.append(timeout)
        if len(self.pauses) >= self._most:
            self.set()
        return self.is_set()


@pytest.fixture
def written(rt: holon.Runtime, tmp_path: Path) -> Iterator[Callable[[], int]]:
    """Tells what is written of anything: it changes with each commit, whatever is in it."""
    store = sqlite3.connect(tmp_path / "root" / "holon.db")
    yield lambda: int(store.execute("pragma data_version").fetchone()[0])
    store.close()


class Scene:
    """Things that runs wait for, each with what lets it go on."""

    def __init__(self, rt: holon.Runtime, ann: holon.Session, clock: Any) -> None:
        self._rt, self._ann, self._clock = rt, ann, clock
        self._flows: Any = rt.service("workflows")

    def build(self, what: str) -> tuple[dict[str, Any], Callable[[Any], Any]]:
        """Return a node that waits, and what ends that wait."""
        made: tuple[dict[str, Any], Callable[[Any], Any]] = getattr(self, f"_{what}")()
        return made

    def _hour_passes(self, _run: Any) -> None:
        self._clock.at += HOUR

    def _timer(self) -> Any:
        return node("w", "wait-timer", {"after_s": HOUR}), self._hour_passes

    def _retry(self) -> Any:
        again = {"max_attempts": 2, "delay_s": HOUR}
        return call("w", "shaky", retry=again), self._hour_passes

    def _answer(self, run: Any) -> None:
        [gate] = self._flows.gates.list()
        choice = {"choice": gate["choices"][0]} if gate["choices"] else {}
        self._flows.answer(gate["id"], by="boss", **choice)

    def _gate(self) -> Any:
        return node("w", "human-gate", {"question": "Go?"}), self._answer

    def _gate_that_expires(self) -> Any:
        then = {"expires_after_s": HOUR, "choices": ["a"], "on_expiry": {"choose": "a"}}
        return node("w", "human-gate", {"question": "Go?", **then}), self._hour_passes

    def _plan(self) -> Any:
        steps = [{"id": "look", "summary": "Double", "tool": "host.app/double", "arguments": {}}]
        plan = self._ann.accept_output("planner_output", {"goal": "Send", "steps": steps})
        said = {"verdict": "approve", "summary": "fine", "findings": [], "plan_digest": plan.digest}
        review = self._ann.accept_output("reviewer_output", said)
        inputs = {"plan": {"value": plan.output_id}, "review": {"value": review.output_id}}
        return node("w", "plan-approval", {"assignee": "boss"}, inputs=inputs), self._answer

    def _approval(self) -> Any:
        def approve(run: Any) -> None:
            self._rt.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ok")

        return call("w", "send"), approve

    def _map(self) -> Any:
        body = {"nodes": [node("b", "wait-timer", {"after_s": HOUR})], "edges": []}
        return node("w", "map", {"over": "`[1, 2]`", "body": body}), self._hour_passes

    def _loop(self) -> Any:
        body = {"nodes": [node("b", "human-gate", {"question": "Go?"})], "edges": []}
        return node("w", "loop", {"body": body, "max_turns": 2, "while": "`false`"}), self._answer

    def _bridge(self) -> Any:
        self._ask("target-descriptor/create", id="t", product_name="P", version_range=">=1")
        surface = {"id": "s", "surface_kind": "ui", "stability": "stable"}
        surface["semantic_anchors"] = ["canvas"]  # type: ignore[assignment]
        self._ask("surface-map/create", id="m", target="t", surfaces=[surface])
        self._ask("bridge-binding/create", id="b", surface_map="m")

        def connect(_run: Any) -> None:
            self._ask("bridge-session/create", id="s", binding="b", status="ready")

        return call("w", needs_bridges=["b"]), connect

    def _ask(self, method: str, **params: Any) -> None:
        if method.startswith("target"):
            params = {**params, "platforms": ["linux"], "launch_hints": {"executables": ["p"]}}
        self._rt.dispatch(method, params, caller=self._ann.caller, authorities=[*Authority])


@pytest.fixture
def scene(rt: holon.Runtime, ann: holon.Session, clock: Any, shop: Any) -> Scene:
    """Things to wait for, in this runtime."""
    shop.failures = 1
    return Scene(rt, ann, clock)


WAITS = ["timer", "retry", "gate", "gate_that_expires", "plan", "approval", "map", "loop", "bridge"]


@pytest.mark.parametrize("what", WAITS)
def test_a_run_that_waits_costs_nothing_until_it_goes_on(
    flows: Any, ann: Any, scene: Scene, written: Callable[[], int], what: str
) -> None:
    """Serving it pauses at each look and writes no event, no evidence and no state."""
    waits, wake = scene.build(what)
    flows.create(definition(waits, call("after")), by="olga")
    flows.start("demo", session=ann, run_id="r")
    run = flows.ready_run("r")
    assert run.state in ("waiting", "blocked")
    before, events = written(), flows.events("r")
    looks, driven = Looks(5), []

    ended = flows.serve(stop=looks, progress=driven.append)

    assert (ended, driven, len(looks.pauses)) == (0, [], 5)
    assert min(each or 0 for each in looks.pauses) > 0
    assert written() == before
    assert flows.events("r") == events

    wake(run)
    assert flows.serve(stop=Looks(2)) == 1
    assert flows.read("r").state == "completed"


def test_a_look_that_finds_nothing_new_is_no_event(flows: Any, ann: Any) -> None:
    """Who asks for a waiting run again and again is answered from it, whatever else it holds."""
    flows.create(definition(node("w", "human-gate", {"question": "Go?"})), by="olga")
    run = flows.run("demo", session=ann)
    events = flows.events(run.id)

    seen = [flows.ready_run(run.id).state for _ in range(3)]

    assert seen == ["waiting"] * 3
    assert flows.events(run.id) == events
    kinds = [each["kind"] for each in events]
    assert kinds == ["run_started", "run_running", "step_started", "step_progress", "run_waiting"]


def test_a_run_goes_on_visibly_with_the_run_within_it(flows: Any, ann: Any, clock: Any) -> None:
    """Between two waits it says that it runs, as the run that its step started does."""
    body = {"nodes": [node("b", "wait-timer", {"after_s": 60}), call("c", "send")]}
    body["edges"] = [{"from": "b", "to": "c"}]
    flows.create(definition(node("w", "map", {"over": "`[1]`", "body": body})), by="olga")
    run = flows.start("demo", session=ann)
    flows.ready_run(run.id)
    clock.at += 60

    flows.ready_run(run.id)

    told = [(each["run"], each["kind"]) for each in flows.events(run.id) if not each["step"]]
    child = f"{run.id}:w.0"
    assert told[1:] == [
        (run.id, "run_running"),
        (child, "run_running"),
        (child, "run_waiting"),
        (run.id, "run_waiting"),
        (run.id, "run_running"),
        (child, "run_running"),
        (child, "run_waiting"),
        (run.id, "run_waiting"),
    ]


def test_more_runs_than_a_page_are_all_served(flows: Any, ann: Any, rt: holon.Runtime) -> None:
    """What waits does not hide what can go on: all that have not ended are looked at."""
    flows.create(definition(node("w", "wait-timer", {"after_s": HOUR})), by="olga")
    flows.create(definition(call("a"), id="quick"), by="olga")
    for number in range(3):
        flows.start("demo", session=ann, run_id=f"a{number}")
    flows.start("quick", session=ann, run_id="z")
    bench = flows._parts.bench
    waiting = bench.read(lambda view: view.get("runs", "a0"))

    def fill(change: Any) -> None:
        for number in range(1200):
            change.put("active", f"b{number:04d}", {})
            change.put("runs", f"b{number:04d}", {**waiting, "state": "completed"})

    bench.change(fill)
    flows.serve(stop=Looks(1))

    assert flows.read("z").state == "completed"


def test_gates_of_a_run_are_not_those_of_one_whose_name_begins_alike(flows: Any, ann: Any) -> None:
    """Asked for one run, gates of that run and of those within it are listed."""
    flows.create(definition(node("w", "human-gate", {"question": "Go?"})), by="olga")
    for name in ("r", "r1"):
        flows.start("demo", session=ann, run_id=name)
        flows.ready_run(name)

    assert [each["run"] for each in flows.gates.list(run="r")] == ["r"]


@pytest.mark.parametrize("within", [False, True], ids=["itself", "within"])
def test_who_follows_a_run_leaves_where_it_waits_for_a_person(
    flows: Any, ann: Any, *, within: bool
) -> None:
    """Also where the question expires some day: who is to answer is told now."""
    gate = node("w", "human-gate", {"question": "Go?", "expires_after_s": HOUR})
    body = node("m", "map", {"over": "`[1]`", "body": {"nodes": [gate], "edges": []}})
    flows.create(definition(body if within else gate), by="olga")

    run = flows.run("demo", session=ann, timeout_s=HOUR)

    assert [each["for"] for each in run.waits_for] == ["person"]
