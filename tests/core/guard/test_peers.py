"""What others were seen to get wrong, as things that the door does not do."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

import holon_core as holon
from door import approve, kinds, trail
from holon_core.errors import JsonRefused
from holon_core.wire.canonical import canonical
from holon_core.wire.values import normalise
from support import label

WRITE = "host.app/write"


@pytest.fixture
def rt(open_runtime, write) -> holon.Runtime:
    return open_runtime(write)  # type: ignore[no-any-return]


@pytest.fixture
def session(rt) -> holon.Session:
    return rt.session(principal="ann")  # type: ignore[no-any-return]


def rewrite(tmp_path: Any, statement: str, *values: Any) -> None:
    """Change the store behind the runtime's back."""
    with closing(sqlite3.connect(tmp_path / "root" / "holon.db")) as db:
        db.execute(statement, values)
        db.commit()


def test_a_stored_payload_changed_after_its_approval_does_not_run(rt, session, ran, tmp_path):
    """An approval is keyed by the payload, not by the id of a call."""
    held = session.call(WRITE, {"amount": 100}).held
    approve(rt, held)
    rewrite(tmp_path, "update held set body=replace(body, '\"amount\": 100', '\"amount\": 999999')")

    result = session.release(held)

    assert (result.status, result.failure.code) == ("blocked", "approval_mismatch")
    assert ran == []


def test_the_same_approval_given_twice_runs_the_tool_once(rt, session, ran):
    """Deciding again is refused, and releasing again finds nothing held."""
    held = session.call(WRITE, {"amount": 100}).held
    approve(rt, held)
    with pytest.raises(holon.Refused, match="already_decided"):
        approve(rt, held)

    assert session.release(held).status == "completed"
    assert session.release(held).failure.code == "not_held"
    assert ran == [{"amount": 100}]


def test_one_approval_resumed_from_a_copy_of_the_held_call_runs_once(rt, session, ran, tmp_path):
    """A snapshot of the waiting state is no second permission."""
    held = session.call(WRITE, {"amount": 100}).held
    approve(rt, held)
    assert session.release(held).status == "completed"
    rewrite(tmp_path, "update held set state='held' where call=?", held)

    again = session.release(held)

    assert (again.status, again.failure.code) == ("blocked", "approval_consumed")
    assert len(ran) == 1


def test_an_edited_call_renamed_to_another_tool_is_that_tools_call(open_runtime, write, tmp_path):
    """What may be approved for one tool releases no other, whatever the stored name says."""
    danger_ran = []

    @holon.tool(id="danger", effects={"destructive"})
    def danger(amount: int) -> int:
        danger_ran.append(amount)
        return amount

    rt = open_runtime(write, danger)
    session = rt.session(principal="ann")
    held = session.call(WRITE, {"amount": 1}).held
    approve(rt, held)
    rewrite(tmp_path, "update held set body=replace(body, 'host.app/write', 'host.app/danger')")

    result = session.release(held)

    assert result.status == "blocked"
    assert danger_ran == []


def test_an_edit_cannot_change_which_tool_runs(rt, session, ran):
    """An editor gives other arguments, nothing else; the edit waits for its own approval."""
    held = session.call(WRITE, {"amount": 1}).held

    edited = rt.approvals.edit(held, {"tool": "host.app/other", "amount": 2}, by="boss", reason="x")

    new = rt.approvals.held_call(edited.held)
    assert new.tool["id"] == WRITE
    assert session.release(held).failure.code == "not_held"
    assert session.release(edited.held).status == "blocked"
    assert ran == []
    approve(rt, edited.held)
    assert session.release(edited.held).status == "completed"
    assert ran == [{"tool": "host.app/other", "amount": 2}]


