"""Skills by pattern: an agent loads, sees, finds and calls what its profile takes of skills."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon
from holon_core import AgentProfile
from imported_skills import ECHO, SKILL, SOURCE, skill

OTHER, SHOUT = f"{SOURCE}/demo.shout", f"{SOURCE}/shout"


@pytest.fixture
def ready(rt, echo):
    """Two skills with a tool each, approved and bound."""
    rt.skills.store(SOURCE, [skill(), skill(key=OTHER, id=SHOUT, name="shout", tool=SHOUT)])
    for each, tool in ((SKILL, ECHO), (OTHER, SHOUT)):
        rt.skills.approve_execution(
            each, posture=holon.Posture.ADAPTER_FORWARDED, by="boss", reason="ok"
        )
        rt.skills.bind(tool, echo, posture=holon.Posture.ADAPTER_FORWARDED)
    return rt


def agent(rt: holon.Runtime, **patterns: Any) -> holon.Session:
    rt.agents.profiles.create(AgentProfile(id="p", **patterns), by="operator", reason="r")
    return rt.session(principal="agent", profile="p")


def seen(session: holon.Session) -> dict[str, list[str]]:
    """Return the tools that a session is shown, may find as executable, and can call."""
    found = session.discover().items
    called = {each: session.call(each, {"text": "a"}) for each in (ECHO, SHOUT)}
    for each in called.values():
        assert each.failure is None or each.failure.code == "not_allowed"
    return {
        "shown": [each.id for each in session.tools("mcp").report],
        "found": [each.id for each in found if not each.blocking_reasons],
        "called": [each for each, result in called.items() if result.failure is None],
    }


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        ({}, [ECHO, SHOUT]),
        ({"allowed_skills": (SKILL,)}, [ECHO]),
        ({"excluded_skills": (SKILL,)}, [SHOUT]),
        ({"allowed_skills": ("*/demo.*",), "excluded_skills": ("*.shout",)}, [ECHO]),
        ({"allowed_skills": ()}, []),
        ({"allowed_skills": (), "allowed_tools": (SHOUT,)}, [SHOUT]),
        ({"allowed_skills": (), "allowed_tools": ("*/shout",)}, []),
        ({"excluded_skills": (OTHER,), "allowed_tools": (SHOUT,)}, []),
        ({"allowed_skills": (SKILL,), "excluded_tools": (ECHO,)}, []),
    ],
    ids=[
        "all",
        "one allowed",
        "one excluded",
        "excluding wins",
        "no skill",
        "a tool by its very id",
        "a tool by a pattern",
        "excluding wins over the id",
        "the tool is excluded",
    ],
)
def test_the_tools_of_a_skill_go_with_the_skill(ready, patterns, wanted):
    """What is shown, what is found and what runs are one."""
    session = agent(ready, **patterns)

    assert seen(session) == dict.fromkeys(("shown", "found", "called"), wanted)


def test_functions_of_the_host_belong_to_no_skill(ready):
    """Patterns of skills say nothing of them."""

    @holon.tool(effects={"none"})
    def look() -> str:
        """Look."""
        return "seen"

    ready.register(look)

    assert agent(ready, allowed_skills=()).call("host.app/look").output == {"result": "seen"}


def test_a_skill_that_is_imported_anew_is_judged_by_what_it_is_now(ready):
    """Where a tool has gone from one skill to another, the other counts."""
    session = agent(ready, allowed_skills=(SKILL,))
    assert session.call(SHOUT, {"text": "a"}).failure.code == "not_allowed"

    ready.skills.store(SOURCE, [skill()], whole=True)
    ready.skills.store(SOURCE, [skill(key=f"{SKILL}2", id=SHOUT, name="shout", tool=SHOUT)])
    widened = session.call(SHOUT, {"text": "a"}).failure
    assert "demo.echo2" in widened.message


@pytest.mark.parametrize("method", ["runtime-skill/load", "skill/read"])
@pytest.mark.parametrize("named", [OTHER, SHOUT], ids=["its id", "the id of its tool"])
def test_a_skill_that_is_not_allowed_is_not_read_by_any_name(ready, method, named):
    """A tool's id is a name of its skill, and no way around the patterns."""
    session = agent(ready, excluded_skills=(OTHER,))

    with pytest.raises(holon.Refused) as caught:
        ready.dispatch(method, {"skill": named}, caller=session.caller)
    assert caught.value.failure.code == "not_allowed"
    assert ready.dispatch(method, {"skill": ECHO}, caller=session.caller)
    if method == "skill/read":
        both = (holon.Authority.CALLER, holon.Authority.OPERATOR)
        assert ready.dispatch(method, {"skill": named}, caller=session.caller, authorities=both)


def test_a_list_of_skills_holds_those_that_are_allowed(ready):
    """An operator sees all."""
    session = agent(ready, excluded_skills=(OTHER,))

    def listed(*more: holon.Authority) -> list[str]:
        authorities = (holon.Authority.CALLER, *more)
        said = ready.dispatch("skill/list", {}, caller=session.caller, authorities=authorities)
        return [each["id"] for each in said["skills"]]

    assert listed() == [SKILL]
    assert listed(holon.Authority.OPERATOR) == [SKILL, OTHER]


def test_a_tool_that_is_bound_after_a_list_was_made_is_in_the_next(rt, echo):
    """What runs a tool is looked at anew, though its definition is the same."""
    rt.skills.store(SOURCE, [skill()])
    rt.skills.approve_execution(
        SKILL, posture=holon.Posture.ADAPTER_FORWARDED, by="boss", reason="ok"
    )
    session = rt.session(principal="agent")
    assert list(session.tools("mcp")) == []

    rt.skills.bind(ECHO, echo, posture=holon.Posture.ADAPTER_FORWARDED)

    assert len(session.tools("mcp")) == 1
