"""Packages that tests write, and a runtime with the lane that runs them."""

from __future__ import annotations

import json
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_plugin_packages import plugin
from support import shared_folder

ELEGY_FIXTURES = (shared_folder() or Path()) / "elegy-corpus" / "fixtures"
EVERYTHING = frozenset(holon.Authority)
SOURCE = "holon-plugin-packages"
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}},
    "required": ["text"],
    "additionalProperties": False,
}
SCRIPT = """#!{python}
import json, os, sys
given = sys.argv[1:]
print(json.dumps({{"said": given, "token": os.environ.get("ACME_TOKEN", "")[:0]}}))
"""


def manifest(**changes: Any) -> dict[str, Any]:
    """Make a manifest of one capability that a packaged program runs."""
    made: dict[str, Any] = {
        "kind": "holon-plugin/v1",
        "id": "acme.tools",
        "version": "1.0.0",
        "title": "Acme tools",
        "capabilities": [capability()],
    }
    return {**made, **changes}


def capability(**changes: Any) -> dict[str, Any]:
    """Make a capability that a packaged program runs."""
    made: dict[str, Any] = {
        "id": "say",
        "title": "Say",
        "description": "Repeat a text.",
        "lane": "cli",
        "input_schema": TEXT,
        "output_schema": {"type": "object"},
        "effects": ["none"],
        "command": {
            "program": "./bin/say",
            "arguments": ["--loud", "${loud}", "--", "${text}"],
        },
    }
    return {**made, **changes}


def write_package(folder: Path, given: dict[str, Any] | None = None, **files: str) -> Path:
    """Write a package with its program; ``files`` are more, by path with ``__`` for ``/``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest() if given is None else given)
    (folder / "holon-plugin.json").write_text(text, encoding="utf-8")
    program(folder / "bin" / "say", SCRIPT.format(python=sys.executable))
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def elegy_folder(fixture: Path, folder: Path) -> Path:
    """Write a package of Elegy with the files that it refers to, as far as there are any."""
    data = json.loads(fixture.read_text(encoding="utf-8"))
    folder.mkdir()
    if fixture.name.startswith("elegy-plugin-package"):
        shutil.copy(fixture, folder / "elegy-plugin-package.json")
        for each in data.get("components", {}).get("skillDefinitions", ()):
            skill = ELEGY_FIXTURES / Path(each.get("definitionRef", "none")).name
            if skill.is_file():
                shutil.copy(skill, folder)
        return folder
    shutil.copy(fixture, folder / "elegy-package.json")
    for each in data["files"]:
        if not path_escapes(each["path"]):
            path = folder / each["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\necho '{}'\n" if each["role"] == "executable" else "{}")
    catalogue = json.loads((ELEGY_FIXTURES / "capability-catalog-v2.demo-tool.json").read_text())
    catalogue |= {"plugin": data["name"], "pluginVersion": data["version"]}
    catalogue["capabilities"][0]["invocation"]["executable"] = data["entrypoints"][0]["executable"]
    (folder / "capability-catalog.json").write_text(json.dumps(catalogue))
    return folder


def path_escapes(path: str) -> bool:
    """Tell whether a path of a fixture leads outside."""
    return ".." in path


def program(path: Path, text: str) -> Path:
    """Write a program that can be started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def opened(root: Path, *more: Any, **options: Any) -> holon.Runtime:
    """Open a runtime with the lane."""
    return holon.Runtime.open(root, plugins=[plugin, *more], discover=False, **options)


class Asked:
    """Asks operations with every authority."""

    def __init__(self, rt: holon.Runtime) -> None:
        self.rt = rt
        self.session = rt.session(principal="ann")

    def __call__(self, method: str, **params: Any) -> Any:
        return self.rt.dispatch(method, params, caller=self.session.caller, authorities=EVERYTHING)

    def installed(self, path: Path, **secrets: str) -> dict[str, Any]:
        """Register and import a package; return its summary."""
        package = self("plugin-package/register", path=str(path))["package"]
        more = {"secrets": secrets} if secrets else {}
        self("plugin-package/import", package=package["id"], **more)
        return dict(package)

    def approved(self, tool: str) -> None:
        """Let a capability run under the posture of packages."""
        said = {"posture": "plugin_package_live", "reason": "read it"}
        self("skill/approve-execution", skill=tool, **said)

    def called(self, tool: str, arguments: dict[str, Any]) -> holon.ToolResult:
        """Call a tool, and approve the call where it is held."""
        result = self.session.call(tool, arguments)
        if result.held:
            self.rt.approvals.approve(result.held, by="boss", reason="fine")
            return self.session.release(result.held)
        return result


def reasons(result: holon.ToolResult) -> set[str]:
    """Return the codes of everything that blocks a call."""
    return {each.code for each in result.blocking_reasons}
