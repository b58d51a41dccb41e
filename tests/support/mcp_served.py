"""Holon served by MCP as a process, and what a person does beside it at a prompt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

TOOLS = Path(__file__).parent.parent / "mcp_lane" / "data" / "served.py"
HOLON = str(Path(sys.executable).with_name("holon"))


class Served:
    """A storage root that is served; clients come and go.

    Args:
        folder: Where the root is made.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"

    def arguments(self, *more: str) -> list[str]:
        """Return the words of the command that serves."""
        words = ["mcp", "serve", "--root", str(self.root), "--tools", str(TOOLS)]
        return [*words, "--actor", "ann", "--workspace", "-", *more]

    def client(self, *more: str, **options: Any) -> Client:
        """Return a client of the official SDK, connected once it is entered."""
        environment = {**os.environ}
        server = StdioServerParameters(
            command=HOLON, args=self.arguments(*more), env=environment, cwd=str(self.root.parent)
        )
        return Client(stdio_client(server), **options)

    def approve(self, held: str) -> None:
        """Approve a held call as another person does at a prompt."""
        self.run("approval", "approve", held, "--reason", "fine", "--actor", "boss")

    def run(self, *words: str) -> Any:
        """Run the command and return the document that it writes."""
        done = subprocess.run(
            [HOLON, *words, "--root", str(self.root), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def text_of(result: Any) -> Any:
    """Return the JSON that an answer has as its text."""
    return json.loads(result.content[0].text)
