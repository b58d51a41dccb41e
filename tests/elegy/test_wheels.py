"""Built wheels in environments of their own: the contracts alone, and the lane with the core."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clean import Environment

SURFACE = """
import json, sys, holon_core as holon
from holon_core.records.words import Authority
with holon.Runtime.open(sys.argv[1]) as rt:
    caller = rt.session(principal="ann").caller
    from holon_core.operations.table import OPERATIONS
    listed = rt.dispatch("protocol/list", {}, caller=caller, authorities=list(Authority))
    methods = [row["method"] for row in listed["operations"]]
    print(json.dumps({
        "tools": [tool.id for tool in rt.tools.list()],
        "plugins": [[each.name, each.active, list(each.problems)] for each in rt.plugins.list()],
        "more": sorted(set(methods) - set(OPERATIONS)),
    }))
"""


@pytest.mark.slow
def test_the_contracts_alone_validate_and_the_lane_brings_its_surface(
    wheels: dict[str, Path], tmp_path: Path, shared: Path
) -> None:
    """The corpus is judged without Holon; with the core and the lane there are its rows."""
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = Environment(tmp_path / "env", wheels)

    environment.install(wheels["elegy-contracts"])
    fixtures = shared / "elegy-corpus" / "fixtures"
    command = ("-m", "elegy_contracts", "validate", fixtures, "--json")
    judged = json.loads(environment.run(*command, cwd=empty, code=1))
    refused = {Path(each["file"]).name for each in judged if not each["valid"]}
    assert len(judged) == len(list(fixtures.glob("*.json")))
    assert all("negative" in name or "template" in name or "diagram" in name for name in refused)
    find = "import importlib.util as u; print(u.find_spec('holon_core'))"
    assert environment.run("-c", find, cwd=empty) == "None\n"

    environment.install(wheels["holon-elegy"])
    seen = json.loads(environment.run("-c", SURFACE, tmp_path / "root", cwd=empty))
    assert seen == {
        "tools": [],
        "plugins": [["elegy", True, []]],
        "more": [
            "agent-capability-profile/export",
            "agent-capability-profile/import",
            "crystallized-capability/export",
            "crystallized-capability/import",
            "crystallized-capability/validate",
            "skill/import-elegy-v2",
        ],
    }
