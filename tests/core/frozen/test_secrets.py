"""Secrets of frozen tools: by names that an operator bound, and never by value in what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import Echoes, open_runtime, proposal, proposed, recorded
from holon_core import Authority, FrozenState, Refused, Rejected
from holon_core.runtime import Runtime
from holon_core.session import Session

VALUE = "sekrit-value-4711"
PLAN = {"goal": VALUE, "steps": [{"id": "look", "summary": "list it"}]}
CALLER = frozenset({Authority.CALLER})


@pytest.fixture
def runtime(tmp_path: Path, kind: Echoes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """A runtime whose operator bound one name."""
    monkeypatch.setenv("SHOP_SECRET", VALUE)
    config = {"secrets": {"shop": "env:SHOP_SECRET"}}
    with open_runtime(tmp_path / "root", kind, config=config) as opened:
        yield opened


def slots(ref: str) -> list[dict[str, str]]:
    """Return one slot of this reference."""
    return [{"name": "TOKEN", "purpose": "the shop", "ref": ref}]


@pytest.fixture
def known(runtime: Runtime, session: Session) -> Session:
    """Ann, where the runtime has fetched the secret once."""
    runtime._guard.redactor.register("shop", VALUE)
    return session


@pytest.mark.parametrize("ref", ["env:SHOP_SECRET", "file:/etc/hostname", "acme:other"])
def test_who_proposes_names_no_reference_of_the_host(
    runtime: Runtime, session: Session, ref: str
) -> None:
    """A variable, a file or an entry of a store is an operator's to say; nothing is fetched."""
    given = {"proposal": proposal(secret_slots=slots(ref)), "calls": recorded(session)}

    with pytest.raises(Rejected) as found:
        runtime.dispatch(
            "frozen-tool-proposal/create", given, caller=session.caller, authorities=CALLER
        )

    assert [(each.code, each.path) for each in found.value.findings] == [
        ("secret_unbound", "/secret_slots/0/ref")
    ]
    assert tuple(runtime.tools.frozen.list()) == ()
    assert not runtime._guard.redactor.active


def test_a_bound_name_is_proposed_by_anybody_and_fetched_in_fixtures(
    runtime: Runtime, session: Session
) -> None:
    """What a name stands for is in holon.toml, which no caller writes."""
    record = proposed(runtime, session, secret_slots=slots("secret:shop"))

    made = runtime.tools.frozen.validate(record.id, caller=session.caller)

    assert made.state is FrozenState.VALIDATED
    assert runtime._guard.redactor.active


def test_what_an_operator_bound_is_not_kept_by_the_next_change(
    runtime: Runtime, session: Session
) -> None:
    """An operator's word is for one content; a caller who changes it names no reference."""
    frozen = runtime.tools.frozen
    given = proposal(secret_slots=slots("env:SHOP_SECRET"))
    calls = recorded(session)
    record = frozen.create(given, caller=session.caller, calls=calls, sees_all=True)
    assert (record.secrets_bound_by, frozen.findings(record.id)) == ("ann", ())

    with pytest.raises(Rejected):
        frozen.update(record.id, {**given, "purpose": "More"}, caller=session.caller)

    bare = frozen.update(record.id, proposal(), caller=session.caller)
    assert bare.secrets_bound_by == ""


PLACES: list[tuple[str, Any]] = [
    ("/purpose", {"purpose": f"use {VALUE}"}),
    ("/input_schema/description", {"input_schema": {"type": "object", "description": VALUE}}),
    ("/fallback/instructions", {"fallback": {"kind": "none", "instructions": VALUE}}),
    ("/files/0/text", {"files": [{"path": "m.py", "text": f"# {VALUE}\n"}]}),
    (
        "/fixtures/0/input/text",
        {"fixtures": [{"name": "f", "input": {"text": VALUE}, "expect": {}}]},
    ),
    ("/purpose", {"purpose": "c2Vrcml0LXZhbHVlLTQ3MTE="}),
]


@pytest.mark.parametrize(("path", "changed"), PLACES)
def test_no_part_of_a_proposal_holds_a_known_secret(
    runtime: Runtime, known: Session, path: str, changed: dict[str, Any]
) -> None:
    """A finding names the place, not the value; no file of it was stored."""
    with pytest.raises(Rejected) as found:
        runtime.tools.frozen.create(
            proposal(**changed), caller=known.caller, calls=recorded(known), sees_all=True
        )

    assert [(each.code, each.path) for each in found.value.findings] == [
        ("secret_in_content", path)
    ]
    assert VALUE not in str(found.value)


def test_no_reason_of_a_move_holds_a_known_secret(
    runtime: Runtime, known: Session, tmp_path: Path
) -> None:
    """Neither one that is kept at once nor one that a held call would keep."""
    frozen = runtime.tools.frozen
    record = proposed(runtime, known)
    frozen.validate(record.id, caller=known.caller)

    for each in (
        lambda: frozen.promote(record.id, session=known, reason=f"as {VALUE} says"),
        lambda: frozen.withdraw(record.id, by="ann", reason=f"as {VALUE} says"),
    ):
        with pytest.raises(Refused) as found:
            each()
        assert found.value.failure.code == "secret_in_content"

    assert tuple(runtime.approvals.list()) == ()
    assert frozen.read(record.id).state is FrozenState.VALIDATED


def test_no_accepted_output_holds_a_known_secret(known: Session) -> None:
    """It is a failure with a path, and nothing is kept of the answer."""
    result = known.accept_output("planner_output", PLAN)

    assert result.failure is not None
    assert (result.failure.code, result.failure.details["path"]) == ("secret_in_content", "/goal")
    assert (result.output_id, result.value) == (None, None)
    assert isinstance(result, holon.OutputResult)


def test_fixtures_are_seeded_without_the_runs_that_held_a_secret(
    runtime: Runtime, known: Session
) -> None:
    """Neither its value nor the mark that stands for it; schemas come from all of the runs."""
    calls = recorded(known, "plain", f"with {VALUE} in it")
    body = proposal()
    for name in ("input_schema", "output_schema", "fixtures"):
        del body[name]

    record = runtime.tools.frozen.create(body, caller=known.caller, calls=calls)

    assert [each.input for each in record.definition.fixtures] == [{"text": "plain"}]
    assert record.definition.derived == ("input_schema", "output_schema")
    assert len(record.provenance) == 2
    told = str(record.definition)
    assert VALUE not in told
    assert "[redacted" not in told
