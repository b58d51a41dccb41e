"""Cargo.toml: read as TOML, against a list of what it may say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from holon_rust_tools.catalogue import Catalogue
from holon_rust_tools.findings import RustFinding
from holon_rust_tools.paths import MANIFEST
from holon_rust_tools.toml import read_toml

EDITIONS = ("2018", "2021", "2024")
_PACKAGE = frozenset(
    {"name", "version", "edition", "rust-version", "description", "license", "authors", "publish"}
)
_TABLES = frozenset({"package", "bin", "lib", "dependencies", "dev-dependencies"})
_TARGET_KEYS = frozenset({"name", "path"})
_DEPENDENCY_KEYS = frozenset({"version", "features", "default-features"})
# What runs while the package is built, by table or key.
_BUILD = {"build", "links", "metabuild"}
_DENIED_TABLES = ("patch", "replace", "workspace", "target", "build-dependencies", "features")
_UNDERSCORED = {"build_dependencies", "dev_dependencies"}
_VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:[-+][A-Za-z0-9.+-]{1,60})?")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
# Every place of a manifest in which dependencies can stand.
_IN_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")


@frozen(kw_only=True)
class Manifest:
    """What a sound manifest says."""

    name: str = ""
    version: str = "0.0.0"
    depends: tuple[str, ...] = ()
    binaries: Mapping[str, str] = {}


def read_manifest(
    text: str, catalogue: Catalogue, files: frozenset[str]
) -> tuple[Manifest, list[RustFinding]]:
    """Read a manifest and name everything in it that is not allowed.

    Args:
        text: The file.
        catalogue: What may be depended on.
        files: Paths of the proposal's files.
    """
    try:
        data = read_toml(text)
    except ValueError as error:
        return Manifest(), [_found("rust_manifest", f"no TOML: {error}", text)]
    found = [*_tables(data, text), *_package(data.get("package"), text)]
    binaries: dict[str, str] = {}
    found += [*_targets(data, files, text, binaries)]
    found += [*_dependencies(data, catalogue, text)]
    package = data.get("package")
    package = package if isinstance(package, dict) else {}
    direct = {
        name
        for table in (data.get("dependencies"), data.get("dev-dependencies"))
        if isinstance(table, dict)
        for name in table
    }
    made = Manifest(
        name=str(package.get("name", "")),
        version=str(package.get("version", "0.0.0")),
        depends=tuple(sorted(direct)),
        binaries=binaries,
    )
    return made, found


def _tables(data: Mapping[str, Any], text: str) -> Iterator[RustFinding]:
    for name in data:
        if name in _TABLES:
            continue
        if name in _DENIED_TABLES or name in _UNDERSCORED:
            yield _found("rust_dependency_denied", f"[{name}] is not allowed", text, name)
        elif name == "lints":
            rule = "rust_unsafe" if "unsafe" in str(data[name]) else "rust_manifest"
            yield _found(rule, "[lints]: what is a fault is the runtime's to say", text, name)
        elif name in ("cargo-features", "project"):
            yield _found("rust_manifest", f"{name} is not allowed", text, name)
        else:
            yield _found("rust_manifest", f"[{name!s:.60}] is not on the list", text, name)


def _package(package: Any, text: str) -> Iterator[RustFinding]:
    if not isinstance(package, dict):
        yield _found("rust_manifest", "[package] is missing", text)
        return
    for key in package:
        if key in _BUILD:
            told = f"package.{key}: code that runs while it is built"
            yield _found("rust_build_script", told, text, key)
        elif key == "workspace":
            yield _found("rust_dependency_denied", "package.workspace is not allowed", text, key)
        elif key not in _PACKAGE:
            yield _found("rust_manifest", f"package.{key!s:.60} is not on the list", text, key)
    name, version = package.get("name"), package.get("version")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield _found("rust_manifest", "package.name is missing or no name of a crate", text, "name")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        yield _found("rust_manifest", "package.version is no version", text, "version")
    if package.get("edition") not in EDITIONS:
        told = f"package.edition is one of {', '.join(EDITIONS)}"
        yield _found("rust_manifest", told, text, "edition")
    for key in ("rust-version", "description", "license"):
        if not isinstance(package.get(key, ""), str):
            yield _found("rust_manifest", f"package.{key} is a text", text, key)


def _targets(
    data: Mapping[str, Any], files: frozenset[str], text: str, binaries: dict[str, str]
) -> Iterator[RustFinding]:
    package = data.get("package")
    crate = package.get("name") if isinstance(package, dict) else None
    if "src/main.rs" in files and isinstance(crate, str):
        binaries[crate] = "src/main.rs"
    for path in sorted(files):
        parts = path.split("/")
        if path.startswith("src/bin/") and path.endswith(".rs"):
            if len(parts) == 3:
                binaries[parts[2].removesuffix(".rs")] = path
            elif len(parts) == 4 and parts[3] == "main.rs":
                binaries[parts[2]] = path
    rows = data.get("bin", [])
    if not isinstance(rows, list):
        yield _found("rust_manifest", "bin is a list of tables, [[bin]]", text, "bin")
        rows = []
    for row in rows:
        yield from _target("bin", row, files, text)
        named = row if isinstance(row, dict) else {}
        if isinstance(named.get("name"), str) and isinstance(named.get("path"), str):
            binaries[named["name"]] = named["path"]
    if "lib" in data:
        yield from _target("lib", data["lib"], files, text)


def _target(kind: str, row: Any, files: frozenset[str], text: str) -> Iterator[RustFinding]:
    if not isinstance(row, dict):
        yield _found("rust_manifest", f"{kind} is a table", text, kind)
        return
    for key in row:
        if key in ("proc-macro", "proc_macro", "plugin", "crate-type", "crate_type"):
            told = f"{kind}.{key}: a crate that is run by the compiler, or loaded by others"
            yield _found("rust_build_script", told, text, key)
        elif key not in _TARGET_KEYS:
            yield _found("rust_manifest", f"{kind}.{key!s:.60} is not on the list", text, key)
    path, name = row.get("path"), row.get("name")
    if name is not None and (not isinstance(name, str) or not _NAME.fullmatch(name)):
        yield _found("rust_manifest", f"{kind}.name is no name", text, "name")
    if path is not None and (path not in files or not str(path).endswith(".rs")):
        told = f"{kind}.path {path!r:.80} is no .rs file of the proposal"
        yield _found("rust_external_input", told, text, "path")


def _dependencies(
    data: Mapping[str, Any], catalogue: Catalogue, text: str
) -> Iterator[RustFinding]:
    for where, table in _dependency_tables(data):
        if not isinstance(table, dict):
            yield _found("rust_manifest", f"[{where}] is a table", text)
            continue
        for name, wanted in table.items():
            allowed = where in ("dependencies", "dev-dependencies")
            problem = _denied(name, wanted, catalogue) if allowed else "no place for dependencies"
            if problem is not None:
                told = f"[{where}] {name!s:.64}: {problem}"
                yield _found("rust_dependency_denied", told, text, name)


def _dependency_tables(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Go through every table in which cargo looks for dependencies."""
    for name in (*_IN_TABLES, "build_dependencies", "dev_dependencies"):
        if name in data:
            yield name, data[name]
    targets = data.get("target")
    for target, inner in targets.items() if isinstance(targets, dict) else ():
        for name in _IN_TABLES:
            if isinstance(inner, dict) and name in inner:
                yield f"target.{target!s:.60}.{name}", inner[name]
    patches = data.get("patch")
    for registry, inner in patches.items() if isinstance(patches, dict) else ():
        yield f"patch.{registry!s:.60}", inner
    if isinstance(data.get("replace"), dict):
        yield "replace", data["replace"]
    workspace = data.get("workspace")
    if isinstance(workspace, dict) and "dependencies" in workspace:
        yield "workspace.dependencies", workspace["dependencies"]


