"""The lane as a plugin: its hooks, and its tools through the catalogue."""

from __future__ import annotations

import sys
from pathlib import Path

import holon_core as holon
from door import answer_of
from holon_builtin_workspace import plugin

NAMES = ["glob", "grep", "list-dir", "read-file"]


def test_the_plugin_brings_exactly_its_four_tools(tmp_path: Path) -> None:
    """They come from the lane's own source, without a finding, and run."""
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj" / "a.txt").write_text("hello\n", encoding="utf-8")
    with holon.Runtime.open(tmp_path / "root", plugins=[plugin], discover=False) as rt:
        tools = rt.tools.list()
        session = rt.session(principal="ann", workspace=tmp_path / "proj")
        read = session.call("holon.built-in.workspace/workspace-read-file", {"path": "a.txt"})
        shown = session.dry_run("holon.built-in.workspace/workspace-glob", {"pattern": "*"})

        assert [tool.id for tool in tools] == [
            f"holon.built-in.workspace/workspace-{name}" for name in NAMES
        ]
        assert {tool.provenance.distribution for tool in tools} == {"holon-builtin-workspace"}
        assert [state.findings for state in rt.tools.sources()] == [{}]
        assert [state.problems for state in rt.plugins.list()] == [()]
        assert read.status is holon.Status.COMPLETED
        assert read.output["content"] == "hello\n"
        assert shown.status is holon.Status.COMPLETED


def test_a_warm_start_imports_no_executor(tmp_path: Path) -> None:
    """Once the definitions are stored, the lane costs next to nothing until it is used."""
    code = """
import json, sys, holon_core as holon
from holon_builtin_workspace import plugin
for _ in range(2):
    with holon.Runtime.open(sys.argv[1], plugins=[plugin], discover=False) as rt:
        count = len(rt.tools)
    if _ == 0:
        for name in [n for n in sys.modules if n.startswith("holon_builtin_workspace.d")]:
            del sys.modules[name]
print(json.dumps([count, "holon_builtin_workspace.descriptors" in sys.modules]))
"""
    assert answer_of(code, str(tmp_path / "root")) == [4, False]
    assert "holon_builtin_workspace.plugin" in sys.modules
