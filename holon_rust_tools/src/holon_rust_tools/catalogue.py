"""The curated dependency catalogue: a data file, and what a host's configuration adds to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from holon_core import Misuse
from holon_rust_tools.toml import read_toml

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+][A-Za-z0-9.+-]+)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEYS = frozenset({"name", "version", "checksum", "features", "default_features", "depends"})


@frozen(kw_only=True)
class Crate:
    """One crate of the catalogue, exactly.

    ``features`` is ``None`` for a crate that only others need. ``depends`` are the names of the
    crates that its lock entry lists.
    """

    name: str
    version: str
    checksum: str
    features: tuple[str, ...] | None = None
    default_features: bool = True
    depends: tuple[str, ...] = ()


Catalogue = Mapping[str, Crate]


@cache
def curated() -> Catalogue:
    """Return the catalogue that comes with the lane."""
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return read_catalogue(text, "the curated catalogue")


def extended(path: str | None) -> Catalogue:
    """Return the catalogue, with what a host's file adds.

    Args:
        path: An absolute path of a file of the same form; ``None`` for none.

    Raises:
        Misuse: It can't be read, or says something else about a curated crate.
    """
    if path is None:
        return curated()
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Misuse(f"the catalogue {path} can't be read: {error}") from None
    base = curated()
    added = read_catalogue(text, path, known=base)
    for name, crate in added.items():
        if name in base and base[name] != crate:
            raise Misuse(f"{path}: {name} is in the curated catalogue, as something else")
    return {**base, **added}


def read_catalogue(text: str, where: str, *, known: Catalogue | None = None) -> Catalogue:
    """Read a catalogue.

    Args:
        text: TOML, a list of tables ``crate``.
        where: Its name, for what is wrong with it.
        known: Crates that it may depend on besides its own.

    Raises:
        Misuse: With the first fault.
    """
    try:
        data = read_toml(text)
    except ValueError as error:
        raise Misuse(f"{where}: {error}") from None
    rows = data.get("crate", [])
    if set(data) - {"crate"} or not isinstance(rows, list):
        raise Misuse(f"{where} has tables named crate and nothing else")
    made: dict[str, Crate] = {}
    for row in rows:
        crate = _crate(row, where)
        if crate.name in made:
            raise Misuse(f"{where}: {crate.name} is there twice; a crate has one version")
        made[crate.name] = crate
    there = {*made, *(known or {})}
    for crate in made.values():
        missing = sorted(set(crate.depends) - there)
        if missing:
            raise Misuse(f"{where}: {crate.name} depends on {', '.join(missing)}, which it lacks")
    return made


def _crate(row: Any, where: str) -> Crate:
    if not isinstance(row, dict) or set(row) - _KEYS:
        raise Misuse(f"{where}: a crate has {', '.join(sorted(_KEYS))}")
    name = row.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Misuse(f"{where}: a crate without a usable name")
    version, checksum = row.get("version"), row.get("checksum")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise Misuse(f"{where}: {name} needs an exact version")
    if not isinstance(checksum, str) or not _SHA256.fullmatch(checksum):
        raise Misuse(f"{where}: {name} needs its SHA-256 checksum")
    features, depends = row.get("features"), row.get("depends", [])
    default = row.get("default_features", True)
    if not isinstance(default, bool) or not _texts(depends):
        raise Misuse(f"{where}: default_features or depends of {name} is no such thing")
    if features is not None and not _texts(features):
        raise Misuse(f"{where}: features of {name} is a list of texts")
    return Crate(
        name=name,
        version=version,
        checksum=checksum,
        features=None if features is None else tuple(sorted(features)),
        default_features=default,
        depends=tuple(sorted(depends)),
    )


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def closure(catalogue: Catalogue, names: Iterable[str]) -> dict[str, Crate]:
    """Return crates with all that they need; names that are not there are left out."""
    found: dict[str, Crate] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        crate = catalogue.get(name)
        if crate is not None and name not in found:
            found[name] = crate
            wanted.extend(crate.depends)
    return found
