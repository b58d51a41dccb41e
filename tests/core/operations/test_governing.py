"""Operations with effects pass policy: rules, plugins and missing guards, by every door."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import holon_core as holon
from door import kinds
from holon_core.errors import Refused
from holon_core.operations.governing import default_verdict, is_governed
from holon_core.operations.table import ROWS
from holon_core.operations.trail import CALLS, DECISIONS
from holon_core.records.agent import AgentProfile
from holon_core.records.operation import Operation
from holon_core.records.words import READ_ONLY, Authority, Decision, Effect

ALL = frozenset(Authority)
EMPTY = {"type": "object", "properties": {}}


def row(done: list[Any], **changes: Any) -> Operation:
    """Make a row of a plugin that callers may ask and that writes to the network."""

    def send(door: Any, given: Any) -> dict[str, Any]:
        done.append((door.caller.principal, dict(given)))
        return {"sent": len(done)}

    fields: dict[str, Any] = {
        "noun": "acme-letter",
        "verb": "send",
        "request": {"type": "object", "properties": {"to": {"type": "string"}}},
        "response": {"type": "object", "properties": {"sent": {"type": "integer"}}},
        "authority": Authority.CALLER,
        "effects": frozenset({Effect.NETWORK_WRITE}),
        "handler": send,
        "doc": "Send a letter.",
    }
    return Operation(**{**fields, **changes})


def plugin(*rows: Operation, policy: Any = None) -> Any:
    """Make a plugin that offers rows, and a policy where one is given."""

    @holon.hookimpl
    def holon_operations(host: Any) -> Any:
        return rows

    @holon.hookimpl
    def holon_policies(host: Any) -> Any:
        return [] if policy is None else [SimpleNamespace(name="acme", evaluate=policy)]

    return SimpleNamespace(
        name="acme", holon_operations=holon_operations, holon_policies=holon_policies
    )


@pytest.fixture
def done() -> list[Any]:
    """What the row of the plugin did."""
    return []


@pytest.fixture
def opened(tmp_path, done):
    """Open a runtime with rules and the plugin's row."""
    runtimes = []

    def opening(*rules: dict[str, Any], policy: Any = None, **options: Any) -> holon.Runtime:
        rt = holon.Runtime.open(
            tmp_path / "root",
            plugins=[plugin(row(done), policy=policy)],
            discover=False,
            config={"rules": list(rules)},
            **options,
        )
        runtimes.append(rt)
        return rt

    yield opening
    for each in runtimes:
        each.close()


def asked(rt: holon.Runtime, method: str, *, who: str = "ann", **params: Any) -> Any:
    """Ask an operation as a caller who holds every authority but the operator's."""
    caller = rt.session(principal=who).caller
    return rt.dispatch(method, params, caller=caller, authorities=ALL - {Authority.OPERATOR})


def code_of(refused: pytest.ExceptionInfo[Refused]) -> str:
    return refused.value.failure.code


def last(rt: holon.Runtime) -> dict[str, Any]:
    """Return the last record of an operation."""
    return [dict(r.body) for r in rt.evidence.list(workspace=None) if r.kind == "operation"][-1]


def test_every_row_with_effects_passes_policy_or_is_a_call_of_a_tool():
    """No row is forgotten: a new one is governed by its effects alone."""
    beyond = {each.method for each in ROWS if not each.effects <= READ_ONLY}

    assert {each.method for each in ROWS if is_governed(each)} == beyond - CALLS
    assert beyond >= DECISIONS


@pytest.mark.parametrize("each", [r for r in ROWS if is_governed(r)], ids=lambda r: r.method)
def test_the_cores_own_operations_are_allowed_to_those_of_their_authority(each):
    """Nobody at a prompt is asked for each of them."""
    assert default_verdict(each, frozenset({each.authority})).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("effects", "authorities", "decision"),
    [
        ({Effect.HOST_STATE_WRITE}, {Authority.CALLER}, "allow"),
        ({Effect.NETWORK_READ, Effect.HOST_STATE_WRITE}, {Authority.CALLER}, "ask"),
        ({Effect.NETWORK_WRITE}, {Authority.CALLER}, "ask"),
        ({Effect.NETWORK_WRITE}, {Authority.CALLER, Authority.APPROVER}, "ask"),
        ({Effect.NETWORK_WRITE}, {Authority.CALLER, Authority.OPERATOR}, "allow"),
    ],
)
def test_what_callers_may_ask_is_asked_about_by_its_effects(effects, authorities, decision):
    """Holon's own state is theirs to change as the row says; what is outside waits for a person."""
    made = row([], effects=frozenset(effects))

    assert default_verdict(made, frozenset(authorities)).decision == decision


