"""Fixtures of the runner's tests: real programs, and a look at what is left of them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holon_core.process import ProcessSpec

Make = Callable[..., ProcessSpec]
_numbers = itertools.count()


@pytest.fixture
def call_id() -> str:
    """An id that no other process of the machine carries."""
    return f"call-{os.getpid()}-{next(_numbers)}-{time.time_ns()}"


@pytest.fixture
def program(tmp_path: Path, call_id: str) -> Make:
    """Make the spec of a program: an argument list and, by keyword, other limits."""

    def make(*argv: str, env: dict[str, str] | None = None, **changed: Any) -> ProcessSpec:
        usual = {
            "cwd": tmp_path,
            "timeout_s": 30.0,
            "max_stdout_bytes": 1 << 20,
            "max_stderr_bytes": 1 << 16,
        }
        return ProcessSpec(
            argv=argv, env={"HOLON_CALL_ID": call_id, **(env or {})}, **{**usual, **changed}
        )

    return make


@pytest.fixture
def shell(program: Make) -> Make:
    """Make the spec of a shell script."""
    return lambda script, **changed: program("/bin/sh", "-c", script, **changed)


@pytest.fixture
def python(program: Make) -> Make:
    """Make the spec of a Python script without site-packages."""

    def make(script: str, *arguments: str, **changed: Any) -> ProcessSpec:
        code = textwrap.dedent(script)
        return program(sys.executable, "-I", "-S", "-c", code, *arguments, **changed)

    return make


# How long a program sleeps that escaped; it is known by it, and ended.
ESCAPED_S = "5.0214"


@pytest.fixture(autouse=True)
def _beside(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let tests that look for what survived run while no other of these tests does.

    What escaped from another test, or is just dying there, may be anybody's.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    file = Path(tempfile.gettempdir()) / f"holon-tests-processes-{os.getuid()}.lock"
    alone = request.node.get_closest_marker("alone") is not None
    with file.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture
def escaped_s() -> Iterator[str]:
    """How long programs sleep that are let escape; they are ended afterwards."""
    yield ESCAPED_S
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if ESCAPED_S.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)


@pytest.fixture
def left_over(call_id: str) -> Callable[[], list[int]]:
    """List the living processes that carry the test's call id (Linux)."""
    return lambda: processes_of(call_id)


def processes_of(call_id: str) -> list[int]:
    """List the living processes with this call id in their environment."""
    mark = f"HOLON_CALL_ID={call_id}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture
def host(tmp_path: Path, call_id: str) -> Callable[[str], subprocess.Popen[str]]:
    """Start a Python program that embeds the runner; ``spec(*argv, **changed)`` is given to it."""
    prelude = f"""
import json, os, signal, sys, threading, time
from pathlib import Path
from holon_core.process import ProcessSpec, run
def spec(*argv, **changed):
    usual = dict(cwd=Path({str(tmp_path)!r}), timeout_s=20, max_stdout_bytes=1 << 20,
                 max_stderr_bytes=1 << 16, env={{"HOLON_CALL_ID": {call_id!r}}})
    return ProcessSpec(argv=argv, **{{**usual, **changed}})
"""
    path = os.pathsep.join(entry for entry in sys.path if entry)

    def start(script: str, **changed: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", prelude + textwrap.dedent(script)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
            **changed,
        )

    return start


@pytest.fixture
def answer(host: Callable[..., subprocess.Popen[str]]) -> Callable[..., Any]:
    """Run such a program to its end; returns the JSON that it printed."""

    def ask(script: str, **changed: Any) -> Any:
        with host(script, **changed) as started:
            try:
                printed, _ = started.communicate(timeout=60)
            finally:
                started.kill()
            assert started.returncode == 0
            return json.loads(printed)

    return ask
