"""Zip and tar archives: every entry is judged before any is taken, bytes are counted, not believed.

Nothing is extracted to disk, so that nothing of ``tarfile``'s filters or ``zipfile``'s names
decides where anything goes.
"""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

from holon_core.errors import Rejected
from holon_plugin_packages.limits import PackageLimits
from holon_plugin_packages.reading_files import Collected, refused, too_large, too_many
from holon_plugin_packages.records import PackageFiles

CHUNK = 64 * 1024
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
# Headers and padding of a tar come beside its files.
_TAR_OVERHEAD = 2
_METHODS = frozenset(
    {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
)


def is_archive(data: bytes) -> bool:
    """Tell whether bytes are a zip or a tar, compressed or not."""
    return data.startswith((*_ZIP, _GZIP, _BZIP2, _XZ)) or data[257:262] == b"ustar"


def read_archive(data: bytes, limits: PackageLimits, *, where: str) -> PackageFiles:
    """Read an archive.

    Args:
        data: All of it, at most ``limits.max_bytes``.
        limits: How much is taken.
        where: Where it comes from, for people.

    Raises:
        Rejected: It is broken, or any entry of it is refused; with all that was found.
    """
    collected = Collected(limits)
    if len(data) > limits.max_bytes:
        raise Rejected("package", [too_large(limits)])
    try:
        if data.startswith(_ZIP):
            _zip(data, collected)
        else:
            _tar(_inflated(data, limits), collected)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise refused("package_archive_invalid", f"the archive is broken: {error}") from None
    except (NotImplementedError, RuntimeError, ValueError, UnicodeError) as error:
        raise refused("package_archive_invalid", f"the archive is refused: {error}") from None
    done = collected.done(where)
    return _without_wrapper(done)


def _without_wrapper(done: PackageFiles) -> PackageFiles:
    """Leave out the one folder that everything is in, as archives of repositories have it."""
    from attrs import evolve

    tops = {path.partition("/")[0] for path in done.files}
    if len(tops) != 1 or any("/" not in path for path in done.files):
        return done
    top = tops.pop()
    if top.startswith(".") or top in ("skills", "agents", "commands"):
        return done
    return evolve(done, files={path.partition("/")[2]: data for path, data in done.files.items()})


def _zip(data: bytes, collected: Collected) -> None:
    # Counted before zipfile makes an object of each; chance finds a few more in packed bytes.
    if data.count(b"PK\x01\x02") > 2 * collected.limits.max_files + 100:
        raise Rejected("package", [too_many(collected.limits)])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            # As it is written: zipfile shortens and changes what `filename` says.
            name = info.orig_filename
            if not _fits(info, collected) or not collected.admit(name.removesuffix("/")):
                continue
            if not name.endswith("/"):
                with archive.open(info) as file:
                    collected.add(name, _counted(file.read, collected))


def _fits(info: zipfile.ZipInfo, collected: Collected) -> bool:
    mode = info.external_attr >> 16
    kind = stat.S_IFMT(mode)
    name = info.orig_filename
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        collected.refuse("package_entry_type", f"the entry {name!r:.200} is no regular file")
    elif info.flag_bits & 0x1 or info.compress_type not in _METHODS:
        collected.refuse(
            "package_entry_type", f"the entry {name!r:.200} is encrypted or packed in another way"
        )
    else:
        return True
    return False


def _counted(read: Callable[[int], bytes], collected: Collected) -> bytes:
    """Read to the end, but never more than is left."""
    parts, size, left = [], 0, collected.left()
    while chunk := read(CHUNK):
        parts.append(chunk)
        size += len(chunk)
        if size > left:
            raise Rejected("package", [*collected.findings, too_large(collected.limits)])
    return b"".join(parts)


def _tar(data: bytes, collected: Collected) -> None:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name in ("", "."):
                continue
            if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE):
                text = f"the entry {member.name!r:.200} is a link or no regular file"
                collected.refuse("package_entry_type", text)
            elif collected.admit(name) and not member.isdir():
                file = archive.extractfile(member)
                assert file is not None, "of a regular file"
                collected.add(name, _counted(file.read, collected))


def _inflated(data: bytes, limits: PackageLimits) -> bytes:
    """Unpack the bytes of a tar, counted."""
    limit = limits.max_bytes * _TAR_OVERHEAD + limits.max_files * 2048
    if data.startswith(_GZIP):
        unpack: Any = zlib.decompressobj(31).decompress
    elif data.startswith(_BZIP2):
        import bz2

        unpack = bz2.BZ2Decompressor().decompress
    elif data.startswith(_XZ):
        import lzma

        unpack = lzma.LZMADecompressor(memlimit=64 * 1024 * 1024).decompress
    else:
        return data
    try:
        made: bytes = unpack(data, limit + 1)
    except Exception as error:
        raise refused("package_archive_invalid", f"the archive is broken: {error}") from None
    if len(made) > limit:
        raise Rejected("package", [too_large(limits)])
    return made
