"""Sealed programs: the bytes that were validated, in memory that nobody can change."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holon_core import FrozenTool

# Of <linux/fcntl.h>; the module fcntl has them from Python 3.8 on, on Linux alone.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def program_bytes(tool: FrozenTool, program: str) -> bytes:
    """Return what an interpreter runs: the one file, or an archive of all of them.

    An archive of equal files is equal, byte for byte.
    """
    files = tool.definition.files
    if len(files) == 1:
        return tool.read(program)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for each in files:
            archive.writestr(zipfile.ZipInfo(each.path, _NO_TIME), tool.read(each.path))
        if program != "__main__.py":
            name = zipfile.ZipInfo("__main__.py", _NO_TIME)
            archive.writestr(name, tool.read(program))
    return made.getvalue()


def changed_file(tool: FrozenTool, program: str) -> str | None:
    """Name a file of the managed folder that is not the tool's, or is not as it was frozen.

    What a script reads beside its sealed program lies there, and other programs of the same user
    can write to it: so it is looked at before each run. The program itself is not read there.
    """
    wanted = {each.path: each.sha256 for each in tool.definition.files if each.path != program}
    found = {
        place.relative_to(tool.folder).as_posix(): place
        for place in tool.folder.rglob("*")
        if place.is_symlink() or not place.is_dir()
    }
    found.pop(program, None)
    for path in sorted({*wanted, *found}):
        place = found.get(path)
        if place is None or path not in wanted or place.is_symlink():
            return path
        if sha256(place.read_bytes()).hexdigest() != wanted[path]:
            return path
    return None


def can_seal() -> bool:
    """Tell whether this system has memory that can be sealed."""
    return sys.platform == "linux" and hasattr(os, "memfd_create")


@contextmanager
def sealed(body: bytes) -> Iterator[int]:
    """Give a descriptor of sealed memory that holds the bytes, at its end.

    Nobody can write, grow or shrink it, its maker included. Who inherits it as standard input
    reads nothing from it, and opens it anew from its beginning by ``/proc/self/fd/0``.

    Measured: running by ``/proc/self/fd/N`` of a file on disk is not deceived by a rename, but
    by a write into the file; sealed memory is deceived by neither.
    """
    import fcntl

    descriptor = os.memfd_create("holon-script", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.write(descriptor, body) if len(body) < 1 << 20 else _write_all(descriptor, body)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        yield descriptor
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, body: bytes) -> None:
    left = memoryview(body)
    while left:
        left = left[os.write(descriptor, left) :]
