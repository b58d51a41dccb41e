"""The steps before execution: scope, gates, what moves meanwhile; dry run and explain."""

from __future__ import annotations

import shutil
import threading
from typing import Any

import pytest

import holon_core as holon
from door import approve, kinds, open_calls, trail
from holon_core.catalogue.catalogue import Entry
from holon_core.records.failure import failure

READ, WRITE = "host.app/read", "host.app/write"


class Hook:
    """A policy that does something while it is asked."""

    name = "hook"

    def __init__(self, act: Any = None, decision: str = "allow") -> None:
        self.act = act
        self.decision = decision

    @holon.hookimpl
    def holon_policies(self, host: Any) -> list[Any]:
        return [self]

    def evaluate(self, request: holon.PolicyRequest) -> holon.Verdict:
        act, self.act = self.act, None
        if act is not None:
            act()
        return holon.Verdict(decision=holon.Decision(self.decision), rule="hook", reason="r")


@pytest.fixture
def folder(tmp_path) -> Any:
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def look(ran) -> Any:
    @holon.tool(effects={"workspace_read"})
    def look() -> int:
        ran.append(1)
        return 1

    return look


def test_a_tool_of_a_workspace_needs_one(open_runtime, look, ran):
    """Without it the call is refused before anything else."""
    result = open_runtime(look).session(principal="ann").call("host.app/look")

    assert (result.status, result.failure.code) == ("blocked", "workspace_required")
    assert ran == []


@pytest.mark.parametrize("harm", ["gone", "exchanged", "file"])
def test_a_workspace_whose_folder_is_not_the_one_opened_is_refused(
    open_runtime, look, ran, folder, harm
):
    """Reads of another folder under the same name would be reads of somebody else's data."""
    session = open_runtime(look).session(principal="ann", workspace=folder)
    assert session.call("host.app/look").status == "completed"
    if harm == "exchanged":
        folder.rename(folder.with_name("old"))
        folder.mkdir()
    else:
        shutil.rmtree(folder)
    if harm == "file":
        folder.write_text("")

    result = session.call("host.app/look")

    assert result.failure.code == "workspace_unavailable"
    assert len(ran) == 1


def test_an_exchanged_folder_keeps_the_principals_of_its_workspace(open_runtime, look, folder):
    """Whoever opens it anew by its path alone does not open it to everybody."""
    rt = open_runtime(look)
    made = rt.workspaces.open(folder, principals=["ann"])
    folder.rename(folder.with_name("old"))
    folder.mkdir()

    stranger = rt.session(principal="mallory", workspace=folder)

    assert rt.workspaces.read(made.id).principals == ("ann",)
    assert stranger.call("host.app/look").failure.code == "wrong_workspace"
    assert rt.session(principal="ann", workspace=folder).call("host.app/look").status == "completed"


def test_workspaces_are_opened_found_and_listed(open_runtime, folder, tmp_path):
    """By id or path; reopening changes nothing."""
    rt = open_runtime()
    inner = folder / "inner"
    inner.mkdir()
    outer_w, inner_w = rt.workspaces.open(folder, name="Work"), rt.workspaces.open(inner)

    assert rt.workspaces.open(folder) == outer_w
    assert rt.session(principal="ann", workspace=outer_w.id).caller.workspace == outer_w.id
    assert [w.id for w in rt.workspaces.list()] == sorted([outer_w.id, inner_w.id])
    assert rt.workspaces.containing(inner / "x") == inner_w
    assert rt.workspaces.containing(tmp_path / "other") is None
    assert open_runtime().workspaces.find(inner_w.id) == inner_w
    with pytest.raises(holon.Misuse):
        rt.workspaces.list(limit=0)
    with pytest.raises(holon.Refused, match="wrong_workspace"):
        rt.workspaces.read("none")
    with pytest.raises(holon.Refused, match="wrong_workspace"):
        rt.session(principal="ann", workspace="none")


