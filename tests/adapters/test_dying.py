"""A process that dies while it registers an API: what is half done is refused, never run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holon_adapters.plugin as lane
import holon_core as holon
from holon_core.records.rule import Rule

TOOL = "holon-adapters.notes/read"
# Registers the second document and dies before, or after, the step that is named.
DIES = """
import os, sys
import holon_adapters.plugin as lane, holon_core as holon
from holon_core.plugins.documents import Documents
from holon_core.plugins.host import Host
root, step, when, path = sys.argv[1:]
home, name = {"operations": (Documents, "put_all"), "adapter": (Documents, "put"),
              "definitions": (Host, "register_source")}[step]
whole = getattr(home, name)
def dying(*given, **more):
    if when == "before":
        os._exit(9)
    whole(*given, **more)
    os._exit(9)
with holon.Runtime.open(root, discover=False, plugins=[lane]) as rt:
    setattr(home, name, dying)
    rt.service("adapters").register("notes", {
        "adapter": "holon-adapter/v1", "server": "https://notes.example",
        "operations": [{"id": "read", "method": "GET", "path": path, "description": "Read.",
                        "responses": {"200": {"schema": {"type": "object"}}}}]}, by="olga")
"""


def document(path: str) -> dict[str, Any]:
    operation = {
        "id": "read",
        "method": "GET",
        "path": path,
        "description": "Read.",
        "responses": {"200": {"schema": {"type": "object"}}},
    }
    return {
        "adapter": "holon-adapter/v1",
        "server": "https://notes.example",
        "operations": [operation],
    }


def opened(root: Path) -> holon.Runtime:
    rules = [Rule(name="all", decision=holon.Decision.ALLOW)]
    return holon.Runtime.open(root, discover=False, plugins=[lane], config={"rules": rules})


@pytest.mark.parametrize(
    ("step", "when"),
    [("operations", "before"), ("operations", "after"), ("adapter", "after"),
     ("definitions", "before"), ("definitions", "after")],
)  # fmt: skip
def test_what_a_crash_leaves_is_the_old_the_new_or_refused(tmp_path, step, when) -> None:
    """Its dry run shows no mixture of both; registering again heals it."""
    root = tmp_path / "root"
    with opened(root) as rt:
        rt.service("adapters").register("notes", document("/old"), by="olga")

    argv = [sys.executable, "-c", DIES, str(root), step, when, "/new"]
    died = subprocess.run(argv, check=False)

    with opened(root) as rt:
        session = rt.session(principal="ann")
        found = session.dry_run(TOOL, {})
        codes = {each.code for each in found.blocking_reasons}
        rt.service("adapters").register("notes", document("/new"), by="olga")
        healed = session.dry_run(TOOL, {}).output["url"]

    shown = (found.output or {}).get("url", "").rpartition("/")[2]
    assert died.returncode == 9
    if (step, when) == ("operations", "before"):
        assert shown == "old"
    elif (step, when) == ("definitions", "after"):
        assert shown == "new"
    else:
        assert (shown, "definition_changed" in codes) == ("", True)
    assert healed == "https://notes.example/new"
