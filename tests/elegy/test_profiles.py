"""Elegy's agent capability profiles as Holon's agent profiles, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holon_core as holon
from elegy_contracts import examine
from holon_core.agents.profiles import refuses
from holon_core.errors import Refused, Rejected
from holon_core.records.agent import AgentProfile, Guardrails, PlanStep, ProfileState
from holon_core.records.words import Effect
from holon_elegy import plugin
from holon_elegy.profiles import read_profile, write_profile
from support import ABSENT, shared_folder

SOURCE = "holon-elegy.main"
VERSION = "agent-capability-profile/v1"
FOLDER = shared_folder()
SKILLS = {
    "elegy.memory": ("memory-add", "memory-search", "memory-purge"),
    "elegy.data": ("data-validate", "data-convert"),
    "elegy.skill-router": ("router-skill-search",),
    "acme.data": ("acme-load",),
}
Ask = Callable[..., Any]


def skill(key: str, capabilities: tuple[str, ...]) -> dict[str, Any]:
    """Make a skill of Elegy's whose capabilities read."""
    namespace, _, name = key.partition(".")
    return {
        "skillFormat": "elegy-skill-definition",
        "skillVersion": 2,
        "identity": {"namespace": namespace, "name": name, "version": "1.0.0"},
        "capabilities": [
            {
                "id": each,
                "name": each,
                "description": f"To {each}.",
                "implementation": {
                    "executionType": "subprocess",
                    "executableName": "python3",
                    "arguments": [each],
                },
                "input": {"parameters": []},
                "output": {"schemaRef": "https://elegy/contracts/schemas/data-result.schema.json"},
                "execution": {"hasSideEffects": each.endswith(("add", "purge"))},
            }
            for each in capabilities
        ],
        "lifecycleState": "active",
    }


def opened() -> holon.Runtime:
    """Open a runtime with the skills of these tests."""
    made = holon.Runtime.in_memory(plugins=[plugin])
    kind = holon.SkillSourceKind.ELEGY_V2
    made.skills.register_source(holon.SkillSourceDescriptor(id=SOURCE, kind=kind))
    caller = made.session(principal="ann").caller
    definitions = [skill(key, names) for key, names in SKILLS.items()]
    done = made.dispatch(
        "skill/import-elegy-v2",
        {"source": SOURCE, "definitions": definitions},
        caller=caller,
        authorities=frozenset(holon.Authority),
    )
    assert all(each["tools"] for each in done["skills"])
    return made


@pytest.fixture(scope="module")
def shared() -> Iterator[holon.Runtime]:
    """A runtime for tests that only read."""
    with opened() as made:
        yield made


@pytest.fixture
def rt() -> Iterator[holon.Runtime]:
    """A runtime of this test's own."""
    with opened() as made:
        yield made


@pytest.fixture
def ask(rt: holon.Runtime) -> Ask:
    """Ask an operation with every authority."""

    def asking(method: str, **params: Any) -> Any:
        caller = rt.session(principal="ann").caller
        return rt.dispatch(method, params, caller=caller, authorities=frozenset(holon.Authority))

    return asking


def elegy(**changes: Any) -> dict[str, Any]:
    """Make a profile of Elegy's."""
    made = {
        "schemaVersion": VERSION,
        "profileId": "generic-agent-host",
        "includeSkills": ["memory"],
        "includeCapabilities": ["data-validate"],
        "excludeCapabilities": ["memory-purge"],
        "alwaysIncludeRouter": True,
    }
    return {**made, **changes}


def allowed(rt: holon.Runtime, profile: AgentProfile) -> set[str]:
    """Return the capabilities that a profile allows here."""
    tools = [t for t in rt.tools.list(limit=100) if t.id.startswith(f"{SOURCE}/")]
    taken = [t for t in tools if refuses(profile, None, t, skill=skill_of(rt, t.id)) is None]
    return {each.id.partition("/")[2] for each in taken}


def skill_of(rt: holon.Runtime, tool: str) -> str | None:
    """Return the skill that a tool came with."""
    binding = rt.skills.binding(tool)
    return None if binding is None else binding.skill


def test_skills_and_capabilities_become_tools_and_what_is_excluded_wins(shared) -> None:
    """Included skills give their tools, the router comes along, and an exclusion holds."""
    made = read_profile(shared, SOURCE, elegy())

    wanted = {"memory-add", "memory-search", "data-validate", "router-skill-search"}
    assert allowed(shared, made.profile) == wanted
    assert made.profile.allowed_skills == (
        f"{SOURCE}/elegy.memory",
        f"{SOURCE}/elegy.skill-router",
    )
    assert made.findings == ()


