"""Calls of providers answered: run once, told in their shape, and refused as values."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import holon_core as holon

K = holon.StructuredFailureKind


@pytest.fixture
def ran() -> list[Any]:
    """What ran."""
    return []


@pytest.fixture
def runtime(tmp_path, ran):
    """A shop: `look` reads, `refund` needs an approval, `wipe` is denied by policy."""

    @holon.tool(effects={"none"})
    def look(order_id: str, deep: bool = False) -> dict[str, Any]:
        """Look an order up."""
        ran.append(("look", order_id, deep))
        return {"order": order_id}

    @holon.tool(effects={"network_write"})
    def refund(order_id: str, cents: int) -> str:
        """Refund part of an order."""
        ran.append(("refund", order_id, cents))
        return f"{order_id}: {cents}"

    @holon.tool(effects={"destructive"})
    def wipe(what: str) -> None:
        """Wipe something."""
        ran.append(("wipe", what))

    rules = [{"id": "host.app/wipe", "decision": "deny", "reason": "never"}]
    with holon.Runtime.open(
        tmp_path / "root",
        tools=[look, refund, wipe],
        discover=False,
        config={"rules": rules},
    ) as made:
        yield made


@pytest.fixture
def session(runtime):
    """An agent's session that has shown its tools."""
    made = runtime.session(principal="agent")
    made.tools("openai-responses")
    return made