def test_a_denied_operation_is_refused_recorded_and_not_done(opened, tmp_path):
    """By the rule's name, and in the chain."""
    rule = {"name": "no bundles", "id": "evidence/*", "decision": "deny", "reason": "not here"}
    rt = opened(rule)
    bundle = tmp_path / "bundle.jsonl"

    caller = rt.session(principal="ann").caller
    with pytest.raises(Refused, match="not here") as refused:
        rt.dispatch("evidence/export", {"path": str(bundle)}, caller=caller, authorities=ALL)

    assert code_of(refused) == "policy_denied"
    assert refused.value.failure.details["rule"].endswith('"no bundles"')
    assert not bundle.exists()
    assert (last(rt)["outcome"], last(rt)["code"]) == ("refused", "policy_denied")
    assert last(rt)["policy"]["decision"] == "deny"


def test_what_policy_asks_for_is_held_for_exactly_these_parameters(opened, done):
    """Approved by somebody else it runs once; another parameter is held anew."""
    rt = opened()
    with pytest.raises(Refused) as refused:
        asked(rt, "acme-letter/send", to="bob")
    held = refused.value.failure.details["held"]
    assert (code_of(refused), done) == ("approval_required", [])

    rt.approvals.approve(held, by="boss", reason="ok")

    with pytest.raises(Refused, match="approval_mismatch"):
        asked(rt, "acme-letter/send", to="carl")
    assert asked(rt, "acme-letter/send", to="bob") == {"sent": 1}
    with pytest.raises(Refused, match="approval_consumed"):
        asked(rt, "acme-letter/send", to="bob")
    assert done == [("ann", {"to": "bob"})]


def test_a_held_operation_is_released_on_its_stored_parameters(opened, done):
    """One trail: held, approved, begun, done; a second release finds it released."""
    rt = opened()
    with pytest.raises(Refused) as refused:
        asked(rt, "acme-letter/send", to="bob")
    held = refused.value.failure.details["held"]
    early = asked(rt, "runtime-tool/release", call_id=held)
    assert (early["status"], early["held"], done) == ("blocked", held, [])
    rt.approvals.approve(held, by="boss", reason="ok")

    answer = asked(rt, "runtime-tool/release", call_id=held)

    assert (answer["status"], answer["output"]) == ("completed", {"sent": 1})
    again = asked(rt, "runtime-tool/release", call_id=held)
    assert again["failure"]["code"] == "not_held"
    assert done == [("ann", {"to": "bob"})]
    found = [record.kind for record in rt.evidence.read(held)]
    assert found == ["held", "held", "approved", "operation", "operation", "operation"]
    assert rt.evidence.verify(None).consistent


def test_a_stranger_releases_no_operation_nor_does_who_lacks_its_authority(opened, tmp_path):
    """Releasing is asking: the approval alone is not the authority."""
    rt = opened({"id": "evidence/export", "decision": "ask"})
    path = str(tmp_path / "bundle.jsonl")
    ann, eve = (rt.session(principal=name).caller for name in ("ann", "eve"))
    with pytest.raises(Refused) as refused:
        rt.dispatch("evidence/export", {"path": path}, caller=ann, authorities=ALL)
    held = refused.value.failure.details["held"]
    rt.approvals.approve(held, by="boss", reason="ok")

    for caller in (ann, eve):
        answer = rt.dispatch("runtime-tool/release", {"call_id": held}, caller=caller)
        assert answer["failure"]["code"] == "not_allowed"
    assert rt.session(principal="ann").release(held).failure.code == "not_allowed"
    assert not (tmp_path / "bundle.jsonl").exists()

    answer = rt.dispatch("runtime-tool/release", {"call_id": held}, caller=ann, authorities=ALL)
    assert answer["output"]["path"] == path


def test_a_denied_approval_refuses_the_operation_and_an_edit_is_none(opened, done):
    """The no is told; other parameters are another operation."""
    rt = opened()
    with pytest.raises(Refused) as refused:
        asked(rt, "acme-letter/send", to="bob")
    held = refused.value.failure.details["held"]
    with pytest.raises(Refused, match="not edited"):
        rt.approvals.edit(held, {"to": "carl"}, by="boss", reason="ok")
    rt.approvals.deny(held, by="boss", reason="never")

    with pytest.raises(Refused, match="never"):
        asked(rt, "acme-letter/send", to="bob")

    assert last(rt)["code"] == "approval_denied"
    assert done == []


