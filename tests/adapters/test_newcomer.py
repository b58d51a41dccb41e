"""The page of the lane, typed by somebody who knows no more than what stands there."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from command import Command
from support import ROOT
from terminal import terminal

PAGE = (ROOT / "docs" / "lanes" / "adapters.md").read_text(encoding="utf-8")
FILES, COMMANDS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)[:2]
PORT = "8765"


@contextmanager
def served(folder: Path, port: str) -> Iterator[None]:
    """Run what the page starts in the background, and end it."""
    argv = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", port]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(argv, cwd=folder, stdout=quiet, stderr=quiet)
    try:
        for _ in range(200):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", int(port))) == 0:
                    break
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def free_port() -> str:
    """The page's own may be taken where tests run."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return str(made.getsockname()[1])


@pytest.mark.skipif(os.name == "nt", reason="the page is typed into a shell")
def test_the_page_works_as_it_is_typed(tmp_path) -> None:
    """Line by line in one shell, at a terminal; the last one asks, and answers the item."""
    port, place = free_port(), tmp_path / "place"
    place.mkdir()
    lines = [line.removeprefix("$ ") for line in FILES.splitlines()]
    started = [line for line in lines if not line.startswith("pip ") and not line.endswith("&")]
    typed = [line.removeprefix("$ ").replace(PORT, port) for line in COMMANDS.splitlines()]
    (text,) = re.findall(r"```yaml\n(adapter:.*?)```", PAGE, re.DOTALL)
    (place / "shop.yaml").write_text(text.replace(PORT, port), encoding="utf-8")
    environment = {
        **os.environ,
        "PATH": sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"],
        "HOLON_ROOT": str(tmp_path / "root"),
    }
    script = "set -e\n" + "\n".join([*started, *typed])
    shell = ["/bin/sh", "-c", script]

    with served(place, port), terminal(shell, cwd=place, environment=environment) as made:
        made.read_until("quit (q): ", timeout_s=60)
        made.type("a")
        made.read_until(": ")
        made.type("looks right\n")
        code = made.end()

    assert len(typed) == 5
    assert code == 0, made.seen
    assert '"name": "cup"' in made.seen
    assert "the-token-of-the-shop" not in made.seen


DOCUMENT = """
adapter: holon-adapter/v1
server: https://shop.example
operations:
  - {id: read, method: GET, path: /x, description: Read., responses: {"200": {}}}
"""


@pytest.fixture
def ask(tmp_path, monkeypatch, capfd) -> Callable[..., Any]:
    """Run the command in a folder with the document, and read its JSON."""
    holon = Command(tmp_path)
    (holon.folder / "shop.yaml").write_text(DOCUMENT, encoding="utf-8")

    def ask(*words: str, workspace: str | None = None) -> Any:
        where = str(holon.folder) if workspace is None else workspace
        return holon.inside([*words, "--workspace", where, "--json"], monkeypatch, capfd).json

    return ask


REGISTER = ("adapter", "register", "shop", "--path", "shop.yaml")
READ = ("tool", "read", "holon-adapters.shop/read")


def test_in_a_workspace_the_short_id_means_its_own_tool(ask) -> None:
    """Typed inside it; elsewhere there is no such tool."""
    made = ask(*REGISTER)

    (whole,) = made["added"]
    assert whole == f"holon-adapters.{made['adapter']['workspace']}.shop/read"
    assert ask(*READ)["tool"]["id"] == whole
    assert ask(*READ, workspace="-")["failure"]["code"] == "unknown_tool"


def test_what_has_the_short_id_itself_comes_first(ask) -> None:
    """A name that two adapters share is never guessed at."""
    ask(*REGISTER)
    ask(*REGISTER, workspace="-")

    assert ask(*READ)["tool"]["id"] == "holon-adapters.shop/read"
