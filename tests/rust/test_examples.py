"""The tools of examples/rust, each from its sources to a call by Python and by the command."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holon_core.runtime import Runtime
from holon_core.session import Session
from rust_tools import activate, ask, one

EXAMPLES = Path(__file__).parents[2] / "examples" / "rust"
TOOLS = {
    "split-amount": ({"cents": 10, "parts": 4}, {"parts": [3, 3, 2, 2]}),
    "json-diff": (
        {"before": {"a": {"b": 1}}, "after": {"a": {"b": 2}, "c": []}},
        {"added": ["/c"], "removed": [], "changed": ["/a/b"]},
    ),
    "find-word": (
        {"word": "TODO", "suffix": "md"},
        {"files": 1, "hits": [{"file": "notes.md", "line": 2}], "cut": False},
    ),
}


def packed(name: str) -> dict[str, Any]:
    """Return the proposal of an example, as its pack.py writes it."""
    spec = importlib.util.spec_from_file_location("rust_examples_pack", EXAMPLES / "pack.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, Any] = module.pack(EXAMPLES / name)
    return made


def holon(root: Path, place: Path, *words: str) -> Any:
    """Run the command; return its exit code and its one JSON document."""
    argv = [sys.executable, "-m", "holon_cli", *words, "--root", str(root), "--json"]
    argv += ["--workspace", str(place), "--actor", "ann"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("name", sorted(TOOLS))
@pytest.mark.usefixtures("cargo")
def test_an_example_goes_the_whole_way(
    runtime: Runtime, session: Session, shared_place: Path, name: str
) -> None:
    """Validate, propose, build, test, promote; then called from Python and the command."""
    (shared_place / "notes.md").write_text("# notes\nTODO write\n", encoding="utf-8")
    given = packed(name)
    assert ask(runtime, session, "validate", {"proposal": given})["promotable"]
    try:
        record = activate(runtime, session, given, name)
    except AssertionError as error:
        if "fetch" in str(error):
            pytest.skip("the registry of crates can't be reached, and nothing is fetched yet")
        raise
    arguments, wanted = TOOLS[name]

    by_python = session.call(record.id, arguments)
    root = runtime._parts.root
    assert root is not None
    words = ("tool", "call", record.id, "--args", json.dumps(arguments))
    code, by_command = holon(root, shared_place, *words)

    assert by_python.output == wanted
    assert (code, by_command["output"]) == (0, wanted)
    asked = [each["name"] for each in given.get("dependencies", ())]
    tool = runtime.tools.read(record.id)
    assert [each.name for each in tool.dependencies] == ["cargo"]
    refs = ask(runtime, session, "read", one(record.id))["approved_dependency_refs"]
    assert [each.partition("@")[0] for each in refs] == asked
    # Crates are fetched once: the same build again, from what is here.
    Path(ask(runtime, session, "read", one(record.id))["binary_path"]).unlink()
    restored = ask(runtime, session, "build", one(record.id))
    assert restored["status"] == "completed"
    stages = restored["artifact"]["last_build_evidence"]["stages"]
    assert [each["stage"] for each in stages] == ["check", "build"]


@pytest.mark.usefixtures("cargo")
def test_the_command_takes_a_tool_from_new_to_a_call(tmp_path: Path) -> None:
    """`new`, validate, create-frozen-tool-proposal, build, test, read, list, review, promote."""
    root, place, file = tmp_path / "root", tmp_path / "place", tmp_path / "greet.json"
    place.mkdir()
    new = holon(root, place, "rust-code-tool", "new", "greet", "--file", str(file))
    assert new == (0, {"file": str(file)})
    code, judged = holon(root, place, "rust-code-tool", "validate", str(file))
    assert (code, judged["promotable"]) == (0, True)
    opened = holon(root, place, "workspace", "open", str(place))[1]
    workspace = opened.get("workspace", opened)["id"]
    make = ("create-frozen-tool-proposal", workspace, str(file))
    code, made = holon(
        root, place, "rust-code-tool", *make, "--name", "greet", "--version", "0.1.0"
    )
    assert code == 0, made
    for verb in ("build", "test"):
        code, done = holon(root, place, "rust-code-tool", verb, workspace, made["id"])
        assert (code, done["status"]) == (0, "completed")
    code, read = holon(root, place, "rust-code-tool", "read", workspace, made["id"])
    code, listed = holon(root, place, "rust-code-tool", "list", workspace)
    code, review = holon(root, place, "rust-code-tool", "review", workspace, made["id"], "--html")
    assert read["ready"]
    assert listed["artifacts"] == [read]
    assert review["html"].startswith("<!doctype html>")
    code, valid = holon(root, place, "frozen-tool", "validate", made["id"])
    assert valid["state"] == "validated"
    for _ in range(2):
        held = holon(root, place, "frozen-tool", "promote", made["id"])[1]["result"]["held"]
        holon(root, place, "approval", "approve", held, "--reason", "read it")
        code, released = holon(root, place, "tool", "release", held)
        assert code == 0, released

    code, called = holon(root, place, "tool", "call", made["id"], "name=ann")

    assert (code, called["output"]) == (0, {"text": "hello ann"})


def test_a_file_that_is_no_proposal_is_a_mistake_of_usage(tmp_path: Path) -> None:
    """No traceback: the exit code says what it was."""
    file = tmp_path / "bad.json"
    file.write_text('{"purpose": 1}', encoding="utf-8")
    argv = [sys.executable, "-m", "holon_cli", "rust-code-tool", "validate", str(file)]
    argv += ["--root", str(tmp_path / "root")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert done.returncode == 4
    assert "Traceback" not in done.stderr
