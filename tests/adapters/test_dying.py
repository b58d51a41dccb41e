"""A process that dies while it changes an adapter: the old state stays whole, or the new one is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holon_adapters.plugin as lane
import holon_core as holon
from holon_adapters.records import Binding
from holon_core.records.rule import Rule

TOOL = "holon-adapters.notes/read"
# Changes the adapter and dies before, or after, the step that is named.
DIES = """
import os, sys
import holon_adapters.plugin as lane, holon_core as holon
from holon_adapters.records import Binding
from holon_core.plugins.documents import Documents
from holon_core.plugins.host import Host
from holon_core.workbench import Workbench
root, change, step, when = sys.argv[1:]
home, name = {"operations": (Documents, "put_all"), "document": (Documents, "put"),
              "definitions": (Host, "register_source"), "taken": (Host, "remove_source"),
              "gone": (Documents, "remove"), "all": (Workbench, "together")}[step]
whole = getattr(home, name)
def dying(*given, **more):
    if when == "before":
        os._exit(9)
    whole(*given, **more)
    os._exit(9)
with holon.Runtime.open(root, discover=False, plugins=[lane]) as rt:
    setattr(home, name, dying)
    adapters = rt.service("adapters")
    if change == "register":
        adapters.register("notes", {
            "adapter": "holon-adapter/v1", "server": "https://notes.example",
            "operations": [{"id": "read", "method": "GET", "path": "/new", "description": "Read.",
                            "responses": {"200": {"schema": {"type": "object"}}}}]}, by="olga")
    elif change == "bind":
        adapters.bind("notes", Binding(
            origin="https://new.example", by="olga", reason="x", at_unix_seconds=1))
    else:
        getattr(adapters, change)("notes")
"""
DOCUMENT: dict[str, Any] = {
    "adapter": "holon-adapter/v1",
    "operations": [
        {
            "id": "read",
            "method": "GET",
            "path": "/old",
            "description": "Read.",
            "responses": {"200": {"schema": {"type": "object"}}},
        }
    ],
}
OLD = "https://old.example/old"
NEW = {
    "register": "https://old.example/new",
    "bind": "https://new.example/old",
    "unbind": "/old",
    "remove": None,
}
STEPS = {
    "register": ("operations", "document", "definitions"),
    "bind": ("document", "definitions"),
    "unbind": ("document", "definitions"),
    "remove": ("taken", "gone"),
}


def opened(root: Path) -> holon.Runtime:
    rules = [Rule(name="all", decision=holon.Decision.ALLOW)]
    return holon.Runtime.open(root, discover=False, plugins=[lane], config={"rules": rules})


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("change", "step"),
    [(change, step) for change, steps in STEPS.items() for step in (*steps, "all")],
)
def test_what_a_crash_leaves_is_the_old_or_the_new(tmp_path, change, step, when) -> None:
    """Never a mixture, and nothing has to be registered again."""
    root = tmp_path / "root"
    binding = Binding(origin="https://old.example", by="olga", reason="x", at_unix_seconds=1)
    with opened(root) as rt:
        rt.service("adapters").register("notes", DOCUMENT, by="olga")
        rt.service("adapters").bind("notes", binding)

    died = subprocess.run([sys.executable, "-c", DIES, str(root), change, step, when], check=False)

    with opened(root) as rt:
        found = rt.session(principal="ann").dry_run(TOOL, {})
        registered = [each.name for each in rt.service("adapters").list()]
    codes = {each.code for each in found.blocking_reasons}
    shown = (found.output or {}).get("url")
    done = (step, when) == ("all", "after")

    assert died.returncode == 9
    assert shown == (NEW[change] if done else OLD)
    assert registered == ([] if done and change == "remove" else ["notes"])
    assert "definition_changed" not in codes
