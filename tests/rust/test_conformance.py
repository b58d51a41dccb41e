"""The lane keeps the rules of the conformance suite, with a tool that was really built."""

from __future__ import annotations

from typing import Any

import pytest

from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.testing import LaneSuite
from holon_rust_tools.catalogue import curated
from holon_rust_tools.proposal import frozen_proposal, read_proposal
from holon_rust_tools.validation import lock_of, of_proposal
from rust_tools import ask, one, proposal

pytest_plugins = ["holon_core.testing.plugin"]

MAIN = """use std::{env, process, thread, time::Duration};

fn main() {
    let input = env::var("HOLON_INPUT_JSON").unwrap_or_default();
    let number = |name: &str| -> u64 {
        let rest = input.split(&format!("\\"{name}\\":")).nth(1).unwrap_or("");
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    thread::sleep(Duration::from_secs(number("sleep")));
    println!("{{\\"said\\":\\"{}\\"}}", "x".repeat(number("size") as usize));
    process::exit(number("exit") as i32);
}
"""


def _proposal() -> dict[str, Any]:
    slots = [
        {"name": name, "schema": {"type": "integer", "minimum": 0}, "required": False}
        for name in ("sleep", "size", "exit")
    ]
    said = {"said": {"type": "string"}}
    given = read_proposal(
        proposal(
            MAIN,
            required_inputs=slots,
            expected_output_schema={"type": "object", "properties": said, "required": ["said"]},
            fixtures=[{"name": "two", "input": {"size": 2}, "expect": {"output": {"said": "xx"}}}],
            secret_refs=[{"name": "API_KEY", "ref": "env:SUITE_API_KEY", "purpose": "the suite"}],
        )
    )
    lock = lock_of(of_proposal(given), curated())
    return frozen_proposal(given, name="run", version="0.1.0", lock=lock)


@pytest.mark.usefixtures("cargo")
class TestConformance(LaneSuite):
    """Every check, on a runtime that has this lane alone."""

    distribution = "holon-rust-tools"
    secrets = ("SUITE_API_KEY",)
    proposals = (_proposal(),)
    samples = {"run": {"size": 3}}  # noqa: RUF012
    failing = {"run": {"exit": 3}}  # noqa: RUF012
    slow = {"run": {"sleep": 30}}  # noqa: RUF012
    large = {"run": {"size": 20_000}}  # noqa: RUF012

    def build(self, runtime: Runtime, session: Session, tool_id: str) -> None:
        """Build and test it as a person does."""
        for verb in ("build", "test"):
            answer = ask(runtime, session, verb, one(tool_id))
            assert answer["status"] == "completed", answer["failure"]
