"""The wheels of the core and of this lane, alone in an environment of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from clean import Environment

# Proposes a script by its operations, proves it, and calls it by its id.
PROGRAM = """
import json, os, sys, holon_core as holon

@holon.tool(effects={"none"})
def double(n: int) -> dict:
    return {"n": 2 * n}

TEXT = (
    "import json, os; given = json.loads(os.environ['HOLON_INPUT_JSON']);"
    "print(json.dumps({'n': 2 * given['n']}))"
)
SCRIPT = {
    "name": "double", "purpose": "Double a number", "command": ["python3", "main.py"],
    "files": {"main.py": TEXT}, "effects": ["none"],
}
os.mkdir(sys.argv[2])
with holon.Runtime.open(sys.argv[1], tools=[double]) as rt:
    session = rt.session(principal="ann", workspace=sys.argv[2])
    run = session.call("host.app/double", {"n": 4}).call_id
    made = rt.dispatch(
        "script-artifact/create-frozen-tool-proposal",
        {"script": SCRIPT, "calls": [run]},
        caller=session.caller,
    )
    rt.tools.frozen.validate(made["id"], caller=session.caller)
    held = session.call(made["id"], {"n": 21}).held
    rt.approvals.approve(held, by="boss", reason="ok")
    print(json.dumps([[each.name for each in rt.plugins.list() if each.active],
        [tool.lane for tool in rt.tools.list()], session.release(held).output]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")
def test_the_lane_works_with_the_core_alone(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Its wheel declares all that it imports, and a script becomes a tool with it."""
    environment = Environment(tmp_path / "env", wheels)
    environment.install(wheels["holon-script-tools"])
    empty = tmp_path / "empty"
    empty.mkdir()

    answer = json.loads(
        environment.run("-c", PROGRAM, tmp_path / "root", tmp_path / "desk", cwd=empty)
    )

    assert answer == [["script-tools"], ["script-artifact", "host"], {"n": 42}]
