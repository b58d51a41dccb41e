"""Approvals as people handle them: bounds, authority, order, expiry."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import holon_core as holon
from door import approve, kinds, trail
from holon_core.records.words import ApprovalState, HeldState

WRITE = "host.app/write"
SAID: dict[str, Any] = {"by": "boss", "reason": "model citizen"}


@pytest.fixture
def rt(open_runtime, write) -> holon.Runtime:
    return open_runtime(write)  # type: ignore[no-any-return]


@pytest.fixture
def session(rt) -> holon.Session:
    return rt.session(principal="ann")  # type: ignore[no-any-return]


def code_of(caught: pytest.ExceptionInfo[holon.Refused]) -> str:
    return caught.value.failure.code


def test_a_request_never_consumes_the_approval_it_finds(rt, session, ran):
    """Asking again after the yes says that none is needed, records it, and runs nothing."""
    first = session.request_approval(WRITE, {"a": 1})
    approve(rt, first.failure.details["pending"])

    again = session.request_approval(WRITE, {"a": 1})

    assert (again.status, again.failure, again.held) == ("completed", None, None)
    assert trail(rt, again.call_id) == ["approval_requested"]
    assert rt.approvals.read(first.failure.details["pending"]).uses_left == 1
    assert session.call(WRITE, {"a": 1}).status == "completed"
    assert len(ran) == 1


def test_a_request_for_what_needs_no_approval_says_so(open_runtime, read, ran):
    """Nothing waits and nothing runs."""
    rt = open_runtime(read)

    result = rt.session(principal="ann").request_approval("host.app/read", {"n": 1})

    assert (result.status, result.failure) == ("completed", None)
    assert rt.approvals.list() == ()
    assert ran == []


def test_the_same_payload_asked_twice_waits_for_one_approval(rt, session):
    """However often, and whether held or requested."""
    ids = {session.request_approval(WRITE, {"a": 1}).failure.details["pending"] for _ in range(3)}
    held = session.call(WRITE, {"a": 1})

    assert ids == {held.failure.details["pending"]}
    assert len(rt.approvals.list()) == 1


def test_a_persons_no_outweighs_a_grant_and_an_older_yes(rt, session, ran):
    """Until it would expire; no edit leads around it."""
    held = session.call(WRITE, {"a": 1}).held
    rt.approvals.grant(WRITE, {"a": {"equals": 1}}, principal="ann", uses=5, ttl_s=900, **SAID)
    rt.approvals.deny(held, **SAID)

    denied = session.call(WRITE, {"a": 1})

    assert (denied.status, denied.failure.code) == ("blocked", "approval_denied")
    assert "boss said no: model citizen" in denied.failure.message
    assert denied.held is None
    assert ran == []
    assert session.explain(WRITE, {"a": 1}).outcome == "would be refused"
    other = session.call(WRITE, {"a": 2}).held
    again = rt.approvals.edit(other, {"a": 1}, **SAID)
    assert (again.held, again.failure.code) == (None, "approval_denied")
    assert rt.approvals.held_call(other).state == "held"
    assert session.call(WRITE, {"a": 1}).failure.code == "approval_denied"
    assert ran == []


def test_a_no_expires_like_a_yes(rt, session, clock):
    """Afterwards the payload can be asked for again."""
    rt.approvals.deny(session.call(WRITE, {"a": 1}).held, **SAID)
    clock.advance(rt.plugins.config.approval_ttl_s + 1)

    assert session.call(WRITE, {"a": 1}).held is not None


def test_a_denied_held_call_is_over(rt, session):
    """Nobody can release, approve or edit it any more; its key is free."""
    held = session.call(WRITE, {"a": 1}, key="k").held
    rt.approvals.deny(held, **SAID)

    assert rt.approvals.held_call(held).state == "denied"
    assert session.release(held).failure.code == "not_held"
    for again in (rt.approvals.approve, rt.approvals.deny):
        with pytest.raises(holon.Refused) as caught:
            again(held, **SAID)
        assert code_of(caught) == "already_decided"
    with pytest.raises(holon.Refused) as caught:
        rt.approvals.edit(held, {"a": 2}, **SAID)
    assert code_of(caught) == "already_decided"
    assert session.call(WRITE, {"a": 2}, key="k").held is not None


def test_a_call_replaced_by_an_edit_decides_no_other(rt, session, ran):
    """Two calls wait for one approval; deciding by the replaced one's id is refused."""
    one, two = session.call(WRITE, {"a": 1}).held, session.call(WRITE, {"a": 1}).held
    edited = rt.approvals.edit(one, {"a": 2}, **SAID)

    with pytest.raises(holon.Refused) as caught:
        approve(rt, one)

    assert code_of(caught) == "already_decided"
    assert rt.approvals.held_call(one).replaced_by == edited.held
    assert rt.approvals.read(two).state == "pending"
    approve(rt, two)
    assert session.release(two).status == "completed"
    assert ran == [{"a": 1}]
    assert {h.state for h in rt.approvals.held_for(rt.approvals.read(two).id)} == {
        "replaced",
        "released",
    }


