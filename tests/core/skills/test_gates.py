"""Imported capabilities: what has to be there before one runs, each lack by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core.errors import Misuse, Refused, Rejected
from holon_core.records.skill import SkillLifecycle, SkillState
from imported_skills import ECHO, SKILL, SOURCE, TEXT, Echo, lane, skill

POSTURE = holon.Posture.ADAPTER_FORWARDED


def codes(result: Any) -> list[str]:
    """Return the finer words of a blocked call."""
    return [reason.code for reason in result.blocking_reasons]


def ready(rt: holon.Runtime, echo: Echo, given: Any = None, **options: Any) -> None:
    """Import a skill, bind its executor and approve its posture."""
    rt.skills.store(SOURCE, [given or skill()])
    rt.skills.bind(ECHO, echo, posture=POSTURE, **options)
    rt.skills.approve_execution(ECHO, posture=POSTURE, by="boss", reason="reviewed")


def test_an_imported_capability_runs_once_every_gate_passes(rt: holon.Runtime, echo: Echo):
    """It goes through the whole guarded call, under the posture that it was bound to."""
    ready(rt, echo)

    result = rt.session(principal="ann").call(ECHO, {"text": "hi"})

    assert (result.status, result.output) == (holon.Status.COMPLETED, {"text": "hi"})
    accepted = rt.evidence.read(result.call_id)[0]
    assert (accepted.kind, accepted.body["posture"]) == ("accepted", "adapter_forwarded")


def test_nothing_bound_and_nothing_approved_are_both_told(rt: holon.Runtime):
    """The entry is in the catalogue, read-only; a call says everything that is missing."""
    rt.skills.store(SOURCE, [skill()])

    result = rt.session(principal="ann").call(ECHO, {"text": "hi"})

    assert rt.tools.read(ECHO).origin is holon.Origin.IMPORTED_STATE
    assert result.failure is not None
    assert result.failure.code == "unsupported_capability"
    assert codes(result) == ["executor_unbound", "posture_unapproved"]


CLOSED = {
    "no output schema": ({"output_schema": None}, "schema_unusable"),
    "no effects": ({"effects": frozenset({holon.Effect.UNKNOWN})}, "effects_undeclared"),
    "a missing program": (
        {"dependencies": (holon.Dependency(kind="program", name="no-such-program-here"),)},
        "dependency_missing",
    ),
    "a missing package": (
        {"dependencies": (holon.Dependency(kind="python", name="no-such-package-here"),)},
        "dependency_missing",
    ),
    "a missing secret": (
        {"secret_slots": (holon.SecretSlot(name="key", ref="env:NO_SUCH_VARIABLE"),)},
        "secret_unresolved",
    ),
    "a draft": ({"lifecycle": SkillLifecycle.DRAFT}, "lifecycle_blocked"),
    "an archived skill": ({"lifecycle": SkillLifecycle.ARCHIVED}, "lifecycle_blocked"),
    "a definition with a hole": ({"blocked": ("it names no program",)}, "definition_incomplete"),
}


@pytest.mark.parametrize(("changes", "code"), CLOSED.values(), ids=CLOSED)
def test_each_gate_alone_keeps_a_capability_from_running(
    rt: holon.Runtime, echo: Echo, changes: dict[str, Any], code: str
):
    """Everything else is in place, so the one lack is all that is told, and nothing ran."""
    ready(rt, echo, skill(**changes))

    result = rt.session(principal="ann").call(ECHO, {"text": "hi"})

    assert result.failure is not None
    assert (result.status, result.failure.code) == (holon.Status.BLOCKED, "unsupported_capability")
    assert codes(result) == [code]
    assert echo.heard == []
    [found] = rt.session(principal="ann").discover("echo").items
    assert code in [reason.code for reason in found.blocking_reasons]


def test_a_dependency_that_the_executor_brings_is_not_looked_for(rt: holon.Runtime, echo: Echo):
    """An adapter that forwards to another machine needs no program on this one."""
    program = holon.Dependency(kind="program", name="no-such-program-here")
    ready(rt, echo, skill(dependencies=(program,)), provides=["no-such-program-here"])

    assert rt.session(principal="ann").call(ECHO, {"text": "hi"}).output == {"text": "hi"}


def test_an_approval_of_another_posture_does_not_count(rt: holon.Runtime, echo: Echo):
    """What was approved is one posture, not that the capability runs."""
    rt.skills.store(SOURCE, [skill()])
    rt.skills.bind(ECHO, echo, posture=holon.Posture.MODEL_INVOKED)
    rt.skills.approve_execution(ECHO, posture=POSTURE, by="boss", reason="reviewed")

    assert codes(rt.session(principal="ann").call(ECHO, {"text": "hi"})) == ["posture_unapproved"]


def test_a_changed_definition_voids_the_approval_and_says_what_changed(
    rt: holon.Runtime, echo: Echo
):
    """Even a change that the tool does not show, as of the skill's own words."""
    ready(rt, echo)

    [outcome] = rt.skills.store(SOURCE, [skill(definition={"name": "echo", "more": 1})])
    result = rt.session(principal="ann").call(ECHO, {"text": "hi"})

    assert (outcome.state, outcome.voided) == (SkillState.CHANGED, (ECHO,))
    assert [(change.path, change.change) for change in outcome.changes] == [("/more", "added")]
    assert codes(result) == ["posture_unapproved"]
    assert rt.skills.read(SKILL).revision == 2
    assert rt.skills.approvals(SKILL) == ()