def test_what_cannot_be_a_workspace_is_refused(open_runtime, tmp_path):
    """A missing folder, a file, and any overlap with the storage root."""
    rt = open_runtime()
    (tmp_path / "file").write_text("")

    for path in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(holon.Refused, match="workspace_unavailable"):
            rt.workspaces.open(path)
    for path in (tmp_path, tmp_path / "root", tmp_path / "root" / "live"):
        with pytest.raises(holon.WorkspaceInsideRoot):
            rt.session(principal="ann", workspace=path)


@pytest.mark.parametrize("bad", [None, "", 5, "x" * 201])
def test_a_session_needs_a_principal(open_runtime, bad):
    """A text that can be kept."""
    with pytest.raises(holon.Misuse):
        open_runtime().session(principal=bad)


def test_a_session_shows_who_calls_and_no_more(open_runtime, folder):
    """In its repr."""
    rt = open_runtime()

    assert "ann in no workspace" in repr(rt.session(principal="ann"))
    assert "work-" in repr(rt.session(principal="ann", workspace=folder))


def test_a_tool_that_nothing_executes_is_named_as_such(open_runtime, read):
    """It is known, and cannot run here; an edit of such a call shows no preview."""
    rt = open_runtime(read)
    rt._guard.catalogue.put(Entry(rt.tools.read(READ), None))

    result = rt.session(principal="ann").call(READ)

    assert (result.status, result.failure.code) == ("blocked", "unsupported_capability")
    assert rt.session(principal="ann").dry_run(READ).output == {}


@pytest.mark.parametrize("answer", ["refuses", "raises", "garbage"])
def test_a_gate_of_a_lane_can_only_block(open_runtime, read, ran, answer):
    """What it names blocks the call; a gate that fails blocks it too."""

    def gate(attempt: Any) -> Any:
        if answer == "raises":
            raise SystemExit(1)
        return [failure("circuit_open", "too many faults") if answer == "refuses" else "fine"]

    rt = open_runtime(read)
    rt._guard.gates["host"] = (gate,)

    result = rt.session(principal="ann").call(READ)

    assert result.status in ("blocked", "failed")
    assert result.failure.code == ("circuit_open" if answer == "refuses" else "lane_protocol")
    assert trail(rt, result.call_id) == ["refused"]
    assert ran == []


def test_a_gate_that_has_nothing_to_say_lets_the_call_pass(open_runtime, read, ran):
    """An empty answer is no block."""
    rt = open_runtime(read)
    rt._guard.gates["host"] = (lambda attempt: [],)

    assert rt.session(principal="ann").call(READ).status == "completed"


def test_effects_of_a_run_that_grew_while_policy_was_asked_are_judged_again(
    open_runtime, read, ran
):
    """Another call of the same run was accepted in between: the policies see it."""
    seen: list[Any] = []

    class Watching(Hook):
        def evaluate(self, request: holon.PolicyRequest) -> holon.Verdict:
            seen.append(sorted(request.effects_used))
            return super().evaluate(request)

    rt = open_runtime(read, plugins=[hook := Watching()])
    hook.act = lambda: rt._guard.store.transact(
        lambda tables: tables.add_run_effects("r1", frozenset({"machine_read"}))
    )

    result = rt.session(principal="ann", run="r1").call(READ)

    assert result.status == "completed"
    assert seen == [[], ["machine_read"]]
    assert kinds(rt) == ["accepted", "completed"]


@pytest.mark.parametrize("change", ["none", "redefined"])
def test_a_catalogue_that_moved_while_policy_was_asked_is_looked_at_again(
    open_runtime, read, ran, change
):
    """The same definition passes, another is refused: nobody approved that one."""
    hook = Hook()
    rt = open_runtime(read, plugins=[hook])
    session = rt.session(principal="ann")
    session.call(READ)

    def act() -> None:
        rt._guard.store.transact(lambda tables: tables.bump_revision())
        if change == "redefined":
            rt.register(read, id="read", effects={"none"}, description="Another thing.")

    hook.act = act
    result = session.call(READ)

    if change == "none":
        assert result.status == "completed"
    else:
        assert (result.status, result.failure.code) == ("blocked", "definition_changed")
    assert len(ran) == (2 if change == "none" else 1)


