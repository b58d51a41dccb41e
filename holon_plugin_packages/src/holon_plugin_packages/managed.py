"""The managed folder: the one place where files of packages are written, and are looked after."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from attrs import frozen

from holon_plugin_packages.reading_files import stamp

_PART = 32


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
        """Return the paths of installed files that are not what they were, or are missing."""
        folder = self.folder(package, digest)
        return [path for path, pin in pins.items() if _digest(folder / path) != pin]

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
    """Tells which pinned files changed; a file is read again only where its stamp is another."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, int, int]] = {}

    def changed(
        self, folder: Path, pins: Mapping[str, str], *, may_lack: bool = False
    ) -> list[str]:
        """Return paths of pinned files that are not what they were.

        Args:
            folder: Where they are.
            pins: Their digests.
            may_lack: The whole folder may be gone, and nothing changed then.
        """
        if may_lack and not folder.is_dir():
            return []
        return [path for path, pin in pins.items() if not self._same(folder / path, pin)]

    def _same(self, path: Path, pin: str) -> bool:
        key = str(path), pin
        try:
            now = stamp(path.lstat())
        except OSError:
            return False
        if self._known.get(key) == now:
            return True
        if _digest(path) != pin:
            return False
        if len(self._known) > 200_000:
            self._known.clear()
        self._known[key] = now
        return True