def test_the_same_definition_again_changes_nothing(rt: holon.Runtime, echo: Echo):
    """An import is idempotent: no revision, no voided approval."""
    ready(rt, echo)

    [outcome] = rt.skills.store(SOURCE, [skill()])

    assert outcome.state is SkillState.UNCHANGED
    assert rt.skills.read(SKILL).revision == 1
    assert rt.session(principal="ann").call(ECHO, {"text": "hi"}).output == {"text": "hi"}


def test_a_revoked_posture_closes_the_gate_again(rt: holon.Runtime, echo: Echo):
    """Revoking is by a named actor, and in evidence as the approval is."""
    ready(rt, echo)

    gone = rt.skills.revoke_execution(SKILL, by="boss", reason="second thoughts")

    assert gone == (ECHO,)
    assert codes(rt.session(principal="ann").call(ECHO, {"text": "hi"})) == ["posture_unapproved"]
    kinds = [record.kind for record in rt.evidence.list(workspace=None, limit=100)]
    assert kinds.count("posture_approved") == kinds.count("posture_revoked") == 1


def test_an_unbound_executor_is_gone_at_once(rt: holon.Runtime, echo: Echo):
    """A binding lasts as long as who bound it wants."""
    ready(rt, echo)

    assert rt.skills.unbind(ECHO)
    assert not rt.skills.unbind(ECHO)
    assert codes(rt.session(principal="ann").call(ECHO, {"text": "hi"})) == ["executor_unbound"]


def test_an_executor_may_be_bound_to_a_whole_source(rt: holon.Runtime, echo: Echo):
    """One adapter runs all that a source holds."""
    rt.skills.store(SOURCE, [skill()])
    rt.skills.bind(SOURCE, echo)
    rt.skills.approve_execution(SKILL, posture=POSTURE, by="boss", reason="all of it")

    assert rt.session(principal="ann").call(ECHO, {"text": "hi"}).output == {"text": "hi"}


def test_two_executors_cannot_be_bound_to_one_capability(rt: holon.Runtime, echo: Echo):
    """The second is told who was first."""
    rt.skills.bind(ECHO, echo, by="first")

    with pytest.raises(Refused, match=r"conflict: an executor of first is bound"):
        rt.skills.bind(ECHO, echo)


WRONG = {
    "no executor": ((ECHO, object()), r"an executor has execute\(call\)"),
    "no posture of the lane": ((ECHO, Echo(), holon.Posture.LANE_LIVE), "the lane elegy runs"),
    "no imported source": (("host.app/f", Echo()), "no source of imported"),
    "no id": (("Not An Id", Echo()), "bind to the id of a tool"),
}


