"""Registering tools of other frameworks: all or none, effects as the host states them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import holon_core as holon
from sample_lanes import plugin

pytest.importorskip("langchain_core", reason="langchain-core is not installed")
pytest.importorskip("agents", reason="openai-agents is not installed")
pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed")

from agents import function_tool
from langchain_core.tools import tool
from pydantic_ai import Tool

RAN: list[str] = []


@tool
def first(text: str) -> str:
    """The first."""
    RAN.append(text)
    return text


def second(text: str) -> str:
    """The second."""
    return text


@function_tool
def third(text: str) -> str:
    """The third."""
    return text


ALL = [first, Tool(second), third]


def test_three_frameworks_come_through_one_door(rt, ann) -> None:
    """In any mixture, each under its own name."""
    shown = rt.register_tools(ALL, effects="none")

    assert [each.name for each in shown] == ["first", "second", "third"]
    for each in shown:
        assert ann.call(each.id, {"text": "hi"}).output == {"result": "hi"}


def test_undeclared_effects_are_listed_and_never_executed(rt, ann) -> None:
    """Until the host states them, every call is refused, and the warning says how to."""
    RAN.clear()
    shown = rt.register_tools(ALL)

    assert {each.side_effect_class for each in shown} == {holon.Effect.UNKNOWN}
    for each in shown:
        assert ann.call(each.id, {"text": "hi"}).failure.code == "effects_undeclared"
    assert "register_tools(" in rt.tools.findings("host.desk/first")[-1].message
    assert RAN == []


def test_effects_stated_later_take_the_refusal_away(rt, ann) -> None:
    """Registering again replaces the definition; its digest is another."""
    (before,) = rt.register_tools(first)
    (after,) = rt.register_tools(first, effects={"none"})

    assert before.digest != after.digest
    assert ann.call("host.desk/first", {"text": "hi"}).output == {"result": "hi"}


def test_effects_may_differ_by_tool(rt, ann) -> None:
    """By the tool's own name; what is not named stays unknown."""
    rt.register_tools(ALL, effects={"first": {"none"}, "second": {"network_write"}})

    codes = [
        getattr(ann.call(f"host.desk/{name}", {"text": "hi"}).failure, "code", None)
        for name in ("first", "second", "third")
    ]
    assert codes == [None, "approval_required", "effects_undeclared"]


def test_effects_of_a_tool_that_is_not_there_are_misuse(rt) -> None:
    """A typing error does not leave a tool unknown without a word."""
    with pytest.raises(holon.Misuse, match=r"'frist'.*first"):
        rt.register_tools(ALL, effects={"frist": {"none"}})

    assert len(rt.tools) == 0


def test_an_effect_that_does_not_exist_is_misuse(rt) -> None:
    """Words of effects are from the list."""
    with pytest.raises(holon.Misuse, match="unknown effect 'reading'"):
        rt.register_tools(ALL, effects={"reading"})


def test_one_bad_tool_keeps_all_out(rt) -> None:
    """Every finding is told at once, with the place, and nothing is registered."""
    with pytest.raises(holon.Rejected) as rejected:
        rt.register_tools([first, second, 7], effects="none")

    errors = [f for f in rejected.value.findings if f.severity is holon.Severity.ERROR]
    assert [(f.path, f.message.partition(" ")[0]) for f in errors] == [
        ("/1", "function"),
        ("/2", "int"),
    ]
    assert len(rt.tools) == 0


def test_two_of_one_name_are_refused(rt) -> None:
    """Which of them would run is nothing to guess."""
    with pytest.raises(holon.Rejected, match="two of the tools are named first"):
        rt.register_tools([first, Tool(second, name="first")], effects="none")


def test_a_function_of_the_host_is_not_replaced(rt) -> None:
    """Somebody else's tool does not take the place of what the host wrote."""

    @holon.tool(effects={"none"})
    def third(text: str) -> str:
        """The host's own."""
        return "own"

    rt.register(third)

    with pytest.raises(holon.Rejected, match="a function of the host's own"):
        rt.register_tools(ALL, effects="none")

    assert [each.id for each in rt.tools.list()] == ["host.desk/third"]


def test_a_reviewer_that_refuses_one_keeps_all_out() -> None:
    """Plugins that review registrations see these tools, too."""

    def review(candidate: Any, previous: Any) -> Any:
        if candidate.name == "third":
            yield holon.Finding(code="review_refused", message="not this one")

    reviewer = plugin("acme-review", review_registration=review)
    with holon.Runtime.in_memory(app="desk", plugins=[reviewer]) as rt:
        with pytest.raises(holon.Rejected, match="not this one"):
            rt.register_tools(ALL, effects="none")

        assert len(rt.tools) == 0


def test_options_hold_for_all(rt, ann) -> None:
    """What the host states can only be stricter than the tool."""
    shown = rt.register_tools(
        ALL, effects="none", approval="required", timeout_s=3, risk_hints=["theirs"], version="7"
    )

    assert {each.approval.value for each in shown} == {"required"}
    assert {(each.limits.timeout_s, each.version) for each in shown} == {(3, "7")}
    assert ann.call("host.desk/first", {"text": "hi"}).held


@pytest.mark.parametrize("option", ["inline", "isolation", "input_schema", "name", "aproval"])
def test_an_option_that_is_the_tool_s_to_say_is_misuse(rt, option: str) -> None:
    """The message lists what may be stated."""
    with pytest.raises(holon.Misuse, match="takes effects, context, approval"):
        rt.register_tools(ALL, effects="none", **{option: "x"})


def test_a_held_call_shows_which_framework_would_run(rt, ann) -> None:
    """The approver sees the tool, its framework and the exact arguments."""
    rt.register_tools(ALL, effects="network_write")

    view = rt.approvals.view(ann.call("host.desk/first", {"text": "hi"}).held)

    assert '"framework": "langchain"' in view.request.text
    assert '"text": "hi"' in view.payload.text


def test_a_result_without_a_json_form_is_a_failure(rt, ann) -> None:
    """Nothing is guessed of an object that says nothing of itself."""

    @tool
    def odd(text: str) -> Any:
        """Return an odd thing."""
        return object()

    @tool
    def dated(text: str) -> Any:
        """Return a date."""
        return dt.date(2024, 2, 29)

    rt.register_tools([odd, dated], effects="none")

    assert ann.call("host.desk/odd", {"text": "x"}).failure.code == "tool_raised"
    assert ann.call("host.desk/dated", {"text": "x"}).output == {"result": "2024-02-29"}


def test_a_tool_that_registers_on_the_loop_thread_is_told(rt, ann) -> None:
    """Listing waits for the runtime's loop, which must not wait for itself."""

    @holon.tool(effects={"none"})
    async def more() -> str:
        rt.register_tools(first)
        return "done"

    rt.register(more)

    assert "loop" in ann.call("host.desk/more").failure.message
