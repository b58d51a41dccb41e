"""The repository as a whole: its table, its files, its wheels."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import distributions
from clean import Environment, run
from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = distributions.read_table()
PIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*( ; .+)?")
# Written so that they do not find themselves.
FOREIGN = re.compile(
    r"py[p]i\.org|python[h]osted\.org|npm[j]s\.(org|com)|crate[s]\.io|proxy\.golan[g]\.org"
    r"|repo\d?\.mave[n]\.|(?<![\w.])/(roo[t]|wor[k])/|/tm[p]/spike"
)
IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if module.name.rpartition(".")[2] != "__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in sys.argv[2].split(","):
                raise
print(package.__file__)
"""


def tracked() -> list[Path]:
    """Return the text files that git tracks, or skip outside a checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


def pins() -> list[str]:
    """Return the lines of the constraints file without its head."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def unlisted(folder: str, package: str, settings: Path) -> list[str]:
    """Return the settings of the root that leave this distribution out."""
    tools = tomllib.loads(settings.read_text(encoding="utf-8"))["tool"]
    source = f"{folder}/src"
    lists = {
        "mypy files": source in tools["mypy"]["files"],
        "mypy_path": source in tools["mypy"]["mypy_path"],
        "ruff src": source in tools["ruff"]["src"],
        "coverage": package in tools["coverage"]["run"]["source_pkgs"],
        "import contracts": package in tools["importlinter"]["root_packages"],
    }
    return [name for name, listed in lists.items() if not listed]


def test_metadata_is_what_the_table_says() -> None:
    """Each generated file equals the one on disk."""
    assert distributions.differences(TABLE) == []


def test_every_folder_with_metadata_is_in_the_table() -> None:
    """No distribution escapes the table."""
    folders = {path.parent.name for path in ROOT.glob("*/pyproject.toml")}

    assert folders == {row.folder for row in TABLE.rows}


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.name)
def test_every_check_covers_every_distribution(row: distributions.Distribution) -> None:
    """Types, lint, coverage and import contracts leave no package out."""
    assert unlisted(row.folder, row.import_name, ROOT / "pyproject.toml") == []


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.name)
def test_a_distribution_has_all_its_files(row: distributions.Distribution) -> None:
    """README, changelog, licence and the typing marker are there."""
    source = f"src/{row.import_name}"
    wanted = ["README.md", "CHANGELOG.md", "LICENSE", f"{source}/__init__.py", f"{source}/py.typed"]

    assert [name for name in wanted if not (row.path / name).is_file()] == []


def test_no_tracked_file_names_a_registry_or_a_machine() -> None:
    """What is published holds on any machine."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match.group()}"
        for path in tracked()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1)
        if (match := FOREIGN.search(line))
    ]

    assert found == []


def test_constraints_are_exact_and_sorted() -> None:
    """Each line is one name with one version, and nothing else."""
    lines = pins()

    assert [line for line in lines if not PIN.fullmatch(line)] == []
    assert [line.partition("==")[0] for line in lines] == sorted(
        line.partition("==")[0] for line in lines
    )


def test_everything_asked_for_is_pinned() -> None:
    """The development group and all dependencies and extras have a pin that fits."""
    root = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [Requirement(text) for text in root["dependency-groups"]["dev"]]
    for row in TABLE.rows:
        texts = [*row.dependencies, *chain(*row.extras.values())]
        asked += [Requirement(text) for text in texts if text not in TABLE.names]
    pinned: dict[str, list[str]] = {}
    for line in pins():
        name, _, version = line.partition(" ;")[0].partition("==")
        pinned.setdefault(name, []).append(version)

    loose = [
        str(requirement)
        for requirement in asked
        for versions in [pinned.get(canonicalize_name(requirement.name), [])]
        if not versions or not all(version in requirement.specifier for version in versions)
    ]

    assert loose == []


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.name)
def test_public_names_are_sorted_and_exist(row: distributions.Distribution) -> None:
    """A package's `__all__` is in order, without repeats, and every name can be had."""
    package = importlib.import_module(row.import_name)
    names = list(getattr(package, "__all__", []))

    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(package, name)] == []


def test_every_test_says_what_it_holds() -> None:
    """Each test function, methods of test classes included, has a docstring."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]

    assert silent == []


def test_dev_starts_on_old_interpreters() -> None:
    """The script that looks for a newer Python parses on an old one."""
    source = (ROOT / "dev").read_text(encoding="utf-8")

    assert ast.parse(source, feature_version=(3, 6)).body


def test_dev_lists_its_commands() -> None:
    """Without a command, ./dev says what there is."""
    listing = run(sys.executable, "tools/dev.py", cwd=ROOT)

    assert {"setup", "demo", "test", "check"} <= set(listing.split())


def test_a_new_distribution_is_whole_and_agrees_with_the_table(tmp_path: Path) -> None:
    """One command makes the row and the folder of a lane."""
    shutil.copytree(
        ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    tool = (sys.executable, "tools/distributions.py")
    run(*tool, "write", cwd=tmp_path)

    run(*tool, "add", "holon-sample", "--description", "A sample", cwd=tmp_path)

    run(*tool, "compare", cwd=tmp_path)
    made = tmp_path / "holon_sample"
    assert 'name = "holon-sample"' in (made / "pyproject.toml").read_text(encoding="utf-8")
    assert (made / "src" / "holon_sample" / "py.typed").is_file()
    assert (tmp_path / "tests" / "sample" / "test_import.py").is_file()
    assert unlisted("holon_sample", "holon_sample", tmp_path / "pyproject.toml") == []


@pytest.mark.parametrize("name", ["Holon", "holon_x", "holon", "holon-core", "holon-x/../y"])
def test_a_bad_name_for_a_distribution_is_refused(tmp_path: Path, name: str) -> None:
    """A malformed or taken name makes nothing."""
    shutil.copytree(
        ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    before = sorted(tmp_path.rglob("*.toml"))

    done = subprocess.run(
        [sys.executable, "tools/distributions.py", "add", name],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 2
    assert sorted(tmp_path.rglob("*.toml")) == before
    assert (tmp_path / "tools/distributions.toml").read_bytes() == distributions.TABLE.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.name)
def test_a_wheel_works_alone(
    row: distributions.Distribution, wheels: dict[str, Path], tmp_path: Path
) -> None:
    """In a clean environment and an empty folder, each module imports with what is declared."""
    wheel = wheels[row.name]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert f"{row.import_name}/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {*row.packages}

    environment = Environment(tmp_path / "env", wheels)
    environment.install(wheel)
    empty = tmp_path / "empty"
    empty.mkdir()
    extras = {Requirement(text).name for text in chain(*row.extras.values())}
    modules = {name.replace("-", "_") for name in extras}
    absent = ",".join(sorted({*(n.partition("-")[0] for n in extras), *modules})) or "-"
    path = environment.run("-W", "error", "-c", IMPORT_ALL, row.import_name, absent, cwd=empty)

    assert Path(path.strip()).is_relative_to(environment.folder)


def test_a_clean_environment_holds_nothing_that_is_not_declared(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    """What the suite has and a wheel does not require is missing; an unmet version is told."""
    environment = Environment(tmp_path / "env", wheels)
    environment.install(wheels["holon-core"])
    find = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"

    found = environment.run("-c", find, "attrs", "httpx", "pytest", "pip", "click", cwd=tmp_path)

    assert found == "['attrs']\n"
    with pytest.raises(AssertionError, match="is not met by"):
        environment.install("attrs<1")