@pytest.mark.parametrize(
    "arguments",
    [{"n": "1"}, {"n": True}, {"n": 1.5}, {"n": None}, {}, {"n": 1, "m": 2}, {"N": 1}, [1], "[]"],
    ids=["text", "true", "fraction", "null", "absent", "unknown", "case", "list", "list-text"],
)
def test_wrong_types_and_unknown_names_are_refused_not_coerced(open_runtime, read, ran, arguments):
    """The tool is not entered, and the record says where the fault is."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    rt = open_runtime()
    rt.register(read, input_schema=schema)

    result = rt.session(principal="ann").call("host.app/read", arguments)

    assert (result.status, result.failure.code) == ("failed", "arguments_invalid")
    assert trail(rt, result.call_id) == ["refused"]
    assert ran == []


@pytest.mark.parametrize(
    ("edit", "code"), [({"n": "x"}, "arguments_invalid"), ({"n": 1, "m": 1}, "arguments_invalid")]
)
def test_an_edit_with_wrong_arguments_changes_nothing(open_runtime, edit, code):
    """It is refused like any call, and the held call still waits as it was."""

    @holon.tool(effects={"machine_write"})
    def take(n: int) -> int:
        return n

    rt = open_runtime(take)
    session = rt.session(principal="ann")
    held = session.call("host.app/take", {"n": 1}).held

    assert rt.approvals.edit(held, edit, by="boss", reason="typo").failure.code == code
    approve(rt, held)
    assert session.release(held).output == {"result": 1}


@pytest.mark.parametrize(
    ("number", "text"), [(1e21, b"1e+21"), (1e-7, b"1e-7"), (1.0, b"1"), (-0.0, b"0")]
)
def test_digests_are_those_of_rfc_8785(number, text):
    """Numbers are written as the standard says, so that others find the same digest."""
    assert normalise(number).canonical == text
    assert normalise({"n": number}).canonical == b'{"n":' + text + b"}"


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53) - 1, float(2**53), 1e20])
def test_an_integer_that_has_no_portable_digest_is_refused(session, ran, number):
    """Rather than rounded, at the door and in the canonical form."""
    with pytest.raises(JsonRefused):
        normalise(number)
    if isinstance(number, int):
        with pytest.raises(JsonRefused):
            canonical(number)
    assert session.call(WRITE, {"n": number}).failure.code == "arguments_invalid"
    assert ran == []


class Answering:
    """A policy that gives one answer to everything."""

    def __init__(self, name: str, answer: Any) -> None:
        self.name = name
        self.answer = answer

    def evaluate(self, request: holon.PolicyRequest) -> Any:
        return self.answer


class Policies:
    """A plugin that offers policies."""

    name = "judges"

    def __init__(self, *policies: Any) -> None:
        self.policies = policies

    @holon.hookimpl
    def holon_policies(self, host: Any) -> list[Any]:
        return list(self.policies)


def around(**said: Any) -> holon.Verdict:
    """Make a verdict that its class would not make."""
    made = holon.Verdict(decision=holon.Decision.ALLOW, rule="m")
    for name, value in said.items():
        object.__setattr__(made, name, value)
    return made


ADVICE = [
    None,
    "approved",
    "yes",
    True,
    1,
    {"decision": "allow"},
    holon.Decision.ALLOW,
    around(decision="allow"),
]


@pytest.mark.parametrize("answer", ADVICE, ids=label)
def test_advice_that_is_no_verdict_releases_nothing(open_runtime, write, ran, answer):
    """Neither an absent decision nor a friendly word counts as a yes."""
    rt = open_runtime(write, plugins=[Policies(Answering("model", answer))])

    result = rt.session(principal="ann").call(WRITE, {})

    assert (result.status, result.failure.code) == ("blocked", "policy_denied")
    assert ran == []


@pytest.mark.parametrize("answer", ["approved", True, None])
def test_only_a_stored_decision_of_a_person_releases(open_runtime, write, ran, answer):
    """A policy that says allow does not stand for the approval that another asks for."""
    allow = holon.Verdict(decision=holon.Decision.ALLOW, rule="model", reason=str(answer))
    rt = open_runtime(write, plugins=[Policies(Answering("model", allow))])
    session = rt.session(principal="ann")

    held = session.call(WRITE, {"approved": answer, "approval": "a1", "decision": "approved"}).held

    assert held is not None
    assert session.release(held).failure.code == "approval_required"
    assert ran == []


def test_a_changed_definition_voids_the_approval(rt, session, ran):
    """A version, a description or a limit of the tool is part of what was approved."""
    held = session.call(WRITE, {"a": 1}).held
    approve(rt, held)

    def write(**arguments: Any) -> None:
        ran.append(arguments)

    rt.register(
        write,
        id="write",
        effects={"machine_write"},
        input_schema={"type": "object", "additionalProperties": True},
        description="Now it does something else.",
    )

    result = session.release(held)

    assert (result.status, result.failure.code) == ("blocked", "approval_wrong_scope")
    assert ran == []


def test_a_pinned_definition_is_held(rt, session, ran):
    """A caller that names the digest it was shown gets that tool or none."""
    digest = rt.tools.read(WRITE).digest

    assert session.call(WRITE, {}, definition=digest).held is not None
    changed = session.call(WRITE, {}, definition="0" * 64)

    assert (changed.status, changed.failure.code) == ("blocked", "definition_changed")
    assert changed.failure.details["found"] == digest


@pytest.mark.parametrize(
    "value",
    [object(), (1, 2), {1, 2}, b"bytes", {1: 2}, float("nan"), float("inf"), range(3), "\ud800"],
    ids=["object", "tuple", "set", "bytes", "int-key", "nan", "inf", "range", "surrogate"],
)
def test_arguments_that_are_no_json_are_refused_not_turned_to_text(rt, session, ran, value):
    """No repr of an object enters a digest, and the place of the fault is told."""
    result = session.call(WRITE, {"deep": [{"value": value}]})

    assert (result.status, result.failure.code) == ("failed", "arguments_invalid")
    assert result.failure.details["path"].startswith("/deep/0/value")
    assert json.dumps(result.failure.details)
    assert ran == []


def test_the_runtime_itself_enforces_the_output_schema(open_runtime):
    """Not the client: a value that breaks it is no result."""

    @holon.tool(effects={"none"}, output_schema={"type": "object", "required": ["id"]})
    def gives() -> dict[str, Any]:
        return {"name": "x"}

    result = open_runtime(gives).session(principal="ann").call("host.app/gives")

    assert (result.status, result.failure.code) == ("failed", "output_schema")
    assert result.output is None


def test_calls_of_one_batch_are_judged_one_by_one(open_runtime, write, read, ran):
    """An allowed, a held, a denied and an invalid call side by side do not affect each other."""

    @holon.tool
    def undeclared() -> int:
        ran.append("undeclared")
        return 1

    rt = open_runtime(write, read, undeclared)
    session = rt.session(principal="ann")
    batch: list[tuple[str, Any]] = [
        (WRITE, {"n": 1}),
        ("host.app/read", {"n": 2}),
        ("host.app/undeclared", {}),
        ("host.app/read", {"n": "x"}),
        ("host.app/read", {"n": 3}),
    ]

    codes = [
        (r.failure.code if r.failure else "completed") for r in (session.call(*c) for c in batch)
    ]

    assert codes == [
        "approval_required",
        "completed",
        "effects_undeclared",
        "arguments_invalid",
        "completed",
    ]
    assert ran == [2, 3]
    assert len({r.call_id for r in rt.evidence.list(workspace=None)}) == len(batch)


def test_a_grant_of_no_arguments_never_widens_to_any(rt, session, ran):
    """An empty pattern covers the call without arguments and nothing else."""
    rt.approvals.grant(WRITE, {}, principal="ann", uses=5, ttl_s=60, by="boss", reason="ping")

    assert session.call(WRITE, {}).status == "completed"
    assert session.call(WRITE, {"amount": 1}).status == "blocked"
    assert ran == [{}]


def test_a_grant_covers_only_what_it_names(rt, session, ran):
    """Each argument by name and condition; JSON's equality, not Python's."""
    rt.approvals.grant(
        WRITE,
        {"to": {"glob": "team-*"}, "n": {"one_of": [1, 2]}, "dry": {"equals": False}},
        principal="ann",
        uses=10,
        ttl_s=60,
        by="boss",
        reason="routine",
    )
    good = {"to": "team-a", "n": 1, "dry": False}

    assert session.call(WRITE, good).status == "completed"
    for bad in (
        {**good, "to": "boss"},
        {**good, "to": 5},
        {**good, "n": 3},
        {**good, "n": True},
        {**good, "dry": 0},
        {**good, "more": 1},
        {"to": "team-a", "n": 1},
    ):
        assert session.call(WRITE, bad).held is not None
    assert ran == [good]


def test_refusals_are_recorded_like_runs(open_runtime, read, tmp_path):
    """Each attempt leaves one trail, whatever step stopped it."""
    rt = open_runtime(read)
    session = rt.session(principal="ann")
    before = len(kinds(rt))

    results = [
        session.call("host.app/absent"),
        session.call("host.app/read", '{"n":1,"n":2}'),
        session.call("host.app/read", {"n": "x"}),
        session.call("host.app/read", {"n": 1}, definition="other"),
        session.release("c0"),
    ]

    assert [trail(rt, r.call_id) for r in results] == [["refused"]] * len(results)
    assert len(kinds(rt)) == before + len(results)
    for result in results:
        body = rt.evidence.read(result.call_id)[0].body
        assert body["failure"]["code"] == result.failure.code
        assert body["caller"]["principal"] == "ann"


def test_an_approval_is_decided_once_and_not_judged_again(rt, session, ran):
    """The release takes the policies again, but asks no person a second time."""
    held = session.call(WRITE, {"a": 1}).held
    approve(rt, held)
    with pytest.raises(holon.Refused, match="already_decided"):
        rt.approvals.deny(held, by="boss", reason="changed my mind")

    assert session.release(held).status == "completed"
    assert trail(rt, held) == ["held", "approved", "accepted", "completed"]


def test_a_policy_that_denies_later_still_wins_over_an_approval(open_runtime, write, ran):
    """An approval lifts an ask and never a deny."""
    judge = Answering("judge", holon.Verdict(decision=holon.Decision.ALLOW, rule="ok"))
    rt = open_runtime(write, plugins=[Policies(judge)])
    session = rt.session(principal="ann")
    held = session.call(WRITE, {"a": 1}).held
    approve(rt, held)
    judge.answer = holon.Verdict(decision=holon.Decision.DENY, rule="freeze", reason="a freeze")

    denied = session.release(held)

    assert (denied.status, denied.failure.code) == ("blocked", "policy_denied")
    assert "freeze" in denied.failure.message
    judge.answer = holon.Verdict(decision=holon.Decision.ALLOW, rule="ok")
    assert session.release(held).status == "completed"
    assert len(ran) == 1


@pytest.mark.parametrize("verb", ["approve", "deny", "edit", "grant", "revoke"])
def test_who_decided_and_why_is_kept(rt, session, verb):
    """In the chain, under its hash, for each kind of decision."""
    held = session.call(WRITE, {"a": 1}).held
    said = {"by": "boss", "reason": f"because of {verb}"}
    if verb == "edit":
        rt.approvals.edit(held, {"a": 2}, **said)
    elif verb == "grant":
        rt.approvals.grant(WRITE, {}, principal="ann", uses=1, ttl_s=9, **said)
    else:
        getattr(rt.approvals, verb)(held, **said)

    bodies = [r.body for r in rt.evidence.list(workspace=None)]

    assert [b["by"] for b in bodies if b.get("reason") == said["reason"]] == ["boss"]
    assert rt.evidence.verify(None).consistent
