"""The managed folder: the one place where files of packages are written, and are looked after."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from attrs import frozen

from holon_plugin_packages.reading_files import stamp

_PART = 32
MAX_KNOWN = 200_000
# Longer than the steps in which a file system counts time.
SETTLED_NS = 2_000_000_000


@frozen
class Managed:
    """The installed copies of packages under one folder.

    Args:
        root: The folder; of this lane alone.
    """

    root: Path

    def folder(self, package: str, digest: str) -> Path:
        """Return where a package's files are."""
        return self.root / package / digest[:_PART]

    def install(
        self, package: str, digest: str, files: Mapping[str, bytes], *, programs: Iterable[str]
    ) -> Path:
        """Write the files of a package; all of them, or nothing is left.

        Args:
            package: Its id, valid by the grammar.
            digest: Of the package.
            files: By path, each valid.
            programs: Paths that may be started.
        """
        target = self.folder(package, digest)
        if self.damage(package, digest, pins_of(files)) == []:
            return target
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(f"{target}.{os.getpid()}.{os.urandom(4).hex()}.new")
        try:
            _write(made, files, frozenset(programs))
            if target.exists():
                shutil.rmtree(target)
            made.rename(target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            self._tidy(package)
            raise
        return target

    def damage(self, package: str, digest: str, pins: Mapping[str, str]) -> list[str]:
        """Return the paths of installed files that are not what they were, miss, or came."""
        return Watched().changed(self.folder(package, digest), pins)

    def keep_only(self, package: str, digest: str | None) -> None:
        """Remove every copy of a package but one."""
        folder = self.root / package
        if not folder.is_dir():
            return
        for each in folder.iterdir():
            if digest is None or each.name != digest[:_PART]:
                shutil.rmtree(each, ignore_errors=True)
        self._tidy(package)

    def _tidy(self, package: str) -> None:
        try:
            (self.root / package).rmdir()
        except OSError:
            # Another copy is in it.
            return


def _write(folder: Path, files: Mapping[str, bytes], programs: frozenset[str]) -> None:
    folder.mkdir(mode=0o700)
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Never through a link, never over anything: the folder is new.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(place, flags, 0o700 if path in programs else 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(data)


def pins_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the digest of every file."""
    return {path: sha256(data).hexdigest() for path, data in sorted(files.items())}


def _digest(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


class Watched:
    """Tells what differs from the pins of a package; only what has another stamp is read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, object], tuple[int, ...]] = {}

    def changed(
        self,
        folder: Path,
        pins: Mapping[str, str],
        *,
        may_lack: bool = False,
        left_out: frozenset[str] | None = frozenset(),
    ) -> list[str]:
        """Return paths of what is not as it was pinned: changed, missing, or not there before.

        Args:
            folder: Where the files are.
            pins: Their digests.
            may_lack: The whole folder may be gone, and nothing changed then.
            left_out: Names of entries that are none of the package and stay unseen; ``None``
                where only the pinned files count.
        """
        if may_lack and not folder.is_dir():
            return []
        found = [path for path, pin in pins.items() if not self._same(folder / path, pin)]
        if left_out is not None:
            for above, wanted in _tree(pins).items():
                found += self._came(folder, above, wanted, left_out)
        return found

    def _same(self, path: Path, pin: str) -> bool:
        now = _stamp(path)
        if now is None or self._is_known(path, pin, now):
            return now is not None
        if _digest(path) != pin:
            return False
        self._know(path, pin, now)
        return True

    def _came(
        self, root: Path, above: str, wanted: Mapping[str, bool], left_out: frozenset[str]
    ) -> list[str]:
        """Return what lies in one folder and is neither a pinned file nor a folder of one."""
        folder, names = root / above, tuple(sorted(wanted))
        now = _stamp(folder)
        if now is None or self._is_known(folder, names, now):
            # Of a folder that is gone its files are told.
            return []
        found = [
            f"{above}{each.name}"
            for each in _entries(folder)
            if each.name not in left_out
            and (each.is_symlink() or each.is_dir() is not wanted.get(each.name))
        ]
        if not found:
            self._know(folder, names, now)
        return sorted(found)

    def _is_known(self, path: Path, what: object, now: tuple[int, ...]) -> bool:
        return self._known.get((str(path), what)) == now

    def _know(self, path: Path, what: object, now: tuple[int, ...]) -> None:
        # A change in the same tick of the clock as the last one leaves the stamp as it is.
        if time.time_ns() - max(now[1], now[2]) < SETTLED_NS:
            return
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        self._known[str(path), what] = now


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        return stamp(path.lstat())
    except OSError:
        return None


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _tree(pins: Mapping[str, str]) -> dict[str, dict[str, bool]]:
    """Return what belongs into each folder by its name, and whether that is a folder, too."""
    made: dict[str, dict[str, bool]] = {"": {}}
    for path in pins:
        above, inner = "", path
        while "/" in inner:
            name, _, inner = inner.partition("/")
            made[above][name] = True
            above = f"{above}{name}/"
            made.setdefault(above, {})
        made[above][inner] = False
    return made
