"""Paths as text: the one form in which all four tools take and give them, and what is refused.

A path is UTF-8 text with ``/`` between names, relative to the workspace's root. A path that is
not UTF-8, or that itself begins with ``bytes:``, is written ``bytes:`` followed by its bytes,
those outside ``A-Z a-z 0-9 . _ ~ / -`` as ``%XX``. Every tool reads that form back.
"""

from __future__ import annotations

import os
import re
import sys

from holon_builtin_workspace.refusals import refuse

PREFIX = "bytes:"
MAX_PATH_BYTES = 4096
# File systems here usually take another case for the same name.
_FOLDS = sys.platform in ("darwin", "win32")
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~/-")
_ESCAPED = re.compile(r"(?:[A-Za-z0-9._~/-]|%[0-9A-Fa-f]{2})*")
# Names of devices on Windows, with any extension and with the superscript digits it accepts.
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:[.:].*)?", re.IGNORECASE
)


def shown(path: bytes) -> str:
    """Write a path, or a name, in the form of this module."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        text = PREFIX
    if not text.startswith(PREFIX):
        return text
    return PREFIX + "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in path)


def given(text: str) -> bytes:
    """Read a path in the form of this module.

    Raises:
        Refused: ``path_invalid``: a NUL byte, too long, or not the form it claims to be.
    """
    if text.startswith(PREFIX):
        path = _unescaped(text)
    else:
        try:
            path = text.encode("utf-8")
        except UnicodeEncodeError:
            raise refuse("path_invalid", "the path is not Unicode text") from None
    if b"\0" in path:
        raise refuse("path_invalid", "the path holds a NUL byte", at=path.index(b"\0"))
    if len(path) > MAX_PATH_BYTES:
        text = f"the path has {len(path)} bytes; at most {MAX_PATH_BYTES} are accepted"
        raise refuse("path_invalid", text)
    if os.name == "nt":
        refuse_windows_forms(os.fsdecode(path))
    return path


def _unescaped(text: str) -> bytes:
    body = text[len(PREFIX) :]
    if not _ESCAPED.fullmatch(body):
        raise refuse("path_invalid", f"after {PREFIX} stand plain characters and %XX only")
    head, *rest = body.split("%")
    parts = [bytes.fromhex(part[:2]) + part[2:].encode() for part in rest]
    return head.encode() + b"".join(parts)


def refuse_windows_forms(path: str) -> None:
    """Refuse what Windows would take for something else than a file below a folder.

    Only used there: elsewhere these are ordinary names. An absolute path with a drive is left
    to the comparison with the root.

    Raises:
        Refused: ``path_invalid``, naming the part.
    """
    unified = path.replace("\\", "/")
    if unified.startswith("//"):
        raise refuse("path_invalid", "network and device paths are not accepted", part="//")
    drive = re.match(r"[A-Za-z]:", unified)
    if drive and not unified[2:].startswith("/"):
        text = "a path relative to a drive is not accepted"
        raise refuse("path_invalid", text, part=drive.group())
    for name in unified[2 if drive else 0 :].split("/"):
        problem = _windows_problem(name)
        if problem is not None:
            raise refuse("path_invalid", f"{problem} is not accepted on Windows", part=name)


def _windows_problem(name: str) -> str | None:
    if name in ("", ".", ".."):
        return None
    if _DEVICE.fullmatch(name):
        return "the name of a device"
    if ":" in name:
        return "a name with a stream"
    if name.endswith((".", " ")):
        return "a name that ends with a dot or space"
    if any(character in '<>"|?*' or character < " " for character in name):
        return "a reserved character"
    return None


def split(path: bytes) -> list[bytes]:
    """Split a path into its names; empty ones and dots are kept."""
    if os.name == "nt":
        path = os.path.splitdrive(path)[1].replace(b"\\", b"/")
    return path.split(b"/")


def is_absolute(path: bytes) -> bool:
    """Tell whether a path starts at the top."""
    if os.name == "nt":
        return path[:1] in (b"/", b"\\") or path[1:2] == b":"
    return path.startswith(b"/")


def drive(path: bytes) -> bytes:
    """Return the drive of a path in comparable form; empty elsewhere than on Windows."""
    return os.path.normcase(os.path.splitdrive(path)[0])


def folded(name: bytes) -> bytes:
    """Return a name in the form in which the file system compares names."""
    return name if not _FOLDS else os.fsencode(os.fsdecode(name).casefold())
