"""`holon lane new` and `holon lane check`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broken_lanes import SOUND_MODULE, installed
from command import Command
from holon_cli.lane_files import lane_files, name_problem, write_lane
from holon_core.plugins.first_party import FIRST_PARTY_PLUGINS
from support import ROOT

SUITE = """
from broken_lanes import TOOL
from holon_core.testing import LaneSuite


class TestConformance(LaneSuite):
    distribution = "acme-lane"
    samples = {TOOL: {"do": "say"}}
    failing = {TOOL: {"do": "refuse"}}


class TestAnother(LaneSuite):
    distribution = "other-lane"
"""


@pytest.fixture
def paths(tmp_path: Path) -> str:
    """An import path on which a sound lane is installed."""
    place = tmp_path / "site"
    place.mkdir()
    installed(place, "acme_lane", SOUND_MODULE)
    sources = [place, ROOT / "tests" / "support"]
    sources += [ROOT / name / "src" for name in ("holon_core", "holon_cli")]
    return ":".join(map(str, sources))


def test_a_new_lane_is_written_and_its_files_are_named(holon: Command) -> None:
    """Every file, hidden ones included, and what to do next."""
    done = holon("lane", "new", "acme-notes")

    assert done.code == 0
    folder = holon.folder / "acme-notes"
    named = [line for line in done.out.splitlines() if line.startswith("acme-notes/")]
    assert sorted(named) == sorted(
        path.relative_to(holon.folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
    assert (folder / ".github" / "workflows" / "check.yml").is_file()
    assert (folder / "src" / "acme_notes" / "py.typed").is_file()
    assert "next: cd acme-notes" in done.out


def test_a_new_lane_goes_where_it_is_sent(holon: Command) -> None:
    """With --folder, and as one document for programs."""
    done = holon("lane", "new", "acme-notes", "--folder", "deep/er", "--json")

    assert done.json["folder"] == "deep/er"
    assert (holon.folder / "deep" / "er" / "pyproject.toml").is_file()


def test_a_folder_that_is_there_is_left_alone(holon: Command) -> None:
    """Nothing is overwritten."""
    (holon.folder / "acme-notes").mkdir()

    done = holon("lane", "new", "acme-notes")

    assert done.code == 2
    assert "acme-notes is there already" in done.err
    assert list((holon.folder / "acme-notes").iterdir()) == []


def test_the_signal_of_a_new_lane_follows_its_definitions(tmp_path: Path) -> None:
    """Effects that are edited in place are not kept out by what was stored before."""
    source = lane_files("acme-notes", core_range=">=0")["src/acme_notes/tools.py"]
    edited = source.replace("frozenset({Effect.NONE})", "frozenset({Effect.MACHINE_WRITE})")

    assert edited != source
    assert signal_of(source) == signal_of(source) != signal_of(edited)


def signal_of(source: str) -> str:
    """Run the module of tools and ask its source for its signal."""
    module: dict[str, Any] = {"__name__": "acme_notes.tools"}
    exec(compile(source, "tools.py", "exec"), module)
    return str(module["Source"]().signal())


@pytest.mark.parametrize(
    "name",
    [
        "Acme",
        "acme_notes",
        "-acme",
        "acme-",
        "a--b",
        "1a",
        "",
        "ä",
        "a" * 41,
        "a\n",
        "a\u0301",
        "holon",
        "holon-core",
        "class",
        "async",
        "json",
        "test",
        "tests",
        "nul",
        "com1",
        "pluggy",
        "tool",
        "approval",
        "evidence",
        *sorted(FIRST_PARTY_PLUGINS),
    ],
)
def test_a_name_that_no_lane_can_have_is_refused(name: str) -> None:
    """Out of the grammar, too long, reserved, or of no use as a package somewhere."""
    assert name_problem(name)


@pytest.mark.parametrize("name", ["a", "acme-notes", "holon-sql-files", "a1-2b", "a" * 40])
def test_a_usable_name_is_taken(name: str) -> None:
    """Words of letters and digits, joined by hyphens."""
    assert name_problem(name) is None


def test_the_names_of_this_projects_plugins_are_all_known() -> None:
    """Also those that are not installed here are nobody else's to take."""
    projects = [each.read_text(encoding="utf-8") for each in ROOT.glob("*/pyproject.toml")]
    points = [re.findall(r"entry-points\.holon\]\n(\S+) =", each) for each in projects]

    assert {name for each in points for name in each} == FIRST_PARTY_PLUGINS


