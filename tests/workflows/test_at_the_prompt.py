"""Workflows at the prompt: typed by somebody who has read the manual's page and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import Command, Done
from flows import call, definition, node
from terminal import terminal

Inside = Callable[..., Done]
GATE = node("ask", "human-gate", {"question": "Go?", "choices": ["yes", "no"]})


@pytest.fixture
def holon(tmp_path: Path) -> Command:
    """The command in a folder of its own, with a definition beside it."""
    made = Command(tmp_path)
    step = node("add", "capability", {"tool": "host.cli/add"})
    step["inputs"] = {"a": {"value": 1}, "b": {"value": 2}}
    write = node("write", "capability", {"tool": "host.cli/write"})
    write["inputs"] = {"path": {"value": str(tmp_path / "report")}, "text": {"value": "hello"}}
    document = definition(step, GATE, write, outputs={"sum": "steps.add.output.sum"})
    (made.folder / "demo.json").write_text(json.dumps(document), encoding="utf-8")
    return made


@pytest.fixture
def inside(
    holon: Command, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Inside:
    """The command in this process."""
    return lambda *words: holon.inside(words, monkeypatch, capfd)


def typed(inside: Inside, said: str, begin: str) -> list[str]:
    """Return the words of the command that was shown, as a person would type it."""
    line = next(line.strip() for line in said.splitlines() if line.strip().startswith(begin))
    return line.split()[1:]


def test_each_wait_names_the_command_that_ends_it(inside: Inside, tmp_path: Path) -> None:
    """From the file to the end by what is shown alone: gate, approval, end."""
    assert inside("workflow-definition", "create", "demo.json").code == 0
    assert inside("workflow-run", "start", "demo", "--run", "r1").code == 0
    asked = inside("workflow-run", "follow", "r1")
    assert asked.code == 3
    answer = typed(inside, asked.err, "holon human-gate answer")
    assert inside(*["yes" if word == "CHOICE" else word for word in answer]).code == 0

    held = inside("workflow-run", "follow", "r1")
    assert held.code == 3
    assert inside(*typed(inside, held.err, "holon approval approve")).code == 0
    done = inside("workflow-run", "follow", "r1")

    assert done.code == 0
    assert (tmp_path / "report").read_text() == "hello"
    assert "write" in done.out


def test_a_missing_function_names_the_option_that_brings_it(holon: Command, inside: Inside) -> None:
    """A run that was blocked without its tools is resumed with them."""
    inside("workflow-definition", "create", "demo.json")
    inside("workflow-run", "start", "demo", "--run", "r1")
    tools = holon.environment.pop("HOLON_TOOLS")
    import os

    os.environ.pop("HOLON_TOOLS", None)
    blocked = inside("workflow-run", "follow", "r1")
    assert blocked.code == 3
    assert "unknown" in blocked.err or "no tool" in blocked.err
    line = typed(inside, blocked.err, "holon workflow-run resume")
    words = line[: line.index("FILE")] + [tools]

    assert inside(*words).code == 3
    assert "human-gate answer" in inside("workflow-run", "follow", "r1").err


def test_a_graph_is_shown_in_words_and_drawn_to_a_file(holon: Command, inside: Inside) -> None:
    """A terminal gets Mermaid's words; SVG goes to the file that is named."""
    inside("workflow-definition", "create", "demo.json")

    shown = inside("workflow-definition", "show", "demo")
    drawn = inside("workflow-definition", "show", "demo", "--svg", "demo.svg")

    assert "flowchart TD" in shown.out
    assert "<svg" not in shown.out + drawn.out
    if shutil.which("dot") is None:
        assert drawn.code != 0
        assert "graphviz" in drawn.err
    else:
        assert drawn.code == 0
        picture = (holon.folder / "demo.svg").read_text(encoding="utf-8")
        assert "<svg" in picture
        assert all(name in picture for name in ("add", "ask", "write"))


def test_a_terminal_shows_a_run_as_it_goes_on(holon: Command, inside: Inside) -> None:
    """A bar for each step is drawn anew while the run is followed."""
    steps = [call(name, "nap") for name in "ab"]
    for step in steps:
        step["config"], step["inputs"] = {"tool": "host.cli/nap"}, {"seconds": {"value": 0.3}}
    (holon.folder / "naps.json").write_text(json.dumps(definition(*steps)), encoding="utf-8")
    inside("workflow-definition", "create", "naps.json")
    inside("workflow-run", "start", "demo", "--run", "r1")
    words = holon.argv("workflow-run", "follow", "r1")

    with terminal(words, cwd=holon.folder, environment=holon.environment) as made:
        made.read_until("running")
        code = made.end()

    assert code == 0
    last = [line for line in made.seen.splitlines() if line.startswith("b ")][-1]
    assert "completed" in last
    assert any(line.startswith("a ") and "running" in line for line in made.seen.splitlines()), (
        made.seen
    )


def test_a_note_cannot_draw_on_the_terminal(flows: Any, ann: Any) -> None:
    """Control characters in what people and models wrote are written out."""
    from holon_workflows.timeline import event_line

    flows.create(definition(GATE), by="olga")
    run = flows.run("demo", session=ann)
    flows.answer(run.waits_for[0]["gate"], by="boss", choice="yes", reason="\x1b[2Jgone")
    flows.ready_run(run.id)

    lines = [event_line(event) for event in flows.events(run.id)]

    assert any("\\x1b[2Jgone" in line for line in lines)
    assert not any("\x1b" in line for line in lines)
