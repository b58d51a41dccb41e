"""Watching what code does to the machine: processes, connections, files; by an audit hook."""

from __future__ import annotations

import gc
import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PROCESS = frozenset(
    {
        "subprocess.Popen",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "_winapi.CreateProcess",
    }
)
_CONNECTION = frozenset(
    {
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.sendmsg",
        "socket.sendto",
    }
)
_CHANGE = frozenset(
    {
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CODE = (".py", ".pyc", ".so", ".pyd", ".dll", ".dylib", ".zip", ".pth")
_MACHINE = ("/dev/", "/proc/", "/sys/")


class Deed(NamedTuple):
    """One thing that code did: ``kind`` is process, connection, write, read or thread."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class _Watch:
    """What one watch looks for, and what it saw."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self.deeds: list[Deed] = []
        # Threads that were there before are at something else.
        self._others = {t.ident for t in threading.enumerate()} - {threading.get_ident()}

    def see(self, event: str, args: tuple[Any, ...]) -> None:
        if threading.get_ident() in self._others:
            return
        deed = _deed(event, args)
        if deed is not None and deed.kind in self.kinds:
            self.deeds.append(deed)


# Audit hooks cannot be taken out again: one is put in when first needed, and looks here.
_active: list[_Watch] = []
_install: list[Callable[[], None]] = [lambda: sys.addaudithook(_hook)]

STARTS = frozenset({"process", "connection"})
CHANGES = STARTS | {"write"}
ANY = CHANGES | {"read"}


@contextmanager
def watching(kinds: frozenset[str] = CHANGES) -> Iterator[list[Deed]]:
    """Note what this thread, and threads that start meanwhile, do to the machine.

    Args:
        kinds: What is noted. Compiled files that Python itself keeps count for nothing.

    Yields:
        The list to which deeds are added as they happen.
    """
    while _install:
        _install.pop()()
    # What others left to the collector ends here, or meanwhile: a forgotten runtime that is
    # closed, a temporary folder that goes. Neither is a deed of what is watched.
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    watch = _Watch(kinds)
    _active.append(watch)
    try:
        yield watch.deeds
    finally:
        _active.remove(watch)
        if collecting:
            gc.enable()


def _hook(event: str, args: tuple[Any, ...]) -> None:
    for watch in tuple(_active):
        watch.see(event, args)


def _deed(event: str, args: tuple[Any, ...]) -> Deed | None:
    if event == "open":
        return _opened(*args)
    if event in _PROCESS:
        return Deed("process", f"{event} {_first(args)}")
    if event in _CONNECTION:
        return Deed("connection", event)
    if event in _CHANGE:
        return None if "__pycache__" in _first(args) else Deed("write", f"{event} {_first(args)}")
    if event == "sqlite3.connect":
        return _database(_first(args))
    return None


def _opened(path: Any, mode: Any, flags: Any) -> Deed | None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return None
    name = os.fsdecode(path)
    if name in {os.devnull, ""} or "__pycache__" in name:
        return None
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else False
    if writes or (isinstance(flags, int) and flags & _WRITING):
        return Deed("write", f"open {name}")
    if name.endswith(_CODE) or name.startswith(_MACHINE) or _of_python(name):
        return None
    return Deed("read", f"open {name}")


def _of_python(name: str) -> bool:
    return "site-packages" not in name and name.startswith(os.path.dirname(os.__file__))  # noqa: PTH120


def _database(name: str) -> Deed | None:
    if ":memory:" in name or "mode=memory" in name:
        return None
    if "mode=ro" in name or "immutable=1" in name:
        return Deed("read", f"sqlite3.connect {name}")
    return Deed("write", f"sqlite3.connect {name}")


def _first(args: tuple[Any, ...]) -> str:
    if not args:
        return ""
    return os.fsdecode(args[0]) if isinstance(args[0], (bytes, os.PathLike)) else str(args[0])
