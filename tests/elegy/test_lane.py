"""The lane: imports by the operation, gating of what came in, previews, wheels of facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from elegy_contracts.holding import HOLDING as HOLDING_CONTRACTS
from elegy_contracts.recognising import BY_MEMBERS, MARKS
from holon_core.errors import Refused, Rejected
from holon_elegy import plugin
from holon_elegy.elsewhere import ELSEWHERE
from holon_elegy.invoking import invocation_of, preview_of
from support import ABSENT, shared_folder

SOURCE = "holon-elegy.main"
FOLDER = shared_folder()
FIXTURES = [] if FOLDER is None else sorted((FOLDER / "elegy-corpus" / "fixtures").glob("*.json"))
Ask = Callable[..., Any]


@pytest.fixture
def rt() -> Iterator[holon.Runtime]:
    """A runtime with the lane and its source."""
    with holon.Runtime.in_memory(plugins=[plugin]) as made:
        kind = holon.SkillSourceKind.ELEGY_V2
        made.skills.register_source(holon.SkillSourceDescriptor(id=SOURCE, kind=kind))
        yield made


@pytest.fixture
def ask(rt: holon.Runtime) -> Ask:
    """Ask an operation with every authority."""

    def asking(method: str, **params: Any) -> Any:
        caller = rt.session(principal="ann").caller
        return rt.dispatch(method, params, caller=caller, authorities=frozenset(holon.Authority))

    return asking


def definition(**changes: Any) -> dict[str, Any]:
    """Make a small skill of one capability that echoes a text."""
    capability: dict[str, Any] = {
        "id": "note-add",
        "name": "Add Note",
        "description": "Keep a note.",
        "implementation": {
            "executionType": "subprocess",
            "executableName": "python3",
            "arguments": ["add", "${text}", "--tag", "${tags}", "--loud", "${loud}"],
        },
        "input": {
            "parameters": [
                {"name": "text", "type": "string", "required": True},
                {"name": "tags", "type": "array", "required": False},
                {"name": "loud", "type": "boolean", "required": False, "default": False},
            ]
        },
        "output": {"schemaRef": "https://elegy/contracts/schemas/data-result.schema.json"},
        "execution": {"hasSideEffects": False},
    }
    of_capability = changes.pop("capability", {})
    return {
        "skillFormat": "elegy-skill-definition",
        "skillVersion": 2,
        "identity": {"namespace": "demo", "name": "notes", "version": "1.0.0", "aliases": ["memo"]},
        "metadata": {"displayName": "Notes", "summary": "Keeps notes.", "tags": ["jotting"]},
        "capabilities": [{**capability, **of_capability}],
        "constraints": [{"constraintId": "short", "required": True, "description": "Be short."}],
        "governance": {"riskLevel": "low", "approvalRequirement": "none"},
        "discovery": {
            "keywords": ["scribble"],
            "triggers": [{"pattern": "remember this"}],
            "isHidden": False,
        },
        "lifecycleState": "active",
        **changes,
    }


TOOL = f"{SOURCE}/note-add"
SKILL = f"{SOURCE}/demo.notes"


class Notes:
    """Runs the capability by its exact invocation, as a host would forward it."""

    def __init__(self, rt: holon.Runtime) -> None:
        self.rt = rt
        self.ran: list[tuple[str, ...]] = []

    def execute(self, call: Any) -> Any:
        binding = self.rt.skills.binding(call.tool.id)
        assert binding is not None
        made = invocation_of(binding, call.arguments)
        assert made is not None
        self.ran.append(made.arguments)
        return holon.completed({"arguments": list(made.arguments)})

    def preview(self, call: Any) -> Any:
        return preview_of(self.rt.skills.binding(call.tool.id), call.arguments)


def ready(rt: holon.Runtime, ask: Ask, given: dict[str, Any]) -> Notes:
    """Import a definition, bind an executor and approve its posture."""
    ask("skill/import-elegy-v2", source=SOURCE, definition=given)
    notes = Notes(rt)
    rt.skills.bind(TOOL, notes)
    said = {"posture": "adapter_forwarded", "reason": "reviewed"}
    ask("skill/approve-execution", skill=TOOL, **said)
    return notes


def released(rt: holon.Runtime, arguments: dict[str, Any]) -> Any:
    """Call the tool, and approve the call where it is held."""
    session = rt.session(principal="ann")
    result = session.call(TOOL, arguments)
    if result.held:
        rt.approvals.approve(result.held, by="boss", reason="fine")
        return session.release(result.held)
    return result


def test_a_definition_becomes_a_strict_read_only_entry(rt: holon.Runtime, ask: Ask):
    """Parameters are a closed schema; identity, effects and governance are those of the skill."""
    [outcome] = ask("skill/import-elegy-v2", source=SOURCE, definition=definition())["skills"]
    tool = rt.tools.read(TOOL)

    assert (outcome["id"], outcome["state"], outcome["tools"]) == (SKILL, "added", [TOOL])
    assert tool.origin is holon.Origin.IMPORTED_STATE
    assert tool.input_schema["additionalProperties"] is False
    assert tool.input_schema["required"] == ["text"]
    assert tool.effects == {holon.Effect.MACHINE_READ}
    assert tool.dependencies == (holon.Dependency(kind="program", name="python3"),)
    assert "risk:low" in tool.risk_hints
    assert "must: Be short." in tool.description


@pytest.mark.parametrize("words", ["scribble", "remember", "memo", "jotting", "note"])
def test_words_of_a_skill_find_its_capabilities(rt: holon.Runtime, ask: Ask, words: str):
    """Keywords, triggers, aliases, tags and names are searched."""
    ask("skill/import-elegy-v2", source=SOURCE, definition=definition())

    assert [each.id for each in rt.session(principal="ann").discover(words).items] == [TOOL]


def test_an_imported_capability_runs_through_the_whole_guard(rt: holon.Runtime, ask: Ask):
    """Bound, approved in its posture and in its payload, it runs by its exact invocation."""
    notes = ready(rt, ask, definition())

    result = released(rt, {"text": "hi", "tags": ["a", "b"], "loud": True})

    assert result.status is holon.Status.COMPLETED
    assert notes.ran == [("add", "hi", "--tag", "a", "--tag", "b", "--loud")]
    kinds = [record.kind for record in rt.evidence.read(result.call_id)]
    assert kinds[-2:] == ["accepted", "completed"]


GATES: dict[str, tuple[dict[str, Any], str]] = {
    "no output schema": ({"capability": {"output": {}}}, "schema_unusable"),
    "an output schema that nobody has": (
        {"capability": {"output": {"schemaRef": "https://elegy/x/none.schema.json"}}},
        "schema_unusable",
    ),
    "no side effects declared": ({"capability": {"execution": {}}}, "effects_undeclared"),
    "a program that is not here": (
        {
            "capability": {
                "implementation": {
                    "executionType": "subprocess",
                    "executableName": "no-such-program-here",
                    "arguments": [],
                }
            }
        },
        "dependency_missing",
    ),
    "a library": (
        {
            "capability": {
                "implementation": {
                    "executionType": "library",
                    "executableName": "python3",
                    "arguments": [],
                }
            }
        },
        "definition_incomplete",
    ),
    "a placeholder without a parameter": (
        {
            "capability": {
                "implementation": {
                    "executionType": "subprocess",
                    "executableName": "python3",
                    "arguments": ["${nobody}"],
                }
            }
        },
        "definition_incomplete",
    ),
    "a draft": ({"lifecycleState": "draft"}, "lifecycle_blocked"),
    "a deprecated skill": ({"lifecycleState": "deprecated"}, "lifecycle_blocked"),
}


@pytest.mark.parametrize(("changes", "code"), GATES.values(), ids=GATES)
def test_each_gate_closes_an_imported_capability(
    rt: holon.Runtime, ask: Ask, changes: dict[str, Any], code: str
):
    """All else is in place; the call is unsupported, with the finer word."""
    notes = ready(rt, ask, definition(**changes))

    result = rt.session(principal="ann").call(TOOL, {"text": "hi"})

    assert result.failure is not None
    assert result.failure.code == "unsupported_capability"
    assert [reason.code for reason in result.blocking_reasons] == [code]
    assert notes.ran == []


def test_policy_can_still_deny_what_every_gate_lets_through(tmp_path: Path):
    """An approved posture is no policy."""
    rules = {"rules": [{"id": f"{SOURCE}/*", "decision": "deny", "reason": "not here"}]}
    with holon.Runtime.in_memory(plugins=[plugin], config=rules) as rt:
        kind = holon.SkillSourceKind.ELEGY_V2
        rt.skills.register_source(holon.SkillSourceDescriptor(id=SOURCE, kind=kind))

        def ask(method: str, **params: Any) -> Any:
            caller = rt.session(principal="ann").caller
            every = frozenset(holon.Authority)
            return rt.dispatch(method, params, caller=caller, authorities=every)

        notes = ready(rt, ask, definition())
        result = rt.session(principal="ann").call(TOOL, {"text": "hi"})

    assert result.failure is not None
    assert (result.failure.code, notes.ran) == ("policy_denied", [])


def test_a_dry_run_shows_the_argument_vector_and_what_blocks(rt: holon.Runtime, ask: Ask):
    """Nothing is bound, so nothing could run; what would run is shown all the same."""
    ask("skill/import-elegy-v2", source=SOURCE, definition=definition())

    shown = rt.session(principal="ann").dry_run(TOOL, {"text": "hi", "loud": False})

    assert shown.output == {"argv": ["python3", "add", "hi"], "stdin": None, "timeout_s": 30}
    codes = [reason.code for reason in shown.blocking_reasons]
    assert codes == ["executor_unbound", "posture_unapproved", "approval_required"]


@pytest.mark.parametrize(
    "arguments",
    [{"text": "--db=/etc/passwd"}, {"text": "a\0b"}, {"text": "x" * 200_000}],
    ids=["option", "NUL", "size"],
)
def test_a_value_that_the_template_refuses_is_never_held(
    rt: holon.Runtime, ask: Ask, arguments: dict[str, Any]
):
    """By its path, in a dry run, too: nobody is asked to approve what could not run."""
    notes = ready(rt, ask, definition(governance={"approvalRequirement": "required"}))
    session = rt.session(principal="ann")

    told = session.explain(TOOL, arguments)
    assert (told.outcome, told.steps[-1].step) == ("would be refused", "request")
    assert "arguments_invalid" in told.steps[-1].detail
    for result in (session.call(TOOL, arguments), session.dry_run(TOOL, arguments)):
        assert (result.status, result.failure.code) == ("failed", "arguments_invalid")
        assert result.failure.details["path"] == "/text"
        assert result.held is None
    assert rt.approvals.list() == ()
    assert notes.ran == []


def test_the_same_import_again_changes_nothing(rt: holon.Runtime, ask: Ask):
    """No revision, and the approval holds."""
    notes = ready(rt, ask, definition())

    [again] = ask("skill/import-elegy-v2", source=SOURCE, definition=definition())["skills"]

    assert again["state"] == "unchanged"
    assert released(rt, {"text": "hi"}).status is holon.Status.COMPLETED
    assert len(notes.ran) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"displayName": "Notes", "summary": "Keeps other notes."}},
        {"governance": {"riskLevel": "high"}},
        {"capability": {"execution": {"hasSideEffects": True}}},
        {"discovery": {"keywords": ["else"]}},
    ],
    ids=["words", "governance", "effects", "discovery"],
)
def test_a_changed_definition_shows_its_difference_and_voids_the_approval(
    rt: holon.Runtime, ask: Ask, changes: dict[str, Any]
):
    """Whatever changed: what was approved was the whole definition."""
    ready(rt, ask, definition())

    changed = definition(**changes)
    [outcome] = ask("skill/import-elegy-v2", source=SOURCE, definition=changed)["skills"]
    result = rt.session(principal="ann").call(TOOL, {"text": "hi"})

    assert (outcome["state"], outcome["voided"]) == ("changed", [TOOL])
    assert outcome["changes"]
    assert "posture_unapproved" in [reason.code for reason in result.blocking_reasons]


def test_a_projection_can_only_tighten(rt: holon.Runtime, ask: Ask):
    """A class beside `hasSideEffects: false` adds what it says, and takes nothing away."""
    host = {
        "capabilityProjections": [
            {"capabilityId": "note-add", "functionName": "f", "sideEffectClass": "disk_write"}
        ]
    }
    ask("skill/import-elegy-v2", source=SOURCE, definition=definition(hostProjection=host))
    tight = rt.tools.read(TOOL).effects
    host["capabilityProjections"][0]["sideEffectClass"] = "none"
    loose = definition(hostProjection=host, capability={"execution": {"hasSideEffects": True}})
    ask("skill/import-elegy-v2", source=SOURCE, definition=loose)

    assert tight == {holon.Effect.MACHINE_READ, holon.Effect.MACHINE_WRITE}
    assert rt.tools.read(TOOL).effects == {holon.Effect.MACHINE_WRITE}


def test_a_required_approval_of_the_skill_is_each_capabilitys(rt: holon.Runtime, ask: Ask):
    """Governance is of the whole skill, so it holds for all of it."""
    strict = definition(governance={"approvalRequirement": "required"})
    ask("skill/import-elegy-v2", source=SOURCE, definition=strict)

    assert rt.tools.read(TOOL).approval is holon.ApprovalRequirement.REQUIRED


def test_a_hidden_skill_is_not_shown_to_models(rt: holon.Runtime, ask: Ask):
    """It stays callable by the runtime."""
    hidden = definition(discovery={"isHidden": True})
    ask("skill/import-elegy-v2", source=SOURCE, definition=hidden)

    assert rt.tools.read(TOOL).projections == ()


def test_of_a_refused_definition_nothing_is_stored(rt: holon.Runtime, ask: Ask):
    """Every finding has the path of what is wrong."""
    broken = definition(lifecycleState="asleep", extra=1)

    with pytest.raises(Rejected) as rejected:
        ask("skill/import-elegy-v2", source=SOURCE, definition=broken)

    paths = {found.path for found in rejected.value.findings}
    assert "/lifecycleState" in paths
    assert (rt.skills.list(), len(rt.tools)) == ((), 0)


def test_of_several_definitions_the_good_ones_come_in(rt: holon.Runtime, ask: Ask):
    """Each is judged by itself."""
    said = ask("skill/import-elegy-v2", source=SOURCE, definitions=[{"a": 1}, definition()])

    assert [each["state"] for each in said["skills"]] == ["rejected", "added"]


def test_imports_go_into_a_registered_source_alone(ask: Ask):
    """Another source is not made by the way."""
    with pytest.raises(Refused, match="no source of skills"):
        ask("skill/import-elegy-v2", source="holon-elegy.other", definition=definition())


def test_instructions_of_a_skill_can_be_loaded(rt: holon.Runtime, ask: Ask):
    """What a skill says of itself is a text for a context."""
    ask("skill/import-elegy-v2", source=SOURCE, definition=definition())

    text = ask("runtime-skill/load", skill=SKILL)["instructions"]

    assert text.startswith("# Notes 1.0.0\n\nKeeps notes.")
    assert "- remember this" in text


def test_the_service_gives_adapters_what_they_need(rt: holon.Runtime, ask: Ask):
    """Lanes that may not import this one ask for it."""
    ask("skill/import-elegy-v2", source=SOURCE, definition=definition())
    service = rt.service("elegy")
    binding = rt.skills.binding(TOOL)

    assert service.invocation(binding, {"text": "x"}).arguments == ("add", "x")
    assert service.preview(None, {})["refused"]


SKILLS = [path for path in FIXTURES if path.name.startswith(("skill.", "skill-definition"))]
SKILLS += [path for path in FIXTURES if path.name.startswith(("capability-",))]
NEGATIVE = ("skill-definition.elegy-diagram.json", "capability-catalog-v1.negative")


@pytest.mark.skipif(not FIXTURES, reason=ABSENT)
@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.name)
def test_every_skill_of_the_corpus_is_imported_or_refused(rt: holon.Runtime, ask: Ask, path: Path):
    """All its capabilities are entries; none of them runs by itself."""
    data = json.loads(path.read_text(encoding="utf-8-sig"))
    if path.name.startswith(NEGATIVE):
        with pytest.raises(Rejected):
            ask("skill/import-elegy-v2", source=SOURCE, definition=data)
        return

    [outcome] = ask("skill/import-elegy-v2", source=SOURCE, definition=data)["skills"]

    assert outcome["state"] == "added"
    assert len(outcome["tools"]) == len(data.get("capabilities", [1]))
    session = rt.session(principal="ann")
    for tool in outcome["tools"]:
        explained = session.explain(tool, {})
        assert any("unbound" in step.detail for step in explained.steps) or (
            explained.steps[-1].step == "arguments"
        )


HOLDING = (
    "capability-",
    "elegy-plugin-package-v1.minimal",
    "elegy-plugin-package.negative-missing-subset-marker",
    "skill-definition",
    "skill-discovery-index",
    "skill.",
)


@pytest.mark.skipif(not FIXTURES, reason=ABSENT)
def test_every_file_of_the_corpus_imports_what_it_holds_or_says_where_it_goes(
    rt: holon.Runtime, ask: Ask
):
    """Each by itself; what is refused is refused for what is wrong in it."""
    holding, told, broken = [], {}, []
    for at, path in enumerate(FIXTURES):
        source = f"holon-elegy.c{at}"
        ask("skill-source/register", source=source, kind="elegy_v2")
        data = json.loads(path.read_text(encoding="utf-8-sig"))
        [*done] = ask("skill/import-elegy-v2", source=source, definitions=[data])["skills"]
        texts = [finding["message"] for finding in done[0]["findings"]]
        if done[0]["state"] == "added":
            holding.append(path.name)
        elif any(text.startswith("no_skill: ") for text in texts):
            told[path.name] = texts[-1]
        else:
            broken.append(path.name)

    assert [name for name in holding if not name.startswith(HOLDING)] == []
    assert [n for n in told if n.startswith(HOLDING)] == []
    assert all(": " in text.removeprefix("no_skill: ") for text in told.values())
    assert "plugin-package/register" in told["elegy-package-v1.demo-tool.json"]
    assert "skills/elegy-memory" in told["elegy-plugin-package.elegy-memory.json"] or (
        "skill.elegy-memory.json" in told["elegy-plugin-package.elegy-memory.json"]
    )
    assert "workflow-definition/import-elegy" in told["canonical-workflow-graph.minimal.json"]
    assert len(broken) == 7
    assert all("negative" in n or "template" in n or "diagram" in n for n in broken)


def test_every_contract_holds_skills_or_has_a_place_where_it_goes():
    """None is refused without a word of what it is."""
    known = {*MARKS.values(), *BY_MEMBERS, "skill"}

    assert known - set(HOLDING_CONTRACTS) - set(ELSEWHERE) == set()
    assert set(ELSEWHERE) <= known


def package(*skills: Any, **changes: Any) -> dict[str, Any]:
    """Make a plugin package with definitions inside."""
    return {
        "schemaVersion": "elegy-plugin-package/v1",
        "identity": {"packageId": "demo.pack", "name": "pack", "version": "1.0.0"},
        "metadata": {"description": "Two skills."},
        "components": {
            "skillDefinitions": [
                {"id": f"s{at}", "definition": each} for at, each in enumerate(skills)
            ],
            **changes,
        },
    }


def other_skill() -> dict[str, Any]:
    given = definition(capability={"id": "note-list"})
    return {**given, "identity": {"namespace": "demo", "name": "lists", "version": "1.0.0"}}


def test_the_skills_inside_of_a_package_come_in_as_their_own_definitions_do(
    rt: holon.Runtime, ask: Ask
):
    """Each under its own name: the same definition beside the package is the same skill."""
    given = [package(definition(), other_skill()), definition()]

    answer = ask("skill/import-elegy-v2", source=SOURCE, definitions=given)

    assert [each["id"] for each in answer["skills"]] == [SKILL, f"{SOURCE}/demo.lists", SKILL]
    assert [each["state"] for each in answer["skills"]] == ["added", "added", "unchanged"]
    assert answer["definitions"] == [0, 0, 1]


def test_a_package_can_only_tighten_what_its_skills_declare(rt: holon.Runtime, ask: Ask):
    """A projection's side effects are joined to the skill's."""
    projection = {
        "id": "p",
        "skill": "demo.notes",
        "capability": "note-add",
        "lane": "subprocess",
        "sideEffectClass": "network_outbound",
        "supportsDryRun": False,
    }

    ask(
        "skill/import-elegy-v2",
        source=SOURCE,
        definition=package(definition(), capabilityProjections=[projection]),
    )

    effects = rt.tools.read(TOOL).effects
    assert effects == {holon.Effect.MACHINE_READ, holon.Effect.NETWORK_WRITE}


def test_a_package_with_one_refused_skill_brings_none(rt: holon.Runtime, ask: Ask):
    """With the path into the package."""
    with pytest.raises(Rejected) as refused:
        ask(
            "skill/import-elegy-v2",
            source=SOURCE,
            definition=package(definition(), {**other_skill(), "lifecycleState": "asleep"}),
        )

    paths = [each.path for each in refused.value.findings]
    assert "/components/skillDefinitions/1/definition/lifecycleState" in paths
    assert rt.skills.list() == ()


def test_an_index_lists_skills_without_their_capabilities(rt: holon.Runtime, ask: Ask):
    """Beside the definitions, which it neither replaces nor is replaced by."""
    entry = {
        "skillId": "demo.notes",
        "name": "Notes",
        "description": "Keeps notes.",
        "lifecycleState": "active",
        "triggersOn": ["remember"],
        "keywords": ["scribble"],
        "capabilityHints": ["note-add"],
        "manifest": {
            "id": "demo.notes",
            "loadMode": "onDemand",
            "vaultRef": "notes/SKILL.md",
            "sourceKind": "manual",
            "materializationKind": "declared",
        },
    }
    index = {"schemaVersion": 1, "builtAt": "2026-03-19T00:00:00Z", "entries": [entry]}
    ask("skill/import-elegy-v2", source=SOURCE, definition=definition())

    [outcome] = ask("skill/import-elegy-v2", source=SOURCE, definition=index)["skills"]

    assert (outcome["id"], outcome["state"]) == (f"{SOURCE}/index.demo.notes", "added")
    assert outcome["tools"] == []
    assert {each.skill.id for each in rt.skills.list()} == {SKILL, outcome["id"]}
    with pytest.raises(Rejected, match="no entries"):
        ask("skill/import-elegy-v2", source=SOURCE, definition={**index, "entries": []})


@pytest.mark.skipif(not FIXTURES, reason=ABSENT)
def test_strict_invalid_skills_stay_in_the_catalogue(rt: holon.Runtime, ask: Ask):
    """What names no output schema is listed, and never executable."""
    assert FOLDER is not None
    name = "skill.negative-no-output-schema.json"
    data = json.loads((FOLDER / "elegy-corpus" / "fixtures" / name).read_text(encoding="utf-8"))
    [outcome] = ask("skill/import-elegy-v2", source=SOURCE, definition=data)["skills"]
    [tool] = outcome["tools"]

    [found] = [i for i in rt.session(principal="ann").discover().items if i.id == tool]
    assert "schema_unusable" in [reason.code for reason in found.blocking_reasons]
