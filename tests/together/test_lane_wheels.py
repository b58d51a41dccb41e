"""What is installed is what there is: built wheels in environments of their own."""

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
LIST = """
import json, sys, holon_core as holon
with holon.Runtime.open(sys.argv[1]) as rt:
    print(json.dumps([
        [tool.id for tool in rt.tools.list()],
        [[each.name, each.active, list(each.problems)] for each in rt.plugins.list()],
    ]))
"""
CALL = """
import json, sys, holon_core as holon
with holon.Runtime.open(sys.argv[1]) as rt:
    session = rt.session(principal="ann", workspace=sys.argv[2])
    name = "holon.built-in.workspace/workspace-"
    results = [
        session.call(name + "glob", {"pattern": "*.txt"}),
        session.call(name + "read-file", {"path": "a.txt"}),
    ]
    print(json.dumps([[str(r.status), str(r.failure)] for r in results]))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without input and return its output; its error text is in a failure."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
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
def test_what_is_installed_is_what_there_is(tmp_path: Path) -> None:
    """The core alone has no tool; each lane brings exactly its own, and takes them away again."""
    wheels, empty, project = tmp_path / "wheels", tmp_path / "empty", tmp_path / "project"
    for folder in (wheels, empty, project):
        folder.mkdir()
    (project / "a.txt").write_text("hello\n", encoding="utf-8")
    names = ("holon-core", "holon-builtin-workspace", "holon-builtin-memory")
    core, lane, memory = (build(name, wheels) for name in names)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    links = [str(wheels), *os.environ.get("PIP_FIND_LINKS", "").split()]
    install = (python, "-m", "pip", "install", "--quiet", "--no-input")
    where = [part for link in links for part in ("--find-links", link)]
    where += ["--constraint", str(ROOT / "constraints.txt")]

    def listed(root: str) -> tuple[list[str], list[list[object]]]:
        tools, plugins = json.loads(run(python, "-c", LIST, tmp_path / root, cwd=empty))
        return tools, plugins

    run(*install, *where, core, cwd=empty)
    assert listed("root") == ([], [])

    run(*install, *where, lane, cwd=empty)
    four = [
        f"holon.built-in.workspace/workspace-{name}"
        for name in ("glob", "grep", "list-dir", "read-file")
    ]
    assert listed("root") == (four, [["workspace", True, []]])
    results = json.loads(run(python, "-c", CALL, tmp_path / "root", project, cwd=empty))
    assert results == [["completed", "None"]] * 2

    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "holon-builtin-workspace", cwd=empty)
    assert listed("fresh") == ([], [])

    build("elegy-contracts", wheels)
    run(*install, *where, memory, cwd=empty)
    three = [
        f"holon.built-in.memory/{name}"
        for name in (
            "request-workspace-memory-write-approval",
            "search-workspace-memory",
            "write-workspace-memory",
        )
    ]
    assert listed("third") == (three, [["memory", True, []]])
    assert "search" in run(python, "-m", "elegy_memory", "--help", cwd=empty)
