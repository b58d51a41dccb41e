"""The operations on frozen tools: each is asked, answers as it promises, and sees what it may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frozen_tools import BOSS, Echoes, brought_to, proposal, recorded
from holon_core import Authority, FrozenState, Refused, resolve_program
from holon_core.operations.frozen_rows import NOUN
from holon_core.operations.table import OPERATIONS
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.wire.schema_engine import compiled

S = FrozenState
ALL = frozenset(Authority)
Ask = Callable[..., Any]


@pytest.fixture
def ask(runtime: Runtime, session: Session) -> Ask:
    """Ask an operation as Ann in the workspace; the answer fits its schema."""

    def ask(verb: str, *, authorities: Any = ALL, caller: Any = None, **given: Any) -> Any:
        method = f"{NOUN}/{verb}"
        answer = runtime.dispatch(
            method, given, caller=caller or session.caller, authorities=authorities
        )
        assert compiled(OPERATIONS[method].response, f"answer {method}").errors(answer) == ()
        return answer

    return ask


def test_a_tool_goes_its_whole_way_by_operations(
    ask: Ask, runtime: Runtime, session: Session
) -> None:
    """From a proposal to the archive, as a protocol or the command would bring it."""
    made = ask("create", proposal=proposal(), calls=recorded(session))
    tool = made["id"]
    made = ask("update", id=tool, proposal=proposal(purpose="Better"), revision=made["revision"])
    assert ask("promote", id=tool)["proposal"]["state"] == "candidate"
    assert ask("validate", id=tool)["state"] == "validated"
    for state in ("frozen", "active"):
        held = ask("promote", id=tool, reason="go")["result"]["held"]
        runtime.approvals.approve(held, by=BOSS, reason="ok")
        again = ask("promote", id=tool, reason="go")
        assert again["result"]["output"]["state"] == state
    assert [each["state"] for each in ask("revalidate")["proposals"]] == ["active"]
    drawn = ask("read", id=tool, graph=True)
    assert "active" in drawn["graph"]
    assert drawn["svg"] is None
    drawn = ask("read", id=tool, svg=True)
    assert drawn["graph"] is None
    assert (drawn["svg"] is None) is (resolve_program("dot") is None)
    assert [each["id"] for each in ask("list", state="active")["proposals"]] == [tool]
    second = ask("create", proposal=proposal(purpose="Best"), calls=recorded(session))
    assert ask("diff", id=second["id"])["changes"][0]["path"] == "/purpose"
    assert ask("withdraw", id=second["id"], reason="no")["state"] == "archived"
    assert ask("block", id=tool, reason="stop")["state"] == "blocked"
    held = ask("unblock", id=tool, reason="fine")["result"]["held"]
    runtime.approvals.approve(held, by=BOSS, reason="ok")
    assert session.release(held).output["state"] == "validated"
    assert ask("archive", id=tool, reason="done")["state"] == "archived"
    active = brought_to(runtime, session, S.ACTIVE, name="other")
    assert ask("deprecate", id=active.id, reason="old")["state"] == "deprecated"


@pytest.mark.parametrize("verb", ["validate", "deprecate", "block", "unblock", "archive"])
def test_a_caller_alone_moves_nothing_that_others_rely_on(
    ask: Ask, runtime: Runtime, session: Session, verb: str
) -> None:
    """Who runs code, or stops a tool, is an operator."""
    record = brought_to(runtime, session, S.CANDIDATE)
    given = {} if verb == "validate" else {"reason": "r"}

    with pytest.raises(Refused) as caught:
        ask(verb, authorities=[Authority.CALLER], id=record.id, **given)

    assert caught.value.failure.code == "not_allowed"


def test_another_workspaces_tool_is_not_there_for_a_caller(
    ask: Ask, runtime: Runtime, session: Session, tmp_path: Any
) -> None:
    """Neither read nor listed; an operator sees it."""
    record = brought_to(runtime, session, S.ACTIVE)
    (tmp_path / "else").mkdir()
    there = runtime.session(principal="bo", workspace=tmp_path / "else").caller

    with pytest.raises(Refused) as caught:
        ask("read", authorities=[Authority.CALLER], caller=there, id=record.id)

    assert caught.value.failure.code == "unknown_proposal"
    assert ask("list", authorities=[Authority.CALLER], caller=there)["proposals"] == []
    assert ask("read", caller=there, id=record.id)["proposal"]["id"] == record.id


def test_an_accepted_answer_of_an_agent_becomes_a_proposal(
    ask: Ask, runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """Its digest and the evidence that it names are its origin."""
    call = session.call("host.app/shout", {"text": "hi"})
    chain, seq = call.evidence_refs[-1]
    evidence = [{"chain": chain, "seq": seq}]
    body = proposal()
    answer = {
        **{name: body[name] for name in ("name", "kind", "purpose")},
        **{name: body[name] for name in ("input_schema", "output_schema")},
        "provenance": {"evidence": evidence},
        "validation_evidence": evidence,
        "policy": {"effects": ["none"], "approval": "none"},
        "fallback": {"policy": "manual_handoff", "note": "say it"},
        "implementation": {"fixtures": body["fixtures"]},
    }
    accepted = session.accept_output("frozen_tool_proposal", answer)
    assert accepted.failure is None, accepted.failure

    made = ask("create", output_id=accepted.output_id)

    kinds = [each["kind"] for each in made["provenance"]]
    assert kinds == ["evidence", "evidence", "structured_output"]
    assert made["provenance"][-1]["digest"] == accepted.digest
    assert ask("validate", id=made["id"])["state"] == "validated"


def test_an_output_of_another_class_is_no_proposal(ask: Ask, session: Session) -> None:
    """It is for other consumers."""
    answer = {"verdict": "approve", "summary": "ok", "findings": []}
    accepted = session.accept_output("reviewer_output", answer)

    with pytest.raises(Refused) as caught:
        ask("create", output_id=accepted.output_id)

    assert caught.value.failure.kind == "policy_denied"
