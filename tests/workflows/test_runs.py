"""Runs: steps in order, what waits, what a person decides, what failed."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon
from flows import NUMBER, call, definition, line, node


def test_steps_run_in_order_and_give_the_outputs_of_the_run(flows: Any, ann: Any) -> None:
    """Each step is given what its mappings say, and the run gives what its outputs say."""
    flows.create(
        definition(
            call("a", n={"from": "inputs.n"}),
            call("b", n={"from": "steps.a.output.result"}),
            inputs=NUMBER,
            outputs={"twice": "steps.b.output.result"},
        ),
        by="olga",
    )

    run = flows.run("demo", {"n": 3}, session=ann)

    assert run.state == "completed"
    assert run.outputs == {"twice": 12}


def test_a_held_call_waits_and_goes_on_when_it_is_approved(
    flows: Any, ann: Any, rt: holon.Runtime, shop: Any
) -> None:
    """A step whose call needs an approval waits for it, and runs once."""
    flows.create(definition(call("a", "send")), by="olga")
    run = flows.run("demo", session=ann)
    assert run.state == "waiting"
    assert shop.sent == []

    rt.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ok")
    run = flows.ready_run(run.id)

    assert run.state == "completed"
    assert shop.sent == [1]


def test_a_denied_call_fails_its_step(flows: Any, ann: Any, rt: holon.Runtime, shop: Any) -> None:
    """A person's no ends the run, with the reason."""
    flows.create(definition(call("a", "send")), by="olga")
    run = flows.run("demo", session=ann)

    rt.approvals.deny(run.waits_for[0]["call"], by="boss", reason="not today")
    run = flows.ready_run(run.id)

    assert run.state == "failed"
    assert run.failure["code"] == "approval_denied"
    assert "not today" in run.failure["message"]
    assert shop.sent == []


def test_a_branch_goes_on_to_one_node_and_skips_the_other(flows: Any, ann: Any) -> None:
    """Only what the branch chose runs; a join behind it runs as well."""
    flows.create(
        definition(
            call("a", n={"value": 4}),
            node(
                "q",
                "branch-condition",
                {"cases": [{"when": "steps.a.output.result > `5`", "to": "x"}], "default": "y"},
            ),
            call("x"),
            call("y"),
            call("end"),
            edges=[*line("a", "q"), *line("x", "end"), *line("y", "end")],
        ),
        by="olga",
    )

    run = flows.run("demo", session=ann)

    assert [run.step(each).state for each in "xy"] == ["completed", "skipped"]
    assert run.step("end").state == "completed"


def test_a_failed_step_ends_the_run_and_skips_the_rest(flows: Any, ann: Any, shop: Any) -> None:
    """By default a failure stops the run, which says which step it was."""
    shop.failures = 1
    flows.create(definition(call("a", "shaky"), call("b")), by="olga")

    run = flows.run("demo", session=ann)

    assert run.state == "failed"
    assert run.failure["step"] == "a"
    assert run.step("b").state == "skipped"


def test_a_failed_step_may_let_the_run_go_on(flows: Any, ann: Any, shop: Any) -> None:
    """With `continue` what follows sees the failure."""
    shop.failures = 1
    flows.create(
        definition(
            call("a", "shaky", on_failure="continue"),
            call("b"),
            outputs={"code": "steps.a.failure.code"},
        ),
        by="olga",
    )

    run = flows.run("demo", session=ann)

    assert run.state == "completed"
    assert run.outputs == {"code": "tool_raised"}


@pytest.mark.parametrize(("failures", "ran"), [(0, "b"), (1, "f")], ids=["completes", "fails"])
def test_a_fallback_runs_only_where_its_step_failed(
    flows: Any, ann: Any, shop: Any, failures: int, ran: str
) -> None:
    """A failure leads to the fallback, and nowhere else."""
    shop.failures = failures
    flows.create(
        definition(
            call("a", "shaky", on_failure={"go_to": "f"}),
            call("b"),
            call("f"),
            edges=line("a", "b"),
        ),
        by="olga",
    )

    run = flows.run("demo", session=ann)

    assert run.state == "completed"
    assert {each for each in "bf" if run.step(each).state == "completed"} == {ran}


