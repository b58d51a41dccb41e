"""Frozen tools at the prompt: short to read, held with the held code, drawn into files."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Command, Done
from holon_cli.commands import LANE_NOUNS, about
from holon_cli.exits import Exit
from holon_core.process import resolve_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")
SCRIPT = {
    "name": "repeat",
    "purpose": "Say a text again",
    "command": ["python3", "main.py"],
    "effects": ["none"],
    "fallback": {"kind": "none"},
}
TEXT = (
    "import json, os; given = json.loads(os.environ['HOLON_INPUT_JSON']);"
    " print(json.dumps({'text': given['text'] + 'EXTRA', 'value': None}))"
)
Inside = Callable[..., Done]


@pytest.fixture
def propose(holon: Command, inside: Inside) -> Callable[..., str]:
    """Propose a script of a recorded call; what it adds makes its fixture fail."""

    def propose(extra: str = "") -> str:
        inside("workspace", "open", "desk")
        run = inside("tool", "call", "host.cli/echo", "text=hi", "--workspace", "desk", "--json")
        given = {**SCRIPT, "files": {"main.py": TEXT.replace("EXTRA", extra)}}
        (holon.folder / "script.json").write_text(json.dumps(given), encoding="utf-8")
        made = inside(
            "script-artifact",
            "create-frozen-tool-proposal",
            "--script",
            "@script.json",
            "--calls",
            run.json["call_id"],
            "--workspace",
            "desk",
            "--json",
        )
        return str(made.json["id"])

    (holon.folder / "desk").mkdir()
    return propose


def test_a_held_promotion_exits_as_a_held_call_does_and_shows_what_to_do(
    propose: Callable[..., str], inside: Inside
) -> None:
    """For people without the whole record, for programs with all of it."""
    tool = propose()
    proven = inside("frozen-tool", "validate", tool, "--workspace", "desk")
    assert (proven.code, "1 of 1 passed" in proven.out) == (Exit.COMPLETED, True)

    held = inside("frozen-tool", "promote", tool, "--workspace", "desk")
    again = inside("frozen-tool", "promote", tool, "--workspace", "desk", "--json")

    assert (held.code, again.code) == (Exit.BLOCKED, Exit.BLOCKED)
    assert again.json["result"]["held"]
    assert "approval_required" in held.err
    found = re.search(r"holon approval approve (c\w+) .*holon tool release \1", held.err, re.S)
    assert found is not None
    assert inside("approval", "approve", found[1], "--reason", "ok").code == Exit.COMPLETED
    assert inside("tool", "release", found[1], "--workspace", "desk").code == Exit.COMPLETED
    assert "properties" not in held.out
    assert len(held.out.splitlines()) < 20


def test_a_tool_whose_fixtures_fail_exits_with_1_and_names_them(
    propose: Callable[..., str], inside: Inside
) -> None:
    """Not with 0, as if it were validated."""
    done = inside("frozen-tool", "validate", propose("!"), "--workspace", "desk")

    assert done.code == Exit.FAILED
    assert "state: candidate" in done.out
    assert "recorded-1: its output is another one" in done.out


def test_a_graph_is_text_at_the_prompt_and_a_drawing_in_a_file(
    holon: Command, propose: Callable[..., str], inside: Inside
) -> None:
    """Mermaid's words; SVG goes to the file that is named, and nowhere else."""
    tool = propose()

    shown = inside("frozen-tool", "show", tool, "--graph")
    drawn = inside("frozen-tool", "show", tool, "--svg", "life.svg")

    assert "flowchart LR" in shown.out
    assert re.search(r"created at: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", shown.out)
    assert "<svg" not in shown.out + drawn.out
    file = holon.folder / "life.svg"
    if resolve_program("dot") is None:
        assert (drawn.code, file.exists()) == (Exit.BLOCKED, False)
        assert "graphviz" in drawn.err
    else:
        assert drawn.code == Exit.COMPLETED
        assert "<svg" in file.read_text(encoding="utf-8")


def test_a_drawing_that_can_not_be_written_is_a_mistake_of_usage(
    propose: Callable[..., str], inside: Inside, tmp_path: Path
) -> None:
    """And no traceback."""
    if resolve_program("dot") is None:
        pytest.skip("graphviz is not here")
    done = inside("frozen-tool", "show", propose(), "--svg", str(tmp_path / "no" / "life.svg"))

    assert done.code == Exit.USAGE
    assert "cannot write" in done.err


def test_an_empty_listing_has_no_head(propose: Callable[..., str], inside: Inside) -> None:
    """Neither on a terminal nor in a pipe."""
    done = inside("frozen-tool", "list", "--state", "active")

    assert (done.code, done.out) == (Exit.COMPLETED, "")
    assert "no proposals" in done.err


def test_the_help_names_the_nouns_of_lanes_in_sentences(inside: Inside) -> None:
    """Those that are installed; what a stranger adds is told by its verbs."""
    shown = inside("--help").out
    noun = inside("script-artifact", "--help").out

    for name in LANE_NOUNS:
        assert name.partition("-")[0] in shown
    assert LANE_NOUNS["script-artifact"][1] in " ".join(noun.split())
    assert "Operations of a plugin" not in shown + noun
    assert about("acme-thing", ()) == "What a plugin adds as acme-thing: "


def test_every_noun_of_an_installed_lane_has_its_sentence(inside: Inside) -> None:
    """So that none is listed nowhere."""
    rows = inside("protocol", "list", "--json").json["operations"]
    from holon_cli.commands import NOUNS

    nouns = {row["method"].partition("/")[0] for row in rows}
    assert nouns - set(NOUNS) - set(LANE_NOUNS) == set()


def test_a_tool_leaves_into_a_file_and_comes_in_from_it(
    holon: Command, propose: Callable[..., str], inside: Inside
) -> None:
    """What the one command prints, the other reads."""
    tool = propose()
    inside("frozen-tool", "validate", tool, "--workspace", "desk")
    for _ in range(2):
        asked = inside("frozen-tool", "promote", tool, "--workspace", "desk", "--json")
        held = asked.json["result"]["held"]
        inside("approval", "approve", held, "--reason", "ok")
        inside("tool", "release", held, "--workspace", "desk")
    out = inside("crystallized-capability", "export", tool)
    (holon.folder / "tool.json").write_text(out.out, encoding="utf-8")
    (holon.folder / "other").mkdir()
    inside("workspace", "open", "other")

    checked = inside("crystallized-capability", "validate", "tool.json")
    came = inside("crystallized-capability", "import", "tool.json", "--workspace", "other")

    assert (out.code, checked.code, came.code) == (Exit.COMPLETED,) * 3
    assert json.loads(out.out)["lifecycleState"] == "active"
    assert "state: proposed" in came.out
    assert "/repeat~1" in came.out
