"""`holon demo`: the main job, on this repository, on an empty folder, and failing when it must."""

from __future__ import annotations

import subprocess
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
    assert "11. What was real" in done.out
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
    steps = holon("demo", "--json").json["steps"]

    assert steps[2]["path"] == "/limit"
    assert steps[3]["view"]["facts"]["principal"] == "agent"
    assert steps[5]["replayed_from"] == steps[3]["held"]
    assert steps[6]["held"] != steps[3]["held"]
    assert steps[9]["one_byte"] == {"without_head": False, "with_head": False}
    assert steps[9]["forged"] == {"without_head": True, "with_head": False}
    assert steps[10]["lines_written"] == 1


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
