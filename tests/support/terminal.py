"""A terminal for tests: a process on a pseudo-terminal, read and typed into."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

STEP_S = 0.05
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """One process on a terminal; ``seen`` is all it wrote, without colours."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self._pid = pid
        self._descriptor = descriptor
        self._raw = b""
        self._position = 0
        self._code: int | None = None

    @property
    def seen(self) -> str:
        """What it wrote so far."""
        return _STYLE.sub("", self._raw.decode(errors="replace")).replace("\r\n", "\n")

    def read_until(self, text: str, *, timeout_s: float = 30) -> str:
        """Read until a text appears after what was read before; return that part."""
        deadline = time.monotonic() + timeout_s
        while text not in self.seen[self._position :]:
            assert self._read(), f"it ended without {text!r}:\n{self.seen}"
            assert time.monotonic() < deadline, f"no {text!r} in time:\n{self.seen}"
        end = self.seen.index(text, self._position) + len(text)
        part, self._position = self.seen[self._position : end], end
        return part

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._descriptor, keys.encode())

    def end(self) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + 30
        while self._read():
            assert time.monotonic() < deadline, f"it does not end:\n{self.seen}"
        return self._wait()

    def _read(self) -> bool:
        if not select.select([self._descriptor], [], [], STEP_S)[0]:
            return True
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # Linux says end of file so
            return False
        self._raw += data
        return bool(data)

    def _wait(self) -> int:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._code

    def close(self) -> None:
        """End what still runs."""
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._wait()
        os.close(self._descriptor)


@contextmanager
def terminal(
    argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> Iterator[Terminal]:
    """Start a program on a terminal of its own."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(argv[0], list(argv), {**environment, "TERM": "xterm"})
    made = Terminal(pid, descriptor)
    try:
        yield made
    finally:
        made.close()
