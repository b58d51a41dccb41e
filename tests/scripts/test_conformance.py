"""The lane of scripts keeps the rules of every lane, with tools that are active."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from holon_core.testing import LaneSuite
from holon_script_tools.operations import proposal_of
from scripts import script

pytest_plugins = ["holon_core.testing.plugin"]

RUN = """
import json, os, sys, time
given = json.loads(os.environ["HOLON_INPUT_JSON"])
time.sleep(given.get("sleep", 0))
print(json.dumps({"said": "x" * given.get("size", 1)}))
sys.exit(given.get("exit", 0))
"""
SECRET = {"name": "API_KEY", "ref": "env:SUITE_API_KEY", "purpose": "the suite"}


def _proposal(name: str, **changed: Any) -> dict[str, Any]:
    integer = {"type": "integer"}
    members = {"sleep": integer, "size": integer, "exit": integer}
    inputs = {"type": "object", "properties": members, "additionalProperties": False}
    said = {"said": {"type": "string"}}
    outputs = {"type": "object", "properties": said, "required": ["said"]}
    given = script(RUN, name=name, input_schema=inputs, output_schema=outputs, **changed)
    return proposal_of(given)


@pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")
class TestConformance(LaneSuite):
    """Found by its entry point, as hosts have it."""

    distribution = "holon-script-tools"
    secrets = ("SUITE_API_KEY",)
    proposals = (_proposal("run"), _proposal("keyed", secret_slots=[SECRET]))
    samples = {"run": {"size": 3}, "keyed": {}}  # noqa: RUF012
    failing = {"run": {"exit": 3}}  # noqa: RUF012
    slow = {"run": {"sleep": 30}}  # noqa: RUF012
    large = {"run": {"size": 20_000}}  # noqa: RUF012
