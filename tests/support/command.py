"""The `holon` command as tests run it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

TOOLS = '''
"""Tools of the tests."""

import sys
import time

import holon_core as holon


@holon.tool(effects={"none"})
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    print("noise on standard output")
    return {"sum": a + b}


@holon.tool(effects={"machine_write"})
def write(path: str, text: str) -> dict[str, int]:
    """Append a text to a file."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
    return {"characters": len(text)}


@holon.tool(effects={"none"})
def fail() -> None:
    """Always fail."""
    raise ValueError("as asked")


@holon.tool(effects={"none"})
def echo(value: str | int | list[int] | bool | None = None, text: str = "") -> dict[str, object]:
    """Give back what came."""
    return {"value": value, "text": text}


@holon.tool(effects={"none"})
def nap(seconds: float) -> None:
    """Sleep."""
    print("asleep", file=sys.stderr, flush=True)
    time.sleep(seconds)


@holon.tool(effects={"none"})
def copy(call: holon.SealedCall) -> None:
    """Report how far it is, and take a second for the rest."""
    call.progress("copying", 3, 20, "copying the third of all")
    time.sleep(1)
'''


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output, which has to be exactly one JSON document."""
        return json.loads(self.out)


class Command:
    """Runs `holon` in a folder of its own, with tools and a storage root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "place"
        self.folder.mkdir()
        self.root = folder / "root"
        self.tools = folder / "tools.py"
        self.tools.write_text(TOOLS, encoding="utf-8")
        self.environment = {
            **os.environ,
            "HOLON_ROOT": str(self.root),
            "HOLON_TOOLS": str(self.tools),
            "COLUMNS": "100",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def begin(self) -> None:
        """Make the storage root, which commands that read what was recorded do not."""
        import holon_core

        holon_core.Runtime.open(self.root, discover=False).close()

    def argv(self, *words: str) -> list[str]:
        """Return the words that start it."""
        return [sys.executable, "-m", "holon_cli", *words]

    def inside(self, words: Sequence[str], patch: Any, capture: Any) -> Done:
        """Run it in this process, which takes a hundredth of the time.

        Args:
            words: The words of the command line.
            patch: pytest's ``monkeypatch``.
            capture: pytest's ``capfd``.
        """
        from holon_cli.main import run

        for name, value in self.environment.items():
            patch.setenv(name, value)
        patch.chdir(self.folder)
        patch.setattr(sys, "path", [*sys.path])
        code = run(words)
        seen = capture.readouterr()
        return Done(code, seen.out, seen.err)

    def __call__(
        self, *words: str, stdin: bytes = b"", cwd: Path | None = None, **variables: str
    ) -> Done:
        """Run it to its end."""
        done = subprocess.run(
            self.argv(*words),
            input=stdin,
            cwd=cwd or self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            check=False,
            timeout=60,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
