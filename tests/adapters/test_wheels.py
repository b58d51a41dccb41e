"""The wheels of the core and of this lane, alone in an environment of their own."""

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


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without input and return its output; its error text is in a failure."""
    argv = [str(part) for part in command]
    done = subprocess.run(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_lane_works_with_the_core_alone(tmp_path: Path) -> None:
    """Its wheel declares all that it imports, and brings exactly its surface."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels)
    for row in TABLE.rows:
        if row.name in ("holon-core", "holon-adapters"):
            run(*command, row.path, cwd=wheels)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    links = [str(wheels), *os.environ.get("PIP_FIND_LINKS", "").split()]
    where = [part for link in links for part in ("--find-links", link)]
    where += ["--constraint", str(ROOT / "constraints.txt")]

    install = (python, "-m", "pip", "install", "--quiet", "--no-input")
    run(*install, *where, *wheels.glob("*.whl"), cwd=tmp_path)
    answer = json.loads(run(python, "-c", PROGRAM, tmp_path / "root", cwd=wheels))

    tool = "holon-adapters.tickets/read-ticket"
    assert answer == [[], ["adapters"], [tool], "https://tickets.example/tickets/7"]