def test_a_profile_that_includes_nothing_allows_nothing(shared) -> None:
    """Elegy's profiles opt in: what is absent is not allowed, and the router is unless refused."""
    bare = {"schemaVersion": VERSION, "profileId": "bare"}

    assert allowed(shared, read_profile(shared, SOURCE, bare).profile) == {"router-skill-search"}
    without = read_profile(shared, SOURCE, {**bare, "alwaysIncludeRouter": False}).profile
    assert allowed(shared, without) == set()


def test_names_of_two_skills_or_of_none_are_refused_with_their_paths(shared) -> None:
    """Nothing is guessed: a name is one skill, or the profile is refused as a whole."""
    given = elegy(includeSkills=["data", "repo"], includeCapabilities=["desktop-click"])

    with pytest.raises(Rejected) as refused:
        read_profile(shared, SOURCE, given)

    assert [(each.code, each.path) for each in refused.value.findings] == [
        ("duplicate_id", "/includeSkills/0"),
        ("unresolved_ref", "/includeSkills/1"),
        ("unresolved_ref", "/includeCapabilities/0"),
    ]
    named = read_profile(shared, SOURCE, elegy(includeSkills=["acme.data"])).profile
    assert "acme-load" in allowed(shared, named)


def test_what_is_not_here_can_be_left_out_with_a_warning(shared) -> None:
    """Leaving out is asked for, and told; what is excluded holds before it is here."""
    given = elegy(includeSkills=["memory", "repo"], excludeCapabilities=["not-yet"])

    made = read_profile(shared, SOURCE, given, leave_out_unknown=True)

    assert [(each.path, each.severity.value) for each in made.findings] == [
        ("/includeSkills/1", "warning")
    ]
    assert made.profile.excluded_tools == (f"{SOURCE}/not-yet",)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"schemaVersion": "agent-capability-profile/v2"}, "/schemaVersion"),
        ({"includeSkills": "memory"}, "/includeSkills"),
        ({"includeSkills": ["memory", "memory"]}, "/includeSkills"),
        ({"trust": True}, ""),
    ],
    ids=["version", "type", "twice", "unknown member"],
)
def test_what_breaks_the_contract_is_refused_with_its_path(shared, given: Any, path: str) -> None:
    """The contract is read strictly."""
    with pytest.raises(Rejected) as refused:
        read_profile(shared, SOURCE, elegy(**given))

    assert any(each.path.startswith(path) for each in refused.value.findings)


def test_the_operation_stores_a_profile_that_the_door_then_keeps(rt, ask: Ask) -> None:
    """A session under an imported profile is not allowed what Elegy excluded."""
    made = ask(
        "agent-capability-profile/import", source=SOURCE, definition=elegy(), reason="an agent"
    )

    assert made["profile"]["revision"] == 1
    session = rt.session(principal="agent", profile="generic-agent-host")
    assert session.call(f"{SOURCE}/memory-purge", {}).failure.code == "not_allowed"
    assert session.call(f"{SOURCE}/memory-search", {}).failure.code != "not_allowed"


def test_replacing_keeps_what_elegy_says_nothing_about(rt, ask: Ask) -> None:
    """Limits and steps of the profile here stay; a stale revision is a conflict."""
    limits = Guardrails(max_calls=3)
    profile = AgentProfile(id="generic-agent-host", role="helper", guardrails=limits)
    rt.agents.profiles.create(profile, by="boss", reason="first")
    said = {"source": SOURCE, "definition": elegy(), "reason": "anew"}

    with pytest.raises(Refused) as taken:
        ask("agent-capability-profile/import", **said)
    made = ask("agent-capability-profile/import", **said, revision=1)
    with pytest.raises(Refused) as stale:
        ask("agent-capability-profile/import", **said, revision=1)

    assert (taken.value.failure.code, stale.value.failure.code) == ("conflict", "conflict")
    assert made["profile"]["guardrails"]["max_calls"] == 3
    assert made["profile"]["role"] == "helper"
    assert f"{SOURCE}/memory-purge" in made["profile"]["excluded_tools"]


def test_a_name_that_is_no_profile_id_here_is_refused(ask: Ask) -> None:
    """Elegy allows any text as an id; agents are known here by words."""
    given = elegy(profileId="../Boss")

    with pytest.raises(Rejected) as refused:
        ask("agent-capability-profile/import", source=SOURCE, definition=given, reason="x")

    assert [each.path for each in refused.value.findings] == ["/id"]