def test_a_required_sink_that_is_behind_stops_calls(open_runtime, read, ran, clock):
    """Evidence that cannot be delivered in time is evidence that is missing."""

    class Stuck:
        name = "stuck"
        required = True

        def write(self, records: Any) -> None:
            raise OSError("down")

        def close(self) -> None:
            pass

    class Plugin:
        name = "stuck"

        @holon.hookimpl
        def holon_evidence_sinks(self, host: Any) -> list[Any]:
            return [Stuck()]

    rt = open_runtime(read, plugins=[Plugin()])
    session = rt.session(principal="ann")
    assert session.call(READ).status == "completed"
    clock.advance(3600)

    result = session.call(READ)

    assert (result.status, result.failure.code) == ("blocked", "sink_behind")
    assert trail(rt, result.call_id) == ["refused"]
    assert len(ran) == 1


def test_limits_lowered_by_the_workspace_hold(open_runtime, folder):
    """A workspace can tighten what a tool declares."""
    (folder / "pyproject.toml").write_text("[tool.holon.limits]\nmax_output_bytes = 100\n")

    @holon.tool(effects={"workspace_read"})
    def chatter(call: holon.SealedCall) -> str:
        return "x" * min(200, call.limits.max_output_bytes + 50)

    result = (
        open_runtime(chatter).session(principal="ann", workspace=folder).call("host.app/chatter")
    )

    assert (result.status, result.failure.code) == ("failed", "output_too_large")


def test_a_sealed_call_shows_what_it_is_and_is_made_nowhere_else(open_runtime, ran):
    """It cannot be made, copied or pickled, and has no secret that was not declared."""
    import copy
    import pickle

    @holon.tool(effects={"none"})
    def keeps(call: holon.SealedCall) -> dict[str, Any]:
        ran.append(call)
        for misuse in (lambda: call.secret("other"), lambda: copy.copy(call)):
            with pytest.raises(holon.Misuse):
                misuse()
        return {
            "id": call.call_id,
            "principal": call.caller.principal,
            "arguments": call.arguments,
            "json": call.arguments_json.decode(),
            "cancelled": call.cancel.cancelled,
        }

    result = open_runtime(keeps).session(principal="ann").call("host.app/keeps")

    assert result.output == {
        "id": result.call_id,
        "principal": "ann",
        "arguments": {},
        "json": "{}",
        "cancelled": False,
    }
    assert result.call_id in repr(ran[0])
    for misuse in (lambda: pickle.dumps(ran[0]), holon.SealedCall):
        with pytest.raises(holon.Misuse):
            misuse()


def test_a_preview_that_fails_is_a_note_and_the_call_is_held(open_runtime, write):
    """What it raises, or answers that is no JSON, keeps nobody from deciding."""
    for fault in (SystemExit(1), ValueError("x")):

        class Executor:
            execute = staticmethod(lambda call: None)

            @staticmethod
            def preview(call: Any, fault: BaseException = fault) -> Any:
                raise fault

        rt = open_runtime(write)
        rt._guard.catalogue.put(Entry(rt.tools.read(WRITE), Executor()))
        held = rt.session(principal="ann").call(WRITE, {"n": type(fault).__name__}).held
        assert rt.approvals.held_call(held).preview == {"preview_failed": type(fault).__name__}


def test_what_a_preview_says_of_the_arguments_is_refused_before_anything_is_held(
    open_runtime, write
):
    """Nobody is asked to approve what could never run; a dry run and an edit are told the same."""
    wrong = failure("arguments_invalid", "n is no name of a file", path="/n")

    class Executor:
        execute = staticmethod(lambda call: holon.completed({}))

        @staticmethod
        def preview(call: Any) -> Any:
            if call.arguments["n"] == "bad":
                raise holon.Refused(wrong)
            return {}

    rt = open_runtime(write)
    rt._guard.catalogue.put(Entry(rt.tools.read(WRITE), Executor()))
    session = rt.session(principal="ann")
    held = session.call(WRITE, {"n": "good"}).held

    for result in (
        session.call(WRITE, {"n": "bad"}),
        session.dry_run(WRITE, {"n": "bad"}),
        session.request_approval(WRITE, {"n": "bad"}),
        rt.approvals.edit(held, {"n": "bad"}, by="bo", reason="other"),
    ):
        assert (result.status, result.failure.code) == ("failed", "arguments_invalid")
        assert result.failure.details == {"path": "/n"}
        assert result.held is None
    assert len(rt.approvals.list()) == 1