def _denied(name: str, wanted: Any, catalogue: Catalogue) -> str | None:
    """Say why a dependency is none of the catalogue; ``None`` where it is one."""
    spec = {"version": wanted} if isinstance(wanted, str) else wanted
    if not isinstance(spec, dict):
        return "neither a version nor a table"
    for key, told in (
        ("package", "renamed; depend on a crate by its own name"),
        ("git", "a git dependency"),
        ("path", "a path dependency"),
        ("registry", "of another registry"),
        ("registry-index", "of another registry"),
        ("workspace", "of a workspace"),
    ):
        if key in spec:
            return told
    more = sorted(set(spec) - _DEPENDENCY_KEYS)
    if more:
        return f"{', '.join(more)[:80]} is not allowed"
    return not_catalogued(
        catalogue,
        name=name,
        version=spec.get("version"),
        features=spec.get("features", []),
        default_features=spec.get("default-features", True),
    )


def not_catalogued(
    catalogue: Catalogue, *, name: str, version: Any, features: Any, default_features: Any
) -> str | None:
    """Say how a crate that is asked for differs from the catalogue; ``None`` where it is it."""
    crate = catalogue.get(name)
    if crate is None or crate.features is None:
        there = ", ".join(sorted(_askable(catalogue)))
        return f"not in the catalogue, which has {there}"
    if not isinstance(version, str) or version.removeprefix("=").strip() != crate.version:
        return f"the catalogue has exactly {crate.version}"
    if not isinstance(features, list) or sorted(map(str, features)) != list(crate.features):
        return f"the catalogue has exactly the features [{', '.join(crate.features)}]"
    if default_features is not crate.default_features:
        return f"default-features is {str(crate.default_features).lower()} in the catalogue"
    return None


def _askable(catalogue: Catalogue) -> list[str]:
    return [each.name for each in catalogue.values() if each.features is not None]


def _found(rule: str, message: str, text: str, word: str = "") -> RustFinding:
    """Make a finding; its line is the first one that has the word as a key or in a header."""
    line = 0
    if word:
        key = re.compile(rf"^\s*(?:\[+[^\]]*\b{re.escape(word)}\b|\"?{re.escape(word)}\"?\s*[.=])")
        for number, each in enumerate(text.splitlines(), 1):
            if key.search(each):
                line = number
                break
    return RustFinding(rule=rule, message=message, file=MANIFEST, line=line)
