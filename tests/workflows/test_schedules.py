"""Schedules: at a time, at intervals, by cron; missed starts; many processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_workflows.plugin as lane
from flows import NUMBER, call, definition


def at(text: str) -> float:
    """Read a time in UTC as Unix seconds."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


@pytest.fixture
def demo(flows: Any) -> Any:
    """The workflows, with one that takes a number."""
    flows.create(definition(call("a", n={"from": "inputs.n"}), inputs=NUMBER), by="olga")
    return flows


@pytest.mark.parametrize(
    ("zone", "fires"),
    [
        ("UTC", ["2027-01-15T09:30", "2027-01-16T09:30"]),
        ("Europe/Berlin", ["2027-01-15T08:30", "2027-01-16T08:30"]),
        # The clocks of the zone go forward on 28 March 2027: half past nine comes an hour sooner.
        ("Europe/Berlin", ["2027-03-27T08:30", "2027-03-28T07:30"]),
    ],
    ids=["utc", "berlin", "summer-time"],
)
def test_cron_fires_at_its_times_in_its_zone(
    demo: Any, ann: Any, clock: Any, zone: str, fires: list[str]
) -> None:
    """Each time starts one run, in the name of who made the schedule, with its inputs."""
    clock.at = at(fires[0]) - 3600
    when = {"cron": "30 9 * * *", "timezone": zone}
    made = demo.schedules.add("demo", {"n": 4}, caller=ann.caller, when=when)
    assert demo.schedules.fire() == []

    for each in fires:
        assert demo.schedules.read(made["id"])["next_at"] == at(each)
        clock.at = at(each) - 1
        assert demo.schedules.fire() == []
        clock.at += 1
        [run] = demo.schedules.fire()
        assert demo.schedules.fire() == []
        assert (run.inputs, run.caller["principal"]) == ({"n": 4}, "ann")


def test_a_time_fires_once_and_never_again(demo: Any, ann: Any, clock: Any) -> None:
    """After it nothing is left; the run is bound to the version of when it was scheduled."""
    clock.at = at("2027-01-15T08:00")
    when = {"at": "2027-01-15T10:00:00+01:00"}
    made = demo.schedules.add("demo", {"n": 1}, caller=ann.caller, when=when)
    newer = definition(call("a", n={"value": 9}), inputs=NUMBER, version="2")
    demo.create(newer, by="olga")
    clock.at = at("2027-01-15T09:00")

    [run] = demo.schedules.fire()
    clock.at += 10**6

    assert demo.schedules.fire() == []
    assert demo.schedules.read(made["id"])["next_at"] is None
    assert (run.definition, run.version) == ("demo", "1")


def test_an_interval_keeps_its_beat(demo: Any, ann: Any, clock: Any) -> None:
    """A look that comes late does not move the times after it."""
    begin = clock.at
    demo.schedules.add("demo", {"n": 1}, caller=ann.caller, when={"every_s": 60})

    for late in (0, 7, 30):
        clock.at += 60
        clock.at += late
        assert len(demo.schedules.fire()) == 1
        clock.at -= late
    [left] = demo.schedules.list()

    assert left["next_at"] == begin + 240
    assert left["fired"] == 3


@pytest.mark.parametrize(
    ("when", "rule"),
    [
        ({"every_s": 60}, ("once", 1)),
        ({"every_s": 60}, ("skip", 0)),
        ({"cron": "* * * * *"}, ("once", 1)),
        ({"cron": "* * * * *"}, ("skip", 0)),
    ],
)
def test_starts_that_nobody_served_follow_the_rule(
    demo: Any, ann: Any, clock: Any, when: dict[str, Any], rule: tuple[str, int]
) -> None:
    """Some times without a process make up for one start, or none; then all is as before."""
    missed, started = rule
    made = demo.schedules.add("demo", {"n": 1}, caller=ann.caller, when=when, missed=missed)
    clock.at += 200

    assert len(demo.schedules.fire()) == started
    assert demo.schedules.fire() == []
    clock.at = demo.schedules.read(made["id"])["next_at"]
    assert len(demo.schedules.fire()) == 1


@pytest.mark.parametrize("missed", ["once", "skip"])
def test_a_single_time_is_made_up_for(demo: Any, ann: Any, clock: Any, missed: str) -> None:
    """It was overtaken by no other, and so starts however late."""
    when = {"at": clock.at + 60}
    demo.schedules.add("demo", {"n": 1}, caller=ann.caller, when=when, missed=missed)
    clock.at += 10**6

    assert len(demo.schedules.fire()) == 1


