"""What hosts, callers and plugins may hand over by mistake or on purpose: refused, never raw."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

import holon_core as holon
from door import approve, kinds, open_calls
from holon_core.errors import StructuredFailureKind
from holon_core.records.failure import BlockingReason, StructuredFailure, failure
from holon_core.records.finding import Finding
from holon_core.records.outcome import ExecutorFailure, ExecutorOutcome, ExecutorStatus
from holon_core.records.words import ApprovalState
from support import label

WRITE, READ = "host.app/write", "host.app/read"
SAID = {"by": "boss", "reason": "model citizen"}
ODD = "a\ud800b\x1b[2Jc\u202ed\ne"

# What is no name: nobody, a thing, too much, what is not seen, what is trimmed, what no file takes.
NO_NAMES = {
    "nobody": None,
    "a number": 5,
    "empty": "",
    "blank": " ",
    "overlong": "n" * 201,
    "trailing space": "ann ",
    "leading space": " ann",
    "line feed": "ann\n",
    "NUL": "an\x00n",
    "escape": "ann\x1b[0m",
    "zero width": "ann\u200b",
    "direction": "ann\u202e",
    "no-break space": "ann\u00a0smith",
    "filler": "ann\u3164",
    "selector": "ann\ufe0f",
    "tag": "ann\U000e0041",
    "private use": "ann\ue000",
    "surrogate": "ann\ud800",
}
no_name = pytest.mark.parametrize("name", NO_NAMES.values(), ids=NO_NAMES)
NO_TEXTS = {"nothing": None, "a number": 5, "empty": "", "blank": " \n", "surrogate": "\ud800"}


@pytest.fixture
def rt(open_runtime, write, read):
    """A runtime with a tool that asks and one that does not."""
    return open_runtime(write, read)


@pytest.fixture
def session(rt):
    """The door of ann."""
    return rt.session(principal="ann")


@pytest.fixture
def held(session) -> str:
    """A call of ann's that waits."""
    held = session.call(WRITE, {"a": 1}).held
    assert held is not None
    return held


# Grants


@pytest.mark.parametrize("number", [True, 1.5, 1.0, 0, -1, 10**9, "2", None, float("nan")])
@pytest.mark.parametrize("what", ["uses", "ttl_s"])
def test_a_grant_takes_whole_numbers_alone(rt, what, number):
    """One of 1.5 uses would never be used up."""
    given = {"uses": 1, "ttl_s": 60, what: number}

    with pytest.raises(holon.Misuse, match=f"{what} is a whole number|not JSON at /{what}"):
        rt.approvals.grant(WRITE, {}, principal="ann", **given, **SAID)

    assert rt.approvals.list(state=None) == ()


def test_a_stored_grant_with_less_than_one_use_covers_nothing(rt, session, ran):
    """Whatever state it is said to be in."""
    made = rt.approvals.grant(
        WRITE, {"a": {"equals": 1}}, principal="ann", uses=1, ttl_s=60, **SAID
    )
    rt._guard.store.transact(lambda tables: tables.put_approval(evolve(made, uses_left=0)))

    assert session.call(WRITE, {"a": 1}).held is not None
    assert ran == []


def test_a_grant_ends_after_its_uses(rt, session, ran):
    """And no sooner."""
    rt.approvals.grant(WRITE, {"a": {"equals": 1}}, principal="ann", uses=2, ttl_s=60, **SAID)

    answers = [session.call(WRITE, {"a": 1}).status.value for _ in range(4)]

    assert answers == ["completed", "completed", "blocked", "blocked"]
    assert len(ran) == 2


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ({"x": {"equals": 1}}, "takes no argument 'x'"),
        ({"n": {"one_of": []}}, "one value or more"),
        ({"n": {"one_of": 5}}, "one value or more"),
        ({"n": {}}, "pattern"),
        ({"n": {"glob": 5}}, "glob is a text"),
        ({5: {"equals": 1}}, "a key is a int, not a string"),
        ({"n": {"equals": object()}}, "object is not a JSON type"),
        (None, "maps names"),
        ([("n", 1)], "tuple is not a JSON type"),
        (5, "maps names"),
    ],
)
def test_a_grant_that_covers_nothing_is_misuse(rt, pattern, said):
    """Whoever gives it means something else."""
    with pytest.raises(holon.Misuse, match=said):
        rt.approvals.grant(READ, pattern, principal="ann", uses=1, ttl_s=60, **SAID)


