"""The built wheel alone with the core: what it declares is all that workflows need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clean import Environment

FLOW = """
import json, sys, holon_core as holon
branch = {"on": "inputs.n", "cases": [{"equals": 1, "to": "wait"}], "default": "other"}
nodes = [
    {"id": "which", "kind": "branch-condition", "config": branch},
    {"id": "wait", "kind": "wait-timer", "config": {"after_s": 0}},
    {"id": "other", "kind": "ai-step", "config": {"mode": "deterministic", "answer": 1}},
]
number = {"type": "object", "properties": {"n": {"type": "integer"}}}
head = {"schema_version": "holon-workflow/v1", "id": "w", "version": "1", "inputs": number}
with holon.Runtime.open(sys.argv[1]) as rt:
    flows, session = rt.service("workflows"), rt.session(principal="ann")
    flows.create({**head, "nodes": nodes}, by="olga")
    flows.schedules.add("w", {}, caller=session.caller, when={"cron": "* * * * *"})
    run = flows.run("w", {"n": 1}, session=session)
    plugins = [[each.name, list(each.problems)] for each in rt.plugins.list()]
    print(json.dumps([plugins, run.state, [each.state for each in run.steps]]))
"""
LIVE = """
import json, sys, holon_core as holon
config = {"mode": "live", "model": "m", "base_url": "http://127.0.0.1:9", "api_key": "env:HOME"}
node = {"id": "a", "kind": "ai-step", "config": {**config, "prompt": "?", "output_schema": {}}}
head = {"schema_version": "holon-workflow/v1", "id": "live", "version": "1"}
with holon.Runtime.open(sys.argv[1]) as rt:
    flows = rt.service("workflows")
    flows.create({**head, "nodes": [node]}, by="olga")
    run = flows.run("live", session=rt.session(principal="ann"))
    print(json.dumps([run.failure["code"], run.failure["message"]]))
"""


@pytest.mark.slow
def test_workflows_run_where_nothing_else_is(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Branches, timers and cron work by what the wheel declares; live steps name their extra."""
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = Environment(tmp_path / "env", wheels)
    environment.install(wheels["holon-workflows"])

    ran = json.loads(environment.run("-c", FLOW, tmp_path / "root", cwd=empty))
    code, text = json.loads(environment.run("-c", LIVE, tmp_path / "root", cwd=empty))

    assert ran == [[["workflows", []]], "completed", ["completed", "completed", "skipped"]]
    assert code == "dependency_missing"
    assert "holon-workflows[ai]" in text
