"""The execution contract: input in a variable, one JSON object out, all else fails closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holon_core import FrozenToolRecord, Refused
from holon_core.runtime import Runtime
from holon_core.session import Session
from rust_tools import activate, ask, one, proposal

MAIN = r"""
use std::env;
use std::io::{Read, Write};

fn main() {
    let input = env::var("HOLON_INPUT_JSON").unwrap_or_default();
    eprintln!("diagnostics");
    let mode = input.split('"').nth(3).unwrap_or("");
    let mut out = std::io::stdout();
    match mode {
        "empty" => {}
        "bytes" => out.write_all(&[0xff, 0xfe]).unwrap(),
        "text" => println!("done"),
        "array" => println!("[1]"),
        "number" => println!("1"),
        "two" => println!("{{}}{{}}"),
        "after" => println!("{{}} x"),
        "duplicate" => println!("{{\"said\":1,\"said\":2}}"),
        "exit" => { println!("{{}}"); std::process::exit(3) }
        "panic" => panic!("as asked"),
        "schema" => println!("{{\"said\":1}}"),
        "cwd" => said(&env::current_dir().unwrap().display().to_string()),
        "litter" => {
            std::fs::write("more.txt", "x").unwrap();
            said("done")
        }
        "root" => said(&env::var("HOLON_WORKSPACE_ROOT").unwrap_or_default()),
        "call" => said(&env::var("HOLON_CALL_ID").unwrap_or_default()),
        "home" => said(&env::var("RUSTFLAGS").unwrap_or("none".into())),
        "stdin" => {
            let mut rest = Vec::new();
            let read = std::io::stdin().read_to_end(&mut rest).unwrap_or(0);
            said(&read.to_string())
        }
        _ => said(&input.replace('"', "'")),
    }
}

fn said(text: &str) {
    println!("{{\"said\":\"{text}\"}}");
}
"""


@pytest.fixture(scope="module")
def modes(cargo: None, shared_runtime: Runtime, shared_session: Session) -> FrozenToolRecord:
    """A tool that answers as it is asked to, well or badly."""
    given = proposal(
        MAIN,
        required_inputs=[{"name": "mode", "schema": {"type": "string"}}],
        expected_output_schema={
            "type": "object",
            "properties": {"said": {"type": "string"}},
            "required": ["said"],
            "additionalProperties": False,
        },
        fixtures=[{"name": "says", "input": {"mode": "x"}}],
    )
    return activate(shared_runtime, shared_session, given, "modes")


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("empty", "output_empty"),
        ("bytes", "output_not_utf8"),
        ("text", "output_not_json"),
        ("array", "output_not_object"),
        ("number", "output_not_object"),
        ("two", "output_not_json"),
        ("after", "output_not_json"),
        ("duplicate", "output_not_json"),
        ("exit", "tool_exit"),
        ("panic", "tool_exit"),
        ("schema", "output_schema"),
    ],
)
def test_invalid_output_fails_closed(
    modes: FrozenToolRecord, session: Session, mode: str, code: str
) -> None:
    """Empty, not UTF-8, not JSON, no object, more than one, a bad exit: a typed failure."""
    result = session.call(modes.id, {"mode": mode})
    session.call(modes.id, {"mode": "x"})

    assert result.output is None
    assert result.failure is not None
    assert result.failure.code == code


def test_input_is_the_normalised_arguments(modes: FrozenToolRecord, session: Session) -> None:
    """Canonical JSON, in HOLON_INPUT_JSON."""
    assert session.call(modes.id, {"mode": "x y"}).output == {"said": "{'mode':'x y'}"}


def test_the_working_directory_is_that_of_the_manifest(
    modes: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """The managed source root."""
    record = ask(runtime, session, "read", one(modes.id))

    said = session.call(modes.id, {"mode": "cwd"}).output["said"]

    assert Path(said) == Path(record["source_root"])
    assert Path(record["manifest_path"]) == Path(said, "Cargo.toml")


def test_what_a_run_leaves_in_its_folder_keeps_the_tool_from_nobody(
    modes: FrozenToolRecord, session: Session
) -> None:
    """An argument of one caller does not shut the tool for the next."""
    assert session.call(modes.id, {"mode": "litter"}).output == {"said": "done"}

    assert session.call(modes.id, {"mode": "x"}).output == {"said": "{'mode':'x'}"}


def test_a_tool_is_told_no_more_than_it_declared(
    modes: FrozenToolRecord, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No workspace without an effect on it, no variable of the host, nothing on standard input."""
    monkeypatch.setenv("RUSTFLAGS", "secret")
    result = session.call(modes.id, {"mode": "call"})

    assert result.output == {"said": result.call_id}
    assert session.call(modes.id, {"mode": "root"}).output == {"said": ""}
    assert session.call(modes.id, {"mode": "home"}).output == {"said": "none"}
    assert session.call(modes.id, {"mode": "stdin"}).output == {"said": "0"}


def test_another_workspace_cannot_call_it(
    modes: FrozenToolRecord, runtime: Runtime, tmp_path: Path
) -> None:
    """Same-workspace gating, and fail closed."""
    other = runtime.session(principal="ann", workspace=tmp_path)

    result = other.call(modes.id, {"mode": "x"})

    assert result.failure is not None
    assert result.failure.code == "wrong_workspace"


