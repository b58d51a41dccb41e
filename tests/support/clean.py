"""Wheels as a release builds them, and clean environments that hold what they declare.

An environment is made without pip: a wheel is unpacked, as pip does with one that has no code to
compile, and of what it requires, and what that requires in turn, each distribution is linked from
the environment that the suite runs in, where the pinned versions are. Nothing else is there, so
that what a wheel uses and does not declare is missing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Sequence
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import Distribution, EntryPoint, distribution
from importlib.metadata import PathDistribution as OnPath
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import distributions
from support import ROOT

# Each project in turn, by the backend that it names, as `pip wheel` and `build` call it.
_BUILD = """
import os, sys, tomllib
from importlib import import_module
out, *projects = sys.argv[1:]
for project in projects:
    os.chdir(project)
    with open("pyproject.toml", "rb") as file:
        backend = tomllib.load(file)["build-system"]["build-backend"]
    print(import_module(backend).build_wheel(out))
"""
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import {name}\nsys.exit({attribute}())\n"


def build(folder: Path, *projects: Path) -> list[Path]:
    """Build the wheels of projects into a folder, and return them in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    toml = "tomllib" if sys.version_info >= (3, 11) else "tomli as tomllib"
    code = _BUILD.replace("tomllib\n", f"{toml}\n", 1)
    printed = run(sys.executable, "-W", "ignore", "-c", code, folder, *projects, cwd=folder)
    return [folder / name for name in printed.split()]


def run(*command: str | Path, cwd: Path, code: int = 0) -> str:
    """Run a command without input and return its output; its error text is in a failure."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of each distribution of this repository, built once a run of the suite."""
    base = tmp_path_factory.getbasetemp()
    # Workers of one run have folders side by side.
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, rows = base / "wheels", distributions.read_table().rows
    with (base / "wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            build(folder, *(row.path for row in rows))
            (folder / "whole").touch()
    return {row.name: _one(folder.glob(f"{row.import_name}-*.whl")) for row in rows}


def _one(paths: Iterable[Path]) -> Path:
    (path,) = paths
    return path


class Environment:
    """An environment of its own, and what was put into it.

    Args:
        folder: Where it is made.
        wheels: Those of this repository, by name; what a wheel requires is taken from here first.
    """

    def __init__(self, folder: Path, wheels: dict[str, Path]) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.folder = folder
        self.bin = folder / "bin"
        self.python = self.bin / "python"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.site = folder / "lib" / version / "site-packages"
        self._wheels = wheels
        self._there: dict[str, str] = {}

    def install(self, *wanted: str | Path) -> None:
        """Put wheels, and requirements by name, into it, with all that they require."""
        for each in wanted:
            if isinstance(each, Path):
                self._unpack(each, extras=())
            else:
                self._require(Requirement(each))

    def uninstall(self, name: str) -> None:
        """Take out what a wheel brought."""
        (info,) = self.site.glob(f"{name.replace('-', '_')}-*.dist-info")
        for top in {Path(file).parts[0] for file in OnPath(info).files or ()}:
            shutil.rmtree(self.site / top)
        del self._there[name]

    def run(self, *words: str | Path, cwd: Path, code: int = 0) -> str:
        """Run its interpreter."""
        return run(self.python, *words, cwd=cwd, code=code)

    def _unpack(self, wheel: Path, extras: Sequence[str]) -> None:
        with zipfile.ZipFile(wheel) as archive:
            tops = {Path(name).parts[0] for name in archive.namelist()}
            (info,) = (top for top in tops if top.endswith(".dist-info"))
            for top in tops:
                # A newer build of it takes the place of the one before.
                shutil.rmtree(self.site / top, ignore_errors=True)
            archive.extractall(self.site)
        found = OnPath(self.site / info)
        self._there[canonicalize_name(found.metadata["Name"])] = found.version
        self._scripts(found.entry_points)
        self._requirements(found, extras)

    def _require(self, wanted: Requirement) -> None:
        name = canonicalize_name(wanted.name)
        if name in self._wheels:
            there = self._there.get(name)
            if there is None or wanted.extras:
                self._unpack(self._wheels[name], sorted(wanted.extras))
        elif name not in self._there:
            found = distribution(name)
            self._there[name] = found.version
            self._link(found)
            self._requirements(found, sorted(wanted.extras))
        elif wanted.extras:
            self._requirements(distribution(name), sorted(wanted.extras))
        fits = wanted.specifier.contains(self._there[name], prereleases=True)
        assert fits, f"{wanted} is not met by {self._there[name]}"

    def _requirements(self, found: Distribution, extras: Sequence[str]) -> None:
        head: Message = HeaderParser().parsestr(found.read_text("METADATA") or "")
        for text in head.get_all("Requires-Dist", []):
            need = Requirement(text)
            asked = ({"extra": extra} for extra in ("", *extras))
            if need.marker is None or any(map(need.marker.evaluate, asked)):
                self._require(need)

    def _link(self, found: Distribution) -> None:
        """Link the files of a distribution of the suite's own environment."""
        here = Path(str(found.locate_file("")))
        for file in found.files or ():
            at = Path(os.path.normpath(self.site / file))
            whole = _whole(here, Path(file))
            if ".." in whole.parts:
                self._program(here / file, at)
            elif not (self.site / whole).is_symlink():
                (self.site / whole).parent.mkdir(parents=True, exist_ok=True)
                (self.site / whole).symlink_to(here / whole)
        self._scripts(found.entry_points)

    def _program(self, source: Path, at: Path) -> None:
        # Scripts name the interpreter that they were made for; those are written anew.
        with source.open("rb") as file:
            if at.parent == self.bin and file.read(2) != b"#!":
                at.symlink_to(os.path.normpath(source))

    def _scripts(self, points: Iterable[EntryPoint]) -> None:
        for point in points:
            if point.group == "console_scripts":
                path, words = self.bin / point.name, point.attr.partition(".")[0]
                said = {"module": point.module, "name": words, "attribute": point.attr}
                path.write_text(_SCRIPT.format(python=self.python, **said), encoding="utf-8")
                path.chmod(0o755)


def _whole(here: Path, file: Path) -> Path:
    """Return the outermost folder of a file that one distribution alone has, or the file."""
    for depth in range(1, len(file.parts)):
        folder = Path(*file.parts[:depth])
        if folder.suffix == ".dist-info" or (here / folder / "__init__.py").exists():
            return folder
    return file


def pinned_pip() -> list[str]:
    """Return what tells a pip of another environment where to look, and for which versions."""
    links = os.environ.get("PIP_FIND_LINKS", "").split()
    where = [part for link in links for part in ("--find-links", link)]
    return [*where, "--constraint", str(ROOT / "constraints.txt")]