def test_a_grant_may_name_any_argument_of_an_open_schema(rt):
    """A schema that takes more than it names refuses no name."""
    made = rt.approvals.grant(
        WRITE, {"x": {"equals": 1}}, principal="ann", uses=1, ttl_s=60, **SAID
    )

    assert made.pattern == {"x": {"equals": 1}}


# Names


@no_name
def test_nobody_decides(rt, held, name):
    """Approving, denying, editing, granting and revoking state who does it."""
    grant = rt.approvals.grant(
        WRITE, {"z": {"equals": 1}}, principal="ann", uses=1, ttl_s=60, **SAID
    )
    decide: list[Callable[..., Any]] = [
        lambda: rt.approvals.approve(held, by=name, reason="r"),
        lambda: rt.approvals.deny(held, by=name, reason="r"),
        lambda: rt.approvals.edit(held, {"a": 2}, by=name, reason="r"),
        lambda: rt.approvals.revoke(grant.id, by=name, reason="r"),
        lambda: rt.approvals.grant(
            WRITE, {}, principal="ann", uses=1, ttl_s=60, by=name, reason="r"
        ),
        lambda: rt.approvals.grant(WRITE, {}, principal=name, uses=1, ttl_s=60, **SAID),
        lambda: rt.tools.pin(READ, by=name, reason="r"),
        lambda: rt.tools.unpin(READ, by=name, reason="r"),
        lambda: rt.plugins.retire("guard", by=name, reason="r"),
        lambda: rt.evidence.erase(None, by=name, reason="r", before_unix_seconds=5),
    ]
    for each in decide:
        with pytest.raises(holon.Misuse):
            each()

    assert rt.approvals.read(held).state == "pending"
    assert rt.approvals.read(grant.id).state == "approved"


@pytest.mark.parametrize("reason", NO_TEXTS.values(), ids=NO_TEXTS)
def test_every_decision_has_a_reason(rt, held, reason):
    """One that says something."""
    for decide in (rt.approvals.approve, rt.approvals.deny, rt.approvals.revoke):
        with pytest.raises(holon.Misuse, match="reason"):
            decide(held, by="boss", reason=reason)
    with pytest.raises(holon.Misuse, match="reason"):
        rt.approvals.edit(held, {"a": 2}, by="boss", reason=reason)

    assert rt.approvals.read(held).state == "pending"


@pytest.mark.parametrize("by", ["éva", "e\u0301va"], ids=["composed", "decomposed"])
def test_a_name_written_in_other_characters_is_the_same_person(rt, by):
    """What looks the same to the character approves nothing of its own."""
    held = rt.session(principal="éva").call(WRITE, {"a": 1}).held

    with pytest.raises(holon.Refused, match="self_approval"):
        rt.approvals.approve(held, by=by, reason="mine")


@no_name
@pytest.mark.parametrize(
    "field",
    ["principal", "role", "profile", "plan_step", "run", "on_behalf_of", "trace_id"],
)
def test_a_session_is_of_somebody(rt, tmp_path, field, name):
    """Every name of a caller is all that it looks like; no folder is opened for nobody."""
    if name is None and field != "principal":
        assert getattr(rt.session(**{"principal": "ann", field: name}).caller, field) is None
        return
    with pytest.raises(holon.Misuse, match=field):
        rt.session(**{"principal": "ann", "workspace": tmp_path, field: name})

    assert rt.workspaces.list() == ()


@no_name
@pytest.mark.parametrize(
    "field",
    ["principal", "role", "profile", "plan_step", "run", "on_behalf_of", "trace_id", "workspace"],
)
def test_dispatch_takes_only_callers_that_a_session_could_have(rt, field, name):
    """A context that the host made itself gets no further than the door."""
    if name is None and field != "principal":
        return
    caller = holon.CallerContext(**{"principal": "ann", field: name})

    with pytest.raises(holon.Misuse, match=field):
        rt.dispatch("protocol/list", {}, caller=caller)


