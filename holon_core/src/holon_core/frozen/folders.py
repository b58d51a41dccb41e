"""Managed folders: the sources of a frozen tool on disk, named by their digest."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from holon_core.wire.canonical import digest

if TYPE_CHECKING:
    from holon_core.records.frozen import FrozenToolRecord

FILES_DOMAIN = "holon-frozen-files/1"


def files_digest(record: FrozenToolRecord) -> str:
    """Digest the sources alone: versions that differ in words share a folder."""
    listed = [[each.path, each.sha256] for each in record.definition.files]
    return digest([record.definition.kind, *listed], domain=FILES_DOMAIN)


def managed(root: Path, record: FrozenToolRecord, read: Callable[[str], bytes]) -> Path:
    """Return the managed folder of a tool, made where it is not there.

    It appears whole or not at all: it is written beside its place and moved there.

    Args:
        root: The storage root.
        record: The tool.
        read: Gives the bytes of a digest, checked.
    """
    place = root / "frozen" / files_digest(record)
    if place.is_dir():
        return place
    place.parent.mkdir(exist_ok=True, mode=0o700)
    made = tempfile.mkdtemp(prefix=".making-", dir=place.parent)
    try:
        folder = Path(made)
        (folder / "src").mkdir(mode=0o700)
        (folder / "build").mkdir(mode=0o700)
        _fill(folder / "src", record, read)
        try:
            folder.rename(place)
        except OSError:
            # Another process was first.
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return place


@contextmanager
def copied(record: FrozenToolRecord, read: Callable[[str], bytes]) -> Iterator[Path]:
    """Give a folder with the sources of a tool that is one run's own, and gone after it.

    What a run writes there reaches no other: modes alone would not see to that, for they bind
    neither who owns the folder nor the superuser.

    Args:
        record: The tool.
        read: Gives the bytes of a digest, checked.
    """
    made = Path(tempfile.mkdtemp(prefix="holon-run-")).resolve()
    own = {made}
    try:
        _fill(made, record, read)
        for each in record.definition.files:
            own.update((made / each.path).parents)
        own = {folder for folder in own if made in (folder, *folder.parents)}
        for folder in own:
            folder.chmod(0o500)
        yield made
    finally:
        _remove(made, own)


def _remove(made: Path, own: Iterable[Path]) -> None:
    """Remove a run's folder; what is in a folder that may not be written to can't be removed."""
    try:
        for folder in own:
            folder.chmod(0o700)
        shutil.rmtree(made)
    except OSError:
        for folder in _folders(made):
            with suppress(OSError):
                folder.chmod(0o700)
        shutil.rmtree(made, ignore_errors=True)


def restore(folder: Path, record: FrozenToolRecord, read: Callable[[str], bytes]) -> None:
    """Make a folder what it was filled with, after a run that may have written to it."""
    wanted = {folder / each.path: each for each in record.definition.files}
    within = {parent for place in wanted for parent in place.parents}
    for place in sorted(folder.rglob("*"), reverse=True):
        if place.is_dir() and not place.is_symlink():
            if place not in within:
                place.rmdir()
        elif place not in wanted or not _is_as_filled(place, wanted[place].sha256):
            place.unlink()
    _fill(folder, record, read)


def _is_as_filled(place: Path, digest: str) -> bool:
    return not place.is_symlink() and sha256(place.read_bytes()).hexdigest() == digest


def _fill(folder: Path, record: FrozenToolRecord, read: Callable[[str], bytes]) -> None:
    """Write the sources into a folder, where they are not there."""
    for each in record.definition.files:
        target = folder / each.path
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target.write_bytes(read(each.sha256))
        target.chmod(0o400)


def _folders(top: Path) -> Iterator[Path]:
    """Go through a folder and those in it, from above, so that each can be opened first."""
    yield top
    for path, names, _ in os.walk(top):
        yield from (Path(path, name) for name in names if not Path(path, name).is_symlink())
