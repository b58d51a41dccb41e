"""Kills a process at one write after another of an import, and tells what each kill left.

Run as a program with the folder to work in and a case of `CASES`; it writes JSON lines: what was
there before, what each kill left, and what is there once nobody kills it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_core.store.protocol import Tables

WRITES = ("put_document", "add_documents", "remove_document", "append", "bump_revision")
# Every so many writes one is where it ends.
STEPS = {"package": 5, "server": 2, "refreshed_server": 2}


def package(root: Path, folder: Path, version: int) -> None:
    """Register and import one of two states of a package."""
    from plugin_packages import Asked, capability, manifest, opened, write_package

    ids = ["say", "more", "third"][version - 1 :]
    kept = [capability(id=each, description=f"Version {version}.") for each in ids]
    skills = [{"id": f"s{version}", "instructions": f"Version {version}."}]
    given = manifest(version=str(version), capabilities=kept, skills=skills)
    with opened(root) as rt:
        ask = Asked(rt)
        write_package(folder, given)
        ask("plugin-package/register", path=str(folder))
        armed.begin()
        ask("plugin-package/import", package="acme.tools")


def answers(version: int) -> dict[str, Any]:
    """Return what a server gives."""
    names = ["add", "sub", "mul"][version - 1 :]
    tools = [{"name": each, "inputSchema": {}, "description": f"{version}"} for each in names]
    return {"tools": tools, "prompts": [{"name": f"p{version}"}]}


def server(root: Path, _: Path, version: int) -> None:
    """Register a server beside another one."""
    import holon_mcp.plugin as lane

    with holon.Runtime.open(root, plugins=[lane], discover=False) as rt:
        armed.begin()
        rt.service("mcp-servers").register(f"calc-{version}", answers(version), by="olga")


def refreshed_server(root: Path, _: Path, version: int) -> None:
    """Register a server, or refresh it by what differs."""
    import holon_mcp.plugin as lane

    with holon.Runtime.open(root, plugins=[lane], discover=False) as rt:
        servers = rt.service("mcp-servers")
        armed.begin()
        if version == 1:
            servers.register("calc", answers(1), by="olga")
        else:
            servers.refresh("calc", answers(2))


CASES: dict[str, Callable[[Path, Path, int], None]] = {
    "package": package,
    "server": server,
    "refreshed_server": refreshed_server,
}


class Armed:
    """Ends this process without a word at one of the writes that follow."""

    def __init__(self) -> None:
        self.at = 0
        self.count = 0

    def begin(self) -> None:
        """Count from here."""
        if not self.at:
            return
        for name in WRITES:
            setattr(Tables, name, self._counted(getattr(Tables, name)))

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **more: Any) -> Any:
            done = real(*args, **more)
            self.count += 1
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return counted


armed = Armed()


def look(root: Path) -> Any:
    """Return all that a root has of tools, skills, sources, packages and servers."""
    import holon_mcp.plugin as lane
    from holon_plugin_packages import plugin

    with holon.Runtime.open(root, plugins=[plugin, lane], discover=False) as rt:
        servers = rt.service("mcp-servers")
        return {
            "tools": [[each.id, each.digest] for each in rt.tools.list(limit=100)],
            "skills": [[each.skill.id, each.skill.digest] for each in rt.skills.list()],
            "sources": [each.id for each in rt.skills.sources() if "." in each.id],
            "imported": [each.imported for each in rt.service("plugin_packages").page()],
            "servers": [
                [each.name, entry, item.pin, item.offered_pin]
                for each in servers.list()
                for entry, item in sorted(servers.read(each.name).items.items())
            ],
        }


def in_a_child(work: Callable[[], None]) -> int:
    """Do something in a process of its own; return how that ended."""
    child = os.fork()
    if not child:
        ended = 1
        try:
            work()
            sys.stdout.flush()
            ended = 0
        finally:
            os._exit(ended)
    return os.waitpid(child, 0)[1]


def main(folder: Path, case: str) -> None:
    """Kill at one write after another, until nobody is killed any more."""
    root, work = folder / "root", CASES[case]
    # All modules are loaded before there are children, who need not load them again.
    look(folder / "other")

    def tell(what: str) -> None:
        in_a_child(lambda: print(json.dumps([what, look(root)])))

    in_a_child(lambda: work(root, folder / "package", 1))
    tell("before")
    at = 1
    while True:

        def dying(at: int = at) -> None:
            armed.at = at
            work(root, folder / "package", 2)

        ended = in_a_child(dying)
        if not os.WIFSIGNALED(ended):
            break
        tell("killed")
        assert at < 1000, "it never ends"
        at += STEPS[case]
    tell("after")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
