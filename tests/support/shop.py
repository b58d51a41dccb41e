"""The example shop as tests run it: modules in processes of their own, a service over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from support import ROOT

EXAMPLE = ROOT / "examples" / "shop-desk"
PEOPLE = {
    "token-ann": {"id": "ann", "role": "support"},
    "token-eve": {"id": "eve", "role": "support"},
    "token-boss": {"id": "boss", "role": "owner", "decides": True},
    "token-clerk": {"id": "ann", "role": "support", "decides": True},
}


def environment() -> dict[str, str]:
    """Return the environment in which the example is importable."""
    return {**os.environ, "PYTHONPATH": str(EXAMPLE / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def argv(module: str, *words: str) -> list[str]:
    """Return the words that start a module of the example, with warnings as errors."""
    return [sys.executable, "-W", "error", "-m", f"shop_desk.{module}", *words]


def run(module: str, folder: Path) -> str:
    """Run a module of the example in an empty folder; return what it printed."""
    done = subprocess.run(
        argv(module, "shop"),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


class Service:
    """One process of the service, asked over HTTP."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self._client = httpx.Client(base_url=url, timeout=30)

    def get(self, path: str, *, by: str) -> httpx.Response:
        """Ask as somebody."""
        return self._client.get(path, headers={"Authorization": f"Bearer token-{by}"})

    def post(self, path: str, *, by: str, **body: Any) -> httpx.Response:
        """Send a JSON body as somebody."""
        headers = {"Authorization": f"Bearer token-{by}"}
        return self._client.post(path, json=body, headers=headers)

    def end(self, how: signal.Signals) -> int:
        """End the process by a signal, and wait for that."""
        self._client.close()
        self._process.send_signal(how)
        return self._process.wait(timeout=30)


@contextmanager
def service(folder: Path) -> Iterator[Service]:
    """Start the service on a folder; it is ended at the end, if it still runs."""
    people = folder / "people.json"
    people.write_text(json.dumps(PEOPLE), encoding="utf-8")
    words = argv("service", str(folder / "shop"), "--people", str(people))
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), line
        made = Service(process, line.removeprefix("listening on ").strip())
        try:
            yield made
        finally:
            if process.poll() is None:
                made.end(signal.SIGTERM)
