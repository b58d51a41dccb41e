"""What no tool of this lane shows although it is inside: Holon's own state, and the kernel's."""

from __future__ import annotations

import os
import stat as modes
from functools import lru_cache
from typing import TYPE_CHECKING

from holon_builtin_workspace.handles import identity
from holon_builtin_workspace.paths import folded
from holon_builtin_workspace.refusals import Refused, refuse

if TYPE_CHECKING:
    from holon_builtin_workspace.handles import Folder

RESERVED = b".holon"
STORE_FILE, STORE_FOLDER = b"holon.db", b"live"


def is_reserved(name: bytes) -> bool:
    """Tell whether a name at the top of the workspace is that of Holon's folder."""
    return folded(name) == RESERVED


def is_same_as_reserved(root: Folder, folder: Folder) -> bool:
    """Tell whether a folder is Holon's, whatever name led to it."""
    try:
        return identity(root.entry(RESERVED)) == identity(folder.stat())
    except OSError:
        return False


def is_storage_root(folder: Folder) -> bool:
    """Tell whether a folder is the storage root of some runtime."""
    try:
        if not modes.S_ISREG(folder.entry(STORE_FILE).st_mode):
            return False
        return modes.S_ISDIR(folder.entry(STORE_FOLDER).st_mode)
    except OSError:
        return False


def reserved() -> Refused:
    """Make the refusal of both."""
    text = "storage roots and .holon are never readable through a tool"
    return refuse("policy_denied", text)


@lru_cache(maxsize=1)
def proc_device() -> int | None:
    """Return the device of /proc, where there is one."""
    try:
        return os.stat("/proc").st_dev if os.path.lexists("/proc/self") else None
    except OSError:
        return None