def test_a_clock_that_goes_back_starts_nothing_twice(demo: Any, ann: Any, clock: Any) -> None:
    """A time that has fired is over, whatever the clock says then."""
    demo.schedules.add("demo", {"n": 1}, caller=ann.caller, when={"every_s": 60})
    clock.at += 60
    assert len(demo.schedules.fire()) == 1
    clock.at -= 60
    assert demo.schedules.fire() == []
    clock.at += 60
    assert demo.schedules.fire() == []


def test_a_start_that_is_refused_keeps_no_other_from_firing(
    demo: Any, ann: Any, clock: Any
) -> None:
    """It is passed over, as its next time will not be."""
    made = [
        demo.schedules.add("demo", {"n": n}, caller=ann.caller, when={"every_s": 60})
        for n in (1, 2)
    ]
    bench = demo._parts.bench
    bench.change(lambda change: change.put("schedules", made[0]["id"], {**made[0], "version": "9"}))
    clock.at += 60

    assert [run.inputs for run in demo.schedules.fire()] == [{"n": 2}]
    bench.change(lambda change: change.put("schedules", made[0]["id"], made[0]))
    clock.at += 60
    assert len(demo.schedules.fire()) == 2


def test_a_run_that_cannot_go_on_keeps_no_other_from_it(demo: Any, ann: Any) -> None:
    """A server passes it over, ends the others, and is idle then."""
    lost = demo.start("demo", {"n": 1}, session=ann)
    demo.create(definition(call("a"), id="other"), by="olga")
    whole = demo.start("other", session=ann)
    demo._parts.bench.change(lambda change: change.remove("versions", "demo@1"))
    demo.definitions._known.clear()

    assert demo.serve(until_idle=True) == 1
    assert demo.read(whole.id).state == "completed"
    assert demo.ledger.run(lost.id).state != "completed"


def test_threads_that_fire_at_once_start_one_run(demo: Any, ann: Any, clock: Any) -> None:
    """Whoever comes second finds the run that the first has started."""
    demo.schedules.add("demo", {"n": 1}, caller=ann.caller, when={"every_s": 60})
    clock.at += 60
    together, started = threading.Barrier(6), []

    def fire() -> None:
        together.wait()
        started.extend(demo.schedules.fire())

    threads = [threading.Thread(target=fire) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(started) == len(demo.list()) == 1


SERVING = """
import sys, time
import holon_core as holon, holon_workflows.plugin as lane
with holon.Runtime.open(sys.argv[1], plugins=[lane], discover=False) as rt:
    flows = rt.service("workflows")
    print("ready", flush=True)
    sys.stdin.readline()
    print(len(flows.schedules.fire()), flush=True)
    flows.serve(until_idle=True)
"""


def test_processes_that_serve_one_store_start_a_schedule_once(tmp_path: Path) -> None:
    """All look at the same moment; one of them starts the run, and it runs once."""
    root = tmp_path / "root"
    timer = {"id": "t", "kind": "wait-timer", "config": {"after_s": 0}}
    with holon.Runtime.open(root, plugins=[lane], discover=False) as rt:
        flows, ann = rt.service("workflows"), rt.session(principal="ann")
        flows.create(definition(timer), by="olga")
        when = {"at": "2020-01-01T00:00:00Z"}
        flows.schedules.add("demo", {}, caller=ann.caller, when=when)
    command = [sys.executable, "-c", SERVING, str(root)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=os.environ, **pipes) for _ in range(3)]
    for each in processes:
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        each.stdin.write("go\n")
        each.stdin.flush()
    told = [each.communicate(timeout=60)[0].strip() for each in processes]

    assert sorted(told) == ["0", "0", "1"]
    with holon.Runtime.open(root, plugins=[lane], discover=False) as rt:
        flows = rt.service("workflows")
        [run] = flows.list()
        assert run.state == "completed"
        kinds = [each["kind"] for each in flows.events(run.id)]
        assert kinds.count("run_started") == kinds.count("run_completed") == 1


@pytest.mark.parametrize(
    "when",
    [
        {"cron": "0 25 * * *"},
        {"every_s": 0.1},
        {"at": "soon"},
        {"cron": "* * * * *", "timezone": "Moon"},
    ],
)
def test_a_schedule_that_is_none_is_refused(flows: Any, ann: Any, when: dict[str, Any]) -> None:
    """Nothing is kept of a time that cannot be read."""
    flows.create(definition(call("a")), by="olga")

    with pytest.raises(holon.Refused):
        flows.schedules.add("demo", {}, caller=ann.caller, when=when)

    assert flows.schedules.list() == []