def test_a_preview_shows_the_binary_by_its_digest(
    modes: FrozenToolRecord, session: Session
) -> None:
    """And starts nothing."""
    shown = session.dry_run(modes.id, {"mode": "x"}).output

    assert modes.artifact is not None
    assert shown["binary_sha256"] == modes.artifact.sha256
    assert shown["HOLON_INPUT_JSON"] == {"mode": "x"}


def test_the_artifact_record_has_every_field_of_the_document(
    modes: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """Ids, names, places, hashes, statuses, evidence and references."""
    record = ask(runtime, session, "read", one(modes.id))
    listed = ask(runtime, session, "list", {"workspace_id": modes.workspace})["artifacts"]

    assert record in listed
    assert record["workspace_id"] == modes.workspace
    assert record["frozen_tool_proposal_id"] == modes.id
    assert (record["tool_name"], record["crate_name"], record["binary_name"]) == (
        "modes",
        "tool",
        "tool",
    )
    assert Path(record["manifest_path"]).is_file()
    for name in ("source_hash", "manifest_hash", "lock_hash", "binary_sha256"):
        assert len(record[name]) == 64
    assert Path(record["binary_path"]).is_file()
    for name in ("build", "test", "fixture"):
        assert record[f"{name}_status"] == "ready"
        assert record[f"last_{name}_evidence"]["passed"] is True
    assert record["approved_dependency_refs"] == []
    assert record["validation_command"] == "cargo test"


def test_provenance_is_the_create_call_and_proofs_are_those_of_later_runs(
    modes: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """Each reference leads to a record of evidence that is there."""
    record = ask(runtime, session, "read", one(modes.id))
    build, test = record["last_build_evidence"], record["last_test_evidence"]

    [origin] = modes.provenance
    assert origin.kind == "rust_code_tool"
    assert record["provenance_refs"] == [f"{origin.chain}#{origin.seq}"]
    refs = record["validation_evidence_refs"]
    assert f"{modes.workspace}:{build['call_id']}" in refs
    assert f"{modes.workspace}:{test['call_id']}" in refs
    for ref in refs:
        kinds = [row.kind for row in runtime.evidence.read(ref.partition(":")[2])]
        assert kinds == ["accepted", "completed"]


def test_a_version_of_a_name_is_given_once(runtime: Runtime, session: Session) -> None:
    """The author's version stands beside the runtime's own count."""
    params = {
        "workspace_id": session.caller.workspace,
        "proposal": proposal(),
        "name": "versioned",
        "version": "1.2.0",
    }
    first = ask(runtime, session, "create-frozen-tool-proposal", params)

    with pytest.raises(Refused) as refused:
        ask(runtime, session, "create-frozen-tool-proposal", params)
    params["version"] = "1.3.0"
    second = ask(runtime, session, "create-frozen-tool-proposal", params)

    assert refused.value.failure.code == "conflict"
    assert second["replaces"] == first["id"]


def test_nothing_runs_before_it_was_validated(runtime: Runtime, session: Session) -> None:
    """A proposal is in no catalogue, and its call is refused."""
    from rust_tools import create

    record_id = create(runtime, session, proposal(), "unproven")

    result = session.call(record_id, {"text": "a"})

    assert result.failure is not None
    assert result.failure.code == "unknown_tool"


def test_the_review_is_one_page_and_escapes_everything(
    words: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """Sources, dependencies, findings, readiness, lifecycle, evidence and difference."""
    from rust_tools import create

    purpose = "Count <script>alert(1)</script>"
    record_id = create(runtime, session, proposal(purpose=purpose), "words", "0.2.0")

    review = ask(runtime, session, "review", {**one(record_id), "html": True})

    assert review["compared_with"] == words.id
    assert "/purpose" in {change["path"] for change in review["changes"]}
    assert "<script>" not in review["html"]
    assert "&lt;script&gt;" in review["html"]
    for title in ("Findings", "Dependencies", "Sources", "Lifecycle", "last evidence"):
        assert title in review["html"]
    assert json.dumps(review["html"])
    runtime.tools.frozen.withdraw(record_id, by="ann", reason="looked at")


def test_a_caller_without_the_operators_authority_builds_nothing(
    words: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """Builds and tests run programs; who may only call may not ask for them."""
    for verb in ("build", "test"):
        with pytest.raises(Refused) as refused:
            runtime.dispatch(f"rust-code-tool/{verb}", one(words.id), caller=session.caller)
        assert refused.value.failure.code == "not_allowed"


def test_scripts_and_rust_tools_run_live_side_by_side(
    words: FrozenToolRecord, session: Session, tmp_path: Path
) -> None:
    """Both kinds are frozen tools of one runtime; each runs from the state validated on."""
    from frozen_tools import recorded, shout
    from holon_script_tools.operations import proposal_of
    from rust_tools import built, open_rust
    from scripts import script

    place = tmp_path / "place"
    place.mkdir()
    config = {"plugins": ["holon-rust-tools", "holon-script-tools"]}
    with open_rust(tmp_path / "root", config=config, tools=[shout]) as both:
        ann = both.session(principal="ann", workspace=place)
        frozen = both.tools.frozen
        given = proposal_of(script("print('{}')"))
        made = frozen.create(given, caller=ann.caller, calls=recorded(ann))
        rust = built(both, ann, proposal())
        for record_id in (made.id, rust):
            frozen.validate(record_id, caller=ann.caller)

        assert ann.call(made.id, {}).held
        assert ann.call(rust, {"text": "a"}).held


def test_the_lane_brings_one_kind(runtime: Runtime) -> None:
    """The one compiled kind there is."""
    assert runtime.tools.frozen.kinds == ("rust-code-tool",)