def test_a_read_only_step_is_tried_again_after_its_delay(
    flows: Any, ann: Any, shop: Any, clock: Any
) -> None:
    """A retry waits for its time, which a restart would not shorten."""
    shop.failures = 1
    retry = {"max_attempts": 2, "delay_s": 10}
    flows.create(definition(call("a", "shaky", retry=retry)), by="olga")
    run = flows.start("demo", session=ann)
    assert flows.ready_run(run.id).state == "waiting"
    assert flows.ready_run(run.id).step("a").attempt == 2

    clock.at += 10
    run = flows.ready_run(run.id)

    assert run.state == "completed"
    assert run.step("a").attempt == 2


def test_a_step_with_side_effects_is_never_tried_again_by_itself(
    flows: Any, ann: Any, rt: holon.Runtime
) -> None:
    """Retries are for what is read-only or declared idempotent."""
    sent = []

    @holon.tool(effects={"network_write"}, name="broken")
    def broken(n: int) -> str:
        sent.append(n)
        raise RuntimeError("after the effect")

    rt.register(broken)
    retry = {"max_attempts": 3, "delay_s": 0}
    flows.create(definition(call("a", "broken", retry=retry)), by="olga")
    run = flows.run("demo", session=ann)
    rt.approvals.approve(run.waits_for[0]["call"], by="boss", reason="ok")

    run = flows.ready_run(run.id)

    assert run.state == "failed"
    assert sent == [1]


def test_a_blocked_step_is_tried_anew_by_resume(
    flows: Any, ann: Any, rt: holon.Runtime, shop: Any
) -> None:
    """What something outside blocks waits for it; `ready-run` leaves it, `resume` tries it."""
    flows.create(definition(call("a", "double")), by="olga")
    run = flows.start("demo", session=ann)

    @holon.tool(effects={"none"}, name="double", version="2")
    def other(n: int) -> int:
        """Double otherwise."""
        return n + n

    rt.register(other)
    run = flows.ready_run(run.id)
    assert run.state == "blocked"
    assert run.waits_for[0]["code"] == "definition_changed"
    rt.register(shop.tools()[0])
    assert flows.ready_run(run.id).state == "blocked"
    assert flows.resume(run.id).state == "completed"


def test_a_run_is_in_the_name_of_who_started_it(flows: Any, ann: Any, rt: holon.Runtime) -> None:
    """Its calls are recorded for that principal, by the surface of workflows, under the run."""
    flows.create(definition(call("a")), by="olga")

    run = flows.run("demo", session=ann)

    call_id = run.step("a").note.removeprefix("call ")
    caller = rt.evidence.read(call_id)[0].body["caller"]
    assert (caller["principal"], caller["surface"], caller["run"], caller["plan_step"]) == (
        "ann",
        "workflow",
        run.id,
        "a",
    )


def test_events_come_in_the_order_of_the_chain(flows: Any, ann: Any, rt: holon.Runtime) -> None:
    """Each transition is an event and a record of evidence, at the same place."""
    flows.create(definition(call("a")), by="olga")

    run = flows.run("demo", session=ann)

    events = flows.events(run.id)
    records = [each for each in rt.evidence.read(run.id) if each.kind == "workflow"]
    assert [each["seq"] for each in events] == [each.seq for each in records]
    assert [each["kind"] for each in events] == [
        "run_started",
        "run_running",
        "step_started",
        "step_completed",
        "run_completed",
    ]
    assert rt.evidence.verify(None).consistent


def test_the_same_run_id_starts_once(flows: Any, ann: Any) -> None:
    """A start that is repeated gives the run that is there; another payload is refused."""
    flows.create(definition(call("a"), inputs=NUMBER), by="olga")
    first = flows.start("demo", {"n": 1}, session=ann, run_id="mine")

    assert flows.start("demo", {"n": 1}, session=ann, run_id="mine") == first
    with pytest.raises(holon.Refused) as refused:
        flows.start("demo", {"n": 2}, session=ann, run_id="mine")

    assert refused.value.failure.code == "conflict"


def test_inputs_that_do_not_fit_are_refused_with_their_path(flows: Any, ann: Any) -> None:
    """Nothing starts on inputs that break the definition's schema."""
    flows.create(definition(call("a"), inputs=NUMBER), by="olga")

    with pytest.raises(holon.Refused) as refused:
        flows.start("demo", {"n": "three"}, session=ann)

    assert refused.value.failure.code == "arguments_invalid"
    assert refused.value.failure.details["path"] == "/inputs/n"
    assert flows.list() == []
