"""What the platform's file systems can carry: the one place that asks."""

from __future__ import annotations

import os
from pathlib import Path

# File systems whose shared memory or locks are known to fail SQLite's write-ahead log.
SHARED_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "virtiofs", "9p", "fuse.sshfs", "fuse.s3fs", "afs"}
)


MOUNTS = Path("/proc/self/mounts")


def file_system_type(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the file system a folder lies on, where the platform tells.

    Args:
        folder: An existing folder.
        mounts: The kernel's table of mounts; absent on other platforms than Linux.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    target = os.path.realpath(folder)
    best, kind = "", None
    for line in lines:
        _, point, fs_type, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fs_type
    return kind