@pytest.mark.parametrize("caller", [None, "ann", {"principal": "ann"}, object()])
def test_dispatch_takes_a_caller(rt, caller):
    """And nothing else in its place."""
    with pytest.raises(holon.Misuse, match="CallerContext"):
        rt.dispatch("protocol/list", {}, caller=caller)


@pytest.mark.parametrize("given", [None, 5, "operator", ["operator"], [None], [[]]])
def test_dispatch_takes_authorities(rt, given):
    """Words of the list, several."""
    caller = holon.CallerContext(principal="ann")
    with pytest.raises(holon.Misuse, match="authorities"):
        rt.dispatch("protocol/list", {}, caller=caller, authorities=given)


@pytest.mark.parametrize("method", [None, 5, [], "", "\ud800", "a/b"])
def test_dispatch_knows_no_other_methods(rt, method):
    """Whatever stands for the name."""
    with pytest.raises(holon.Misuse):
        rt.dispatch(method, {}, caller=holon.CallerContext(principal="ann"))


# What is no argument at all


@pytest.mark.parametrize("tool", [None, 5, [], ["x"], {}, "", " ", "\ud800", "x" * 401, b"x"])
def test_a_tool_id_is_a_text(session, rt, tool):
    """Else the mistake is the program's, and no call."""
    for use in (session.call, session.dry_run, session.explain, session.request_approval):
        with pytest.raises(holon.Misuse):
            use(tool)
    with pytest.raises(holon.Misuse):
        rt.approvals.grant(tool, {}, principal="ann", uses=1, ttl_s=60, **SAID)
    with pytest.raises(holon.Misuse):
        rt.tools.read(tool)
    assert kinds(rt) == []


@pytest.mark.parametrize("call", [None, 5, [], {}, "", "\ud800", "c" * 201])
def test_a_call_id_is_a_text(session, rt, call):
    """Wherever one is taken."""
    approvals = rt.approvals
    for use in (
        session.release,
        approvals.read,
        approvals.held_call,
        approvals.held_for,
        approvals.view,
        rt.evidence.read,
        lambda each: approvals.approve(each, **SAID),
        lambda each: approvals.edit(each, {}, **SAID),
        lambda each: approvals.wait(each, timeout_s=0),
        lambda each: rt.evidence.erase(None, call_id=each, **SAID),
    ):
        with pytest.raises(holon.Misuse):
            use(call)


@pytest.mark.parametrize("definition", [5, "", [], "\ud800", b"x"])
def test_a_pinned_definition_is_a_text(session, rt, definition):
    """A digest that is none can never be meant."""
    with pytest.raises(holon.Misuse, match="definition"):
        session.call(READ, definition=definition)
    assert kinds(rt) == []


@pytest.mark.parametrize("workspace", ["", " ", "/tmp/\0", "/tmp/\ud800", "x" * 5000, 5, b"/tmp"])
def test_a_workspace_is_an_id_or_a_path(rt, workspace):
    """The empty one is not the folder that the program happens to be in."""
    with pytest.raises(holon.Misuse):
        rt.session(principal="ann", workspace=workspace)
    if workspace != " ":
        with pytest.raises(holon.Misuse):
            rt.workspaces.open(workspace)
    assert rt.workspaces.list() == ()


@pytest.mark.parametrize("principals", ["ann", [None], ["ann "], [""], 5, None])
def test_principals_of_a_workspace_are_names(rt, tmp_path, principals):
    """A single text would be taken letter by letter."""
    with pytest.raises(holon.Misuse, match="principals"):
        rt.workspaces.open(tmp_path / "..", principals=principals)


@pytest.mark.parametrize("limit", [0, -1, 1001, True, 1.0, "5", None])
def test_pages_are_bounded_by_whole_numbers(rt, limit):
    """Of every list."""
    lists: list[Callable[..., Any]] = [
        rt.approvals.list,
        rt.approvals.held,
        rt.workspaces.list,
        rt.tools.list,
        lambda limit: rt.evidence.list(workspace=None, limit=limit),
    ]
    for each in lists:
        with pytest.raises(holon.Misuse, match="limit"):
            each(limit=limit)


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", 5, None, b"x"])
def test_a_bundle_is_written_to_a_path(rt, path):
    """And read from one."""
    from holon_core.guard.verify import verify_bundle

    with pytest.raises(holon.Misuse):
        rt.evidence.export(path, workspace=None)
    with pytest.raises(holon.Misuse):
        verify_bundle(path)


