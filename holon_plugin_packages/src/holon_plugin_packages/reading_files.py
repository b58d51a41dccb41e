"""The files of a package, from a folder, an archive or one file: read once, judged, bounded."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from attrs import evolve, field, frozen

from holon_core.errors import Rejected
from holon_core.records.finding import Finding
from holon_core.records.words import Severity
from holon_plugin_packages.limits import PackageLimits
from holon_plugin_packages.paths import collisions, escaping, path_problem
from holon_plugin_packages.records import PackageFiles

# What tools leave in folders, and is no part of a package.
LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store"})
MAX_FINDINGS = 200
MAX_LOCK_BYTES = 1024 * 1024


@frozen
class Collected:
    """Files as they are collected: bounded, and every fault kept."""

    limits: PackageLimits
    files: dict[str, bytes] = field(factory=dict)
    findings: list[Finding] = field(factory=list)
    counts: dict[str, int] = field(factory=lambda: {"bytes": 0, "files": 0})

    def left(self) -> int:
        """Return how many bytes more are taken."""
        return self.limits.max_bytes - self.counts["bytes"]

    def refuse(self, code: str, message: str) -> None:
        """Keep a fault."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(code=code, message=message))

    def admit(self, path: str) -> bool:
        """Tell whether a name is taken; count it."""
        self.counts["files"] += 1
        if self.counts["files"] > self.limits.max_files:
            raise Rejected("package", [*self.findings, too_many(self.limits)])
        if path_problem(path):
            self.findings.append(escaping(path))
            return False
        if path in self.files:
            self.refuse("package_duplicate_entry", f"{path!r:.200} is there twice")
            return False
        return True

    def add(self, path: str, data: bytes) -> None:
        """Take a file."""
        self.counts["bytes"] += len(data)
        if self.left() < 0:
            raise Rejected("package", [*self.findings, too_large(self.limits)])
        self.files[path] = data

    def done(self, where: str, *, folder: str = "") -> PackageFiles:
        """Return the files.

        Raises:
            Rejected: Any entry is refused; with all that was found.
        """
        found = [*self.findings, *collisions(self.files)]
        if any(each.severity is Severity.ERROR for each in found):
            raise Rejected("package", found[:MAX_FINDINGS])
        return PackageFiles(files=self.files, where=where, folder=folder, findings=tuple(found))


def too_large(limits: PackageLimits) -> Finding:
    """Make the finding of a package that is too large."""
    text = f"the package has more than {limits.max_bytes} bytes; [lane.packages] max_bytes"
    return Finding(code="package_too_large", message=text)


def too_many(limits: PackageLimits) -> Finding:
    """Make the finding of a package of too many files."""
    text = f"the package has more than {limits.max_files} files; [lane.packages] max_files"
    return Finding(code="package_too_large", message=text)


def refused(code: str, message: str) -> Rejected:
    """Make the refusal of a whole package."""
    return Rejected("package", [Finding(code=code, message=message)])


def read_path(path: str, limits: PackageLimits) -> PackageFiles:
    """Read a package from a folder, a zip, a tar (gz, bz2, xz) or a manifest's own file.

    Args:
        path: Of this machine.
        limits: How much is taken.

    Raises:
        Rejected: It cannot be read, or any entry is refused; nothing was written.
    """
    try:
        found = Path(os.path.realpath(path))
        mode = found.stat().st_mode
    except (OSError, ValueError) as error:
        text = f"it cannot be read: {getattr(error, 'strerror', None) or 'not a path'}"
        raise refused("source_invalid", text) from None
    if stat.S_ISDIR(mode):
        return read_folder(found, limits)
    if not stat.S_ISREG(mode):
        raise refused("package_entry_type", "it is neither a folder nor a regular file")
    data = _read(found, limits)
    from holon_plugin_packages.archives import is_archive, read_archive

    if is_archive(data):
        made = read_archive(data, limits, where=str(found))
        digest = sha256(data).hexdigest()
        return evolve(made, archive_sha256=digest, beside=_locks_beside(found))
    collected = Collected(limits)
    if collected.admit(found.name):
        collected.add(found.name, data)
    return collected.done(str(found))


def _locks_beside(archive: Path) -> dict[str, bytes]:
    """Read the locks that stand beside an archive; what is no regular file is none."""
    from holon_plugin_packages.readers.elegy_lock import LOCKS

    made: dict[str, bytes] = {}
    for name in LOCKS:
        try:
            data, _ = _stable(archive.with_name(name), MAX_LOCK_BYTES)
        except FileNotFoundError:
            continue
        except OSError as error:
            text = f"{name} beside the archive cannot be read: {error.strerror}"
            raise refused("source_invalid", text) from None
        if len(data) > MAX_LOCK_BYTES:
            raise refused("package_too_large", f"{name} has more than {MAX_LOCK_BYTES} bytes")
        made[name] = data
    return made


def _read(path: Path, limits: PackageLimits) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limits.max_bytes + 1)
    except OSError as error:
        raise refused("source_invalid", f"it cannot be read: {error.strerror}") from None
    if len(data) > limits.max_bytes:
        raise Rejected("package", [too_large(limits)])
    return data


def read_folder(root: Path, limits: PackageLimits) -> PackageFiles:
    """Read a folder; links and everything but folders and regular files are refused."""
    collected = Collected(limits)
    seen: dict[str, os.stat_result] = {}
    for path, entry in _walk(root, collected):
        if not collected.admit(path):
            continue
        try:
            data, status = _stable(entry, collected.left())
        except OSError as error:
            collected.refuse("source_invalid", f"{path!r:.200} cannot be read: {error.strerror}")
            continue
        seen[path] = status
        collected.add(path, data)
    for path in (p for p in seen if not _unchanged(root / p, root, seen[p])):
        collected.refuse("changed_during_read", f"{path!r:.200} changed while it was read")
    return collected.done(str(root), folder=str(root))


def _walk(root: Path, collected: Collected) -> Iterator[tuple[str, Path]]:
    todo = [("", root)]
    while todo:
        above, folder = todo.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda each: each.name)
        except OSError as error:
            collected.refuse("source_invalid", f"{above!r:.200} cannot be read: {error.strerror}")
            continue
        for each in entries:
            path = f"{above}{each.name}"
            if each.is_symlink():
                collected.refuse("package_entry_type", f"{path!r:.200} is a link")
            elif each.name in LEFT_OUT:
                text = f"{path!r:.200} is left out: tools made it"
                finding = Finding(code="undeclared_file", message=text, severity=Severity.WARNING)
                collected.findings.append(finding)
            elif each.is_dir(follow_symlinks=False):
                if path_problem(path):
                    collected.findings.append(escaping(path))
                else:
                    todo.append((f"{path}/", Path(each.path)))
            elif each.is_file(follow_symlinks=False):
                yield path, Path(each.path)
            else:
                collected.refuse("package_entry_type", f"{path!r:.200} is no regular file")


def _stable(path: Path, limit: int) -> tuple[bytes, os.stat_result]:
    # Not followed and not waited for: a link or a pipe may have come in its place.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(max(0, limit) + 1), status


def stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes with a file; its change time is among it, which nobody can set."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


def _unchanged(path: Path, root: Path, before: os.stat_result) -> bool:
    try:
        now = path.lstat()
        inside = os.path.realpath(path.parent) == str(path.parent)
    except OSError:
        return False
    return stamp(now) == stamp(before) and inside and root in path.parents
