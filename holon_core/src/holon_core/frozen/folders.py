"""Managed folders: the sources of a frozen tool on disk, named by their digest."""

from __future__ import annotations

import shutil
import tempfile
from typing import TYPE_CHECKING

from holon_core.wire.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
        folder = type(place)(made)
        (folder / "src").mkdir(mode=0o700)
        (folder / "build").mkdir(mode=0o700)
        for each in record.definition.files:
            target = folder / "src" / each.path
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            target.write_bytes(read(each.sha256))
            target.chmod(0o400)
        try:
            folder.rename(place)
        except OSError:
            # Another process was first.
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return place
