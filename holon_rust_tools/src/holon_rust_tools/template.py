"""A small working tool to start from."""

from __future__ import annotations

import re
from typing import Any

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MANIFEST = """[package]
name = "{name}"
version = "0.1.0"
edition = "2021"

[dependencies]
serde = {{ version = "=1.0.219", features = ["derive"] }}
serde_json = "=1.0.140"
"""
_MAIN = """//! Greets somebody: input in HOLON_INPUT_JSON, one JSON object on standard output.

use serde::{Deserialize, Serialize};
use std::env;
use std::error::Error;

#[derive(Deserialize)]
struct Input {
    name: String,
}

#[derive(Serialize)]
struct Output {
    text: String,
}

fn greet(input: &Input) -> Output {
    Output { text: format!("hello {}", input.name) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let input: Input = serde_json::from_str(&env::var("HOLON_INPUT_JSON")?)?;
    println!("{}", serde_json::to_string(&greet(&input))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_greeted() {
        assert_eq!(greet(&Input { name: "bo".into() }).text, "hello bo");
    }
}
"""


def name_problem(name: str) -> str | None:
    """Say why a name can't be one of a tool; ``None`` where it can."""
    if _NAME.fullmatch(name) and len(name) <= 64:
        return None
    return "a name is words of a-z 0-9, the first of a letter, joined by -"


def new_proposal(name: str) -> dict[str, Any]:
    """Return the proposal of a small working tool.

    Args:
        name: Of the crate and its binary.
    """
    return {
        "purpose": "Greet somebody by name",
        "crate_name": name,
        "binary_name": name,
        "files": [
            {"path": "Cargo.toml", "content": _MANIFEST.format(name=name)},
            {"path": "src/main.rs", "content": _MAIN},
        ],
        "required_inputs": [
            {
                "name": "name",
                "schema": {"type": "string", "maxLength": 100},
                "description": "Who is greeted.",
            }
        ],
        "side_effects": ["none"],
        "expected_output_schema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "validation_command": "cargo test",
        "dependencies": [
            {"name": "serde", "version": "1.0.219", "features": ["derive"]},
            {"name": "serde_json", "version": "1.0.140"},
        ],
        "fixtures": [
            {
                "name": "greets",
                "input": {"name": "ann"},
                "expect": {"output": {"text": "hello ann"}},
            }
        ],
    }
