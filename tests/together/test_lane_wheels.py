"""What is installed is what there is: built wheels in environments of their own."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path

import pytest

from clean import pinned_pip, run

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


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_is_installed_is_what_there_is(wheels: dict[str, Path], tmp_path: Path) -> None:
    """The core alone has no tool; each lane brings exactly its own, and takes them away again.

    This one is made by pip, as a user would.
    """
    empty, project = tmp_path / "empty", tmp_path / "project"
    for folder in (empty, project):
        folder.mkdir()
    (project / "a.txt").write_text("hello\n", encoding="utf-8")
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    # The suite's own pip works there, so that none has to be put in.
    pip = (sys.executable, "-m", "pip", "--python", python, "--quiet", "--no-input")
    install = (
        *pip,
        "install",
        "--no-compile",
        *pinned_pip(),
        "--find-links",
        wheels["holon-core"].parent,
    )

    def listed(root: str) -> tuple[list[str], list[list[object]]]:
        tools, plugins = json.loads(run(python, "-c", LIST, tmp_path / root, cwd=empty))
        return tools, plugins

    run(*install, wheels["holon-core"], cwd=empty)
    assert listed("root") == ([], [])

    run(*install, wheels["holon-builtin-workspace"], cwd=empty)
    four = [
        f"holon.built-in.workspace/workspace-{name}"
        for name in ("glob", "grep", "list-dir", "read-file")
    ]
    assert listed("root") == (four, [["workspace", True, []]])
    results = json.loads(run(python, "-c", CALL, tmp_path / "root", project, cwd=empty))
    assert results == [["completed", "None"]] * 2

    run(*pip, "uninstall", "--yes", "holon-builtin-workspace", cwd=empty)
    assert listed("fresh") == ([], [])

    run(*install, wheels["holon-builtin-memory"], cwd=empty)
    run(*pip, "check", cwd=empty)
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
