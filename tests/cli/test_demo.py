"""`holon demo`: the main job, on this repository, on an empty folder, and failing when it must."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holon_cli.demo import story
from holon_cli.demo.command import checkout, demo
from holon_cli.output import claimed
from support import ROOT


def test_the_demo_runs_on_a_clean_clone_of_this_repository(holon, tmp_path):
    """Every step shows what it has to, in two screens, and the clone stays clean."""
    clone = tmp_path / "clone"
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)

    done = holon("demo", cwd=clone / "docs")

    assert done.code == 0, done.err
    assert "12. What was real" in done.out
    assert "Python" in done.out
    assert len(done.out.splitlines()) < 90
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=clone, check=True, capture_output=True
    )
    assert status.stdout == b""


def test_the_demo_runs_in_an_empty_folder(holon):
    """Nothing to read is no fault; the folder stays empty, and so does the user's root."""
    done = holon("demo")

    assert done.code == 0, done.err
    assert "0 files, 0 lines: none" in done.out
    assert list(holon.folder.iterdir()) == []
    assert not holon.root.exists()


def test_the_facts_of_the_demo_are_those_of_its_calls(holon):
    """For programs: refused path, held view, replay, and what verification said."""
    (holon.folder / "readme.txt").write_text("under a license\n", encoding="utf-8")

    steps = holon("demo", "--json").json["steps"]

    assert len(steps[0]["tools"]) == 6
    assert steps[1]["found"][0] == {
        "id": "holon.built-in.workspace/workspace-grep",
        "availability": "executable",
    }
    assert {steps[2][name] for name in ("grep", "glob", "read")} == {"completed"}
    assert steps[3]["path"] == "/max_results"
    assert steps[4]["view"]["facts"]["principal"] == "agent"
    assert steps[6]["replayed_from"] == steps[4]["held"]
    assert steps[7]["held"] != steps[4]["held"]
    assert steps[10]["one_byte"] == {"without_head": False, "with_head": False}
    assert steps[10]["forged"] == {"without_head": True, "with_head": False}
    assert steps[11]["lines_written"] == 1


def test_the_reads_of_the_demo_are_those_of_the_workspace_lane(holon):
    """What is shown is what stands in the folder."""
    (holon.folder / "a.md").write_text("no\nunder a license\n", encoding="utf-8")
    (holon.folder / "Readme.md").write_text("# Title\nmore\n", encoding="utf-8")
    (holon.folder / "inner").mkdir()

    shown = holon("demo").out

    assert "3 entries, 1 of them folders" in shown
    assert "1 line, first a.md:2" in shown
    assert "2 files, first Readme.md, a.md" in shown
    assert "Readme.md, 13 bytes: # Title" in shown


def test_without_ripgrep_the_demo_says_so_and_goes_on(holon, tmp_path):
    """Its two tools are blocked with what to install; every other step is as ever."""
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    installed = Path(os.__file__).parent.glob("*-packages/ripgrep-*")
    if not python.exists() or list(installed):
        pytest.skip("no interpreter without ripgrep")
    (tmp_path / "empty").mkdir()
    bare = {
        "PATH": str(tmp_path / "empty"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "HOME": str(tmp_path),
    }

    done = subprocess.run(
        [python, "-m", "holon_cli", "demo"],
        cwd=holon.folder,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("blocked: dependency_missing: ") == 2
    assert "install the Python package ripgrep" in done.stdout
    assert "12. What was real" in done.stdout


def test_the_demo_fails_where_a_step_does_not_hold(tmp_path, monkeypatch, capsys):
    """An expectation that is not met is told, and the exit code is 1."""
    monkeypatch.setattr(story, "OTHER_LINE", story.LINE + "!")
    monkeypatch.setattr(story, "lines_in", lambda _: 7)

    with claimed(for_programs=False) as out:
        code = demo(tmp_path, out)

    assert code == 1
    assert "the demo failed" in capsys.readouterr().out


def test_the_workspace_is_the_checkout_that_holds_the_folder(tmp_path: Path):
    """Without one it is the folder itself."""
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    inner = tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)

    assert checkout(inner) == tmp_path.resolve() / "repository"
    assert checkout(tmp_path) == tmp_path.resolve()