@pytest.mark.parametrize(("given", "text"), WRONG.values(), ids=WRONG)
def test_a_binding_that_could_never_work_is_refused(
    rt: holon.Runtime, given: tuple[Any, ...], text: str
):
    """Misuse is told where it happens."""
    target, executor, *posture = given

    with pytest.raises(Misuse, match=text):
        rt.skills.bind(target, executor, posture=(posture or [POSTURE])[0])


def test_imports_and_approvals_outlive_the_process(tmp_path: Path, echo: Echo):
    """Another runtime on the root needs the executor anew, and nothing else."""
    for first in (True, False):
        with holon.Runtime.open(tmp_path / "r", plugins=[lane()], discover=False) as rt:
            if first:
                source = holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
                rt.skills.register_source(source)
                ready(rt, echo)
            else:
                rt.skills.bind(ECHO, echo)
                result = rt.session(principal="ann").call(ECHO, {"text": "hi"})
                assert result.output == {"text": "hi"}


def test_another_process_learns_of_a_revoked_posture(tmp_path: Path, echo: Echo):
    """A runtime that ran the capability before refuses it at its next call."""
    with (
        holon.Runtime.open(tmp_path / "r", plugins=[lane()], discover=False) as one,
        holon.Runtime.open(tmp_path / "r", plugins=[lane()], discover=False) as other,
    ):
        source = holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
        one.skills.register_source(source)
        ready(one, echo)
        assert one.session(principal="ann").call(ECHO, {"text": "a"}).status == "completed"

        other.skills.revoke_execution(ECHO, by="boss", reason="no")
        result = one.session(principal="ann").call(ECHO, {"text": "b"})

    assert codes(result) == ["posture_unapproved"]
    assert echo.heard == ["a"]


def test_without_the_lane_the_entry_stays_and_says_what_to_install(tmp_path: Path):
    """What was imported is blocked and listed where its lane is not installed."""
    with holon.Runtime.open(tmp_path / "r", plugins=[lane()], discover=False) as rt:
        source = holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
        rt.skills.register_source(source)
        rt.skills.store(SOURCE, [skill()])
    with holon.Runtime.open(tmp_path / "r", discover=False) as rt:
        result = rt.session(principal="ann").call(ECHO, {"text": "hi"})
        with pytest.raises(Refused, match="install holon-elegy"):
            rt.skills.store(SOURCE, [skill()])

    assert [reason.code for reason in result.blocking_reasons] == ["dependency_missing"]


def test_a_dry_run_shows_the_lanes_preview_and_what_blocks(tmp_path: Path):
    """The lane shows the request of a capability that nothing runs yet."""
    plugin = lane(preview=lambda call, binding: {"argv": ["echo", call.arguments["text"]]})
    with holon.Runtime.open(tmp_path / "r", plugins=[plugin], discover=False) as rt:
        source = holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
        rt.skills.register_source(source)
        rt.skills.store(SOURCE, [skill()])

        shown = rt.session(principal="ann").dry_run(ECHO, {"text": "hi"})

    assert shown.output == {"argv": ["echo", "hi"]}
    assert codes(shown) == ["executor_unbound", "posture_unapproved"]


def test_a_skill_with_instructions_can_be_loaded(rt: holon.Runtime):
    """Loading gives a text and the tools beside it, and no authority."""
    rt.skills.store(SOURCE, [skill()])
    caller = rt.session(principal="ann").caller

    loaded = rt.dispatch("runtime-skill/load", {"skill": SKILL}, caller=caller)

    assert loaded["instructions"] == "Use echo to hear yourself."
    assert loaded["tools"] == [ECHO]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"instructions": ""}, "artifact_not_ready"),
        ({"lifecycle": SkillLifecycle.DRAFT}, "lifecycle_blocked"),
    ],
    ids=["nothing to load", "a draft"],
)
def test_what_cannot_be_loaded_says_why(rt: holon.Runtime, changes: dict[str, Any], code: str):
    """A skill of capabilities alone holds nothing for a context."""
    rt.skills.store(SOURCE, [skill(**changes)])

    with pytest.raises(Refused) as refused:
        rt.skills.load(SKILL)

    assert refused.value.failure.code == code


