"""A served runtime as a client meets it: a process, lines in, lines out."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from door import environment

SCRIPT = Path(__file__).with_name("server_process.py")
PATIENCE_S = 30.0


class Served:
    """A server process and the messages that came from it."""

    def __init__(self, root: Path, options: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(SCRIPT), str(root), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        self.messages: Queue[Any] = Queue()
        self.kept: list[Any] = []
        self.errors = b""
        self._threads = [threading.Thread(target=t) for t in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            # Nothing but messages is ever on it, so that each line has to be one.
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def send(self, message: Any) -> None:
        """Send a message, or a line as it is."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def request(self, request_id: Any, method: str, **params: Any) -> None:
        """Send a request."""
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def call(self, request_id: Any, tool: str, **arguments: Any) -> None:
        """Send a governed call."""
        self.request(request_id, "runtime-tool/call", tool=tool, arguments=arguments)

    def cancel(self, request_id: Any) -> None:
        """Cancel a request."""
        params = {"id": request_id}
        self.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params})

    def next(self) -> Any:
        """Return the next message that was not looked for before."""
        if self.kept:
            return self.kept.pop(0)
        return self.messages.get(timeout=PATIENCE_S)

    def answer(self, request_id: Any) -> Any:
        """Wait for the answer of a request; keep what else comes."""
        passed = []
        while True:
            message = self.next()
            assert message is not None, f"ended: {self.errors.decode()}"
            if (
                isinstance(message, dict)
                and message.get("id") == request_id
                and ("method" not in message)
            ):
                self.kept = passed + self.kept
                return message
            passed.append(message)

    def rest(self) -> list[Any]:
        """Return all that comes to the end."""
        found = []
        while (message := self.next()) is not None:
            found.append(message)
        return found

    def end_input(self) -> None:
        """Close its standard input."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def wait(self) -> int:
        """Wait for its end."""
        code = self.process.wait(PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return code

    def close(self) -> None:
        """End it, whatever it does."""
        self.end_input()
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        with suppress(Empty):
            self.messages.get_nowait()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start servers on one root; all are ended in the end."""
    with ExitStack() as stack:

        def start(**options: Any) -> Served:
            served = Served(tmp_path / "root", options)
            stack.callback(served.close)
            return served

        yield start