def test_a_kept_head_is_a_record(rt, tmp_path):
    """And not the JSON that was made of it."""
    from holon_core.guard.verify import verify_bundle

    rt.evidence.export(tmp_path / "bundle", workspace=None)
    head: Any = {"chain": "_runtime", "seq": 0, "hash": ""}
    with pytest.raises(holon.Misuse, match="EvidenceHead"):
        rt.evidence.verify(None, head=head)
    with pytest.raises(holon.Misuse, match="EvidenceHead"):
        verify_bundle(tmp_path / "bundle", head=head)


@pytest.mark.parametrize(
    "options",
    [
        {"app": None},
        {"app": "\ud800"},
        {"tools": 5},
        {"tools": "abc"},
        {"plugins": 5},
        {"required_plugins": "abc"},
        {"required_plugins": [5]},
        {"operator": 5},
        {"operator": "ann "},
        {"clock": 5},
        {"progress": 5},
        {"config": 5},
        {"config": {1: 2}},
    ],
    ids=ascii,
)
def test_a_runtime_is_opened_with_what_it_says(options):
    """Else nothing is opened."""
    with pytest.raises(holon.Misuse):
        holon.Runtime.in_memory(**options)


@pytest.mark.parametrize("root", ["", "a\0b", "/tmp/\ud800", 5, b"/tmp/x"])
def test_a_root_is_a_path(root):
    """The empty one is not the folder that the program happens to be in."""
    with pytest.raises(holon.Misuse, match="root"):
        holon.Runtime.open(root, discover=False)


class Shy:
    """A plugin whose name ends the program that asks for it."""

    @property
    def name(self) -> str:
        raise SystemExit(9)

    @holon.hookimpl
    def holon_policies(self, host: Any) -> list[Any]:
        return []


def test_a_plugin_whose_name_cannot_be_read_ends_no_program():
    """It goes by the name of its class, and is rejected like any other that fails."""
    with pytest.raises(holon.Rejected, match="Shy"):
        holon.Runtime.in_memory(plugins=[Shy()])


# A person's no


def test_no_edit_leads_around_a_no(rt, session, ran):
    """It is refused, the call that was to be edited still waits, and no grant overrules it."""
    rt.approvals.deny(session.call(WRITE, {"a": 1}).held, **SAID)
    rt.approvals.grant(WRITE, {"a": {"equals": 1}}, principal="ann", uses=5, ttl_s=600, **SAID)
    other = session.call(WRITE, {"a": 2}).held

    edited = rt.approvals.edit(other, {"a": 1}, **SAID)

    assert (edited.held, edited.failure.code) == (None, "approval_denied")
    assert rt.approvals.held_call(other).state == "held"
    again = session.call(WRITE, {"a": 1})
    assert (again.held, again.failure.code) == (None, "approval_denied")
    assert ran == []


@pytest.mark.parametrize("state", ["pending", "edited", "revoked", "expired"])
def test_a_no_outweighs_what_was_asked_later(rt, session, clock, state):
    """Where the store holds a newer approval of the payload that nobody said yes to."""
    rt.approvals.deny(session.call(WRITE, {"a": 1}).held, **SAID)
    denied = rt.approvals.list(state=ApprovalState.DENIED)[0]
    later = evolve(
        denied,
        id="azzz",
        state=ApprovalState(state),
        requested_at_unix_seconds=denied.requested_at_unix_seconds + 1,
    )
    rt._guard.store.transact(lambda tables: tables.put_approval(later))
    clock.advance(5)

    assert session.call(WRITE, {"a": 1}).failure.code == "approval_denied"


# Text of others


def sound(problem: StructuredFailure) -> None:
    """Assert that a failure can be written and printed."""
    text = json.dumps({"message": problem.message, "code": problem.code}, ensure_ascii=False)
    text.encode()
    assert problem.message.isprintable(), ascii(problem.message)
    json.dumps(dict(problem.details), ensure_ascii=False).encode()


