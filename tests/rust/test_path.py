"""The whole way of a Rust tool: validated, proposed, built, tested, promoted, called."""

from __future__ import annotations

from pathlib import Path

import pytest

from holon_core import FrozenState, FrozenToolRecord, Posture, Rejected, confinement
from holon_core.runtime import Runtime
from holon_core.session import Session
from rust_tools import ask, create, one, open_rust, proposal


def test_a_ready_tool_runs_under_guard(words: FrozenToolRecord, session: Session) -> None:
    """From source to an answer, with evidence of the call."""
    result = session.call(words.id, {"text": "three small words"})

    assert words.state is FrozenState.ACTIVE
    assert result.output == {"count": 3}
    assert len(result.evidence_refs) == 2


def test_the_projection_is_that_of_the_declaration(
    words: FrozenToolRecord, runtime: Runtime
) -> None:
    """Strict input, declared output, effects, cargo as the one dependency, frozen_tool_live."""
    tool = runtime.tools.read(words.id)

    assert dict(tool.input_schema) == {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
        "additionalProperties": False,
    }
    assert tool.output_schema is not None
    assert tool.output_schema["required"] == ["count"]
    assert [effect.value for effect in tool.effects] == ["none"]
    assert [(each.kind, each.name) for each in tool.dependencies] == [("program", "cargo")]
    assert tool.posture is Posture.FROZEN_TOOL_LIVE


def test_a_proposal_with_findings_is_not_stored(runtime: Runtime, session: Session) -> None:
    """Every finding comes with its rule, file and line, and nothing is kept."""
    bad = proposal("fn main() { unsafe { } }\n")

    with pytest.raises(Rejected) as refused:
        create(runtime, session, bad, "refused")

    [finding] = refused.value.findings
    assert (finding.code, finding.path) == ("rust_unsafe", "/files/1")
    assert finding.message.startswith("src/main.rs:1: ")
    names = {each.name for each in runtime.tools.frozen.list(kind="rust-code-tool")}
    assert "refused" not in names


def test_the_artifact_record_says_how_ready_it_is(
    words: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """All statuses are ready once everything passed."""
    record = ask(runtime, session, "read", one(words.id))

    statuses = {record[name] for name in ("build_status", "test_status", "fixture_status")}
    assert statuses == {"ready"}
    assert record["ready"]
    assert not record["lacks"]


@pytest.mark.skipif(confinement.lack() is not None, reason="bubblewrap is not usable here")
def test_a_policy_can_have_it_confined(
    words: FrozenToolRecord, storage: Path, shared_place: Path
) -> None:
    """The binary runs as ever, and evidence says what it could see and reach."""
    rule = {"lane": "rust-code-tool", "decision": "allow", "confined": True}
    with open_rust(storage / "root", config={"rules": [rule]}) as opened:
        session = opened.session(principal="ann", workspace=shared_place)
        result = session.call(words.id, {"text": "two words"})

        assert result.output == {"count": 2}
        said = opened.evidence.read(result.call_id)[-1].body["from_tool"]
        [told] = [each["data"] for each in said if each["source"] == "holon-confinement"]
        assert (told["network"], told["workspace"], told["machine"]) == (False, "none", "none")
