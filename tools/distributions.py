"""The table of distributions, and the files that are generated from it."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tools" / "distributions.toml"

CLASSIFIERS = [
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Developers",
    "Operating System :: MacOS",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3.10",
    "Programming Language :: Python :: 3.11",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Typing :: Typed",
]


@dataclass(frozen=True)
class Distribution:
    """One row: what a distribution is called, needs and offers."""

    name: str
    folder: str
    description: str
    dependencies: list[str] = field(default_factory=list)
    extras: dict[str, list[str]] = field(default_factory=dict)
    plugins: dict[str, str] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    """Further import packages, each a program that is run by ``python -m``."""

    @property
    def import_name(self) -> str:
        """The package that this distribution installs."""
        return self.name.replace("-", "_")

    @property
    def packages(self) -> list[str]:
        """All packages that it installs."""
        return [self.import_name, *self.programs]

    @property
    def path(self) -> Path:
        """Its folder in this repository."""
        return ROOT / self.folder


@dataclass(frozen=True)
class Table:
    """All rows and what they share."""

    version: str
    next_version: str
    requires_python: str
    rows: list[Distribution]

    @property
    def names(self) -> set[str]:
        """The names of all distributions here."""
        return {row.name for row in self.rows}

    @property
    def sibling_range(self) -> str:
        """How a distribution binds another one of this repository."""
        return f">={self.version.rpartition('.')[0]},<{self.next_version}"


def read_table(path: Path = TABLE) -> Table:
    """Read the table; unknown keys are an error."""
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return Table(
        version=data.pop("version"),
        next_version=data.pop("next-version"),
        requires_python=data.pop("requires-python"),
        rows=[Distribution(**row) for row in data.pop("distribution")],
    )


def generated_files(table: Table) -> dict[Path, str]:
    """Return every generated file with the text that it must have."""
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    files: dict[Path, str] = {}
    for row in table.rows:
        files[row.path / "pyproject.toml"] = pyproject(row, table)
        files[row.path / "LICENSE"] = licence
    return files


def differences(table: Table) -> list[str]:
    """Return the generated files that are missing or not as the table says."""
    return [
        str(path.relative_to(ROOT))
        for path, text in generated_files(table).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def write(table: Table) -> list[str]:
    """Write the generated files that differ and return their paths."""
    changed = differences(table)
    texts = generated_files(table)
    for name in changed:
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
    return changed


def pyproject(row: Distribution, table: Table) -> str:
    """Return the pyproject.toml of one distribution."""
    siblings = [name for name in row.dependencies if name in table.names]
    dependencies = [
        name + table.sibling_range if name in siblings else name for name in row.dependencies
    ]
    lines = [
        "# Generated from tools/distributions.toml by `./dev distributions`; edit the table.",
        "",
        "[build-system]",
        'requires = ["hatchling>=1.27"]',
        'build-backend = "hatchling.build"',
        "",
        "[project]",
        f"name = {_quoted(row.name)}",
        f"version = {_quoted(table.version)}",
        f"description = {_quoted(row.description)}",
        'readme = "README.md"',
        f"requires-python = {_quoted(table.requires_python)}",
        'license = "Apache-2.0"',
        'license-files = ["LICENSE"]',
        *_list("classifiers", CLASSIFIERS),
        *_list("dependencies", dependencies),
        *_section("project.optional-dependencies", row.extras),
        *_section("project.entry-points.holon", row.plugins),
        *_section("project.scripts", row.scripts),
        "",
        "[tool.hatch.build.targets.wheel]",
        f"packages = [{', '.join(_quoted(f'src/{name}') for name in row.packages)}]",
    ]
    if siblings:
        lines += ["", "[tool.uv.sources]"]
        lines += [f"{name} = {{ workspace = true }}" for name in siblings]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text)


def _list(key: str, values: list[str]) -> list[str]:
    if not values:
        return [f"{key} = []"]
    return [f"{key} = [", *(f"    {_quoted(value)}," for value in values), "]"]


def _section(title: str, entries: dict[str, Any]) -> list[str]:
    if not entries:
        return []
    rows = [f"{key} = {json.dumps(value)}" for key, value in sorted(entries.items())]
    return ["", f"[{title}]", *rows]


def add(name: str, description: str) -> list[str]:
    """Append a row for a new lane and make its folder; return what was made.

    Raises:
        ValueError: the name is not a distribution name of this repository's form, or is taken.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        raise ValueError(f"{name!r} is not a name like holon-my-lane")
    if name in read_table().names:
        raise ValueError(f"{name} is already in {TABLE.name}")
    row = Distribution(
        name=name,
        folder=name.replace("-", "_"),
        description=description,
        dependencies=["holon-core"],
    )
    with TABLE.open("a", encoding="utf-8") as table:
        table.write(
            f"\n[[distribution]]\nname = {_quoted(row.name)}\nfolder = {_quoted(row.folder)}\n"
            f'description = {_quoted(row.description)}\ndependencies = ["holon-core"]\n'
        )
    _list_in_workspace(row)
    made = write(read_table())
    return ["pyproject.toml", *made, *_make_folder(row)]


def _list_in_workspace(row: Distribution) -> None:
    """Add the row wherever the root's settings list packages or source folders."""
    path = ROOT / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    for last, new in (("holon_cli/src", f"{row.folder}/src"), ("holon_cli", row.import_name)):
        text = text.replace(
            f"    {_quoted(last)},\n", f"    {_quoted(last)},\n    {_quoted(new)},\n"
        )
    path.write_text(text, encoding="utf-8")


def _make_folder(row: Distribution) -> list[str]:
    source = row.path / "src" / row.import_name
    short = row.import_name.removeprefix("holon_")
    texts = {
        row.path / "README.md": f"# {row.name}\n\n{row.description}.\n\n"
        f"```console\n$ pip install {row.name}\n```\n",
        row.path / "CHANGELOG.md": f"# Changes of {row.name}\n\n## 0.1.0 (unreleased)\n",
        source / "__init__.py": f'"""{row.description}."""\n',
        source / "py.typed": "",
        ROOT / "tests" / short / "test_import.py": (
            f'"""{row.name} as a whole."""\n\nimport {row.import_name}\n\n\n'
            "def test_the_package_says_what_it_is() -> None:\n"
            '    """The package imports and says what it is."""\n'
            f"    assert {row.import_name}.__doc__\n"
        ),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [str(path.relative_to(ROOT)) for path in texts]


def main(arguments: list[str] | None = None) -> int:
    """Compare, write or add; the exit code says whether it went well."""
    parser = argparse.ArgumentParser(prog="distributions")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("compare", help="name the files that differ from the table")
    commands.add_parser("write", help="write the files that differ from the table")
    new = commands.add_parser("add", help="add a distribution")
    new.add_argument("name", help="such as holon-my-lane")
    new.add_argument("--description", default="A lane of Holon", help="one line, no full stop")
    options = parser.parse_args(arguments)
    if options.command == "compare":
        stale = differences(read_table())
        for name in stale:
            print(f"{name} is not what the table says; run ./dev distributions")
        return 1 if stale else 0
    try:
        names = (
            write(read_table())
            if options.command == "write"
            else add(options.name, options.description)
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(f"wrote {name}" for name in names) or "nothing to write")
    return 0


if __name__ == "__main__":
    sys.exit(main())