def test_it_is_written_back_as_it_was_read(rt, ask: Ask) -> None:
    """What came in goes out the same, and fits the contract."""
    ask("agent-capability-profile/import", source=SOURCE, definition=elegy(), reason="an agent")

    back = ask("agent-capability-profile/export", id="generic-agent-host", source=SOURCE)

    assert back == {"definition": elegy(), "findings": []}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"plan_steps": (PlanStep(id="one"),)}, "/plan_steps"),
        ({"guardrails": Guardrails(max_calls=1)}, "/guardrails"),
        ({"output_class": "planner_output"}, "/output_class"),
        ({"output_schema": {"type": "object"}}, "/output_schema"),
        ({"state": ProfileState.ARCHIVED}, "/state"),
    ],
    ids=["steps", "limits", "class", "schema", "archived"],
)
def test_a_restriction_that_elegy_cannot_say_keeps_a_profile_here(
    shared, changes: Any, path: str
) -> None:
    """Left out, it would allow more where it is read."""
    with pytest.raises(Rejected) as refused:
        write_profile(shared, SOURCE, AgentProfile(id="one", **changes))

    errors = [each for each in refused.value.findings if each.severity.value == "error"]
    assert [each.path for each in errors] == [path]


def test_patterns_and_the_ceiling_are_written_as_what_they_come_to(shared) -> None:
    """No pattern leaves; other sources and words are told as left behind."""
    ceiling = Guardrails(effects_ceiling=Effect.MACHINE_READ)
    named = tuple(f"{SOURCE}/{each}" for each in ("memory-search", "memory-add"))
    patterns = (*named, f"{SOURCE}/data-*", "host.shop/*")
    profile = AgentProfile(
        id="one", role="reader", allowed_tools=patterns, allowed_skills=(), guardrails=ceiling
    )

    made = write_profile(shared, SOURCE, profile)

    assert made.definition == {
        "schemaVersion": VERSION,
        "profileId": "one",
        "includeCapabilities": ["memory-search"],
        "alwaysIncludeRouter": False,
    }
    assert [each.path for each in made.findings] == ["/role", "/allowed_tools/3"]


NAMES = st.sampled_from([f"{SOURCE}/{each}" for names in SKILLS.values() for each in names])
KEYS = st.sampled_from([f"{SOURCE}/{key}" for key in SKILLS])
PATTERNS = st.one_of(NAMES, KEYS, st.sampled_from(["*", f"{SOURCE}/m*", "*-add", "other/*"]))
FEW = st.lists(PATTERNS, max_size=3).map(tuple)


PROFILES = st.builds(
    AgentProfile,
    id=st.just("one"),
    allowed_tools=FEW,
    excluded_tools=FEW,
    allowed_skills=FEW,
    excluded_skills=FEW,
    guardrails=st.builds(
        Guardrails,
        effects_ceiling=st.sampled_from([None, Effect.MACHINE_READ, Effect.MACHINE_WRITE]),
    ),
)


@settings(max_examples=60, deadline=None)
@given(PROFILES)
def test_no_profile_allows_more_for_having_been_written_and_read(shared, profile: Any) -> None:
    """Written and read again, a profile allows exactly the same tools of the source."""
    written = write_profile(shared, SOURCE, profile)
    back = read_profile(shared, SOURCE, json.loads(json.dumps(written.definition))).profile

    assert examine("agent-capability-profile", written.definition).findings == ()
    assert allowed(shared, back) == allowed(shared, profile)
    assert write_profile(shared, SOURCE, back).definition == written.definition


@pytest.mark.skipif(FOLDER is None, reason=ABSENT)
def test_the_published_examples_are_read_against_the_published_skills(rt, ask: Ask) -> None:
    """Both shipped profiles come in; what their skills are not published for is told."""
    assert FOLDER is not None
    fixtures = FOLDER / "elegy-corpus" / "fixtures"
    ask("skill-source/register", source="holon-elegy.corpus", kind="elegy_v2")
    names = ("data", "memory", "observe", "skill-router")
    given = [json.loads((fixtures / f"skill.elegy-{each}.json").read_text()) for each in names]
    ask("skill/import-elegy-v2", source="holon-elegy.corpus", definitions=given)
    seen = {}

    for name in ("minimal", "holon-example"):
        data = json.loads((fixtures / f"{VERSION[:-3]}.{name}.json").read_text())
        made = read_profile(rt, "holon-elegy.corpus", data, leave_out_unknown=True)
        seen[name] = {each.path for each in made.findings}
        excluded = f"holon-elegy.corpus/{data['excludeCapabilities'][0]}"
        assert made.profile.excluded_tools == (excluded,)

    assert seen["minimal"] == {"/includeSkills/1"}
    wanted = {f"/includeCapabilities/{at}" for at in range(3)}
    assert seen["holon-example"] == wanted | {"/includeSkills/1", "/includeSkills/3"}
