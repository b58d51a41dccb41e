"""Built wheels in environments of their own: the contracts alone, and the lane with the core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import distributions
from support import ROOT

TABLE = distributions.read_table()
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


def run(*command: str | Path, cwd: Path, code: int = 0) -> str:
    """Run a command without input and return its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def build(name: str, folder: Path) -> Path:
    """Build the wheel of a distribution as a release would."""
    (row,) = [row for row in TABLE.rows if row.name == name]
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*command, "--outdir", folder, row.path, cwd=folder)
    (wheel,) = folder.glob(f"{row.import_name}-*.whl")
    return wheel


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_contracts_alone_validate_and_the_lane_brings_its_surface(
    tmp_path: Path, shared: Path
) -> None:
    """The corpus is judged without Holon; with the core and the lane there are its rows."""
    wheels, empty = tmp_path / "wheels", tmp_path / "empty"
    wheels.mkdir()
    empty.mkdir()
    built = [build(each, wheels) for each in ("elegy-contracts", "holon-core", "holon-elegy")]
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    links = [str(wheels), *os.environ.get("PIP_FIND_LINKS", "").split()]
    install = [python, "-m", "pip", "install", "--quiet", "--no-input"]
    install += [part for link in links for part in ("--find-links", link)]
    install += ["--constraint", str(ROOT / "constraints.txt")]

    run(*install, built[0], cwd=empty)
    fixtures = shared / "elegy-corpus" / "fixtures"
    command = (python, "-m", "elegy_contracts", "validate", fixtures, "--json")
    judged = json.loads(run(*command, cwd=empty, code=1))
    refused = {Path(each["file"]).name for each in judged if not each["valid"]}
    assert len(judged) == len(list(fixtures.glob("*.json")))
    assert all("negative" in name or "template" in name or "diagram" in name for name in refused)
    assert (
        run(python, "-c", "import importlib.util as u; print(u.find_spec('holon_core'))", cwd=empty)
        == "None\n"
    )

    run(*install, built[1], built[2], cwd=empty)
    seen = json.loads(run(python, "-c", SURFACE, tmp_path / "root", cwd=empty))
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
