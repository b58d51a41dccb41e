"""``elegy-lock/v1``: a package held against what somebody reviewed and locked.

A lock stands among the files of a package, or beside its archive, where alone it can have the
archive's own digest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from elegy_contracts.reading import examine
from holon_plugin_packages.normalising import json_data, json_file
from holon_plugin_packages.readers.building import Builder
from holon_plugin_packages.readers.elegy_parts import as_finding

PLACE = "elegy-package.json"
LOCKS = ("elegy-lock.json", "elegy.lock.json")
CODE = "package_manifest_invalid"
DRIFT = "package_digest_mismatch"
# What a target triple says of the system that it is for, by the name that Python has for that.
_SYSTEMS = {"win32": "windows", "darwin": "apple", "linux": "linux"}


def runs_here(target: str) -> bool:
    """Tell whether a target is of this system; unknown words are not held against it."""
    named = [word for word in _SYSTEMS.values() if word in target]
    here = _SYSTEMS.get(sys.platform, sys.platform)
    return target == "any" or not named or here in named


def held_to_locks(builder: Builder, data: Mapping[str, Any]) -> tuple[frozenset[str] | None, str]:
    """Hold a package against every lock that comes with it.

    Returns:
        The capabilities that all of them allow, ``None`` where there is no lock; and the target
        that was chosen.
    """
    package = builder.package
    locks = {f"beside the archive: {name}": lock for name, lock in package.beside.items()}
    locks.update({name: package.files[name] for name in LOCKS if name in package.files})
    allowed: frozenset[str] | None = None
    target = ""
    for name, lock in locks.items():
        entry = _entry(builder, data, name, lock)
        if entry is not None:
            some = frozenset(entry["allowedCapabilities"])
            allowed = some if allowed is None else allowed & some
            target = entry["target"]
    return allowed, target


def _entry(builder: Builder, data: Mapping[str, Any], name: str, lock: bytes) -> Any:
    given, faults = json_data(lock, name)
    one = examine("elegy-lock-v1", given)
    builder.findings.extend([*faults, *(as_finding(each) for each in one.findings)])
    if faults or not one.valid:
        builder.refuse(CODE, f"the lock is refused: {name}")
        return None
    packages = list(enumerate(one.data["packages"]))
    found = next(((at, e) for at, e in packages if e["name"] == data["name"]), None)
    if found is None:
        builder.refuse(DRIFT, f"{name} does not lock {data['name']}", "/packages")
        return None
    at, entry = found
    for member, problem in _problems(builder, data, entry):
        builder.refuse(DRIFT, f"{name}: {problem}", f"/packages/{at}/{member}")
    if not builder.package.archive_sha256:
        text = (
            f"{name}: archiveSha256 is of an archive, and this is a folder; register the archive "
            "with the lock beside it to have it checked"
        )
        builder.warn(CODE, text, f"/packages/{at}/archiveSha256")
    return entry


def _problems(
    builder: Builder, data: Mapping[str, Any], entry: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the members of a lock's entry that this package is not as they say."""
    files = builder.package.files
    digests = {
        each["executable"]: sha256(
            files.get(each["executable"].removeprefix("./"), b"")
        ).hexdigest()
        for each in data["entrypoints"]
    }
    manifest, _ = json_file(builder.package, PLACE)
    place = data["capabilityCatalog"].removeprefix("./")
    catalogue = json_file(builder.package, place)[0] if place in files else None
    checks = {
        "version": data["version"],
        "publisher": data["publisher"]["repository"],
        "executableDigests": digests,
        "manifestSha256": _compact(manifest, sort=False),
        "capabilityCatalogSha256": _compact(catalogue, sort=True),
        "archiveSha256": builder.package.archive_sha256 or entry["archiveSha256"],
    }
    for name, here in checks.items():
        locked = dict(entry[name]) if name == "executableDigests" else entry[name]
        if locked != here:
            yield name, f"{name} is another than the package's"
    targets = data["targets"]
    if entry["target"] not in targets and "any" not in targets:
        shown = ", ".join(map(str, targets))[:200]
        yield "target", f"the package has no target {entry['target']!r:.100}; it has {shown}"
    # Where the bytes came from is nothing that they say; that it names one place is seen.
    if not _is_place(entry["source"]):
        yield "source", "the source is no https address, or has a user in it"


def _is_place(source: str) -> bool:
    try:
        parts = urlsplit(source)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc


def _compact(data: Any, *, sort: bool) -> str:
    """Return the digest of compact JSON, absent members left out."""
    text = json.dumps(
        _without_nulls(data), sort_keys=sort, separators=(",", ":"), ensure_ascii=False
    )
    return sha256(text.encode()).hexdigest()


def _without_nulls(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _without_nulls(value) for name, value in data.items() if value is not None}
    if isinstance(data, list):
        return [_without_nulls(each) for each in data]
    return data
