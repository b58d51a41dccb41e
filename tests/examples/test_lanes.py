"""Lanes by others, as their authors have them: as wheels, in a clean environment."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import transcripts
from clean import Environment, build, run
from support import ROOT

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "holon-sql-files"
TOOLS = ("pytest", "mypy", "ruff")


class Clean:
    """A fresh environment that holds the wheels of core and command, and the tools of an author."""

    def __init__(self, folder: Path, wheels: dict[str, Path]) -> None:
        self.folder = folder
        self._environment = Environment(folder / "env", wheels)
        self.bin = self._environment.bin
        self.types = folder / "types"
        self._environment.install("holon-core[testing]", "holon-cli", *TOOLS)

    def install(self, project: Path) -> None:
        """Build a project's wheel, and install it."""
        self._environment.install(*build(self.folder / "wheels", project))

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """Run a command that has to succeed, from the folder of this environment if not said."""
        return run(*command, cwd=cwd or self.folder)

    def holon(self, *words: str | Path, cwd: Path) -> Any:
        """Run the command for programs; return its document."""
        return json.loads(self.run(self.bin / "holon", *words, "--json", cwd=cwd))


@pytest.fixture(scope="module")
def clean(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """One environment for the tests of this module."""
    return Clean(tmp_path_factory.mktemp("clean"), wheels)


@pytest.fixture(scope="module")
def example(clean: Clean) -> Path:
    """The example's lane, installed as its wheel; returns a copy of its folder."""
    clean.install(EXAMPLE)
    return EXAMPLE


def test_a_stranger_s_path_prints_what_the_manual_shows(clean: Clean, tmp_path: Path) -> None:
    """Every command of the page, in order, in a clean environment; nothing is edited.

    Only the installation of the lane is carried out as a wheel beside the others: an isolated
    build would fetch its backend.
    """
    page = ROOT / "docs" / "lanes" / "a-strangers-path.md"
    path = f"{clean.bin}{os.pathsep}{os.environ['PATH']}"
    variables = {
        "PATH": path,
        "HOLON_ROOT": str(tmp_path / "root"),
        "COLUMNS": "100",
        "MYPY_CACHE_DIR": str(clean.types),
    }
    place, followed = tmp_path, []
    for command, shown in transcripts.steps(page):
        words = command.split()
        if words[0] == "cd":
            place /= words[1]
            continue
        if words[0] == "pip":
            clean.install(place)
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
    clean.install(ROOT / "examples" / "shop-desk")

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
        ("mypy",),
    ],
    ids=["tests", "lint", "format", "types"],
)
def test_the_example_passes_its_own_checks(
    clean: Clean, example: Path, command: tuple[str, ...]
) -> None:
    """Against the installed wheels, as its author would run them."""
    cache = ("--cache-dir", clean.types) if command == ("mypy",) else ()
    clean.run(clean.bin / "python", "-m", *command, *cache, cwd=example)


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
