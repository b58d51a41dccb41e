"""Rust tools for tests: proposals, a runtime with the lane, tools brought through their life."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import holon_core as holon
from frozen_tools import settle
from holon_core import FrozenToolRecord, resolve_program
from holon_core.records.words import Authority
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_rust_tools.toolchain import _VERSION, MINIMUM

ALL = frozenset(Authority)
MANIFEST = '[package]\nname = "tool"\nversion = "0.1.0"\nedition = "2021"\n'
MAIN = """use std::env;

/// Counts the words of a text.
fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn main() {
    let input = env::var("HOLON_INPUT_JSON").unwrap_or_default();
    let text = input.split(':').nth(1).unwrap_or("").trim_matches(|c| "\\"}".contains(c));
    println!("{{\\"count\\":{}}}", count(text));
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts() {
        assert_eq!(super::count("a b"), 2);
    }
}
"""


def rustup_home() -> str | None:
    """Return where rustup keeps toolchains, where it does: the suite has a home of its own."""
    import pwd

    given = os.environ.get("RUSTUP_HOME") or str(Path(pwd.getpwuid(os.getuid()).pw_dir, ".rustup"))
    return given if Path(given).is_dir() else None


@functools.cache
def no_cargo() -> str:
    """Say why tests that build can't run here; empty where they can."""
    cargo = resolve_program("cargo")
    if cargo is None:
        return "cargo is not installed"
    home = rustup_home()
    env = {**os.environ, **({"RUSTUP_HOME": home} if home else {})}
    said = subprocess.run(
        [cargo, "--version"], capture_output=True, text=True, check=False, env=env
    ).stdout
    match = _VERSION.match(said)
    if match is None:
        return "cargo does not tell its version"
    found = tuple(map(int, match.groups()))
    if found < MINIMUM:
        return f"{said.strip()} is older than {'.'.join(map(str, MINIMUM))}"
    return "" if resolve_program("cc") else "no linker (cc) is installed"


def proposal(main: str = MAIN, **changed: Any) -> dict[str, Any]:
    """Return a good proposal without dependencies, with members replaced."""
    return {
        "purpose": "Count the words of a text",
        "crate_name": "tool",
        "binary_name": "tool",
        "files": [
            {"path": "Cargo.toml", "content": MANIFEST},
            {"path": "src/main.rs", "content": main},
        ],
        "required_inputs": [
            {"name": "text", "schema": {"type": "string"}, "description": "The text."}
        ],
        "side_effects": ["none"],
        "expected_output_schema": {
            "type": "object",
            "properties": {"count": {"type": "integer"}},
            "required": ["count"],
            "additionalProperties": False,
        },
        "validation_command": "cargo test",
        "fixtures": [{"name": "two", "input": {"text": "a b"}, "expect": {"output": {"count": 2}}}],
        **changed,
    }


def open_rust(root: Path, **options: Any) -> Runtime:
    """Open a runtime with the lane."""
    settings = {"plugins": ["holon-rust-tools"], **options.pop("config", {})}
    return Runtime.open(root, discover=True, config=settings, **options)


def ask(runtime: Runtime, session: Session, verb: str, params: Mapping[str, Any]) -> Any:
    """Ask an operation of the lane with all authorities; return its answer."""
    return runtime.dispatch(
        f"rust-code-tool/{verb}", dict(params), caller=session.caller, authorities=ALL
    )


def one(record_id: str) -> dict[str, str]:
    """Return the parameters that name one tool."""
    workspace = record_id.partition("/")[0].removeprefix("frozen.")
    return {"workspace_id": workspace, "frozen_tool_proposal_id": record_id}


def create(
    runtime: Runtime,
    session: Session,
    given: Mapping[str, Any],
    name: str = "words",
    version: str = "0.1.0",
) -> str:
    """Propose a tool; return its id."""
    params = {
        "workspace_id": session.caller.workspace,
        "proposal": given,
        "name": name,
        "version": version,
    }
    made = ask(runtime, session, "create-frozen-tool-proposal", params)
    return str(made["id"])


def built(runtime: Runtime, session: Session, given: Mapping[str, Any], name: str = "words") -> str:
    """Propose, build and test a tool; return its id."""
    record_id = create(runtime, session, given, name)
    made = ask(runtime, session, "build", one(record_id))
    assert made["status"] == "completed", made["failure"]
    tested = ask(runtime, session, "test", one(record_id))
    assert tested["status"] == "completed", tested["failure"]
    return record_id


def activate(
    runtime: Runtime, session: Session, given: Mapping[str, Any], name: str = "words"
) -> FrozenToolRecord:
    """Bring a tool to Active on the ordinary way."""
    frozen = runtime.tools.frozen
    record_id = built(runtime, session, given, name)
    record = frozen.validate(record_id, caller=session.caller)
    assert record.state is holon.FrozenState.VALIDATED, record.validation
    for _ in range(2):
        made = frozen.promote(record_id, session=session).result
        assert made is not None
        assert settle(runtime, session, made.held).failure is None
    return frozen.read(record_id)
