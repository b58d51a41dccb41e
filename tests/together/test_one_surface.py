"""One surface: capabilities of every lane are found, described and shown by the same calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import KIND, Echoes, Plugin, brought_to, shout
from holon_core import FrozenState
from holon_core.testing import named
from plugin_packages import Asked, capability, manifest, write_package

ELEGY = "holon-elegy.main/note-add"
MCP = "holon-mcp.calc/add"
PACKAGE = "holon-plugin-packages.acme.tools/say"
DESCRIBED = "holon-plugin-packages.acme.tools/mcp.maps"
ADAPTER = "holon-adapters.tickets/read-ticket"
SKILL: dict[str, Any] = {
    "skillFormat": "elegy-skill-definition",
    "skillVersion": 2,
    "identity": {"namespace": "demo", "name": "notes", "version": "1.0.0"},
    "capabilities": [
        {
            "id": "note-add",
            "name": "Add Note",
            "description": "Keep a note for later.",
            "implementation": {
                "executionType": "subprocess",
                "executableName": "sh",
                "arguments": ["-c", "echo '{}'", "${text}"],
            },
            "input": {"parameters": [{"name": "text", "type": "string", "required": True}]},
            "output": {"schemaRef": "https://elegy/contracts/schemas/data-result.schema.json"},
            "execution": {"hasSideEffects": False},
        }
    ],
    "lifecycleState": "active",
}
ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "calc"}},
    "tools/list": {
        "tools": [
            {
                "name": "add",
                "description": "Add two numbers up.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                    "required": ["a", "b"],
                },
            }
        ]
    },
}
TICKETS = {
    "adapter": "holon-adapter/v1",
    "title": "Tickets",
    "server": "https://tickets.example",
    "operations": [
        {
            "id": "read-ticket",
            "method": "GET",
            "path": "/tickets/{id}",
            "description": "Read one ticket of the desk.",
            "parameters": [{"name": "id", "in": "path", "schema": {"type": "string"}}],
            "responses": {"200": {"schema": {"type": "object"}}},
        }
    ],
}


class Echo:
    """What a host binds to the imported skill."""

    def execute(self, call: Any) -> Any:
        return holon.completed({})

    def preview(self, call: Any) -> Any:
        return {}


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asked]:
    """A runtime with every installed lane, and one capability of each."""
    kind = Echoes()
    with holon.Runtime.open(
        tmp_path / "root", tools=[shout], plugins=[named(Plugin(kind), KIND)]
    ) as rt:
        kind.records = rt.tools.frozen
        (tmp_path / "place").mkdir()
        made = Asked(rt)
        made.session = rt.session(principal="ann", workspace=tmp_path / "place")
        install(made, tmp_path)
        yield made


def install(ask: Asked, folder: Path) -> None:
    """Bring in one capability of every lane that is installed."""
    rt = ask.rt
    ask("skill-source/register", source="holon-elegy.main", kind="elegy_v2")
    ask(
        "skill/import-elegy-v2", source="holon-elegy.main", definition=json.loads(json.dumps(SKILL))
    )
    rt.skills.bind(ELEGY, Echo())
    ask("skill/approve-execution", skill=ELEGY, posture="adapter_forwarded", reason="read it")
    server = capability(id="mcp.maps", description="Find a place on a map.", lane="mcp")
    del server["command"]
    package = manifest(capabilities=[capability(), server])
    ask.installed(write_package(folder / "acme", package))
    ask.approved(PACKAGE)
    ask("mcp-server/register", name="calc", document=ANSWERS)
    ask("adapter/register", name="tickets", document=TICKETS, workspace=None)
    ask(
        "adapter/bind",
        name="tickets",
        workspace=None,
        server="https://tickets.example",
        reason="ours",
    )
    brought_to(rt, ask.session, FrozenState.ACTIVE)


def test_every_lane_is_found_by_the_same_calls(ask: Asked):
    """List, discover and project: which lane it is shows as metadata alone."""
    frozen = f"frozen.{ask.session.caller.workspace}/shout~1"
    wanted = {
        "host.app/shout": ("host", "say a text in capitals"),
        "holon.built-in.workspace/workspace-grep": ("built_in", "search files for a pattern"),
        ELEGY: ("elegy", "keep a note for later"),
        PACKAGE: ("plugin_package", "repeat a text"),
        DESCRIBED: ("plugin_package", "find a place on a map"),
        MCP: ("mcp", "add two numbers up"),
        ADAPTER: ("adapter", "read one ticket of the desk"),
        frozen: (KIND, "say a text in capitals"),
    }

    listed = {each["id"]: each for each in ask("runtime-tool/list", limit=1000)["tools"]}
    found = {
        tool: {each.id: each for each in ask.session.discover(query, limit=20).items}
        for tool, (_, query) in wanted.items()
    }
    shown = {each["function"]["name"] for each in ask.session.tools("openai-chat")}

    for tool, (lane, _) in wanted.items():
        assert listed[tool]["lane"] == lane
        assert tool in found[tool], tool
        reasons = {each.code for each in found[tool][tool].blocking_reasons}
        if tool in (DESCRIBED, MCP):
            assert "live_execution_blocked" in reasons
        else:
            assert reasons <= {"approval_required"}, tool
    names = " ".join(shown)
    for word in ("shout", "workspace-grep", "note-add", "say", "read-ticket"):
        assert word in names or word.replace("-", "_") in names, word
    assert "maps" not in names
