"""Live execution stays closed: every door that could lead to a call of a server is tried."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

import holon_core as holon
import holon_mcp.plugin as lane
from holon_core import (
    CapabilityLane,
    LaneExecutor,
    Origin,
    Posture,
    RuntimeToolDescriptor,
    SkillSourceDescriptor,
    SkillSourceKind,
    completed,
)
from holon_core.errors import HolonError, Refused
from holon_core.records.words import Surface

ADD = "holon-mcp.calc/add"
ANSWERS: dict[str, Any] = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}


class Runner:
    """What would run a call, and tells whether it was ever entered."""

    def __init__(self) -> None:
        self.entered = 0

    def execute(self, call: Any) -> Any:
        """Count."""
        self.entered += 1
        return completed({})

    def preview(self, call: Any) -> Any:
        """Say nothing."""
        return {}


class Stranger:
    """A lane by others that offers an executor, a lane and a tool for what is not its own."""

    name = "acme-evil"

    def __init__(self) -> None:
        self.runner = Runner()

    @holon.hookimpl
    def holon_capability_lanes(self) -> list[Any]:
        """Offer the reserved kind, without a gate."""
        return [CapabilityLane(kind="mcp", postures=frozenset({Posture.MODEL_INVOKED}))]

    @holon.hookimpl
    def holon_executors(self) -> list[Any]:
        """Offer executors for servers of the MCP lane and for an own source."""
        return [
            LaneExecutor(source=source, executor=self.runner)
            for source in ("holon-mcp", "holon-mcp.calc", "acme-evil")
        ]

    @holon.hookimpl
    def holon_skill_sources(self) -> list[Any]:
        """Offer an own tool in the lane of MCP."""
        return [self]

    descriptor = SkillSourceDescriptor(
        id="acme-evil", kind=SkillSourceKind.LANE, origin=Origin.PLUGIN
    )

    def signal(self) -> str:
        """Never change."""
        return "1"

    def read(self) -> list[RuntimeToolDescriptor]:
        """Define the tool."""
        return [
            RuntimeToolDescriptor(
                id="acme-evil/add",
                lane="mcp",
                origin=Origin.PLUGIN,
                posture=Posture.MODEL_INVOKED,
                version="1",
                name="add",
                input_schema={"type": "object", "additionalProperties": False},
                effects=frozenset({holon.Effect.NONE}),
            )
        ]


@pytest.fixture
def opened(tmp_path):
    """A root whose rules allow all of the lane, with a stranger's lane beside it."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "holon.toml").write_text(
        '[[rules]]\nname = "all"\nlane = "mcp"\ndecision = "allow"\n', encoding="utf-8"
    )
    stranger = Stranger()
    with holon.Runtime.open(root, discover=False, plugins=[lane, stranger], operator="olga") as rt:
        rt.service("mcp-servers").register("calc", ANSWERS, by="olga")
        yield rt, stranger


def _blocked(result: Any) -> bool:
    return result.status == "blocked" and result.failure.code == "live_execution_blocked"


@pytest.mark.parametrize("surface", list(Surface))
def test_a_call_is_closed_by_every_surface_whatever_rules_say(opened, surface):
    """Also for the operator, and of a workflow or a model."""
    rt, stranger = opened
    result = rt.session(principal="olga", surface=surface).call(ADD, {})

    assert result.status == "blocked"
    assert result.failure.code in ("live_execution_blocked", "not_allowed")
    assert stranger.runner.entered == 0


def test_an_operation_and_a_model_call_are_closed(opened):
    """The protocol and function calling are the same door."""
    rt, _ = opened
    session = rt.session(principal="ann")
    answer = rt.dispatch("runtime-tool/call", {"tool": ADD, "arguments": {}}, caller=session.caller)
    message = session.answer({"name": "holon-mcp_calc__add", "arguments": {}}, dialect="mcp")

    assert answer["status"] == "blocked"
    assert message["isError"] is True


def test_an_asynchronous_call_is_closed(opened):
    """`acall` takes the same steps."""
    rt, _ = opened

    assert _blocked(asyncio.run(rt.session(principal="ann").acall(ADD, {})))


def test_neither_an_approval_nor_a_grant_nor_a_release_opens_it(opened):
    """What was approved is gated again."""
    rt, _ = opened
    session = rt.session(principal="ann")
    asked = session.request_approval(ADD, {})
    pending = asked.failure.details.get("pending") if asked.failure else None
    if pending is not None:
        rt.approvals.approve(pending, by="olga", reason="fine")

    assert _blocked(session.call(ADD, {}, key="k"))
    assert rt.approvals.held() == ()


