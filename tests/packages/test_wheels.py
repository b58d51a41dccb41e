"""The wheels of the core and of this lane, alone in an environment of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clean import Environment

PROGRAM = """
import json, sys, holon_core as holon
PACKAGE = {
    "kind": "holon-plugin/v1",
    "id": "acme.text",
    "version": "1.0.0",
    "capabilities": [{"id": "sort", "lane": "cli", "input_schema": {"type": "object"},
        "output_schema": {"type": "object"}, "effects": ["none"],
        "command": {"program": "sort", "arguments": []}}],
    "skills": [{"id": "how-to", "instructions": "Sort it."}],
}
with holon.Runtime.open(sys.argv[1]) as rt:
    before = [tool.id for tool in rt.tools.list()]
    session = rt.session(principal="ann")
    def ask(method, **params):
        every = [*holon.Authority]
        return rt.dispatch(method, params, caller=session.caller, authorities=every)
    ask("plugin-package/register", manifest=PACKAGE)
    ask("plugin-package/import", package="acme.text")
    [tool] = [each.id for each in rt.tools.list()]
    codes = [each.code for each in session.call(tool, {}).blocking_reasons]
    text = ask("runtime-skill/load", skill="holon-plugin-packages.acme.text/how-to")
    names = [each.name for each in rt.plugins.list() if each.active]
    methods = [each["method"] for each in ask("protocol/list")["operations"]]
    own = sorted(each for each in methods if each.startswith("plugin-package/"))
    print(json.dumps([before, names, tool, codes, text["instructions"], own]))
"""


@pytest.mark.slow
def test_the_lane_works_with_the_core_alone(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Its wheel declares all that it imports, and brings exactly its surface."""
    environment = Environment(tmp_path / "env", wheels)
    environment.install(wheels["holon-plugin-packages"])
    empty = tmp_path / "empty"
    empty.mkdir()

    answer = json.loads(environment.run("-c", PROGRAM, tmp_path / "root", cwd=empty))

    before, names, tool, codes, text, operations = answer
    assert (before, names) == ([], ["packages"])
    assert tool == "holon-plugin-packages.acme.text/sort"
    assert (codes, text) == (["posture_unapproved"], "Sort it.")
    verbs = ("convert", "diff", "import", "list", "read", "register", "remove")
    assert operations == [f"plugin-package/{verb}" for verb in verbs]