@pytest.mark.parametrize("said", [failure("policy_denied"), object()])
def test_a_preview_refuses_nothing_but_arguments(open_runtime, write, said):
    """What else it says, or what is no failure, is a note: whoever decides may know better."""

    class Executor:
        execute = staticmethod(lambda call: None)

        @staticmethod
        def preview(call: Any) -> Any:
            refused = holon.Refused(failure("policy_denied"))
            refused.failure = said
            raise refused

    rt = open_runtime(write)
    rt._guard.catalogue.put(Entry(rt.tools.read(WRITE), Executor()))
    held = rt.session(principal="ann").call(WRITE, {"n": "x"}).held

    assert rt.approvals.held_call(held).preview == {"preview_failed": "Refused"}


def test_an_interrupt_while_a_preview_is_made_reaches_the_caller(open_runtime, write):
    """Nothing was held then."""

    class Executor:
        execute = staticmethod(lambda call: None)

        @staticmethod
        def preview(call: Any) -> Any:
            raise KeyboardInterrupt

    rt = open_runtime(write)
    rt._guard.catalogue.put(Entry(rt.tools.read(WRITE), Executor()))

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="ann").call(WRITE, {})
    assert rt.approvals.held() == ()
    assert open_calls(rt) == []


def test_a_dry_run_shows_the_request_and_uses_nothing(open_runtime, write, ran):
    """What would block is listed; nothing is held, reserved or started."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")

    result = session.dry_run(WRITE, {"a": 1})

    assert result.status == "completed"
    assert result.output["arguments"] == {"a": 1}
    assert [r.code for r in result.blocking_reasons] == ["approval_required"]
    record = rt.evidence.read(result.call_id)[0]
    assert (record.kind, record.body["posture"]) == ("dry_run", "dry_run")
    assert record.body["would_block"] == ["approval_required"]
    assert rt.approvals.list(state=None) == rt.approvals.held() == ()
    assert ran == []
    assert session.dry_run(WRITE, "[]").failure.code == "arguments_invalid"
    assert session.dry_run("host.app/none").failure.code == "unknown_tool"


def test_a_dry_run_with_an_approval_says_that_nothing_blocks(open_runtime, write):
    """And leaves the approval as it is."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    pending = session.request_approval(WRITE, {"a": 1}).failure.details["pending"]
    approve(rt, pending)

    assert session.dry_run(WRITE, {"a": 1}).blocking_reasons == ()
    assert rt.approvals.read(pending).uses_left == 1


def test_a_policy_may_deny_dry_runs(open_runtime, write):
    """By their posture."""
    rt = open_runtime(
        write, config={"rules": [{"decision": "deny", "posture": "dry_run", "id": WRITE}]}
    )

    result = rt.session(principal="ann").dry_run(WRITE, {})

    assert (result.status, result.failure.code) == ("blocked", "policy_denied")


def test_a_dry_run_of_what_would_be_denied_shows_why(open_runtime, write, ran):
    """A rule against the call itself does not hide its request."""
    rules = [{"decision": "deny", "posture": "host_function", "id": WRITE}]
    rt = open_runtime(write, config={"rules": rules})

    result = rt.session(principal="ann").dry_run(WRITE, {})

    assert result.status == "completed"
    assert [r.code for r in result.blocking_reasons] == ["policy_denied"]


@pytest.mark.parametrize("door", ["dry_run", "release", "call"])
def test_a_store_that_fails_is_an_answer(open_runtime, write, tmp_path, door):
    """Never an exception of the driver."""
    import sqlite3

    rt = open_runtime(write)
    session = rt.session(principal="ann", run="r1")
    held = session.call(WRITE, {"a": 1}).held
    other = sqlite3.connect(tmp_path / "root" / "holon.db")
    other.executescript("drop table run_effects; drop table held;")
    other.close()

    result = session.release(held) if door == "release" else getattr(session, door)(WRITE, {"a": 1})

    assert (result.status, result.failure.code) == ("blocked", "evidence_unavailable")
    assert result.failure.details["started"] is False