def call(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    """Write a call as the Responses API does."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}


def told(message: Any) -> Any:
    """Read the text of a message."""
    return json.loads(message["output"])


def approve(runtime: holon.Runtime, held: str) -> None:
    runtime.approvals.approve(held, by="boss", reason="ok")


SHAPES = {
    "openai-responses": (
        call("look", {"order_id": "o1", "deep": None}),
        lambda m: (m["type"], m["call_id"], json.loads(m["output"])),
        ("function_call_output", "c1", {"order": "o1"}),
    ),
    "openai-chat": (
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "look", "arguments": '{"order_id": "o1", "deep": null}'},
        },
        lambda m: (m["role"], m["tool_call_id"], json.loads(m["content"])),
        ("tool", "c1", {"order": "o1"}),
    ),
    "anthropic": (
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"order_id": "o1"}},
        lambda m: (m["type"], m["tool_use_id"], json.loads(m["content"]), m["is_error"]),
        ("tool_result", "c1", {"order": "o1"}, False),
    ),
    "gemini": (
        {"function_call": {"id": "c1", "name": "look", "args": {"order_id": "o1"}}},
        lambda m: m["function_response"],
        {"id": "c1", "name": "look", "response": {"output": {"order": "o1"}}},
    ),
    "mcp": (
        {"name": "look", "arguments": {"order_id": "o1"}},
        lambda m: (m["structuredContent"], m["isError"], m["content"][0]["type"]),
        ({"order": "o1"}, False, "text"),
    ),
}


@pytest.mark.parametrize("dialect", SHAPES)
def test_a_call_of_each_provider_is_answered_in_its_shape(session, dialect):
    """The shape says which provider it is; naming it gives the same."""
    given, read, wanted = SHAPES[dialect]

    assert read(session.answer(given)) == wanted
    assert read(session.answer(given, dialect=dialect)) == wanted


def test_what_is_no_call_at_all_is_misuse(session):
    """There is no shape to answer in."""
    with pytest.raises(holon.Misuse):
        session.answer({"hello": 1})


def test_an_approval_covers_the_arguments_that_were_shown(runtime, session, ran):
    """Changed arguments under the same call id do not ride on the approval (peers, case 1)."""
    held = session.answer(call("refund", {"order_id": "o1", "cents": 100})).held
    approve(runtime, held)

    changed = session.answer(call("refund", {"order_id": "o1", "cents": 999_999}))
    other = session.answer(call("refund", {"order_id": "o1", "cents": 999_999}, "c2"))

    assert changed.result.failure.code == "conflict"
    assert other.result.failure.code == "approval_mismatch"
    assert ran == []


def test_an_approved_call_runs_once_however_often_it_is_sent(runtime, session, ran):
    """The same call, answered again, gives what became of it (peers, case 2)."""
    given = call("refund", {"order_id": "o1", "cents": 100})
    held = session.answer(given).held
    approve(runtime, held)

    session.release(held)
    again = [session.answer(given) for _ in range(3)]

    assert ran == [("refund", "o1", 100)]
    assert [told(each) for each in again] == [{"result": "o1: 100"}] * 3


def test_a_snapshot_resumed_twice_in_one_run_does_not_run_twice(runtime, ran):
    """Two sessions of one run are one conversation (peers, case 4)."""
    given = call("refund", {"order_id": "o1", "cents": 100})
    first = runtime.session(principal="agent", run="r1")
    held = first.answer(given).held
    approve(runtime, held)
    first.release(held)

    second = runtime.session(principal="agent", run="r1").answer(given)

    assert told(second) == {"result": "o1: 100"}
    assert len(ran) == 1


def test_calls_of_two_sessions_with_the_same_id_are_two(runtime, ran):
    """Providers count from one in each conversation; no answer of another is given."""
    given = call("look", {"order_id": "o1", "deep": None})

    for _ in range(2):
        runtime.session(principal="agent").answer(given)

    assert len(ran) == 2


def test_a_call_that_is_renamed_after_its_approval_is_another_call(runtime, session, ran):
    """An approval of one tool lets no other run (peers, case 5)."""
    held = session.answer(call("refund", {"order_id": "o1", "cents": 1})).held
    approve(runtime, held)

    renamed = session.answer(call("wipe", {"what": "all"}))

    assert renamed.result.failure.kind is K.POLICY_DENIED
    assert ran == []


def test_an_edit_is_validated_and_gated_again(runtime, session, ran):
    """A reviewer's edit of the wrong type runs nothing (peers, case 6)."""
    held = session.answer(call("refund", {"order_id": "o1", "cents": 1})).held

    wrong = {"order_id": "o1", "cents": "much", "more": 1}
    edited = runtime.approvals.edit(held, wrong, by="boss", reason="less")

    assert edited.failure.code == "arguments_invalid"
    assert ran == []


def test_a_mixed_batch_runs_what_may_run(session, ran):
    """One held, one denied, one unknown, one malformed, one good: each has its own answer."""
    batch = [
        call("refund", {"order_id": "o1", "cents": 1}, "c1"),
        call("wipe", {"what": "all"}, "c2"),
        call("lok", {"order_id": "o1"}, "c3"),
        call("look", '{"order_id": ', "c4"),
        call("look", {"order_id": "o2", "deep": True}, "c5"),
    ]

    for messages in (session.answer(batch), asyncio.run(session.aanswer(batch))):
        codes = [each.result.failure and each.result.failure.code for each in messages]
        assert codes == [
            "approval_required",
            "policy_denied",
            "unknown_tool",
            "arguments_invalid",
            None,
        ]
        assert [each["call_id"] for each in messages] == ["c1", "c2", "c3", "c4", "c5"]
        assert messages[0].held
        assert told(messages[0])["status"] == "held"
    assert ran == [("look", "o2", True)]


def test_where_one_of_a_batch_is_no_call_none_has_run(session, ran):
    """Misuse is noticed before anything starts."""
    with pytest.raises(holon.Misuse):
        session.answer([call("look", {"order_id": "o1", "deep": None}), {"no": "call"}])

    assert ran == []


def test_parallel_calls_run_at_the_same_time(runtime):
    """The calls of one turn do not wait for one another."""
    together = asyncio.Barrier(3) if hasattr(asyncio, "Barrier") else None
    if together is None:
        pytest.skip("asyncio.Barrier is there from Python 3.11 on")

    @holon.tool(effects={"none"})
    async def meet(n: int) -> int:
        """Wait for the others."""
        await together.wait()
        return n

    runtime.register(meet)
    session = runtime.session(principal="agent")
    batch = [call("meet", {"n": n}, f"c{n}") for n in range(3)]

    messages = asyncio.run(asyncio.wait_for(session.aanswer(batch), 20))

    assert [told(each) for each in messages] == [{"result": n} for n in range(3)]


@pytest.mark.parametrize(
    "name",
    [
        "holon.built-in.memory/write-workspace-memory",
        "host.app/look",
        "look ",
        "LOOK",
        "",
        "look\u200b",
        "x" * 10_000,
        "../look",
        "host_app__look",
    ],
    ids=lambda name: ascii(name[:30]),
)
def test_a_name_that_was_never_shown_is_answered_and_recorded(runtime, session, ran, name):
    """Not even the id of a tool is a name of one."""
    message = session.answer(call(name, {"order_id": "o1", "deep": None}))

    assert told(message)["failure"]["code"] == "unknown_tool"
    assert runtime.evidence.list(workspace=None, newest=True)[0].kind == "refused"
    assert ran == []


@pytest.mark.parametrize(
    "arguments",
    [
        "[]",
        "1",
        '{"order_id": "o1", "order_id": "o2", "deep": null}',
        '{"order_id": NaN}',
        '{"order_id": "o1", "deep": null, "more": 1}',
        '{"order_id": 1, "deep": null}',
        "{} {}",
        "not json",
        '{"order_id": "\\ud800"}',
        "[" * 500,
    ],
    ids=lambda text: text[:20],
)
def test_malformed_arguments_are_answered_with_their_place_and_recorded(
    runtime, session, ran, arguments
):
    """The model can correct itself; nothing is raised or run."""
    message = session.answer(call("look", arguments))

    failure = told(message)["failure"]
    assert failure["code"] == "arguments_invalid"
    assert "path" in failure["details"]
    assert runtime.evidence.list(workspace=None, newest=True)[0].kind == "refused"
    assert ran == []


def test_a_call_without_arguments_may_send_an_empty_text(runtime):
    """Some servers send nothing where there is nothing to send; the schema decides."""

    @holon.tool(effects={"none"})
    def now() -> str:
        """Tell the time."""
        return "late"

    runtime.register(now)
    session = runtime.session(principal="agent")

    assert told(session.answer(call("now", ""))) == {"result": "late"}
    assert told(session.answer(call("look", "")))["failure"]["code"] == "arguments_invalid"


def test_long_output_is_cut_and_says_so(runtime):
    """A message is bounded, whatever the tool gives."""

    @holon.tool(effects={"none"})
    def much() -> str:
        """Give much."""
        return '"x\\' * 30_000

    runtime.register(much)
    session = runtime.session(principal="agent")

    message = session.answer(call("much", {}), max_chars=1000)

    assert len(message["output"]) <= 1000
    assert told(message)["truncated"] is True
    assert told(message)["chars"] > 100_000
    assert len(message.result.output["result"]) == 90_000


def test_a_tool_that_changed_after_it_was_shown_is_not_called(runtime, session, ran):
    """The model chose by a description that is no longer there."""

    @holon.tool(name="look", effects={"none"})
    def other(order_id: str, deep: bool = False) -> dict[str, Any]:
        """Look an order up, and tell everybody."""
        ran.append("other")
        return {}

    runtime.register(other)
    given = call("look", {"order_id": "o1", "deep": None})

    assert told(session.answer(given))["failure"]["code"] == "definition_changed"
    session.tools("openai-responses")
    assert session.answer({**given, "call_id": "c2"}).result.status is holon.Status.COMPLETED
    assert ran == ["other"]


def test_a_search_gives_only_what_may_be_shown_and_shows_it_from_then_on(session):
    """What policy denies is not found; what is found can be called."""
    found = told(
        session.answer(call("search_tools", {"query": "look refund wipe order", "limit": 9}))
    )

    assert {each["name"] for each in found["tools"]} == {"look", "refund"}
    assert [t["name"] for t in session.tools("openai-responses", max_tools=0, search=True)] == [
        "search_tools"
    ]


def test_a_malformed_search_is_answered_and_recorded(runtime, session):
    """Like any other call."""
    message = session.answer(call("search_tools", {"query": "", "limit": None}))

    assert told(message)["failure"]["details"]["path"] == "/query"
    assert runtime.evidence.list(workspace=None, newest=True)[0].kind == "refused"


def test_calls_of_a_model_are_recorded_as_such(runtime, session):
    """Evidence says through which door they came."""
    session.answer(call("look", {"order_id": "o1", "deep": None}))

    assert runtime.evidence.list(workspace=None)[0].body["caller"]["surface"] == "function_calling"


def test_the_objects_of_the_sdks_are_calls(runtime, ran):
    """What the installed SDKs parse from a response is answered as it is."""
    anthropic = pytest.importorskip("anthropic")
    openai = pytest.importorskip("openai")
    genai = pytest.importorskip("google.genai.types")
    arguments = '{"order_id": "o1", "deep": null}'
    chat = openai.types.chat.ChatCompletionMessageFunctionToolCall(
        id="c1", type="function", function={"name": "look", "arguments": arguments}
    )
    calls = [
        openai.types.responses.ResponseFunctionToolCall(
            call_id="c1", name="look", arguments=arguments, type="function_call"
        ),
        chat.model_construct(
            id="c1",
            type="function",
            function=openai.types.chat.chat_completion_message_function_tool_call.Function(
                name="look", arguments=arguments
            ),
        ),
        anthropic.types.ToolUseBlock(
            id="c1", name="look", input={"order_id": "o1"}, type="tool_use"
        ),
        genai.FunctionCall(id="c1", name="look", args={"order_id": "o1"}),
        genai.Part(function_call=genai.FunctionCall(name="look", args={"order_id": "o1"})),
    ]

    for each in calls:
        message = runtime.session(principal="agent").answer(each)
        assert message.result.status is holon.Status.COMPLETED, each
    assert len(ran) == len(calls)


def nested(depth: int) -> dict[str, Any]:
    """Make an object in an object, so many times."""
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"a": made}
    return made