def test_a_capability_id_of_another_skill_is_refused(rt: holon.Runtime):
    """Ids of capabilities are unique in a source; the first skill keeps what it has."""
    rt.skills.store(SOURCE, [skill()])
    other = f"{SOURCE}/demo.other"

    [outcome] = rt.skills.store(SOURCE, [skill(key=other)])

    assert outcome.state is SkillState.REJECTED
    assert [found.code for found in outcome.findings] == ["duplicate_id"]
    assert [each.skill.id for each in rt.skills.list()] == [SKILL]


def test_a_removed_source_takes_its_skills_tools_and_approvals_along(rt: holon.Runtime, echo: Echo):
    """What is imported again later has to be approved again."""
    ready(rt, echo)

    assert rt.skills.remove_source(SOURCE) == (ECHO,)
    assert (rt.skills.list(), rt.skills.sources()) == ((), ())
    result = rt.session(principal="ann").call(ECHO, {"text": "hi"})
    assert result.failure is not None
    assert result.failure.code == "unknown_tool"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("holon-mcp.demo", "reserved_id"),
        ("acme.demo", "reserved_id"),
        ("holon-elegy.Demo", "invalid_id"),
    ],
)
def test_the_id_of_a_source_begins_with_who_provides_it(rt: holon.Runtime, source: str, code: str):
    """Nobody registers under another's name."""
    with pytest.raises(Rejected) as rejected:
        rt.skills.register_source(
            holon.SkillSourceDescriptor(id=source, kind=holon.SkillSourceKind.ELEGY_V2)
        )

    assert [found.code for found in rejected.value.findings] == [code]


def test_the_operations_of_skills_answer_what_they_promise(rt: holon.Runtime):
    """Every row of skills and their sources, through the door of protocols."""
    from holon_core.operations.table import OPERATIONS
    from holon_core.wire.schema_engine import compiled

    rt.skills.store(SOURCE, [skill()])
    caller = rt.session(principal="boss").caller

    asked = set()

    def ask(method: str, **params: Any) -> Any:
        asked.add(method)
        answer = rt.dispatch(method, params, caller=caller, authorities=frozenset(holon.Authority))
        assert compiled(OPERATIONS[method].response, f"skills {method}").errors(answer) == ()
        return answer

    assert ask("skill-source/register", source=SOURCE, kind="elegy_v2")["is_new"] is False
    assert [each["id"] for each in ask("skill-source/list")["sources"]] == [SOURCE]
    assert ask("skill-source/read", source=SOURCE)["kind"] == "elegy_v2"
    assert ask("skill/list")["skills"][0]["capabilities"] == [ECHO]
    said = {"skill": SKILL, "posture": "model_invoked", "reason": "fine"}
    [approval] = ask("skill/approve-execution", **said)["approvals"]
    assert (approval["tool"], approval["by"]) == (ECHO, "boss")
    assert ask("skill/read", skill=ECHO)["approvals"] == [approval]
    assert ask("runtime-skill/load", skill=SKILL)["tools"] == [ECHO]
    assert ask("skill/revoke-execution", skill=SKILL, reason="no")["revoked"] == [ECHO]
    assert ask("skill-source/remove", source=SOURCE)["removed"] == [ECHO]
    nouns = {"skill", "skill-source", "runtime-skill"}
    assert asked == {row.method for row in OPERATIONS.values() if row.noun in nouns}


def test_a_caller_may_not_approve_a_posture(rt: holon.Runtime):
    """The approval is an approver's."""
    rt.skills.store(SOURCE, [skill()])
    caller = rt.session(principal="ann").caller
    said = {"skill": SKILL, "posture": "model_invoked", "reason": "fine"}

    with pytest.raises(Refused, match="not_allowed"):
        rt.dispatch("skill/approve-execution", said, caller=caller)


