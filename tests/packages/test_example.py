"""The packaged command-line tool of the examples: from its folder to a guarded live call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plugin_packages import Asked, opened
from support import ROOT

SEARCH = "holon-plugin-packages.examples.ripgrep/search"


def test_ripgrep_is_packaged_and_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its JSON lines are the output; a value that looks like an option is a pattern."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.txt").write_text("one\nTwo words\n--version here\n")
    with opened(tmp_path / "root") as rt:
        ask = Asked(rt)
        ask.session = rt.session(principal="ann", workspace=place)
        ask.installed(ROOT / "examples" / "ripgrep-package")
        ask.approved(SEARCH)

        found = ask.called(SEARCH, {"pattern": "two", "any_case": True})
        none = ask.called(SEARCH, {"pattern": "absent"})
        option = ask.called(SEARCH, {"pattern": "--version"})

    matches = [each["data"] for each in found.output["lines"] if each["type"] == "match"]
    assert [each["lines"]["text"] for each in matches] == ["Two words\n"]
    assert [each["type"] for each in none.output["lines"]] == ["summary"]
    assert sum(each["type"] == "match" for each in option.output["lines"]) == 1