def cycle() -> dict[str, Any]:
    """Make an object that holds itself, as no JSON text can."""
    made: dict[str, Any] = {}
    made["order_id"] = made
    return made


@pytest.mark.parametrize(
    "given",
    [
        {"order_id": float("nan")},
        {"order_id": float("inf")},
        nested(5000),
        cycle(),
        {1: 2},
        {"order_id": {1, 2}},
        5,
        object(),
        b"\xff",
        "[" * 100_000 + "]" * 100_000,
        '{"order_id": %s}' % ("9" * 5000),
    ],
    ids=[
        "not a number",
        "infinite",
        "deep",
        "cyclic",
        "a number for a name",
        "a set",
        "a number",
        "an object",
        "bytes that are no text",
        "deep text",
        "a very long number",
    ],
)
@pytest.mark.parametrize("name", ["look", "search_tools"])
def test_arguments_that_are_no_json_are_answered_whatever_they_are(session, ran, name, given):
    """By calls and by the search alike; nothing runs and nothing is raised."""
    for answered in (session.answer, lambda one: asyncio.run(session.aanswer(one))):
        message = answered(call("x", {}) | {"name": name, "arguments": given})
        assert told(message)["failure"]["code"] == "arguments_invalid"
    assert ran == []


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"type": "function_call", "call_id": "c1", "name": "look"}, "arguments_invalid"),
        ({"type": "function_call", "call_id": "c1"}, "unknown_tool"),
        ({"type": "function_call", "call_id": "c1", "name": ["look"]}, "unknown_tool"),
        ({"type": "function", "id": "c1", "function": None}, "unknown_tool"),
        ({"type": "function", "id": "c1", "function": {"name": "look"}}, "arguments_invalid"),
        ({"type": "tool_use", "id": "c1", "name": 5, "input": {}}, "unknown_tool"),
        ({"function_call": {"name": "look"}}, "arguments_invalid"),
        ({"functionCall": {"name": "nothing"}}, "unknown_tool"),
        (call("\ud800", {}), "unknown_tool"),
        (call("search_tools\ud800", {}), "unknown_tool"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_call_that_lacks_something_is_answered_where_it_says_whose_it_is(
    runtime, session, ran, given, wanted
):
    """In that provider's shape, recorded, and sendable by any client."""
    messages = [session.answer(given), *session.answer([given])]

    for message in messages:
        assert message.result.failure.code == wanted
        json.dumps(message, ensure_ascii=False).encode()
    assert [e.kind for e in runtime.evidence.list(workspace=None)] == ["refused"] * 2
    assert ran == []


@pytest.mark.parametrize(
    ("given", "told_id"),
    [(7, 7), (0, 0), ("\ud800", "\\ud800"), (None, None), (["x"], None), (True, None), ("", None)],
    ids=ascii,
)
def test_an_id_of_another_type_breaks_nothing(session, ran, given, told_id):
    """A number comes back as one; what can be no id is left out, and the call has no key."""
    message = session.answer(call("look", {"order_id": "o1", "deep": None}) | {"call_id": given})

    assert message.get("call_id") == told_id
    assert type(message.get("call_id")) is type(told_id)
    json.dumps(message, ensure_ascii=False).encode()
    assert len(ran) == 1


def test_two_calls_of_one_turn_with_one_id_do_not_both_run(session, ran):
    """The same once more is the same call; another payload under its id is a conflict."""
    one = call("look", {"order_id": "o1", "deep": None}, "same")
    other = call("look", {"order_id": "o2", "deep": None}, "same")

    codes = [m.result.failure and m.result.failure.code for m in session.answer([one, one, other])]

    assert codes == [None, None, "conflict"]
    assert ran == [("look", "o1", False)]


def test_an_agent_whose_profile_is_archived_is_answered_and_runs_nothing(runtime, ran):
    """Its session, what it holds and its end: everything is not allowed, and nothing is lost."""
    made = runtime.agents.profiles.create(
        holon.AgentProfile(id="p", output_class="planner_output"), by="op", reason="r"
    )
    session = runtime.session(principal="agent", profile=made.id, run="1")
    session.answer(call("look", {"order_id": "o0", "deep": None}, "c0"))
    held = session.answer(call("refund", {"order_id": "o1", "cents": 1}))
    approve(runtime, held.held)
    runtime.agents.profiles.archive(made.id, by="op", reason="r")

    assert list(session.tools("openai-responses")) == []
    late = session.answer(call("look", {"order_id": "o1", "deep": None}, "c2"))
    assert late.result.failure.code == "not_allowed"
    assert session.release(held.held).failure.code == "not_allowed"
    assert session.finish({"goal": "g", "steps": []}).failure.code == "not_allowed"
    assert [each.call_id for each in runtime.approvals.held()] == [held.held]
    assert ran == [("look", "o0", False)]


class Odd(Mapping[str, Any]):
    """An object of an SDK: the members that are given, and one that raises when it is read."""

    def __init__(self, members: dict[str, Any], raising: str) -> None:
        self.members, self.raising = members, raising

    def __getitem__(self, name: str) -> Any:
        if name == self.raising:
            raise RuntimeError(f"no {name} here")
        return self.members[name]

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not to be listed")

    def __len__(self) -> int:
        return len(self.members)


@pytest.mark.parametrize("raising", ["arguments", "name", "call_id", "function_call"])
@pytest.mark.parametrize("kind", ["attributes", "mapping"])
def test_a_call_whose_members_cannot_be_read_is_answered(session, ran, kind, raising):
    """It never runs without its name or its arguments."""
    given: Any = Odd(call("look", {"order_id": "o1"}), raising)
    if kind == "attributes":
        given = _Attributes(given)

    message = session.answer(given)

    runs = raising in ("call_id", "function_call")
    assert ran == ([("look", "o1", False)] if runs else [])
    assert (message.result.status == "completed") is runs
    assert (message.result.failure is None) is runs


class _Attributes:
    def __init__(self, members: Odd) -> None:
        self._members = members

    def __getattr__(self, name: str) -> Any:
        try:
            return self._members[name]
        except KeyError:
            raise AttributeError(name) from None


def test_arguments_that_cannot_be_listed_are_refused(session, ran):
    """What raises when it is copied is no object of arguments."""
    given = {**call("look", "{}"), "arguments": Odd({"order_id": "o1"}, "order_id")}

    message = session.answer(given)

    assert ran == []
    assert message.result.failure.kind is K.INVALID_ARGUMENTS


def test_a_call_that_is_sent_again_under_another_name_or_dialect_does_not_run(session, ran):
    """The id is of the call, whatever tool and arguments it names (peers, case 5)."""
    session.answer(call("look", {"order_id": "o1"}))

    renamed = session.answer(call("refund", {"order_id": "o1", "cents": 1}))
    other = {"type": "tool_use", "id": "c1", "name": "look", "input": {"order_id": "o2"}}
    changed = session.answer(other)
    same = session.answer({**other, "input": {"order_id": "o1"}})

    assert [renamed.result.failure.code, changed.result.failure.code] == ["conflict"] * 2
    assert same.result.replayed_from
    assert ran == [("look", "o1", False)]


def test_what_mcp_is_given_without_a_tools_own_output_is_marked_as_an_error(runtime):
    """A result that is no error owes what the tool's output schema promises."""

    @holon.tool(effects={"none"})
    def much() -> str:
        """Give much."""
        return "x" * 30_000

    runtime.register(much)
    session = runtime.session(principal="agent")

    cut = session.answer({"name": "much", "arguments": {}}, dialect="mcp", max_chars=1000)
    refund = {"name": "refund", "arguments": {"order_id": "o1", "cents": 1}}
    held = session.answer(refund, dialect="mcp")
    whole = session.answer({"name": "much", "arguments": {}}, dialect="mcp")

    assert [each["isError"] for each in (cut, held, whole)] == [True, True, False]
    assert "structuredContent" not in {**cut, **held}
    assert held.held
    assert whole["structuredContent"] == {"result": "x" * 30_000}