def test_an_approval_nobody_waits_for_is_marked_edited(rt, session):
    """With the last call edited away there is nothing left to decide; the key goes too."""
    held = session.call(WRITE, {"a": 1}, key="k").held
    approval = rt.approvals.read(held).id

    rt.approvals.edit(held, {"a": 2}, **SAID)

    assert rt.approvals.read(approval).state == "edited"
    assert trail(rt, held) == ["held", "edited"]
    assert session.call(WRITE, {"a": 3}, key="k").held is not None


def test_an_edit_that_comes_too_late_changes_nothing(rt, session, open_runtime, write):
    """The call was decided while the edit was checked."""
    held = session.call(WRITE, {"a": 1}).held
    drive = rt.approvals._drive

    def decided_meanwhile(guard: Any, attempt: Any) -> Any:
        rt.approvals.deny(held, **SAID)
        return drive(guard, attempt)

    rt.approvals._drive = decided_meanwhile
    with pytest.raises(holon.Refused) as caught:
        rt.approvals.edit(held, {"a": 2}, **SAID)

    assert code_of(caught) == "already_decided"
    assert rt.approvals.held_call(held).state == "denied"


def test_who_asked_may_not_decide(rt, session):
    """Nor edit or grant; a no to one's own call is no decision for it, so it is allowed."""
    held = session.call(WRITE, {"a": 1}).held
    own: dict[str, Any] = {"by": "ann", "reason": "mine"}

    for decide in (
        lambda: rt.approvals.approve(held, **own),
        lambda: rt.approvals.edit(held, {"a": 2}, **own),
        lambda: rt.approvals.grant(WRITE, {}, principal="ann", uses=1, ttl_s=1, **own),
    ):
        with pytest.raises(holon.Refused) as caught:
            decide()
        assert code_of(caught) == "self_approval"
    assert rt.approvals.deny(held, **own).self_approved is True


def test_an_approval_is_revoked_before_it_is_used(rt, session, ran):
    """A run that waits for it does not start; who revoked and why is on the record."""
    held = session.call(WRITE, {"a": 1}).held
    approve(rt, held)

    revoked = rt.approvals.revoke(held, by="chief", reason="no longer")

    assert (revoked.state, revoked.decided_by, revoked.reason) == ("revoked", "chief", "no longer")
    assert session.release(held).failure.code == "approval_revoked"
    assert ran == []
    approve(rt, held)
    assert session.release(held).status == "completed"
    with pytest.raises(holon.Refused) as caught:
        rt.approvals.revoke(held, **SAID)
    assert code_of(caught) == "already_decided"


def test_an_expired_approval_cannot_be_decided(rt, session, clock):
    """The refusal is kept: it stays expired when the clock is set back."""
    held = session.call(WRITE, {"a": 1}).held
    clock.advance(rt.plugins.config.approval_ttl_s)
    with pytest.raises(holon.Refused) as caught:
        approve(rt, held)
    assert code_of(caught) == "approval_expired"
    clock.advance(-3600)

    with pytest.raises(holon.Refused) as caught:
        approve(rt, held)

    assert code_of(caught) == "already_decided"
    assert rt.approvals.read(held).state == "expired"


def test_a_held_call_whose_approval_expired_gets_a_new_one(rt, session, ran, clock):
    """Released again it is held again; an edit to the same payload too."""
    held = session.call(WRITE, {"a": 1}).held
    old = rt.approvals.read(held).id
    clock.advance(rt.plugins.config.approval_ttl_s)
    edited = rt.approvals.edit(session.call(WRITE, {"a": 2}).held, {"a": 1}, **SAID)
    assert rt.approvals.read(edited.held).id != old

    assert session.release(held).held == held
    assert rt.approvals.read(held).id == rt.approvals.read(edited.held).id
    approve(rt, held)
    assert session.release(held).status == "completed"
    assert len(ran) == 1


def test_of_two_calls_on_one_approval_the_first_release_takes_it(rt, session, ran):
    """The other waits again, under its own id."""
    one, two = session.call(WRITE, {"a": 1}).held, session.call(WRITE, {"a": 1}).held
    approve(rt, one)

    assert session.release(two).status == "completed"
    second = session.release(one)

    assert (second.held, second.failure.code) == (one, "approval_consumed")
    assert rt.approvals.held_call(one).state == "held"
    assert len(ran) == 1