def test_what_a_tool_raises_is_safe_to_print(open_runtime):
    """Written out: lone surrogates, control characters, direction, line ends."""

    @holon.tool(effects={"none"})
    def raises() -> int:
        raise ValueError(ODD)

    result = open_runtime(raises).session(principal="ann").call("host.app/raises")

    assert result.failure.code == "tool_raised"
    sound(result.failure)
    assert result.failure.message == "ValueError: a\\ud800b\\x1b[2Jc\\u202ed\\ne"


def test_what_a_lane_fails_with_is_safe_to_print(open_runtime, read):
    """Its code and its message."""
    from holon_core.catalogue.catalogue import Entry

    rt = open_runtime(read)

    class Executor:
        preview = staticmethod(lambda call: {})

        def execute(self, call: holon.SealedCall) -> Any:
            problem = ExecutorFailure(
                kind=StructuredFailureKind.TOOL_FAILED, code=ODD, message=ODD, details={ODD: ODD}
            )
            return ExecutorOutcome(status=ExecutorStatus.BLOCKED, failure=problem)

    rt._guard.catalogue.put(Entry(rt.tools.read(READ), Executor()))

    result = rt.session(principal="ann").call(READ)

    sound(result.failure)
    assert result.failure.code == "a\\ud800b\\x1b[2Jc\\u202ed\\ne"
    assert result.blocking_reasons[0].message.isprintable()


def test_why_a_policy_denies_is_safe_to_print(open_runtime, read):
    """In the failure, and in each step of an explanation."""

    class Denies:
        name = "denies"

        @holon.hookimpl
        def holon_policies(self, host: Any) -> Any:
            yield self

        def evaluate(self, request: Any) -> holon.Verdict:
            return holon.Verdict(decision=holon.Decision.DENY, rule="r", reason=ODD)

    session = open_runtime(read, plugins=[Denies()]).session(principal="ann")

    sound(session.call(READ).failure)
    assert all(step.detail.isprintable() for step in session.explain(READ).steps)


def test_what_a_provider_of_secrets_advises_is_safe_to_print(open_runtime):
    """And bounded."""

    class Vault:
        name = scheme = "vault"

        @holon.hookimpl
        def holon_secret_providers(self, host: Any) -> Any:
            yield self

        def resolve(self, rest: str) -> str | None:
            return None

        def available(self, rest: str) -> bool:
            return False

        def advice(self, rest: str) -> str:
            return ODD * 1000

    @holon.tool(effects={"none"}, secrets={"key": "vault:x"})
    def uses(key: str) -> int:
        return 1

    session = open_runtime(uses, plugins=[Vault()]).session(principal="ann")

    problem = session.call("host.app/uses").failure
    assert problem.code == "secret_unresolved"
    sound(problem)
    assert len(problem.message) < 5000


def test_any_failure_or_finding_is_one_printable_line():
    """Whoever makes it: operations of plugins, reviewers, lanes."""
    sound(failure("conflict", ODD))
    assert Finding(code="invalid_id", message=ODD).message.isprintable()
    assert BlockingReason(
        kind=StructuredFailureKind.CONFLICT, code="conflict", message=ODD, next_action="wait"
    ).message.isprintable()


def test_what_is_shown_of_a_session_and_a_held_call_is_safe(open_runtime):
    """No marked secret, no control character."""
    schema = {
        "type": "object",
        "properties": {"pin": {"type": "string", "x-holon-secret": True}},
        "required": ["pin"],
        "additionalProperties": False,
    }

    @holon.tool(id="pay", effects={"network_write"}, input_schema=schema)
    def pay(pin: str) -> int:
        return 1

    rt = open_runtime(pay)
    call = rt.session(principal="ann").call("host.app/pay", {"pin": "hunter-two"}).held
    grant = rt.approvals.grant(
        "host.app/pay", {"pin": {"equals": "hunter-two"}}, principal="ann", uses=1, ttl_s=9, **SAID
    )

    for shown in (repr(rt.approvals.held_call(call)), repr(grant), repr(rt.approvals.list())):
        assert "hunter-two" not in shown
        assert "host.app/pay" in shown
    odd = holon.Session(rt._guard, holon.CallerContext(principal=ODD), lambda: True)
    assert repr(odd).isprintable()


