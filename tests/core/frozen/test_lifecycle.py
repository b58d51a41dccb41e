"""The lifecycle of frozen tools: what each move needs, pins and leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from frozen_tools import (
    BOSS,
    Echoes,
    brought_to,
    open_runtime,
    proposal,
    proposed,
    recorded,
    settle,
)
from holon_core import CallFailed, FrozenState, Refused, Rejected
from holon_core.frozen.lifecycle import MOVES
from holon_core.records.words import ApprovalRequirement, Status
from holon_core.runtime import Runtime
from holon_core.session import Session

S = FrozenState
RUN_WITH_APPROVAL = (S.VALIDATED, S.FROZEN)


def code(work: Any) -> str:
    """Do what has to be refused; return why."""
    with pytest.raises(Refused) as caught:
        work()
    return caught.value.failure.code


def test_the_table_has_the_moves_of_the_design() -> None:
    """Blocked from anywhere but the end, back to Validated alone; Archived is final."""
    ways = {(move.source, move.target) for move in MOVES}
    forward = list(zip(list(S)[:5], list(S)[1:6], strict=True))

    assert set(forward) <= ways
    assert {source for source, target in ways if target is S.BLOCKED} == set(S) - {
        S.BLOCKED,
        S.ARCHIVED,
    }
    assert {target for source, target in ways if source is S.BLOCKED} == {S.VALIDATED, S.ARCHIVED}
    assert not [move for move in MOVES if move.source is S.ARCHIVED]
    assert {(m.source, m.target) for m in MOVES if m.approval} == {
        (S.VALIDATED, S.FROZEN),
        (S.FROZEN, S.ACTIVE),
        (S.BLOCKED, S.VALIDATED),
    }


@pytest.mark.parametrize("state", [S.PROPOSED, S.CANDIDATE], ids=str)
def test_before_it_is_validated_it_is_no_tool(
    runtime: Runtime, session: Session, state: FrozenState
) -> None:
    """Nobody can call what no fixture proved."""
    record = brought_to(runtime, session, state)

    result = session.call(record.id, {"text": "a"})

    assert result.failure is not None
    assert result.failure.code == "unknown_tool"


@pytest.mark.parametrize("state", RUN_WITH_APPROVAL, ids=str)
def test_on_trial_each_call_needs_an_approval_of_its_own(
    runtime: Runtime, session: Session, state: FrozenState
) -> None:
    """Whatever policy allows: its effects are none."""
    record = brought_to(runtime, session, state)

    first = session.call(record.id, {"text": "a"})
    assert settle(runtime, session, first.held).output == {"said": "A"}

    assert session.call(record.id, {"text": "a"}).held is not None


@pytest.mark.parametrize("state", RUN_WITH_APPROVAL, ids=str)
def test_on_trial_nothing_is_granted_ahead(
    runtime: Runtime, session: Session, state: FrozenState
) -> None:
    """A grant would be an approval of more than one call."""
    record = brought_to(runtime, session, state)

    assert (
        code(
            lambda: runtime.approvals.grant(
                record.id, {}, principal="ann", uses=2, ttl_s=60, by=BOSS, reason="r"
            )
        )
        == "not_allowed"
    )


def test_a_rule_with_its_exact_id_does_not_lift_the_approval_on_trial(
    tmp_path: Path, kind: Echoes, place: Path
) -> None:
    """Lifecycle is no policy."""
    root = tmp_path / "ruled"
    with open_runtime(root, kind) as runtime:
        record = brought_to(runtime, runtime.session(principal="ann", workspace=place), S.FROZEN)
    (root / "holon.toml").write_text(
        f'[[rules]]\nid = "{record.id}"\ndecision = "allow"\nreason = "r"\n', encoding="utf-8"
    )
    with open_runtime(root, kind) as runtime:
        session = runtime.session(principal="ann", workspace=place)

        assert session.call(record.id, {"text": "a"}).held is not None


def test_an_active_tool_runs_as_its_policy_says(runtime: Runtime, session: Session) -> None:
    """Effects none, no approval of its own: it runs."""
    record = brought_to(runtime, session, S.ACTIVE)

    result = session.call(record.id, {"text": "a"})

    assert result.output == {"said": "A"}
    assert result.notices == ()


def test_an_active_tool_that_wants_an_approval_gets_one(runtime: Runtime, session: Session) -> None:
    """Its own policy asks for each call."""
    policy = {"effects": ["none"], "approval": "required"}
    record = brought_to(runtime, session, S.ACTIVE, policy=policy)

    assert runtime.tools.read(record.id).approval is ApprovalRequirement.REQUIRED
    assert session.call(record.id, {"text": "a"}).held is not None


def test_a_deprecated_tool_runs_with_a_notice(runtime: Runtime, session: Session) -> None:
    """Its callers learn that it is time to move on."""
    record = brought_to(runtime, session, S.DEPRECATED)

    result = session.call(record.id, {"text": "a"})

    assert result.status is Status.COMPLETED
    assert "deprecated" in result.notices[0]


@pytest.mark.parametrize("state", [*RUN_WITH_APPROVAL, S.ACTIVE, S.DEPRECATED], ids=str)
def test_a_blocked_tool_says_why_it_does_not_run(
    runtime: Runtime, session: Session, kind: Echoes, state: FrozenState
) -> None:
    """The reason is in the refusal."""
    record = brought_to(runtime, session, state)
    runtime.tools.frozen.block(record.id, by="op", reason="it lies")
    kind.runs.clear()

    result = session.call(record.id, {"text": "a"})

    assert result.failure is not None
    assert result.failure.code == "lifecycle_blocked"
    assert "it lies" in result.failure.message
    assert kind.runs == []


def test_a_block_counts_for_a_call_that_is_approved_already(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """Held and approved before, released after."""
    record = brought_to(runtime, session, S.VALIDATED)
    held = session.call(record.id, {"text": "a"}).held
    assert held is not None
    runtime.approvals.approve(held, by=BOSS, reason="ok")
    runtime.tools.frozen.block(record.id, by="op", reason="stop")
    kind.runs.clear()

    result = session.release(held)

    assert result.failure is not None
    assert result.failure.code == "lifecycle_blocked"
    assert kind.runs == []


def test_what_was_approved_before_a_block_is_worth_nothing_after_it(
    runtime: Runtime, session: Session
) -> None:
    """Blocked and lifted, the same call needs an approval given since."""
    record = brought_to(runtime, session, S.VALIDATED)
    held = session.call(record.id, {"text": "a"}).held
    assert held is not None
    runtime.approvals.approve(held, by=BOSS, reason="ok")
    frozen = runtime.tools.frozen
    frozen.block(record.id, by="op", reason="stop")
    back = frozen.unblock(record.id, session=session, reason="fine").result
    assert back is not None
    settle(runtime, session, back.held)

    assert session.call(record.id, {"text": "a"}).held is not None


def test_a_block_counts_in_another_process_at_its_next_call(
    tmp_path: Path, kind: Echoes, runtime: Runtime, session: Session, place: Path
) -> None:
    """Two runtimes on one storage root: what one blocks, the other does not run."""
    record = brought_to(runtime, session, S.ACTIVE)
    other_kind = Echoes()
    with open_runtime(tmp_path / "root", other_kind) as other:
        there = other.session(principal="bo", workspace=place)
        assert there.call(record.id, {"text": "a"}).status is Status.COMPLETED
        other_kind.runs.clear()

        runtime.tools.frozen.block(record.id, by="op", reason="stop")

        result = there.call(record.id, {"text": "a"})
        assert result.failure is not None
        assert result.failure.code == "lifecycle_blocked"
        assert other_kind.runs == []


def test_unblocking_proves_it_anew_first(runtime: Runtime, session: Session, kind: Echoes) -> None:
    """While its fixtures fail there is nothing to approve."""
    record = brought_to(runtime, session, S.ACTIVE)
    frozen = runtime.tools.frozen
    frozen.block(record.id, by="op", reason="stop")
    kind.broken = {"all": "schema"}

    why = code(lambda: frozen.unblock(record.id, session=session, reason="r"))

    assert why == "fixtures_failed"
    assert frozen.read(record.id).state is S.BLOCKED


def test_another_workspace_cannot_call_it(
    runtime: Runtime, session: Session, kind: Echoes, tmp_path: Path
) -> None:
    """A frozen tool runs in its own workspace alone."""
    record = brought_to(runtime, session, S.ACTIVE)
    (tmp_path / "elsewhere").mkdir()
    kind.runs.clear()

    other = runtime.session(principal="ann", workspace=tmp_path / "elsewhere")
    results = [other.call(record.id, {"text": "a"})]
    results.append(runtime.session(principal="ann").call(record.id, {"text": "a"}))

    assert {each.failure.code for each in results if each.failure} == {"wrong_workspace"}
    assert all(each.fallback is None for each in results)
    assert kind.runs == []


def test_activating_another_version_deprecates_the_one_before(
    runtime: Runtime, session: Session
) -> None:
    """One active version per name and workspace."""
    first = brought_to(runtime, session, S.ACTIVE)
    second = brought_to(runtime, session, S.ACTIVE, content={"suffix": "!"}, fixtures=_ends("!"))

    states = {each.id: each.state for each in runtime.tools.frozen.list()}

    assert states == {first.id: S.DEPRECATED, second.id: S.ACTIVE}
    assert (second.version, second.replaces) == (2, first.id)
    changes = runtime.tools.frozen.diff(first.id, second.id)
    assert {"path": "/content/suffix", "before": None, "after": '"!"'} in changes


def _ends(suffix: str) -> list[dict[str, Any]]:
    expect = {"output": {"said": "HI" + suffix}}
    return [{"name": "hi", "input": {"text": "hi"}, "expect": expect}]


def test_a_failing_fixture_keeps_it_a_candidate(runtime: Runtime, session: Session) -> None:
    """What it came to is kept, with the evidence of each run."""
    record = proposed(runtime, session, fixtures=_ends("?"))

    record = runtime.tools.frozen.validate(record.id, caller=session.caller)

    assert record.state is S.CANDIDATE
    assert record.validation is not None
    assert record.validation.fixtures[0].why == "its output is another one"
    rows = runtime.evidence.read(record.validation.fixtures[0].call_id)
    assert [row.kind for row in rows] == ["accepted", "completed"]
    assert rows[0].body["trial"] == "fixture:hi"


@pytest.mark.parametrize(
    ("changed", "finding"),
    [
        ({"kind": "acme-none"}, "kind_unknown"),
        ({"content": {"else": 1}}, "record_invalid"),
        ({"fixtures": [{"name": "x", "input": {"no": 1}}]}, "fixture_invalid"),
        (
            {"fixtures": [{"name": "x", "input": {"text": ""}, "expect": {"output": {}}}]},
            "fixture_invalid",
        ),
    ],
    ids=["kind", "content", "input", "output"],
)
def test_an_unsound_proposal_does_not_become_a_candidate(
    runtime: Runtime, session: Session, changed: dict[str, Any], finding: str
) -> None:
    """It stays proposed, and every finding is told."""
    record = proposed(runtime, session, **changed)

    with pytest.raises(Rejected) as caught:
        runtime.tools.frozen.promote(record.id, session=session)

    assert finding in {each.code for each in caught.value.findings}
    assert runtime.tools.frozen.read(record.id).state is S.PROPOSED


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"name": "Shout"}, "/name"),
        ({"extra": 1}, "/extra"),
        ({"policy": {"effects": []}}, "/policy"),
        ({"policy": {"effects": ["sure"]}}, "/policy/effects/0"),
        ({"files": [{"path": "../x", "text": ""}]}, "/files/0/path"),
        ({"files": [{"path": "/x", "text": ""}]}, "/files/0/path"),
        ({"files": [{"path": "a", "text": ""}, {"path": "A", "text": ""}]}, "/files/1/path"),
        ({"input_schema": {"type": "array"}}, "/input_schema"),
        ({"output_schema": {"type": "string"}}, "/output_schema/type"),
        ({"fixtures": [{"name": "x", "files": {"../x": ""}}]}, "/fixtures/0/files"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_is_no_proposal_is_refused_with_its_path(
    runtime: Runtime, session: Session, changed: dict[str, Any], path: str
) -> None:
    """Nothing of it is stored."""
    with pytest.raises(Rejected) as caught:
        runtime.tools.frozen.create(proposal(**changed), caller=session.caller)

    assert path in {each.path[: len(path)] for each in caught.value.findings}
    assert runtime.tools.frozen.list() == ()


def test_without_an_origin_it_does_not_become_a_candidate(
    runtime: Runtime, session: Session
) -> None:
    """Provenance is runs and evidence that exist."""
    frozen = runtime.tools.frozen
    record = frozen.create(proposal(), caller=session.caller)

    assert code(lambda: frozen.promote(record.id, session=session)) == "provenance_missing"


@pytest.mark.parametrize("call", ["c00", "not completed"])
def test_calls_that_are_not_there_are_no_origin(
    runtime: Runtime, session: Session, call: str
) -> None:
    """Neither are those that failed."""
    if call != "c00":
        call = session.call("host.app/shout", {"text": 1}).call_id
    create = runtime.tools.frozen.create

    why = code(lambda: create(proposal(), caller=session.caller, calls=[call]))

    assert why == "provenance_missing"


def test_somebody_elses_calls_are_an_operators_to_name(
    runtime: Runtime, session: Session, place: Path
) -> None:
    """What they recorded is theirs."""
    calls = recorded(runtime.session(principal="bo", workspace=place))
    create = runtime.tools.frozen.create

    why = code(lambda: create(proposal(), caller=session.caller, calls=calls))

    assert why == "not_allowed"
    assert create(proposal(), caller=session.caller, calls=calls, sees_all=True).provenance


def test_schemas_and_fixtures_come_from_what_was_recorded(
    runtime: Runtime, session: Session
) -> None:
    """Marked as derived; one fixture for each different input."""
    body = proposal()
    for name in ("input_schema", "output_schema", "fixtures"):
        del body[name]

    record = runtime.tools.frozen.create(
        body, caller=session.caller, calls=recorded(session, "a", "b", "a")
    )

    definition = record.definition
    assert definition.derived == ("input_schema", "output_schema")
    assert definition.input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    assert [each.input for each in definition.fixtures] == [{"text": "a"}, {"text": "b"}]


def test_an_update_goes_back_to_proposed_and_takes_the_proof_with_it(
    runtime: Runtime, session: Session
) -> None:
    """Until it is frozen."""
    record = brought_to(runtime, session, S.VALIDATED)

    changed = runtime.tools.frozen.update(
        record.id, proposal(content={"suffix": "!"}), caller=session.caller
    )

    assert (changed.state, changed.validation) == (S.PROPOSED, None)
    result = session.call(record.id, {"text": "a"})
    assert result.failure is not None
    assert result.failure.code == "unknown_tool"


@pytest.mark.parametrize("state", [S.FROZEN, S.ACTIVE, S.DEPRECATED], ids=str)
def test_from_frozen_on_nothing_of_it_changes(
    runtime: Runtime, session: Session, state: FrozenState
) -> None:
    """A change is a new version."""
    record = brought_to(runtime, session, state)
    update = runtime.tools.frozen.update

    assert code(lambda: update(record.id, proposal(), caller=session.caller)) == "content_frozen"


def test_two_who_change_it_at_once_are_told_apart_by_revision(
    runtime: Runtime, session: Session
) -> None:
    """The second is based on what is not there any more."""
    record = proposed(runtime, session)
    update = runtime.tools.frozen.update
    update(record.id, proposal(), caller=session.caller, expected=record.revision)

    why = code(
        lambda: update(record.id, proposal(), caller=session.caller, expected=record.revision)
    )

    assert why == "conflict"


def test_an_approval_of_one_digest_does_not_move_another(
    runtime: Runtime, session: Session
) -> None:
    """Approved, then changed and proven again: the approval is for what is no longer there."""
    record = brought_to(runtime, session, S.VALIDATED)
    frozen = runtime.tools.frozen
    asked = frozen.promote(record.id, session=session).result
    assert asked is not None
    assert asked.held is not None
    runtime.approvals.approve(asked.held, by=BOSS, reason="ok")
    body = proposal(content={"suffix": "!"}, fixtures=_ends("!"))
    frozen.update(record.id, body, caller=session.caller)
    frozen.validate(record.id, caller=session.caller)

    result = session.release(asked.held)

    assert result.failure is not None
    assert result.failure.code == "definition_changed"
    assert frozen.read(record.id).state is S.VALIDATED


def test_an_approval_of_one_state_does_not_move_to_another(
    runtime: Runtime, session: Session
) -> None:
    """Asked for by hand: active straight from validated."""
    record = brought_to(runtime, session, S.VALIDATED)
    given = {
        "proposal": record.id,
        "digest": record.digest,
        "artifact": "",
        "target": "active",
        "reason": "",
    }

    held = session.call("holon.frozen-tools/move", given).held
    result = settle(runtime, session, held)

    assert result.failure.code == "move_not_allowed"
    assert runtime.tools.frozen.read(record.id).state is S.VALIDATED


def test_who_asked_for_a_move_does_not_approve_it(runtime: Runtime, session: Session) -> None:
    """Freezing and activating need somebody else."""
    record = brought_to(runtime, session, S.VALIDATED)
    asked = runtime.tools.frozen.promote(record.id, session=session).result
    assert asked is not None
    held = asked.held
    assert held is not None

    why = code(lambda: runtime.approvals.approve(held, by="ann", reason="mine"))

    assert why == "self_approval"


def test_the_approver_sees_what_is_moved_and_what_proves_it(
    runtime: Runtime, session: Session
) -> None:
    """Effects, fixtures, provenance, and how it differs from the active version."""
    first = brought_to(runtime, session, S.ACTIVE)
    second = brought_to(runtime, session, S.VALIDATED, content={"suffix": "!"}, fixtures=_ends("!"))
    asked = runtime.tools.frozen.promote(second.id, session=session).result
    assert asked is not None
    assert asked.held is not None

    preview = runtime.approvals.held_call(asked.held).preview

    assert preview is not None
    assert preview["moves"] == "validated to frozen"
    assert preview["fixtures"] == ["hi: passed"]
    assert preview["differs_from"] == first.id
    assert any(each["path"] == "/content/suffix" for each in preview["changes"])


def test_revalidating_blocks_what_regressed_and_says_by_which_fixture(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """The others stay active."""
    good = brought_to(runtime, session, S.ACTIVE)
    bad = brought_to(runtime, session, S.ACTIVE, name="other", content={"suffix": ""})
    kind.broken = {bad.digest: "schema"}

    found = runtime.tools.frozen.revalidate(caller=session.caller)

    assert {each.id: each.state for each in found} == {good.id: S.ACTIVE, bad.id: S.BLOCKED}
    blocked = runtime.tools.frozen.read(bad.id)
    assert "hi" in (blocked.blocked_reason or "")
    assert blocked.validation is not None
    assert runtime.evidence.read(blocked.validation.fixtures[0].call_id)


def test_moves_leave_who_why_and_under_which_approval(runtime: Runtime, session: Session) -> None:
    """In the chain of the workspace, which verifies."""
    record = brought_to(runtime, session, S.ACTIVE)
    workspace = record.workspace

    rows = [
        r for r in runtime.evidence.list(workspace=workspace, limit=500) if r.kind == "lifecycle"
    ]

    assert [row.body["to"] for row in rows] == [
        "proposed",
        "candidate",
        "validated",
        "frozen",
        "active",
    ]
    assert [row.body.get("approved_by") for row in rows][-2:] == [BOSS, BOSS]
    assert runtime.evidence.verify(workspace).bad_seq is None


def test_archived_is_the_end(runtime: Runtime, session: Session) -> None:
    """Nothing leads out of it, and its name goes on with another version."""
    record = brought_to(runtime, session, S.DEPRECATED)
    frozen = runtime.tools.frozen
    frozen.archive(record.id, by="op", reason="gone")

    assert code(lambda: frozen.block(record.id, by="op", reason="r")) == "move_not_allowed"
    assert code(lambda: frozen.validate(record.id, caller=session.caller)) == "move_not_allowed"
    result = session.call(record.id, {"text": "a"})
    assert result.failure is not None
    assert result.failure.code == "unknown_tool"
    assert proposed(runtime, session).version == 2


def test_without_its_lane_a_tool_stays_listed_and_says_what_is_missing(
    tmp_path: Path, runtime: Runtime, session: Session, place: Path
) -> None:
    """Nothing of it runs."""
    record = brought_to(runtime, session, S.ACTIVE)
    runtime.close()
    with Runtime.open(tmp_path / "root", discover=False) as bare:
        result = bare.session(principal="ann", workspace=place).call(record.id, {"text": "a"})
        listed = [tool.id for tool in bare.tools.list()]

    assert record.id in listed
    with pytest.raises(CallFailed) as caught:
        result.raise_for_failure()
    assert caught.value.failure.code == "dependency_missing"


def test_a_record_comes_back_from_the_store_as_it_went_in(
    runtime: Runtime, session: Session
) -> None:
    """All of it, at its revision."""
    record = brought_to(runtime, session, S.ACTIVE)

    again = runtime.tools.frozen.read(record.id)

    assert again == evolve(record, revision=again.revision)
    assert again.revision == record.revision


def test_a_tool_is_called_from_an_event_loop_as_from_a_thread(
    runtime: Runtime, session: Session
) -> None:
    """Its circuit is looked at before, and where it fails its fallback is offered after."""
    record = brought_to(runtime, session, FrozenState.ACTIVE)

    good = asyncio.run(session.acall(record.id, {"text": "a"}))
    bad = asyncio.run(session.acall(record.id, {"text": 1}))

    assert good.output == {"said": "A"}
    assert bad.failure is not None
    assert bad.failure.code == "arguments_invalid"


def test_a_tool_of_another_workspace_is_shown_to_nobody_there(
    runtime: Runtime, session: Session, tmp_path: Path
) -> None:
    """Neither by a list, a discovery or a read, nor by what a dry run would send."""
    record = brought_to(runtime, session, FrozenState.ACTIVE)
    other = tmp_path / "other"
    other.mkdir()
    zed = runtime.session(principal="zed", workspace=other)

    rehearsed = zed.dry_run(record.id, {"text": "a"})

    assert rehearsed.failure is not None
    assert rehearsed.failure.code == "wrong_workspace"
    assert rehearsed.output is None
    assert record.id not in {tool.id for tool in zed.discover(limit=100).items}
    answered = runtime.dispatch("runtime-tool/list", {}, caller=zed.caller)
    assert record.id not in {tool["id"] for tool in answered["tools"]}
    assert record.id in {tool.id for tool in session.discover(limit=100).items}
