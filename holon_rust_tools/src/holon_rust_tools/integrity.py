"""What lies on disk, held against what was recorded: by digest, and never through a link."""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from holon_core import StructuredFailure, failure

if TYPE_CHECKING:
    from holon_core import FrozenTool

MAX_KNOWN = 4096
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Digests by what the system says of a file, its change time among it, which nobody can set.
_known: OrderedDict[tuple[str, int, int, int, int, int], str] = OrderedDict()


def file_digest(path: Path) -> str | None:
    """Return the SHA-256 of a regular file; ``None`` where none is there, or a link is.

    A file that did not change since is not read again.
    """
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None
    key = _key(path, seen)
    digest = _known.get(key)
    if digest is None:
        body = read_regular(path)
        if body is None:
            return None
        digest = sha256(body).hexdigest()
        _known[key] = digest
        if len(_known) > MAX_KNOWN:
            _known.popitem(last=False)
    return digest


def _key(path: Path, seen: os.stat_result) -> tuple[str, int, int, int, int, int]:
    times = (seen.st_mtime_ns, seen.st_ctime_ns)
    return (str(path), seen.st_dev, seen.st_ino, seen.st_size, *times)


def read_regular(path: Path) -> bytes | None:
    """Read a regular file; ``None`` where it can't be read, or is a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read()


def source_problem(tool: FrozenTool) -> StructuredFailure | None:
    """Say how the managed sources differ from the definition; ``None`` where they don't."""
    wanted = {each.path: each.sha256 for each in tool.definition.files}
    for path, digest in wanted.items():
        if file_digest(tool.folder / path) != digest:
            return failure("artifact_changed", f"{path} on disk is not what was proposed")
    folders = {""}
    for path in wanted:
        parts = path.split("/")[:-1]
        folders.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    for folder in folders:
        for entry in (tool.folder / folder).iterdir():
            path = f"{folder}/{entry.name}".lstrip("/")
            if path in wanted:
                continue
            if path not in folders or entry.is_symlink():
                text = f"{path} lies among the managed sources and is none of them"
                return failure("artifact_changed", text)
    return None