def test_a_new_lane_is_in_order_whatever_its_name(tmp_path: Path) -> None:
    """Lines are no longer, imports no other than the linter has them, for any name."""
    for name in ("a", "a" * 40, "acme-word-tools", "attrs-notes", "type", "zebra"):
        write_lane(tmp_path / name, lane_files(name, core_range=">=0.1,<0.4"))

    for command in (("check",), ("format", "--check")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_lane_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A disk that is full in the middle of it is no reason for half a lane."""
    made = {"README.md": "x", "src/a.py": "x", "src/a.py/b.py": "x"}

    with pytest.raises(OSError, match=r"a\.py"):
        write_lane(tmp_path / "acme", made)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "said"),
    [("file", "is there already"), ("file/in", "Not a directory"), ("link", "is there already")],
)
def test_a_place_where_no_folder_can_be_is_told(holon: Command, folder: str, said: str) -> None:
    """A file, a folder below a file, and a link to nowhere are a mistake of the user."""
    (holon.folder / "file").write_text("x", encoding="utf-8")
    (holon.folder / "link").symlink_to("nowhere")

    done = holon("lane", "new", "acme-notes", "--folder", folder)

    assert (done.code, said in done.err, "Traceback" in done.err) == (2, True, False)
    assert sorted(path.name for path in holon.folder.iterdir()) == ["file", "link"]


def test_no_word_of_the_template_is_left() -> None:
    """Name, package and range of the core stand where they belong."""
    made = lane_files("acme-notes", core_range=">=0.1,<0.4")

    assert not [path for path, text in made.items() if "@PACKAGE@" in text or "@NAME@" in text]
    assert 'dependencies = ["holon-core>=0.1,<0.4"]' in made["pyproject.toml"]
    assert 'acme-notes = "acme_notes.plugin"' in made["pyproject.toml"]


def test_check_prints_a_row_for_each_check_and_tool(holon: Command, paths: str) -> None:
    """With sample calls from a suite's file; the one for the lane is taken."""
    (holon.folder / "suite.py").write_text(SUITE, encoding="utf-8")

    done = holon("lane", "check", "acme-lane", "--suite", "suite.py", PYTHONPATH=paths)

    assert done.code == 0, done.out + done.err
    assert "pass\toutputs-validate\tacme-lane/work" in done.out
    assert "0 failed" in done.out.splitlines()[-1]


def test_check_answers_programs_with_one_document(holon: Command, paths: str) -> None:
    """Without a suite, what has no sample is skipped and named."""
    done = holon("lane", "check", "acme-lane", "--json", PYTHONPATH=paths)

    assert done.code == 0
    skipped = [row["check"] for row in done.json["results"] if row["verdict"] == "skip"]
    assert "outputs-validate" in skipped


def test_check_of_what_is_not_installed_fails(holon: Command, paths: str) -> None:
    """Exit code 1, and the reason."""
    done = holon("lane", "check", "acme-nowhere", PYTHONPATH=paths)

    assert done.code == 1
    assert "no installed distribution acme-nowhere" in done.out


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "suite.py is no file"), ("x = 1\n", "it has some for: none"), (SUITE, "other-lane")],
    ids=["no file", "no suite", "no suite for it"],
)
def test_a_suite_without_the_lane_is_a_mistake(
    holon: Command, paths: str, text: str | None, said: str
) -> None:
    """Exit code 2 with what there is."""
    if text is not None:
        (holon.folder / "suite.py").write_text(text, encoding="utf-8")

    done = holon("lane", "check", "acme-third", "--suite", "suite.py", PYTHONPATH=paths)

    assert done.code == 2
    assert said in done.err


def test_a_suite_that_raises_says_where(holon: Command, paths: str) -> None:
    """It is its author's fault, in its author's file, and no internal one."""
    (holon.folder / "suite.py").write_text("x = 1\nraise RuntimeError('boom')\n", encoding="utf-8")

    done = holon("lane", "check", "acme-lane", "--suite", "suite.py", PYTHONPATH=paths)

    assert done.code == 2
    assert "--suite suite.py: importing it raised RuntimeError at line 2: boom" in done.err


def test_a_plugin_name_that_another_has_fails_the_check(holon: Command, paths: str) -> None:
    """The list of plugins would refuse it: an entry point's name is unique among the installed."""
    site = Path(paths.split(os.pathsep, maxsplit=1)[0])
    rival = site / "rival_lane-1.0.dist-info"
    rival.mkdir()
    (rival / "METADATA").write_text("Metadata-Version: 2.1\nName: rival-lane\nVersion: 1.0\n")
    (rival / "entry_points.txt").write_text("[holon]\nacme-lane = rival_lane\n")

    done = holon("lane", "check", "acme-lane", PYTHONPATH=paths)

    assert done.code == 1
    assert "also claimed by rival-lane" in " ".join(done.out.split())
