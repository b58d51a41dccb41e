"""The pipes, the end and the cancellation of one child, as events that a single thread awaits."""

from __future__ import annotations

import os
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.cancel import CancelToken

STDOUT, STDERR = "stdout", "stderr"
_CHUNK_BYTES = 65_536
_POLL_S = 0.005

Event = tuple[str, bytes]
# (exit code, None) or (None, number of the signal).
ExitStatus = tuple["int | None", "int | None"]


class ChildIO:
    """The descriptors of one child, and what the runner learns through them.

    ``status`` stays None where somebody else took it from the system. Opened before the child
    starts, attached to it afterwards; whatever happens in between, ``close`` lets go of all.
    """

    def __init__(self) -> None:
        self.exited = False
        self.status: ExitStatus | None = None
        self.child_ends: tuple[int | None, int, int] = (None, -1, -1)
        self._fds: set[int] = set()
        self._streams: dict[int, str] = {}
        self._stdin: int | None = None
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def held(self) -> bool:
        """Whether somebody still has stdout or stderr open for writing."""
        return bool(self._streams)

    def open(self, *, stdin: bool, cancel: CancelToken | None) -> None:
        """Make the pipes. Raises OSError where the process has no descriptors left."""
        read_in, self._stdin = self._pipe() if stdin else (None, None)
        stdout, write_out = self._pipe()
        stderr, write_err = self._pipe()
        self._streams = {stdout: STDOUT, stderr: STDERR}
        self.child_ends = (read_in, write_out, write_err)
        if cancel is not None:
            self._unsubscribe = cancel.subscribe(self._waker())

    def attach(self, pid: int, data: bytes, wait: Callable[[], int]) -> None:
        """Follow the child that was started: its number, its input, a way to await it."""
        raise NotImplementedError

    def wait(self, timeout_s: float) -> list[Event]:
        """Wait until something happened; returns the bytes that came."""
        raise NotImplementedError

    def reap(self) -> None:
        """Take an exited child off the system's list."""

    def close(self) -> None:
        """Let go of every descriptor; may be called twice."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        while self._fds:
            os.close(self._fds.pop())

    def _waker(self) -> Callable[[], None]:
        raise NotImplementedError

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._fds.update(ends)
        return ends

    def _close(self, fd: int) -> None:
        self._fds.discard(fd)
        os.close(fd)

    def _close_child_ends(self) -> None:
        for fd in self.child_ends:
            if fd is not None:
                self._close(fd)


class PollIO(ChildIO):
    """POSIX: poll(2) over pipes and, where the system has one, a process descriptor."""

    def __init__(self) -> None:
        super().__init__()
        self._wake_fd: int | None = None
        self._pidfd: int | None = None

    def attach(self, pid: int, data: bytes, wait: Callable[[], int]) -> None:
        import select

        self._close_child_ends()
        self._pid, self._data = pid, memoryview(data)
        self._broken, self._poll = select.POLLERR, select.poll()
        for fd in self._streams:
            self._poll.register(fd, select.POLLIN)
        if self._stdin is not None:
            os.set_blocking(self._stdin, False)
            self._poll.register(self._stdin, select.POLLOUT)
        if self._wake_fd is not None:
            self._poll.register(self._wake_fd, select.POLLIN)
        self._pidfd = _open_pidfd(pid)
        if self._pidfd is not None:
            self._fds.add(self._pidfd)
            self._poll.register(self._pidfd, select.POLLIN)

    def _waker(self) -> Callable[[], None]:
        self._wake_fd, write_fd = self._pipe()
        os.set_blocking(write_fd, False)
        return lambda: _poke(write_fd)

    def wait(self, timeout_s: float) -> list[Event]:
        polled = self._pidfd is None and not self.exited
        if polled and self._look():
            return []
        events: list[Event] = []
        limit_s = min(timeout_s, _POLL_S) if polled else timeout_s
        for fd, mask in self._poll.poll(_milliseconds(limit_s)):
            if fd in self._streams:
                events += self._read(fd)
            elif fd == self._stdin:
                self._write(fd, mask)
            elif fd == self._pidfd:
                self._forget(fd)
                self._pidfd = None
                self._look()
            elif fd == self._wake_fd:
                self._poll.unregister(fd)
        return events

    def _read(self, fd: int) -> list[Event]:
        # poll said that there is something and nobody else reads: this cannot block.
        data = os.read(fd, _CHUNK_BYTES)
        if data:
            return [(self._streams[fd], data)]
        self._forget(fd)
        del self._streams[fd]
        return []

    def _write(self, fd: int, mask: int) -> None:
        try:
            # Told first: a write without a reader would raise a signal where the host wants that.
            if not mask & self._broken:
                self._data = self._data[os.write(fd, self._data[:_CHUNK_BYTES]) :]
                if self._data:
                    return
        except BlockingIOError:
            return
        except BrokenPipeError:
            pass
        self._end_input()

    def _end_input(self) -> None:
        if self._stdin is not None:
            self._forget(self._stdin)
            self._stdin = None

    def _forget(self, fd: int) -> None:
        self._poll.unregister(fd)
        self._close(fd)

    def _look(self) -> bool:
        """Learn whether the child ended, leaving it as a zombie that keeps its number taken."""
        try:
            ended, self.status = _peek(self._pid)
        except ChildProcessError:
            ended = True
        if ended:
            self.exited = True
            self._end_input()
        return ended

    def reap(self) -> None:
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            return


def _poke(fd: int) -> None:
    os.write(fd, b"!")


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return None


def _peek(pid: int) -> tuple[bool, ExitStatus | None]:
    if hasattr(os, "waitid"):
        info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if info is None:
            return False, None
        exited = info.si_code == os.CLD_EXITED
        return True, (info.si_status, None) if exited else (None, info.si_status)
    # macOS before Python 3.13 cannot look without reaping.
    found, status = os.waitpid(pid, os.WNOHANG)
    if found == 0:
        return False, None
    code = os.waitstatus_to_exitcode(status)
    return True, (code, None) if code >= 0 else (None, -code)


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000) + 1 if seconds > 0 else 0


class ThreadIO(ChildIO):
    """Windows, which cannot poll pipes: one thread a pipe and one for the end, into one queue."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: queue.Queue[Event] = queue.Queue(maxsize=64)
        self._closed = threading.Event()

    def attach(self, pid: int, data: bytes, wait: Callable[[], int]) -> None:
        self._close_child_ends()
        # Each descriptor belongs to its thread from here on: closing it here could block.
        for fd, name in self._streams.items():
            self._start(self._copy, fd, name)
        if self._stdin is not None:
            self._start(_feed, self._stdin, data)
        self._fds.clear()
        self._start(self._await, wait)

    def wait(self, timeout_s: float) -> list[Event]:
        try:
            name, data = self._queue.get(timeout=max(timeout_s, 0.001))
        except queue.Empty:
            return []
        if name == "exit":
            self.exited, self.status = True, (int(data), None)
        elif data:
            return [(name, data)]
        self._streams = {fd: stream for fd, stream in self._streams.items() if stream != name}
        return []

    def close(self) -> None:
        self._closed.set()
        super().close()

    def _start(self, target: Callable[..., None], *args: object) -> None:
        threading.Thread(target=target, args=args, name="holon-process", daemon=True).start()

    def _waker(self) -> Callable[[], None]:
        return self._wake

    def _wake(self) -> None:
        try:
            self._queue.put_nowait(("wake", b""))
        except queue.Full:
            # Who reads a full queue is awake.
            return

    def _copy(self, fd: int, name: str) -> None:
        while data := _read_some(fd):
            self._put((name, data))
        os.close(fd)
        self._put((name, b""))

    def _await(self, wait: Callable[[], int]) -> None:
        self._put(("exit", b"%d" % wait()))

    def _put(self, event: Event) -> None:
        while not self._closed.is_set():
            try:
                self._queue.put(event, timeout=0.1)
            except queue.Full:
                continue
            else:
                return


def _read_some(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK_BYTES)
    except OSError:
        return b""


def _feed(fd: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view[:_CHUNK_BYTES]) :]
    except OSError:
        pass
    finally:
        os.close(fd)