# Programs


@pytest.mark.parametrize(
    "argv",
    ["/bin/echo", b"/bin/echo", (), None, 5, ("echo",), ("/bin/echo", 5), (b"/bin/echo",)],
    ids=label,
)
def test_a_program_is_a_tuple_of_texts(open_runtime, argv):
    """A text would be taken letter by letter."""
    seen: list[BaseException] = []

    @holon.tool(effects={"machine_read"})
    def runs(call: holon.SealedCall) -> int:
        try:
            call.run_process(argv)
        except BaseException as error:
            seen.append(error)
        return 1

    rt = open_runtime(runs)
    held = rt.session(principal="ann").call("host.app/runs").held
    if held is not None:
        approve(rt, held)
        rt.session(principal="ann").release(held)

    assert [type(error) for error in seen] == [holon.Misuse]
    assert "argv" in str(seen[0])


def test_a_folder_in_place_of_a_program_is_named(tmp_path):
    """Also where it is the working directory."""
    from holon_core.process import ProcessSpec, run

    spec = ProcessSpec(
        argv=(str(tmp_path),),
        cwd=tmp_path,
        timeout_s=5,
        max_stdout_bytes=10,
        max_stderr_bytes=10,
    )
    outcome = run(spec)

    assert outcome.cause == "spawn_failed"
    assert "it is a folder" in str(outcome.reason)


# Closing while others call


def test_closing_waits_for_a_call_of_another_thread(open_runtime):
    """It ends, is recorded, and its caller gets the answer."""
    entered, go_on = threading.Event(), threading.Event()
    results: list[holon.ToolResult] = []

    @holon.tool(effects={"none"})
    def waits() -> int:
        entered.set()
        go_on.wait(30)
        return 7

    rt = open_runtime(waits)
    session = rt.session(principal="ann")
    thread = threading.Thread(target=lambda: results.append(session.call("host.app/waits")))
    thread.start()
    entered.wait(10)
    threading.Timer(0.2, go_on.set).start()

    assert rt.close() == ()

    thread.join(10)
    assert (results[0].status, results[0].output) == ("completed", {"result": 7})
    with open_runtime() as again:
        assert kinds(again) == ["accepted", "completed"]
        assert open_calls(again) == []


def test_closing_tells_of_a_call_that_goes_on(open_runtime, monkeypatch):
    """It was cancelled, is on record as interrupted, and whoever closes knows of it."""
    monkeypatch.setattr("holon_core.guard.running.WAIT_S", 0.1)
    monkeypatch.setattr("holon_core.guard.running.CANCELLED_S", 0.1)
    entered, go_on = threading.Event(), threading.Event()
    told: list[bool] = []

    @holon.tool(effects={"none"})
    def waits(call: holon.SealedCall) -> int:
        entered.set()
        go_on.wait(30)
        told.append(call.cancel.cancelled)
        return 7

    rt = open_runtime(waits)
    session = rt.session(principal="ann")
    thread = threading.Thread(target=lambda: session.call("host.app/waits"))
    thread.start()
    entered.wait(10)

    left = rt.close()

    assert len(left) == 1
    assert "host.app/waits" in left[0]
    go_on.set()
    thread.join(10)
    assert told == [True]
    with open_runtime() as again:
        assert kinds(again) == ["accepted", "interrupted"]
        assert open_calls(again) == []


def test_a_tool_that_closes_its_own_runtime_does_not_wait_for_itself(open_runtime, monkeypatch):
    """Its call cannot end before the closing does."""
    monkeypatch.setattr("holon_core.guard.running.WAIT_S", 60)
    left: list[tuple[str, ...]] = []
    own: list[holon.Runtime] = []

    @holon.tool(effects={"none"})
    def closes() -> int:
        left.append(own[0].close())
        return 1

    rt = open_runtime(closes)
    own.append(rt)
    result = rt.session(principal="ann").call("host.app/closes")

    assert left == [()]
    assert result.failure.code == "evidence_not_closed"
    with open_runtime() as again:
        assert kinds(again) == ["accepted", "interrupted"]
