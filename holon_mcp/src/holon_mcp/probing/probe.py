"""Starting a server for as long as it takes to list what it offers, and no longer."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen
from attrs.validators import gt, le

from holon_core.cancel import CancelToken
from holon_core.errors import JsonRefused, Refused
from holon_core.process import (
    ProcessCause,
    ProcessOutcome,
    ProcessSpec,
    resolve_program,
    run,
)
from holon_core.records.failure import failure
from holon_core.wire.strict_json import parse
from holon_mcp.probing.dialogue import Dialogue
from holon_mcp.reading.forms import MAX_DEPTH
from holon_mcp.records import MEMBERS, Listing

MAX_BYTES = 32 * 1024 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024
STDERR_BYTES = 16 * 1024
# What starts a program without a network, the first also without a file that it may change.
_BIND = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
CONFINING = (
    ("bwrap", *_BIND, "--unshare-net", "--unshare-pid", "--bind", "{}", "{}"),
    ("unshare", "--map-root-user", "--net"),
)


@frozen(kw_only=True)
class ProbeLimits:
    """How long a server may take, and how long its silence counts as an old server's, in s."""

    timeout_s: float = field(default=60.0, validator=[gt(0), le(600)])
    silence_s: float = field(default=10.0, validator=[gt(0), le(600)])


@frozen(kw_only=True)
class Probed:
    """What a probe learnt; ``confined`` says whether the server ran without a network."""

    listing: Listing
    confined: bool
    noise: int = 0

    def answers(self) -> dict[str, Any]:
        """Return it as saved answers, which registering and refreshing take."""
        listing = self.listing
        head = {
            "serverInfo": {"name": listing.server_name, "version": listing.server_version},
            "instructions": listing.instructions,
        }
        if listing.modern:
            made: dict[str, Any] = {"discover": {**head, "supportedVersions": [listing.protocol]}}
        else:
            made = {"initialize": {**head, "protocolVersion": listing.protocol}}
        for kind, items in listing.lists.items():
            made[MEMBERS[kind]] = list(items)
        for kind, why in listing.errors.items():
            made[MEMBERS[kind]] = {"error": {"message": why}}
        return made


def probe(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    limits: ProbeLimits | None = None,
    network: bool = False,
) -> Probed:
    """Start a server, ask what it offers, and end it with all that it started.

    No tool is called. The server has an empty folder of its own as home and working directory,
    none of this process's secrets, and no network where the platform can keep it away.

    Args:
        argv: The command and its arguments.
        env: Variables that it needs besides; dummy credentials often do.
        limits: Bounds in seconds.
        network: Let it have the network.

    Raises:
        Refused: ``mcp_answer``: it did not start, or said nothing of itself in time;
            ``dependency_missing``: there is no such program.
    """
    bounds = limits or ProbeLimits()
    program = resolve_program(argv[0])
    if program is None:
        raise Refused(failure("dependency_missing", f"there is no program {argv[0]:.200}"))
    words = (program, *argv[1:])
    with tempfile.TemporaryDirectory(prefix="holon-probe-") as home:
        prefix = () if network else _confining(home)
        return _Talk((*prefix, *words), home, env or {}, bounds).held(confined=bool(prefix))


def _confining(home: str) -> tuple[str, ...]:
    """Return what starts a program without a network, where this machine can do that."""
    nothing = resolve_program("true")
    if not sys.platform.startswith("linux") or nothing is None:
        return ()
    for name, *words in CONFINING:
        program = resolve_program(name)
        if program is None:
            continue
        prefix = (program, *(home if word == "{}" else word for word in words), "--")
        spec = ProcessSpec(
            argv=(*prefix, nothing),
            cwd=Path(home),
            timeout_s=5.0,
            max_stdout_bytes=1024,
            max_stderr_bytes=1024,
        )
        tried = run(spec)
        if tried.exit_code == 0:
            return prefix
    return ()


class _Talk:
    """One server, from its start to its end."""

    def __init__(
        self, argv: tuple[str, ...], home: str, env: Mapping[str, str], limits: ProbeLimits
    ) -> None:
        self._argv, self._home, self._env, self._limits = argv, home, env, limits
        self._cancel = CancelToken()
        self._buffer = bytearray()
        self._noise = 0
        self._is_over = False
        self._read_end, self._write_end = os.pipe()
        self._closing = threading.Lock()
        self._dialogue = Dialogue(self._send, self._finish)

    def held(self, *, confined: bool) -> Probed:
        """Hold the conversation."""
        silence = threading.Timer(self._limits.silence_s, self._dialogue.fall_back)
        silence.daemon = True
        try:
            self._dialogue.begin()
            silence.start()
            outcome = run(self._spec(), cancel=self._cancel, on_stdout=self._take)
        finally:
            silence.cancel()
            self._close()
            os.close(self._read_end)
        return Probed(listing=self._learnt(outcome), confined=confined, noise=self._noise)

    def _spec(self) -> ProcessSpec:
        return ProcessSpec(
            argv=self._argv,
            cwd=Path(self._home),
            env={"HOME": self._home, "TMPDIR": self._home, **self._env},
            timeout_s=self._limits.timeout_s,
            max_stdout_bytes=MAX_BYTES,
            max_stderr_bytes=STDERR_BYTES,
            stdin_fd=self._read_end,
        )

    def _learnt(self, outcome: ProcessOutcome) -> Listing:
        dialogue = self._dialogue
        if dialogue.head is None and dialogue.failure is None:
            said = outcome.stderr.head[-300:].decode(errors="replace")
            text = f"the server said nothing of itself ({self._end_of(outcome)}): {said}"
            raise Refused(failure("mcp_answer", text))
        if not dialogue.done:
            dialogue.lists_left(f"the server ended before ({self._end_of(outcome)})")
        return dialogue.listing()

    def _end_of(self, outcome: ProcessOutcome) -> str:
        # A line without an end is cancelled from here, and is more than what is taken all the same.
        return (ProcessCause.OUTPUT_LIMIT if self._is_over else outcome.cause).value

    def _take(self, piece: bytes) -> None:
        self._buffer += piece
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._read_line(line)
        if len(self._buffer) > MAX_LINE_BYTES:
            self._is_over = True
            self._cancel.cancel()

    def _read_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = parse(line, max_bytes=MAX_LINE_BYTES, max_depth=MAX_DEPTH)
        except JsonRefused:
            # Some servers print what is no message; it is counted and left alone.
            self._noise += 1
            return
        self._dialogue.take(message)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._closing, contextlib.suppress(OSError):
            if self._write_end >= 0:
                os.write(self._write_end, data)

    def _finish(self) -> None:
        """End the conversation; a server that stays after its input closed is ended."""
        self._close()
        late = threading.Timer(1.0, self._cancel.cancel)
        late.daemon = True
        late.start()

    def _close(self) -> None:
        with self._closing:
            if self._write_end >= 0:
                os.close(self._write_end)
                self._write_end = -1