@pytest.fixture
def explained(open_runtime, read, write, look) -> holon.Runtime:
    """A runtime with one tool for each answer."""

    @holon.tool
    def bare() -> int:
        return 1

    return open_runtime(read, write, look, bare)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("tool", "arguments", "outcome", "last"),
    [
        ("host.app/none", {}, "would be refused", ("resolve", "block")),
        (READ, {"n": "x"}, "would be refused", ("arguments", "block")),
        (READ, {}, "would run", ("evidence", "pass")),
        (WRITE, {}, "would be held", ("evidence", "pass")),
        ("host.app/look", {}, "would be refused", ("scope", "block")),
        ("host.app/bare", {}, "would be refused", ("policy rule", "deny")),
    ],
)
def test_explain_walks_the_steps(explained, tool, arguments, outcome, last):
    """And records, holds and uses nothing."""
    told = explained.session(principal="ann").explain(tool, arguments)

    assert told.outcome == outcome
    assert (told.steps[-1].step, told.steps[-1].verdict) == last
    assert kinds(explained) == []


def test_explain_says_what_a_key_would_do(open_runtime, read):
    """Free, replayed, or in conflict."""
    session = open_runtime(read).session(principal="ann")

    assert session.explain(READ, {"n": 1}, key="k").outcome == "would run"
    session.call(READ, {"n": 1}, key="k")
    assert session.explain(READ, {"n": 1}, key="k").outcome == "would run"
    told = session.explain(READ, {"n": 2}, key="k")
    assert told.outcome == "would be refused"
    assert any(s.step == "idempotency" and "conflict" in s.detail for s in told.steps)


def test_many_callers_and_tools_do_not_fill_the_memory(open_runtime, read, monkeypatch):
    """What the recorder remembers is bounded, and records stay right."""
    from holon_core.guard import evidence

    monkeypatch.setattr(evidence, "MAX_TEMPLATES", 5)
    rt = open_runtime(read)
    for n in range(1100 // 50):
        rt.session(principal=f"p{n}").call(READ)
    rt._guard.recorder._callers.update(
        {rt.session(principal=f"q{n}").caller: "{}" for n in range(1100)}
    )
    rt.session(principal="last").call(READ)

    assert len(rt._guard.recorder._templates) <= 5
    assert len(rt._guard.recorder._callers) < 1100
    assert rt.evidence.list(workspace=None, limit=1000)[-2].body["caller"]["principal"] == "last"
    assert rt.evidence.verify(None).consistent


def test_a_marked_argument_is_masked_in_each_record(open_runtime, ran):
    """The tool gets it, evidence does not."""

    @holon.tool(
        effects={"none"},
        input_schema={
            "type": "object",
            "properties": {"pin": {"type": "string", "x-holon-secret": True}},
            "required": ["pin"],
        },
    )
    def login(pin: str) -> int:
        ran.append(pin)
        return 1

    rt = open_runtime(login)
    result = rt.session(principal="ann").call("host.app/login", {"pin": "4711-4711"})

    assert ran == ["4711-4711"]
    assert "4711" not in repr(rt.evidence.read(result.call_id))


def test_an_overlong_payload_is_kept_in_part_and_says_so(open_runtime, write):
    """With its size and digest."""
    rt = open_runtime(write)

    result = rt.session(principal="ann").call(WRITE, {"text": "ü" * 200_000})

    kept = rt.evidence.read(result.call_id)[0].payload
    assert kept["truncated"] is True
    assert kept["bytes"] > 400_000


def test_tokens_of_one_call_are_one(open_runtime, read):
    """However many threads ask for it at the same time."""
    from holon_core.guard.attempt import Attempt

    attempt = Attempt(READ, {}, open_runtime(read).session(principal="ann").caller)
    tokens: list[Any] = []
    threads = [threading.Thread(target=lambda: tokens.append(attempt.cancel)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({id(token) for token in tokens}) == 1