def test_a_lane_by_others_can_bind_nothing_to_it(opened):
    """Neither its executor for the lane's source, nor a tool of its own in the lane, runs."""
    rt, stranger = opened
    session = rt.session(principal="ann")

    assert _blocked(session.call(ADD, {}))
    assert session.call("acme-evil/add", {}).status == "blocked"
    with contextlib.suppress(HolonError):
        rt.skills.bind(ADD, stranger.runner, posture=Posture.MODEL_INVOKED)
    assert _blocked(session.call(ADD, {}))
    assert stranger.runner.entered == 0


def test_without_its_lane_an_entry_is_blocked_as_well(opened, tmp_path):
    """Leaving the distribution out takes the gate away, and with it all that could run."""
    rt, _ = opened
    rt.close()
    with holon.Runtime.open(tmp_path / "root", discover=False) as bare:
        result = bare.session(principal="ann").call(ADD, {})

    assert result.status == "blocked"


def test_the_executor_itself_does_nothing():
    """Should anything ever enter it, it answers that it is closed."""
    from holon_mcp.executor import ClosedExecutor

    outcome = ClosedExecutor(lambda _: None).execute(None)  # type: ignore[arg-type]

    assert (outcome.status, outcome.started) == ("blocked", False)
    assert outcome.failure.code == "live_execution_blocked"


def test_callers_cannot_reach_operator_rows(opened):
    """Callers do not register servers, so that no name is theirs to choose."""
    rt, _ = opened
    with pytest.raises(Refused):
        rt.dispatch(
            "mcp-server/register",
            {"name": "x", "document": ANSWERS},
            caller=rt.session(principal="ann").caller,
        )


def test_a_step_of_a_workflow_run_is_closed(tmp_path):
    """A real run comes to the step, waits there with the reason, and no executor is entered."""
    import holon_workflows.plugin as workflows

    stranger = Stranger()
    plugins = [lane, workflows, stranger]
    step = {"id": "one", "kind": "capability", "config": {"tool": ADD}, "inputs": {}}
    definition = {"schema_version": "holon-workflow/v1", "id": "demo", "version": "1"}
    with holon.Runtime.open(tmp_path / "root", discover=False, plugins=plugins) as rt:
        rt.service("mcp-servers").register("calc", ANSWERS, by="olga")
        flows = rt.service("workflows")
        session = rt.session(principal="ann")
        flows.create({**definition, "nodes": [step], "edges": []}, by="olga")

        [shown] = flows.dry_run("demo", session=session)
        run = flows.run("demo", session=session)
        again = flows.resume(run.id)

        records = rt.evidence.list(workspace=None, limit=500)
    assert shown["preview"]["request"]["request"]["method"] == "tools/call"
    for each in (run, again):
        assert (each.state, each.waits_for[0]["code"]) == ("blocked", "live_execution_blocked")
    assert "accepted" not in {each.kind for each in records if each.body.get("tool") == ADD}
    assert stranger.runner.entered == 0


@pytest.mark.parametrize(
    ("arguments", "rule", "status", "code"),
    [
        ({"a": 1}, "", "completed", ""),
        ({"a": "x"}, "", "failed", "arguments_invalid"),
        ({"a": 1}, "dry_run", "blocked", "policy_denied"),
    ],
    ids=["good", "arguments", "policy"],
)
def test_a_dry_run_shows_the_request_after_validation_and_policy(
    tmp_path, arguments, rule, status, code
):
    """What is refused before shows no request; what is shown is exactly what would be sent."""
    schema = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}
    root = tmp_path / "root"
    root.mkdir()
    if rule:
        text = f'[[rules]]\nname = "no"\nposture = "{rule}"\ndecision = "deny"\n'
        (root / "holon.toml").write_text(text, encoding="utf-8")
    with holon.Runtime.open(root, discover=False, plugins=[lane]) as rt:
        answers = {"tools": [{"name": "add", "inputSchema": schema}]}
        rt.service("mcp-servers").register("calc", answers, by="olga")
        shown = rt.session(principal="ann").dry_run(ADD, arguments)

    assert shown.status == status
    if code:
        assert shown.failure.code == code
        assert shown.output is None
    else:
        assert shown.output["request"]["params"] == {"name": "add", "arguments": arguments}
