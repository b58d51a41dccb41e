"""An operation of an adapter as the executor of an imported capability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holon_adapters.plugin as adapters
import holon_core as holon
from holon_adapters.records import Binding
from holon_core import Posture, Rejected, Status
from holon_core.records.rule import Rule
from hostile_http import hostile
from imported_skills import ECHO, SOURCE, lane, skill

DOCUMENT = {
    "adapter": "holon-adapter/v1",
    "operations": [
        {
            "id": "say",
            "method": "POST",
            "path": "/say-back",
            "description": "Say it back.",
            "body": {"schema": {"type": "object"}},
            "responses": {"200": {"schema": {"type": "object"}}},
        }
    ],
}
RULES = [Rule(name="all", decision=holon.Decision.ALLOW)]


@pytest.fixture
def enemy():
    with hostile() as server:
        yield server


def opened(root: Path) -> holon.Runtime:
    plugins = [lane(), adapters]
    return holon.Runtime.open(root, plugins=plugins, discover=False, config={"rules": RULES})


def prepared(
    rt: holon.Runtime, url: str, *, effect: holon.Effect = holon.Effect.NETWORK_WRITE
) -> Any:
    """Import a capability and register an adapter; return what asks an operation."""
    descriptor = holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
    rt.skills.register_source(descriptor)
    rt.skills.store(SOURCE, [skill(effects=frozenset({effect}))])
    service = rt.service("adapters")
    service.register("voice", DOCUMENT, by="olga")
    service.bind(
        "voice",
        Binding(
            origin=url, allow_addresses=("loopback",), by="olga", reason="x", at_unix_seconds=1
        ),
    )
    caller = rt.session(principal="olga").caller
    return lambda **params: rt.dispatch(
        "adapter/bind", params, caller=caller, authorities=[*holon.Authority]
    )


FORWARD = {"name": "voice", "capability": ECHO, "operation": "say", "reason": "it is the same"}


def test_a_capability_runs_by_an_operation(tmp_path, enemy) -> None:
    """Its arguments become the body, the answer's body its output, under `adapter_forwarded`."""
    with opened(tmp_path / "root") as rt:
        bind = prepared(rt, enemy.url)
        bind(**FORWARD)
        unapproved = rt.session(principal="ann").call(ECHO, {"text": "hi"})
        posture = Posture.ADAPTER_FORWARDED
        rt.skills.approve_execution(ECHO, posture=posture, by="boss", reason="reviewed")

        result = rt.session(principal="ann").call(ECHO, {"text": "hi"})
        shown = rt.session(principal="ann").dry_run(ECHO, {"text": "hi"})

        assert unapproved.status is Status.BLOCKED
        assert result.output == {"text": "hi"}
        assert rt.evidence.read(result.call_id)[0].body["posture"] == "adapter_forwarded"
        assert shown.output["body"] == {"text": "hi"}
        assert len(enemy.seen) == 1


def test_an_operation_that_does_more_than_the_capability_declares_is_not_bound(
    tmp_path, enemy
) -> None:
    """A capability that only reads is not run by a write: policy would be asked about a read."""
    with opened(tmp_path / "root") as rt:
        bind = prepared(rt, enemy.url, effect=holon.Effect.NETWORK_READ)

        with pytest.raises(Rejected) as rejected:
            bind(**FORWARD)

        assert [each.path for each in rejected.value.findings] == ["/operation"]
        assert "network_write" in str(rejected.value)
        assert list(rt.service("adapters").forwards._kept()) == []


def test_a_capability_that_declares_less_later_is_not_run(tmp_path, enemy) -> None:
    """The dry run says so as well, and nothing is sent."""
    with opened(tmp_path / "root") as rt:
        prepared(rt, enemy.url)(**FORWARD)
        rt.skills.store(SOURCE, [skill(effects=frozenset({holon.Effect.NETWORK_READ}))])
        posture = Posture.ADAPTER_FORWARDED
        rt.skills.approve_execution(ECHO, posture=posture, by="boss", reason="reviewed")

        shown = rt.session(principal="ann").dry_run(ECHO, {"text": "hi"})
        result = rt.session(principal="ann").call(ECHO, {"text": "hi"})

        assert result.status is Status.BLOCKED
        assert shown.output["blocked"] == "live_execution_blocked"
        reasons = [*shown.blocking_reasons, *result.blocking_reasons]
        assert [each.code for each in reasons].count("effects_undeclared") == 2
        assert "network_write" in shown.output["reason"]
        assert enemy.seen == []


def test_it_runs_again_after_a_start_and_not_after_unbinding(tmp_path, enemy) -> None:
    """The operator's word is kept with the root; unbinding the adapter takes it back."""
    with opened(tmp_path / "root") as rt:
        prepared(rt, enemy.url)(**FORWARD)
        posture = Posture.ADAPTER_FORWARDED
        rt.skills.approve_execution(ECHO, posture=posture, by="boss", reason="reviewed")

    with opened(tmp_path / "root") as rt:
        again = rt.session(principal="ann").call(ECHO, {"text": "hi"})
        rt.service("adapters").unbind("voice")
        after = rt.session(principal="ann").call(ECHO, {"text": "hi"})

    assert again.status is Status.COMPLETED
    assert after.status is Status.BLOCKED


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"operation": "shout"}, "/operation"),
        ({"secrets": {"key": "env:X"}}, "/secrets"),
        ({"hint": {"capability": "other"}}, "/hint/capability"),
        ({"hint": {"operation": "say", "secrets": {}}}, "/hint/secrets"),
        ({"hint": {"server": "https://other.example"}}, "/hint/server"),
        ({"hint": {"package": "voices"}}, "/hint/package"),
    ],
)
def test_a_forward_is_an_operators_word_alone(tmp_path, enemy, changes, path) -> None:
    """What a hint or a mistake says besides is rejected with its place, and nothing is bound."""
    with opened(tmp_path / "root") as rt:
        bind = prepared(rt, enemy.url)

        with pytest.raises(Rejected) as rejected:
            bind(**{**FORWARD, **changes})

        assert path in [finding.path for finding in rejected.value.findings]
        assert rt.session(principal="ann").call(ECHO, {"text": "hi"}).status is Status.BLOCKED


