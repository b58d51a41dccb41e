"""Two hundred installed plugins, five of them broken, each in another way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from door import answer_of, environment
from sample_lanes import Site, lane_code

OPEN = """
import json, sys, holon_core as holon
with holon.Runtime.open(sys.argv[1]) as rt:
    session = rt.session(principal="p")
    tools = [tool.id for tool in rt.tools.list(limit=1000)]
    print(json.dumps({
        "active": sum(each.active for each in rt.plugins.list()),
        "problems": {p.distribution: list(p.problems) for p in rt.plugins.list() if p.problems},
        "tools": tools,
        "completed": sum(str(session.call(tool).status) == "completed" for tool in tools),
    }))
"""
SIGNATURE = "\n@holon.hookimpl\ndef holon_services(host, nosuch): return []\n"
EXITS = "\n@holon.hookimpl\ndef holon_skill_sources(host): raise SystemExit(3)\n"


@pytest.mark.slow
def test_of_two_hundred_plugins_the_good_ones_work_and_five_are_named(tmp_path: Path) -> None:
    """The runtime opens, 195 lanes run untroubled, and each broken one says what is wrong."""
    site = Site(tmp_path / "site")
    for number in range(195):
        site.add(f"acme-{number:03}")
    site.add("bad-import", "import nosuch")
    site.add("bad-exit", lane_code("bad-exit") + EXITS)
    site.add("bad-signature", lane_code("bad-signature") + SIGNATURE)
    foreign = lane_code("bad-id").replace("Source('bad-id'", "Source('acme-000'")
    site.add("bad-id", foreign)
    site.add("bad-version", requires=["holon-core>=9"])
    path = os.pathsep.join([str(site.folder), environment()["PYTHONPATH"]])

    found = answer_of(OPEN, str(tmp_path / "root"), PYTHONPATH=path)

    good = [f"acme-{number:03}/say" for number in range(195)]
    # A fault while loading takes the plugin out; a bad offer or hook only itself.
    assert found["tools"] == good
    assert found["completed"] == 195
    assert found["active"] == 197
    said = {name: " ".join(lines) for name, lines in found["problems"].items()}
    assert sorted(said) == ["bad-exit", "bad-id", "bad-import", "bad-signature", "bad-version"]
    assert "ModuleNotFoundError: No module named 'nosuch'" in said["bad-import"]
    assert said["bad-exit"] == "holon_skill_sources raised SystemExit: 3"
    assert "'holon_services'" in said["bad-signature"]
    assert "nosuch" in said["bad-signature"]
    assert said["bad-id"] == "the source id acme-000 does not begin with bad-id"
    assert said["bad-version"].startswith("it needs holon-core>=9, and this is ")
