"""The wheels of the core and of this lane, alone in an environment of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clean import Environment

PROGRAM = """
import json, sys, holon_core as holon
DOCUMENT = {
    "adapter": "holon-adapter/v1",
    "server": "https://tickets.example",
    "operations": [
        {
            "id": "read-ticket",
            "method": "GET",
            "path": "/tickets/{id}",
            "description": "Read one ticket.",
            "parameters": [{"name": "id", "in": "path", "schema": {"type": "string"}}],
            "responses": {"200": {"schema": {"type": "object"}}},
        }
    ],
}
with holon.Runtime.open(sys.argv[1]) as rt:
    before = [tool.id for tool in rt.tools.list()]
    rt.service("adapters").register("tickets", DOCUMENT, by="olga")
    tool = "holon-adapters.tickets/read-ticket"
    shown = rt.session(principal="ann").dry_run(tool, {"id": "7"}).output
    names = [each.name for each in rt.plugins.list() if each.active]
    print(json.dumps([before, names, [each.id for each in rt.tools.list()], shown["url"]]))
"""


@pytest.mark.slow
def test_the_lane_works_with_the_core_alone(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Its wheel declares all that it imports, and brings exactly its surface."""
    environment = Environment(tmp_path / "env", wheels)
    environment.install(wheels["holon-adapters"])
    empty = tmp_path / "empty"
    empty.mkdir()

    answer = json.loads(environment.run("-c", PROGRAM, tmp_path / "root", cwd=empty))

    tool = "holon-adapters.tickets/read-ticket"
    assert answer == [[], ["adapters"], [tool], "https://tickets.example/tickets/7"]
