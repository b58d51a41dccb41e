"""The wheels of the core and of this lane, alone in an environment of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clean import Environment

PROGRAM = """
import json, sys, holon_core as holon
ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "calc"}},
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
}
DESCRIPTOR = {
    "serverName": "tickets",
    "transport": "stdio",
    "tools": [{"name": "read", "description": "Read.", "inputSchema": {"type": "object"}}],
}
with holon.Runtime.open(sys.argv[1]) as rt:
    before = [tool.id for tool in rt.tools.list()]
    servers = rt.service("mcp-servers")
    servers.register("calc", ANSWERS, by="olga")
    servers.register("tickets", DESCRIPTOR, by="olga")
    session = rt.session(principal="ann")
    shown = session.dry_run("holon-mcp.calc/add", {}).output["request"]["method"]
    code = session.call("holon-mcp.calc/add", {}).failure.code
    names = [each.name for each in rt.plugins.list() if each.active]
    every = [*holon.Authority]
    told = rt.dispatch("protocol/list", {}, caller=session.caller, authorities=every)["operations"]
    methods = [each["method"] for each in told]
    nouns = [each for each in methods if each.startswith("mcp-server/")]
    print(json.dumps([before, names, [each.id for each in rt.tools.list()], shown, code, nouns]))
"""


@pytest.mark.slow
def test_the_lane_works_with_the_core_alone(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Its wheel declares all that it imports, and brings exactly its surface; no SDK is needed."""
    environment = Environment(tmp_path / "env", wheels)
    environment.install(wheels["holon-mcp"])
    empty = tmp_path / "empty"
    empty.mkdir()

    answer = json.loads(environment.run("-c", PROGRAM, tmp_path / "root", cwd=empty))

    before, names, tools, shown, code, operations = answer
    assert (before, names) == ([], ["mcp"])
    assert tools == ["holon-mcp.calc/add", "holon-mcp.tickets/read"]
    assert (shown, code) == ("tools/call", "live_execution_blocked")
    verbs = ("accept", "diff", "list", "read", "refresh", "register", "remove")
    assert sorted(operations) == [f"mcp-server/{verb}" for verb in verbs]
    missing = "import importlib.util as u; print(u.find_spec('mcp'))"
    assert environment.run("-c", missing, cwd=empty).strip() == "None"