def test_the_approver_sees_the_operation_and_its_parameters(opened):
    """As of a call: what, by whom, with which payload."""
    rt = opened()
    with pytest.raises(Refused) as refused:
        asked(rt, "acme-letter/send", to="bob")

    view = rt.approvals.view(refused.value.failure.details["held"]).to_json()

    assert "acme-letter/send" in str(view)
    assert "network_write" in str(view)
    assert "bob" in str(view)


def test_a_policy_of_a_plugin_is_asked_about_operations(opened, tmp_path):
    """Id, lane, effects, caller and arguments are those of the operation."""
    seen = []

    def evaluate(request: holon.PolicyRequest) -> holon.Verdict:
        seen.append(request)
        return holon.Verdict(decision=holon.Decision.DENY, rule="acme", reason="closed")

    rt = opened(policy=evaluate)

    with pytest.raises(Refused, match="closed"):
        rt.evidence.export(tmp_path / "bundle.jsonl", workspace=None)

    [request] = seen
    assert (request.tool.id, request.tool.lane) == ("evidence/export", "operation")
    assert request.tool.effects == {Effect.MACHINE_WRITE}
    assert request.caller.principal == "host.app"
    assert request.arguments == {"path": str(tmp_path / "bundle.jsonl"), "workspace": None}


FACETS = [
    ("workspace/open", lambda rt, folder: rt.workspaces.open(folder)),
    ("workspace/open", lambda rt, folder: rt.session(principal="ann", workspace=folder)),
    ("evidence/export", lambda rt, folder: rt.evidence.export(folder / "b", workspace=None)),
    (
        "evidence/erase",
        lambda rt, _: rt.evidence.erase(None, by="bo", reason="r", before_unix_seconds=5),
    ),
    (
        "skill-source/register",
        lambda rt, _: rt.skills.register_source(
            holon.SkillSourceDescriptor(id="acme.x", kind=holon.SkillSourceKind.ELEGY_V2)
        ),
    ),
    ("skill-source/remove", lambda rt, _: rt.skills.remove_source("acme.x")),
    (
        "skill/approve-execution",
        lambda rt, _: rt.skills.approve_execution(
            "acme.x/y", posture=holon.Posture.LANE_LIVE, by="bo", reason="r"
        ),
    ),
    (
        "skill/revoke-execution",
        lambda rt, _: rt.skills.revoke_execution("acme.x/y", by="bo", reason="r"),
    ),
    ("plugin/retire", lambda rt, _: rt.plugins.retire("guard", by="bo", reason="r")),
    ("runtime-tool/pin", lambda rt, _: rt.tools.pin("host.app/x", by="bo", reason="r")),
    ("runtime-tool/unpin", lambda rt, _: rt.tools.unpin("host.app/x", by="bo", reason="r")),
    ("runtime-tool/refresh", lambda rt, _: rt.tools.refresh()),
    ("execution-approval/approve", lambda rt, _: rt.approvals.approve("c1", by="bo", reason="r")),
    ("execution-approval/deny", lambda rt, _: rt.approvals.deny("c1", by="bo", reason="r")),
    ("execution-approval/edit", lambda rt, _: rt.approvals.edit("c1", {}, by="bo", reason="r")),
    ("execution-approval/revoke", lambda rt, _: rt.approvals.revoke("c1", by="bo", reason="r")),
    (
        "execution-approval/grant",
        lambda rt, _: rt.approvals.grant(
            "host.app/x", {}, principal="ann", uses=1, ttl_s=9, by="bo", reason="r"
        ),
    ),
    (
        "agent-profile/create",
        lambda rt, _: rt.agents.profiles.create(AgentProfile(id="x"), by="bo", reason="r"),
    ),
    (
        "agent-profile/update",
        lambda rt, _: rt.agents.profiles.update(AgentProfile(id="x"), by="bo", reason="r"),
    ),
    ("agent-profile/archive", lambda rt, _: rt.agents.profiles.archive("x", by="bo", reason="r")),
]


@pytest.mark.parametrize(("method", "do"), FACETS)
def test_a_host_in_python_goes_the_same_way(opened, tmp_path, method, do):
    """A rule for the operation counts for the method of its facet."""
    rt = opened({"id": method, "decision": "deny"})
    place = tmp_path / "place"
    place.mkdir()

    with pytest.raises(Refused) as refused:
        do(rt, place)

    assert code_of(refused) == "policy_denied"
    assert last(rt)["operation"]["method"] == method
    assert list(place.iterdir()) == []
    assert rt.workspaces.list() == ()