def test_a_hundred_pending_are_enough_and_expired_ones_do_not_count(
    rt, session, clock, monkeypatch
):
    """One caller cannot bury the approvers; time makes room again."""
    from holon_core.guard import holding

    monkeypatch.setattr(holding, "MAX_PENDING", 3)
    helds = [session.call(WRITE, {"n": n}) for n in range(5)]

    assert [r.failure.code for r in helds[3:]] == ["approval_limit"] * 2
    assert helds[4].held is None
    assert session.call(WRITE, {"n": 0}).held is not None
    assert rt.session(principal="bea").call(WRITE, {"n": 9}).held is not None
    clock.advance(rt.plugins.config.approval_ttl_s + 1)
    assert session.call(WRITE, {"n": 7}).held is not None


def test_only_principal_and_workspace_of_a_held_call_may_release_it(rt, session, tmp_path, ran):
    """Others are refused, and that is recorded."""
    (tmp_path / "w").mkdir()
    held = session.call(WRITE, {"a": 1}).held
    approve(rt, held)

    for other in (
        rt.session(principal="bea"),
        rt.session(principal="ann", workspace=tmp_path / "w"),
    ):
        result = other.release(held)
        assert (result.status, result.failure.code) == ("blocked", "not_allowed")
        assert trail(rt, result.call_id) == ["refused"]
    assert ran == []


def test_a_release_runs_under_the_stored_caller(rt, open_runtime, write, tmp_path, ran):
    """Not under the role of whoever releases; a process without the tool cannot."""
    held = rt.session(principal="ann", role="support").call(WRITE, {"a": 1}).held
    approve(rt, held)
    bare = open_runtime()

    unknown = bare.session(principal="ann").release(held)
    assert unknown.failure.code == "unknown_tool"
    assert bare.approvals.held_call(held).state == "held"
    assert bare.approvals.view(held).call_id == held

    assert rt.session(principal="ann", role="admin").release(held).status == "completed"
    body = rt.evidence.read(held)[-2].body
    assert body["caller"]["role"] == "support"
    assert body["approval"] == rt.approvals.read(held).id
    assert body["self_approved"] is False


def test_a_call_released_twice_at_once_runs_once(open_runtime, write, ran):
    """The second finds nothing held, even inside its own transaction."""
    go_on, inside = threading.Event(), threading.Event()

    class Slow:
        name = "slow"
        waits = False

        @holon.hookimpl
        def holon_policies(self, host: Any) -> list[Any]:
            return [self]

        def evaluate(self, request: Any) -> holon.Verdict:
            if self.waits:
                inside.set()
                go_on.wait(0.8)
            return holon.Verdict(decision=holon.Decision.ASK, rule="slow")

    slow = Slow()
    late, quick = open_runtime(write, plugins=[slow]), open_runtime(write, plugins=[Slow()])
    held = late.session(principal="ann").call(WRITE, {"a": 1}).held
    approve(late, held)
    slow.waits = True
    results: list[holon.ToolResult] = []
    thread = threading.Thread(
        target=lambda: results.append(late.session(principal="ann").release(held))
    )
    thread.start()
    inside.wait(5)
    first = quick.session(principal="ann").release(held)
    go_on.set()
    thread.join()

    assert first.status == "completed"
    assert results[0].failure.code == "not_held"
    assert trail(quick, held) == ["held", "approved", "accepted", "completed", "refused"]
    assert len(ran) == 1


def test_a_grant_is_bounded(rt):
    """In uses, time, form of its pattern and kind of tool."""
    good: dict[str, Any] = {"principal": "ann", "uses": 1, "ttl_s": 1, **SAID}

    for bad in (
        {**good, "uses": 0},
        {**good, "uses": 10_001},
        {**good, "ttl_s": 0},
        {**good, "ttl_s": 31 * 86_400},
        {**good, "principal": ""},
        {**good, "by": "x" * 201},
        {**good, "reason": "\ud800"},
    ):
        with pytest.raises(holon.Misuse):
            rt.approvals.grant(WRITE, {}, **bad)
    for pattern in (
        {"a": 1},
        {"a": {}},
        {"a": {"equals": 1, "glob": "*"}},
        {"a": {"like": 1}},
        {"a": {"one_of": 1}},
        {"a": {"glob": 1}},
        {"a": {"glob": "[a"}},
        {"a": {"equals": object()}},
        {"a": {"equals": float("nan")}},
        {1: {"equals": 1}},
    ):
        with pytest.raises(holon.Misuse):
            rt.approvals.grant(WRITE, pattern, **good)
    with pytest.raises(holon.Refused, match="unknown_tool"):
        rt.approvals.grant("host.app/none", {}, **good)

    @holon.tool(effects={"destructive"})
    def wipe() -> int:
        return 1

    rt.register(wipe)
    with pytest.raises(holon.Refused, match="never granted"):
        rt.approvals.grant("host.app/wipe", {}, **good)
    assert rt.approvals.list(state=None) == ()