def test_a_hint_that_fits_is_taken_with_the_word_of_the_operator(tmp_path, enemy) -> None:
    """One package's proposal at a time, repeated by who binds."""
    hint = {"adapter": "voice", "capability": ECHO, "operation": "say"}
    with opened(tmp_path / "root") as rt:
        made = prepared(rt, enemy.url)(**FORWARD, hint=hint)

        assert made["adapter"]["bound_by"] == "olga"


NOTES = "holon-elegy.desk"
CAPABILITY = f"{NOTES}/note-add"
DEFINITION: dict[str, Any] = {
    "skillFormat": "elegy-skill-definition",
    "skillVersion": 2,
    "identity": {"namespace": "demo", "name": "notes", "version": "1.0.0"},
    "capabilities": [
        {
            "id": "note-add",
            "name": "Add Note",
            "description": "Keep a note for later.",
            "implementation": {
                "executionType": "subprocess",
                "executableName": "no-such-program-here",
                "arguments": ["${text}"],
            },
            "input": {"parameters": [{"name": "text", "type": "string", "required": True}]},
            "output": {"schemaRef": "https://elegy/contracts/schemas/data-result.schema.json"},
        }
    ],
    "hostProjection": {
        "cliName": "notes",
        "outputContractId": "elegy-notes-v1",
        "defaultSideEffectClass": "network_outbound",
        "capabilityProjections": [{"capabilityId": "note-add", "functionName": "note_add"}],
    },
    "lifecycleState": "active",
}


@pytest.fixture
def elegy(tmp_path, enemy):
    """The Elegy lane itself with a definition imported, and an API that an adapter is bound to."""
    import holon_elegy.plugin as elegy

    plugins, config = [elegy, adapters], {"rules": RULES}
    with holon.Runtime.open(
        tmp_path / "root", plugins=plugins, discover=False, config=config
    ) as rt:
        caller = rt.session(principal="olga").caller

        def ask(method: str, **params: Any) -> Any:
            return rt.dispatch(method, params, caller=caller, authorities=[*holon.Authority])

        ask("skill-source/register", source=NOTES, kind="elegy_v2")
        ask("skill/import-elegy-v2", source=NOTES, definition=DEFINITION)
        ask("adapter/register", name="voice", document=DOCUMENT)
        loopback = ["loopback"]
        ask("adapter/bind", name="voice", server=enemy.url, allow_addresses=loopback, reason="x")
        yield rt, ask


def test_a_capability_of_the_elegy_lane_runs_by_an_operation(elegy, enemy) -> None:
    """Imported by its own lane, forwarded, approved: the operation runs instead of its program."""
    rt, ask = elegy
    forward = {**FORWARD, "capability": CAPABILITY}
    before = rt.session(principal="ann").call(CAPABILITY, {"text": "hi"})
    ask("adapter/bind", **forward)
    unapproved = rt.session(principal="ann").call(CAPABILITY, {"text": "hi"})
    ask("skill/approve-execution", skill=CAPABILITY, posture="adapter_forwarded", reason="read")

    shown = rt.session(principal="ann").dry_run(CAPABILITY, {"text": "hi"})
    result = rt.session(principal="ann").call(CAPABILITY, {"text": "hi"})

    assert {before.status, unapproved.status} == {Status.BLOCKED}
    assert shown.output["body"] == {"text": "hi"}
    assert result.output == {"text": "hi"}
    assert rt.evidence.read(result.call_id)[0].body["posture"] == "adapter_forwarded"
    assert len(enemy.seen) == 1


def test_what_is_no_capability_is_not_forwarded(elegy) -> None:
    """A mistyped id is told, and nothing is kept."""
    _, ask = elegy

    with pytest.raises(holon.Refused) as refused:
        ask("adapter/bind", **{**FORWARD, "capability": f"{NOTES}/note-ad"})

    assert refused.value.failure.code == "unknown_tool"
    assert CAPABILITY in str(refused.value)


def test_a_capability_that_may_change_things_elsewhere_may_be_run_by_a_read(elegy, enemy) -> None:
    """Elegy has no word for reading the network alone; a read is less than what it declares."""
    rt, ask = elegy
    words = {"name": "text", "in": "query", "schema": {"type": "string"}}
    answers = {"200": {"schema": {"type": "object"}}}
    read = {
        "id": "say",
        "method": "GET",
        "path": "/fine",
        "description": "Say.",
        "parameters": [words],
        "responses": answers,
    }
    ask("adapter/register", name="voice", document={**DOCUMENT, "operations": [read]})
    ask("adapter/bind", **{**FORWARD, "capability": CAPABILITY})
    ask("skill/approve-execution", skill=CAPABILITY, posture="adapter_forwarded", reason="read")

    assert rt.session(principal="ann").call(CAPABILITY, {"text": "hi"}).output == {"ok": True}
    assert "GET /fine?text=hi " in enemy.seen[0]