def test_every_operation_of_the_core_that_hosts_have_as_a_method_is_tried_above():
    """A new one is in the list, too, but for those whose methods take who asks: a session's."""
    of_callers = {"agent-session", "structured-output", "frozen-tool-proposal"}
    governed = {r.method for r in ROWS if is_governed(r) and r.noun not in of_callers}
    assert {method for method, _ in FACETS} == governed


def test_a_folder_that_is_a_workspace_already_is_not_opened_anew(opened, tmp_path):
    """So that a session on it asks nobody and leaves nothing."""
    rt = opened({"id": "workspace/open", "decision": "ask"}, operator="bo")
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(Refused) as refused:
        rt.workspaces.open(place)
    rt.approvals.approve(refused.value.failure.details["held"], by="bo", reason="mine")

    made = rt.workspaces.open(place)

    before = kinds(rt)
    assert rt.session(principal="ann", workspace=place).caller.workspace == made.id
    assert kinds(rt) == before
    assert last(rt)["outcome"] == "completed"
    assert last(rt)["self_approved"] is True


def test_a_missing_guard_denies_operations_but_for_the_way_out(opened, tmp_path, done):
    """Nothing is exported or sent; the guard can be retired, and an approval taken back."""
    with opened(policy=lambda request: holon.Verdict(decision=holon.Decision.ALLOW, rule="a")):
        pass
    rt = opened()
    [guard] = rt.plugins.missing_guards()

    for each in (
        lambda: rt.evidence.export(tmp_path / "bundle.jsonl", workspace=None),
        lambda: asked(rt, "acme-letter/send", to="bob"),
        lambda: rt.approvals.approve("c1", by="boss", reason="r"),
    ):
        with pytest.raises(Refused) as refused:
            each()
        assert code_of(refused) == "guard_missing"
    with pytest.raises(Refused, match="not_held"):
        rt.approvals.revoke("c1", by="boss", reason="r")

    rt.plugins.retire(guard, by="boss", reason="replaced")
    rt.evidence.export(tmp_path / "bundle.jsonl", workspace=None)
    assert done == []


def test_a_decision_that_policy_asks_about_is_the_answer(opened):
    """A decision is not held for another decision."""
    rt = opened({"id": "*", "decision": "ask"})
    with pytest.raises(Refused) as refused:
        asked(rt, "acme-letter/send", to="bob")

    approval = rt.approvals.approve(refused.value.failure.details["held"], by="boss", reason="ok")

    assert approval.state == "approved"


def test_effects_of_operations_count_in_their_run(opened, done):
    """What an operation did is known to the policy of later calls of the run."""
    rt = opened(
        {"id": "acme-letter/send", "decision": "deny", "effects_used": ["network_write"]},
        {"id": "acme-letter/send", "decision": "allow"},
    )
    caller = rt.session(principal="ann", run="r1").caller
    rt.dispatch("acme-letter/send", {"to": "bob"}, caller=caller)

    with pytest.raises(Refused, match="policy_denied"):
        rt.dispatch("acme-letter/send", {"to": "bob"}, caller=caller)

    assert len(done) == 1


@pytest.mark.parametrize(
    ("asking", "authorities", "said"),
    [
        (("evidence/export", {"path": "x"}), ALL, "deny"),
        (("acme-letter/send", {"to": "bob"}), {Authority.CALLER}, "ask"),
        (("acme-letter/send", {"to": "bob"}), ALL, "allow"),
        (("acme-letter/send", {"to": 5}), ALL, "arguments_invalid"),
        (("evidence/export", {"path": "x"}), {Authority.CALLER}, "authority operator"),
        (("evidence/list", {}), ALL, "only reads"),
        (("runtime-tool/call", {"tool": "host.app/x"}), ALL, "asked about the tool"),
    ],
    ids=["deny", "ask", "allow", "parameters", "authority", "read", "call"],
)
def test_policy_explain_says_it_of_operations(opened, asking, authorities, said):
    """Whether it would be let through, and by which rule, or what stops it before."""
    rt = opened({"id": "evidence/export", "decision": "deny"})
    caller = rt.session(principal="ann").caller
    before = kinds(rt)

    answer = rt.dispatch(
        "policy/explain",
        dict(zip(("tool", "arguments"), asking, strict=True)),
        caller=caller,
        authorities=frozenset(authorities),
    )

    assert said in (answer["decision"] or answer["stopped"])
    assert (answer["decided_by"] is None) == (answer["decision"] is None)
    assert kinds(rt) == before