def test_a_grant_runs_out_by_uses_and_by_time(rt, session, ran, clock):
    """And covers one scope: the caller's workspace, role, profile, and this definition."""
    pattern = {"n": {"equals": 1.0}}
    rt.approvals.grant(WRITE, pattern, principal="ann", uses=2, ttl_s=60, **SAID)

    assert [session.call(WRITE, {"n": 1}).status for _ in range(3)] == [
        "completed",
        "completed",
        "blocked",
    ]
    rt.approvals.grant(WRITE, pattern, principal="ann", uses=2, ttl_s=60, **SAID)
    assert rt.session(principal="ann", role="r").call(WRITE, {"n": 1}).status == "blocked"
    clock.advance(60)
    assert session.call(WRITE, {"n": 1}).status == "blocked"
    assert len(ran) == 2


def test_a_grant_covers_no_tool_that_became_destructive(rt, session, ran):
    """Nor one whose definition changed."""
    rt.approvals.grant(WRITE, {}, principal="ann", uses=5, ttl_s=60, **SAID)

    def write(**arguments: Any) -> None:
        ran.append(arguments)

    rt.register(write, id="write", effects={"destructive"}, input_schema={"type": "object"})

    assert session.call(WRITE, {}).status == "blocked"
    assert ran == []


def test_waiting_sees_what_another_process_decides(rt, open_runtime, session):
    """It ends with the decision, at the time limit, or with the expiry."""
    other = open_runtime()
    held = session.call(WRITE, {"a": 1}).held

    assert rt.approvals.wait(held, timeout_s=0).state == "pending"
    timer = threading.Timer(0.1, lambda: approve(other, held))
    timer.start()
    assert rt.approvals.wait(held, timeout_s=20).state == "approved"
    timer.join()
    for bad in (-1, 86_401):
        with pytest.raises(holon.Misuse):
            rt.approvals.wait(held, timeout_s=bad)


def test_waiting_ends_with_the_expiry(rt, session, clock):
    """Nobody can decide any more."""
    held = session.call(WRITE, {"a": 1}).held
    clock.advance(rt.plugins.config.approval_ttl_s)

    assert rt.approvals.wait(held, timeout_s=20).state == "expired"


def test_listings_are_paged_and_bounded(rt, session, tmp_path):
    """By id, oldest first, by state and workspace."""
    (tmp_path / "w").mkdir()
    there = rt.session(principal="ann", workspace=tmp_path / "w")
    helds = [session.call(WRITE, {"n": n}).held for n in range(3)]
    helds.append(there.call(WRITE, {"n": 0}).held)

    first = rt.approvals.list(limit=2)
    rest = rt.approvals.list(after=first[-1].id)
    assert len(first) == len(rest) == 2
    assert [a.workspace for a in rt.approvals.list(workspace=there.caller.workspace)] == [
        there.caller.workspace
    ]
    assert [h.call_id for h in rt.approvals.held()] == helds
    assert rt.approvals.held(state=HeldState.DENIED) == ()
    assert rt.approvals.list(state=ApprovalState.APPROVED) == ()
    for limit in (0, 1001):
        for listing in (rt.approvals.list, rt.approvals.held):
            with pytest.raises(holon.Misuse):
                listing(limit=limit)


@pytest.mark.parametrize(
    "bad", ["", "x" * 300, "\ud800", 5, b"c1"], ids=["empty", "long", "half", "int", "bytes"]
)
def test_an_id_that_cannot_be_one_is_misuse(rt, session, bad):
    """And no error of the store."""
    for use in (rt.approvals.read, rt.approvals.held_call, session.release):
        with pytest.raises(holon.Misuse):
            use(bad)


def test_an_unknown_id_is_refused(rt, session):
    """By each operation, with the same code."""
    for use in (
        lambda: rt.approvals.read("a0"),
        lambda: rt.approvals.held_call("c0"),
        lambda: rt.approvals.approve("c0", **SAID),
        lambda: rt.approvals.revoke("a0", **SAID),
        lambda: rt.approvals.edit("c0", {}, **SAID),
    ):
        with pytest.raises(holon.Refused) as caught:
            use()
        assert code_of(caught) == "not_held"
    assert kinds(rt) == []


def test_an_approval_used_by_many_names_the_last_hundred(rt, session, ran):
    """A record does not grow for ever."""
    grant = rt.approvals.grant(
        WRITE, {"n": {"glob": "*"}}, principal="ann", uses=200, ttl_s=60, **SAID
    )
    for n in range(102):
        assert session.call(WRITE, {"n": str(n)}).status == "completed"

    left = rt.approvals.read(grant.id)
    assert (left.uses_left, len(left.used_by)) == (98, 100)
