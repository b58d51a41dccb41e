"""Whose a storage root is: its files made the owner's alone, and what others may change of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

# What decides over calls: whoever may write one of these is the operator.
PARTS = ("holon.db", "holon.toml", "live", "plugins", "secrets")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def tighten(path: Path) -> None:
    """Take every right of group and others away from a file or folder of this user.

    Args:
        path: What is there; nothing happens where it is not, or is another user's.
    """
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    except OSError:
        # What others may do is said by `open_to_others`; the store itself may still be usable.
        return


def open_to_others(root: Path) -> tuple[str, ...]:
    """Say what of a storage root others than this user and root may write or replace.

    Args:
        root: The folder, with links resolved.

    Returns:
        A sentence each; none on systems without owners and modes.
    """
    if os.name != "posix":  # pragma: no cover - rights are of another kind there
        return ()
    said = [_said(path, stat.S_IWGRP | stat.S_IWOTH) for path in (root, *map(root.joinpath, PARTS))]
    said += [_said(folder, stat.S_IWOTH) for folder in root.parents]
    return tuple(filter(None, said))


def _said(path: Path, writing: int) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""
    if found.st_uid not in (os.getuid(), 0):
        return f"{path} belongs to another user"
    # In a folder like /tmp nobody can replace what is another's; inside the root, anew is enough.
    shared = writing == stat.S_IWOTH and found.st_mode & stat.S_ISVTX
    return f"{path} may be written by others" if found.st_mode & writing and not shared else ""
