"""Lanes by others, as their authors have them: as wheels, in a clean environment."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import venv
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import distributions
import transcripts
from support import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

NAME = "acme-word-tools"
EXAMPLE = ROOT / "examples" / "holon-sql-files"
TOOLS = ("pytest", "mypy", "ruff")


def needed(name: str) -> list[distributions.Distribution]:
    """Return the distributions of this repository that one of them needs, itself included."""
    rows = {row.name: row for row in distributions.read_table().rows}
    found, waiting = {}, [name]
    while waiting:
        row = rows[waiting.pop()]
        found[row.name] = row
        waiting += [each for each in row.dependencies if each in rows and each not in found]
    return list(found.values())


class Clean:
    """A fresh environment that holds the wheels of core and command, and the tools of an author."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels = folder / "wheels"
        self.bin = folder / "env" / "bin"
        for row in needed("holon-cli"):
            self.build(ROOT / row.folder)
        venv.create(folder / "env", with_pip=True)
        self.install("holon-core[testing]", "holon-cli", *TOOLS)

    def build(self, project: Path) -> Path:
        """Build a project's wheel beside the others."""
        before = set(self.wheels.glob("*.whl"))
        build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
        self.run(*build, "--outdir", self.wheels, project)
        (made,) = set(self.wheels.glob("*.whl")) - before
        return made

    def install(self, *wanted: str | Path) -> None:
        """Install from the wheels, and what they need at the pinned versions."""
        links = [str(self.wheels), *os.environ.get("PIP_FIND_LINKS", "").split()]
        self.run(
            *(self.bin / "python", "-m", "pip", "install", "--quiet", "--no-input"),
            *("--constraint", ROOT / "constraints.txt"),
            *(part for link in links for part in ("--find-links", link)),
            *wanted,
        )

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """Run a command that has to succeed; return what it printed."""
        done = self.try_run(command, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def try_run(
        self, command: Sequence[str | Path], *, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command without input, from the folder of this environment if nothing is said."""
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def holon(self, *words: str | Path, cwd: Path) -> Any:
        """Run the command for programs; return its document."""
        return json.loads(self.run(self.bin / "holon", *words, "--json", cwd=cwd))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """One environment for the tests of this module."""
    return Clean(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def made(clean: Clean) -> Path:
    """A new lane from the template, installed as its wheel; nothing in it was changed."""
    clean.run(clean.bin / "holon", "lane", "new", NAME)
    clean.install(clean.build(clean.folder / NAME))
    return clean.folder / NAME


@pytest.fixture(scope="module")
def example(clean: Clean) -> Path:
    """The example's lane, installed as its wheel; returns a copy of its folder."""
    clean.install(clean.build(EXAMPLE))
    return EXAMPLE


@pytest.mark.parametrize(
    "command",
    [
        ("pytest", "-q", "-p", "no:cacheprovider"),
        ("ruff", "check", "--no-cache", "."),
        ("ruff", "format", "--no-cache", "--check", "."),
        ("mypy", "--cache-dir", os.devnull),
    ],
    ids=["tests", "lint", "format", "types"],
)
def test_a_new_lane_passes_its_own_checks_unchanged(
    clean: Clean, made: Path, command: tuple[str, ...]
) -> None:
    """What the template writes is sound before anybody touches it."""
    clean.run(clean.bin / "python", "-m", *command, cwd=made)


def test_a_new_lane_conforms(clean: Clean, made: Path) -> None:
    """The command runs the suite on it: nothing fails, and all that has samples passes."""
    report = clean.holon("lane", "check", NAME, "--suite", "tests/test_conformance.py", cwd=made)

    assert report["conforms"] is True
    assert report["counts"]["fail"] == 0
    passed = {row["check"] for row in report["results"] if row["verdict"] == "pass"}
    every = {row["check"] for row in report["results"]}
    assert every - passed == {"no-secret-kept", "keeps-output"}


def test_a_tool_of_a_new_lane_is_called_under_guard(clean: Clean, made: Path) -> None:
    """From the template to a governed call with evidence, no file edited outside the lane."""
    root = ("--root", clean.folder / "root")

    called = clean.holon(
        *("tool", "call", f"{NAME}/count-words", "text=to be or not", *root), cwd=made
    )
    trail = clean.holon("evidence", "list", *root, cwd=made)

    assert called["output"] == {"words": 4, "characters": 12}
    assert [record["kind"] for record in trail["records"]] == ["accepted", "completed"]


def test_a_stranger_s_path_prints_what_the_manual_shows(clean: Clean, tmp_path: Path) -> None:
    """Every command of the page, in order, in a clean environment; nothing is edited.

    Only the installation of the lane is carried out as a wheel beside the others: an isolated
    build would fetch its backend.
    """
    page = ROOT / "docs" / "lanes" / "a-strangers-path.md"
    path = f"{clean.bin}{os.pathsep}{os.environ['PATH']}"
    variables = {"PATH": path, "HOLON_ROOT": str(tmp_path / "root"), "COLUMNS": "100"}
    place, followed = tmp_path, []
    for command, shown in transcripts.steps(page):
        words = command.split()
        if words[0] == "cd":
            place /= words[1]
            continue
        if words[0] == "pip":
            clean.install(clean.build(place))
            continue
        done = subprocess.run(
            command,
            shell=True,
            cwd=place,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        followed.append(words[:3])
        assert transcripts.plain(done.stdout) == transcripts.plain(shown), command
        assert done.returncode == (3 if "../secret" in command else 0)
    assert ["holon", "tool", "call"] in followed
    assert len(followed) == 9


def test_the_shop_runs_from_its_wheel(clean: Clean) -> None:
    """The embedding example needs nothing of the repository, and the core alone for its script."""
    clean.install(clean.build(ROOT / "examples" / "shop-desk"))

    said = clean.run(clean.bin / "python", "-m", "shop_desk.script", clean.folder / "shop")

    assert "released: completed" in said


def test_the_example_conforms(clean: Clean, example: Path) -> None:
    """The SQL lane keeps every rule that applies to it."""
    suite = example / "tests" / "test_conformance.py"
    report = clean.holon("lane", "check", "holon-sql-files", "--suite", suite, cwd=clean.folder)

    assert [row for row in report["results"] if row["verdict"] == "fail"] == []
    passed = {row["check"] for row in report["results"] if row["verdict"] == "pass"}
    every = {row["check"] for row in report["results"]}
    assert every - passed == {"no-secret-kept"}


@pytest.mark.parametrize(
    "command",
    [
        ("pytest", "-q", "-p", "no:cacheprovider"),
        ("ruff", "check", "--no-cache", "."),
        ("ruff", "format", "--no-cache", "--check", "."),
        ("mypy", "--cache-dir", os.devnull),
    ],
    ids=["tests", "lint", "format", "types"],
)
def test_the_example_passes_its_own_checks(
    clean: Clean, example: Path, command: tuple[str, ...]
) -> None:
    """Against the installed wheels, as its author would run them."""
    clean.run(clean.bin / "python", "-m", *command, cwd=example)


def test_the_readme_s_query_answers(clean: Clean, example: Path, tmp_path: Path) -> None:
    """A person puts the README's file into a folder, names it, and calls it."""
    readme = (example / "README.md").read_text(encoding="utf-8")
    sql = readme.partition("```sql\n")[2].partition("```")[0]
    root, queries, work = (tmp_path / name for name in ("root", "queries", "work"))
    for folder in (root, queries, work):
        folder.mkdir()
    (queries / "orders-since.sql").write_text(sql, encoding="utf-8")
    (root / "holon.toml").write_text(
        f'[lane.holon-sql-files]\nfolder = "{queries}"\n', encoding="utf-8"
    )
    with closing(sqlite3.connect(work / "shop.db")) as shop, shop:
        shop.execute("create table orders(customer, day, cents)")
        shop.execute("insert into orders values ('ann', '2024-02-01', 100)")

    result = clean.holon(
        *("tool", "call", "holon-sql-files/orders-since", "since=2024-01-01"),
        *("--root", root, "--workspace", work),
        cwd=work,
    )

    assert result["output"] == {
        "columns": ["customer", "orders", "cents"],
        "rows": [["ann", 1, 100]],
        "truncated": False,
    }