def test_a_tool_whose_definition_is_refused_stays_out_and_the_rest_comes_in(rt: holon.Runtime):
    """The skill is kept with the finding; its tool is not in the catalogue."""
    [outcome] = rt.skills.store(SOURCE, [skill(input_schema={"type": "nonsense"})])

    assert outcome.state is SkillState.ADDED
    assert "schema_invalid" in [found.code for found in outcome.findings]
    assert rt.session(principal="ann").call(ECHO, {}).failure.code == "unknown_tool"  # type: ignore[union-attr]
    with pytest.raises(Refused, match="not in the catalogue"):
        rt.skills.approve_execution(ECHO, posture=POSTURE, by="boss", reason="?")


def test_schemas_are_what_the_catalogue_shows(rt: holon.Runtime):
    """A binding and its entry carry the same schemas."""
    rt.skills.store(SOURCE, [skill()])
    binding = rt.skills.binding(ECHO)

    assert binding is not None
    assert binding.input_schema == rt.tools.read(ECHO).input_schema == TEXT


def test_an_adapter_binds_what_it_runs_and_takes_nothing_of_others(tmp_path: Path, echo: Echo):
    """A plugin binds by its host once the runtime is open, and unbinds only its own."""
    from types import SimpleNamespace

    hosts: list[Any] = []

    @holon.hookimpl
    def holon_runtime_opened(host: Any) -> None:
        hosts.append(host)
        host.bind(ECHO, echo, posture=POSTURE, self_limiting=True)

    adapter = SimpleNamespace(name="acme", holon_runtime_opened=holon_runtime_opened)
    with holon.Runtime.open(tmp_path / "r", plugins=[lane(), adapter], discover=False) as rt:
        source = holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
        rt.skills.register_source(source)
        rt.skills.store(SOURCE, [skill()])
        rt.skills.approve_execution(ECHO, posture=POSTURE, by="boss", reason="reviewed")
        ran = rt.session(principal="ann").call(ECHO, {"text": "hi"})
        rt.skills.bind(SOURCE, echo)

        assert ran.output == {"text": "hi"}
        assert not hosts[0].unbind(SOURCE)
        assert hosts[0].unbind(ECHO)


def test_an_executor_that_does_more_than_is_declared_is_named_before_anybody_is_asked(
    rt: holon.Runtime, echo: Echo
):
    """Every view says it: discovery, explain, the dry run and the call; nothing is held."""
    ready(rt, echo, effects={holon.Effect.NETWORK_READ, holon.Effect.NONE})
    session = rt.session(principal="ann")

    told = session.explain(ECHO, {"text": "hi"})
    shown = session.dry_run(ECHO, {"text": "hi"})
    called = session.call(ECHO, {"text": "hi"})

    assert told.outcome == "would be refused"
    assert any("effects_undeclared" in step.detail for step in told.steps)
    assert codes(shown) == codes(called) == ["effects_undeclared"]
    assert called.held is None
    [found] = session.discover("echo").items
    assert "effects_undeclared" in [reason.code for reason in found.blocking_reasons]
    assert echo.heard == []


def test_effects_of_an_executor_that_are_declared_close_nothing(rt: holon.Runtime, echo: Echo):
    """Whoever may change things elsewhere may read there, too."""
    declared = frozenset({holon.Effect.NETWORK_WRITE})
    ready(rt, echo, skill(effects=declared), effects=[holon.Effect.NETWORK_READ])

    told = rt.session(principal="ann").explain(ECHO, {"text": "hi"})

    assert not any("effects_undeclared" in step.detail for step in told.steps)


def test_words_that_are_no_effects_are_not_bound(rt: holon.Runtime, echo: Echo):
    """A mistyped word would leave the gate open."""
    with pytest.raises(Misuse, match="network_read"):
        rt.skills.bind(ECHO, echo, posture=POSTURE, effects=["net"])  # type: ignore[list-item]
