"""A lane built for this version, on a next core that renamed an argument the documented way."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from holon_cli.lane_files import core_range, lane_files, write_lane
from sample_lanes import Site
from support import ROOT

pytestmark = pytest.mark.slow

LANE = "acme-notes"
PAGE = ROOT / "docs" / "lanes" / "how-a-hook-changes.md"
# Every warning is an error, but those that tell of a deprecation.
ONLY_DEPRECATIONS = ("-W", "error", "-W", "default::DeprecationWarning")
USE = """
import json, sys
import holon_core as holon
from pathlib import Path

folder = Path(sys.argv[1])
(folder / "work").mkdir()
(folder / "root").mkdir(mode=0o700)
log = folder / "log"
(folder / "root" / "holon.toml").write_text(f'[lane.acme-notes]\\nlog = "{log}"\\n')
with holon.Runtime.open(folder / "root") as rt:
    session = rt.session(principal="ann", workspace=folder / "work")
    result = session.call("acme-notes/count-words", {"text": "to be or not"})
    plugins = {p.name: p for p in rt.plugins.list()}
lane = plugins["acme-notes"]
print(json.dumps({
    "core": holon.__file__,
    "output": result.output,
    "active": lane.active,
    "problems": lane.problems,
    "deprecations": lane.deprecations,
    "logged": log.read_text().count("\\n"),
}))
"""


class Place:
    """A core and a built lane that a process of its own imports."""

    def __init__(self, folder: Path, wheel: Path, *, core: Path, version: str) -> None:
        site = Site(folder / "site")
        site.metadata("holon-core", version, requires=())
        with_lane = folder / "lane"
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
        subprocess.run([*pip, "--target", str(with_lane), str(wheel)], check=True)
        # Where the metadata of the site come first, the lane's own are copied there.
        for info in with_lane.glob("*.dist-info"):
            shutil.copytree(info, site.folder / info.name)
        self.path = os.pathsep.join(map(str, (core, site.folder, with_lane)))
        self.folder = folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with this core and this lane."""
        return subprocess.run(
            [sys.executable, *ONLY_DEPRECATIONS, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": self.path, "HOLON_ROOT": str(self.folder / "cli")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lane as the template makes it now, built."""
    folder = tmp_path_factory.mktemp("made")
    write_lane(folder / LANE, lane_files(LANE, core_range=core_range()))
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder))
    subprocess.run([*build, str(folder / LANE)], check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def documented_rename() -> Sequence[tuple[str, str]]:
    """Return what the manual says before and after: the import, and the specification."""
    blocks = re.findall(r"^```text\n(.*?)\n```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    before, after = (block.split("\n\n") for block in blocks)
    return list(zip(before, after, strict=True))


def patched(folder: Path) -> Path:
    """Make a copy of this core in which the argument is renamed, and nothing else."""
    shutil.copytree(ROOT / "holon_core" / "src", folder)
    file = folder / "holon_core" / "plugins" / "hookspecs.py"
    text = file.read_text("utf-8")
    for before, after in documented_rename():
        assert text.count(f"{before}\n") == 1
        text = text.replace(f"{before}\n", f"{after}\n")
    file.write_text(text, encoding="utf-8")
    return folder


def warned(text: str) -> list[str]:
    """Return the categories of the warnings that a process printed."""
    return re.findall(r"^\S+:\d+: (\w+): ", text, re.MULTILINE)


@pytest.fixture(scope="module")
def following(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The next version of the core, and the lane built for this one."""
    folder = tmp_path_factory.mktemp("next")
    return Place(folder, wheel, core=patched(folder / "core"), version="0.2.0")


def test_the_lane_works_on_this_core_without_a_warning(wheel: Path, tmp_path: Path) -> None:
    """What the next test sees is of the renaming alone."""
    here = Place(tmp_path, wheel, core=ROOT / "holon_core" / "src", version="0.1.0")

    done = here.run("-c", USE, str(tmp_path))

    assert done.stderr == ""
    assert json.loads(done.stdout)["deprecations"] == []


def test_the_lane_keeps_working_with_deprecation_warnings_only(
    following: Place, tmp_path: Path
) -> None:
    """It loads, its tool answers, its sink writes; the warning names what to change."""
    done = following.run("-c", USE, str(tmp_path))
    seen = json.loads(done.stdout)

    assert seen["core"].startswith(str(following.folder))
    assert (seen["active"], seen["problems"]) == (True, [])
    assert seen["output"] == {"words": 4, "characters": 12}
    assert seen["logged"] >= 2
    text = "the argument host is called plugin_host now; host is given until 0.4"
    assert seen["deprecations"] == [f"holon_evidence_sinks: {text}"]
    assert warned(done.stderr) == ["RenamedArgument"]
    assert f"{text}\n" in done.stderr
    assert "acme_notes/plugin.py" in done.stderr


def test_the_lane_still_conforms(following: Place, wheel: Path) -> None:
    """The suite passes on the next core, and tells of the old name in its row."""
    suite = wheel.parent / LANE / "tests" / "test_conformance.py"

    done = following.run("-m", "holon_cli", "lane", "check", LANE, "--suite", str(suite), "--json")
    report = json.loads(done.stdout)

    assert (done.returncode, report["counts"]["fail"]) == (0, 0)
    (row,) = [row for row in report["results"] if row["check"] == "hooks-match"]
    assert "plugin_host" in row["reason"]
    assert set(warned(done.stderr)) == {"RenamedArgument"}
