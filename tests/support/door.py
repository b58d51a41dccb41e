"""What tests of the governed door share: a clock in the test's hand, trails, real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holon_core import Runtime
from support import ROOT

START = 1_800_000_000


class HandClock:
    """A clock that only the test moves; its monotonic side never goes back."""

    def __init__(self, at: float = START) -> None:
        self.at = at
        self.passed = 5.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.passed

    def advance(self, seconds: float) -> None:
        self.at += seconds
        self.passed += max(0.0, seconds)


def trail(rt: Runtime, call_id: str) -> list[str]:
    """Return the kinds of one call's records, in order."""
    return [record.kind for record in rt.evidence.read(call_id)]


def kinds(rt: Runtime, workspace: str | None = None) -> list[str]:
    """Return the kinds of all records of a chain, in order."""
    return [r.kind for r in rt.evidence.list(workspace=workspace, limit=1000)]


def open_calls(rt: Runtime) -> list[str]:
    """Return the calls that were accepted and have no end yet, of all runtimes on the root."""
    return [call.call for call in rt._guard.store.read(lambda tables: tables.open_calls())]


def approve(rt: Runtime, held: str | None, *, by: str = "boss") -> None:
    """Approve a held call as somebody else."""
    assert held is not None
    rt.approvals.approve(held, by=by, reason="looks right")


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a helper process: this one's import path and no more secrets."""
    folders = [str(ROOT / "holon_core" / "src"), str(ROOT / "tests" / "support"), *sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in folders if p), **more}


@contextmanager
def started(script: Path | str, *arguments: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    """Start a Python script, or code, as a process of its own; end it in the end."""
    code = ["-c", script] if isinstance(script, str) else [str(script)]
    process = subprocess.Popen(
        [sys.executable, *code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def answer_of(script: Path | str, *arguments: str, timeout_s: float = 60, **more: str) -> Any:
    """Run a Python script, or code, that prints one JSON value as its last line; return it."""
    with started(script, *arguments, **more) as process:
        out, err = process.communicate(timeout=timeout_s)
        assert process.returncode == 0, err
        return json.loads(out.splitlines()[-1])


def eventually(is_so: Callable[[], bool], *, within_s: float = 10.0) -> bool:
    """Wait until something is so; false where it did not come in time."""
    import time

    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if is_so():
            return True
        time.sleep(0.01)
    return is_so()
