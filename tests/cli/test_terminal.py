"""Asking a person at a terminal: inline in `tool call`, and in `approval watch`."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command import Command
from terminal import Terminal, terminal

CALL = ("tool", "call", "host.cli/write", "path=x", "text=hello")
ASKED = "quit (q): "


@contextmanager
def at_terminal(holon: Command, *words: str, **variables: str) -> Iterator[Terminal]:
    """Run the command on a terminal."""
    environment = {**holon.environment, **variables}
    with terminal(holon.argv(*words), cwd=holon.folder, environment=environment) as made:
        yield made


def editor(folder: Path, *, program: str) -> str:
    """Make an editor: a Python program that gets the file's path."""
    path = folder / "editor"
    path.write_text(f"#!{sys.executable}\nimport sys\npath = sys.argv[1]\n{program}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def answer(made: Terminal, text: str = "") -> None:
    """Answer a prompt for a line: of a number, or of a reason."""
    made.read_until(": ")
    made.type(f"{text}\n")


def test_a_held_call_is_approved_and_runs_at_once(holon):
    """The view is shown, `a` approves with a reason, and the call is released."""
    with at_terminal(holon, *CALL) as made:
        view = made.read_until(ASKED)
        assert not (holon.folder / "x").exists()
        made.type("a")
        answer(made, "looks right")
        code = made.end()

    assert view.index("What Holon states") < view.index("Payload") < view.index("Untrusted")
    assert code == 0, made.seen
    assert (holon.folder / "x").read_text() == "hello"
    assert "self approved" in made.seen
    decided = holon("approval", "list", "--state", "all", "--json").json["approvals"]
    assert [each["reason"] for each in decided] == ["looks right"]


@pytest.mark.parametrize("key", ["a", "d"], ids=["approve", "deny"])
def test_an_enter_after_the_key_states_no_reason(holon, key):
    """Who types the key and Enter is asked on; nothing is decided before a reason is there."""
    with at_terminal(holon, *CALL) as made:
        made.read_until(ASKED)
        made.type(f"{key}\n")
        made.read_until("reason: ")
        made.read_until("reason: ")
        waiting = holon("approval", "list", "--json").json["approvals"]
        made.type("  \n")
        made.read_until("a reason is kept with each decision")
        made.read_until("reason: ")
        made.type("as agreed\n")
        made.end()

    assert [each["state"] for each in waiting] == ["pending"]
    decided = holon("approval", "list", "--state", "all", "--json").json["approvals"]
    assert [each["reason"] for each in decided] == ["as agreed"]


def test_a_held_call_is_denied(holon):
    """Nothing runs, and the exit code says blocked."""
    with at_terminal(holon, *CALL) as made:
        made.read_until(ASKED)
        made.type("d")
        answer(made, "fine")
        code = made.end()

    assert code == 3
    assert not (holon.folder / "x").exists()
    states = holon("approval", "list", "--state", "all", "--json").json["approvals"]
    assert [each["state"] for each in states] == ["denied"]


@pytest.mark.parametrize("key", ["q", "n", "\x04"], ids=["q", "n", "end of input"])
def test_a_held_call_can_be_left(holon, key):
    """It stays held, and the text says how to go on."""
    with at_terminal(holon, *CALL) as made:
        made.read_until(ASKED)
        made.type(key)
        code = made.end()

    assert code == 3
    assert "holon tool release c" in made.seen
    assert len(holon("approval", "list", "--json").json["approvals"]) == 1


def test_an_unknown_key_shows_the_help_and_asks_again(holon):
    """So do `?` and an arrow key; none of them decides."""
    with at_terminal(holon, *CALL) as made:
        for key in ("?", "x", "\x1b[A"):
            made.read_until(ASKED)
            made.type(key)
            made.read_until("leave it waiting")
        made.read_until(ASKED)
        made.type("q")
        code = made.end()

    assert code == 3
    assert len(holon("approval", "list", "--json").json["approvals"]) == 1


def test_an_edit_is_held_and_shown_anew_before_it_is_approved(holon, tmp_path):
    """What the editor leaves is validated, shown with its payload, and approved by itself."""
    program = (
        "import json\ndata = json.load(open(path))\ndata['text'] = 'edited'\n"
        "json.dump(data, open(path, 'w'))"
    )
    with at_terminal(holon, *CALL, EDITOR=editor(tmp_path, program=program)) as made:
        made.read_until(ASKED)
        made.type("e")
        answer(made, "fine")
        view = made.read_until(ASKED)
        made.type("a")
        answer(made, "fine")
        code = made.end()

    assert '"text": "edited"' in view
    assert code == 0, made.seen
    assert (holon.folder / "x").read_text() == "edited"


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("open(path, 'w').write('{nonsense')", "not strict JSON"),
        ("open(path, 'w').write('{\"path\": 1}')", "arguments_invalid"),
        ("", "nothing was changed"),
    ],
    ids=["no json", "no fit", "unchanged"],
)
def test_an_edit_that_cannot_be_is_told_and_asked_again(holon, tmp_path, program, told):
    """The held call stays as it was."""
    with at_terminal(holon, *CALL, EDITOR=editor(tmp_path, program=program)) as made:
        made.read_until(ASKED)
        made.type("e")
        if told == "arguments_invalid":
            answer(made, "fine")
        made.read_until(told)
        made.read_until(ASKED)
        made.type("a")
        answer(made, "fine")
        code = made.end()

    assert code == 0, made.seen
    assert (holon.folder / "x").read_text() == "hello"


def test_a_grant_covers_further_calls(holon):
    """`g` approves this one and grants the pattern; the next call runs unasked."""
    pattern = json.dumps({"path": {"equals": "x"}, "text": {"glob": "*"}})
    with at_terminal(holon, *CALL) as made:
        made.read_until(ASKED)
        made.type("g")
        made.read_until("pattern: ")
        made.type(pattern + "\n")
        answer(made, "3")
        answer(made, "60")
        answer(made, "often")
        code = made.end()
    again = holon("tool", "call", "host.cli/write", "path=x", "text= again")

    assert (code, again.code) == (0, 0), made.seen + again.err
    assert (holon.folder / "x").read_text() == "hello again"


def test_programs_are_never_asked(holon):
    """`--json` on a terminal answers with the held call."""
    with at_terminal(holon, *CALL, "--json") as made:
        code = made.end()

    assert code == 3
    assert '"held": "c' in made.seen


def test_an_interrupt_while_asked_leaves_the_call_held(holon):
    """Ctrl-C ends the command in one line."""
    with at_terminal(holon, *CALL) as made:
        made.read_until(ASKED)
        made.type("\x03")
        code = made.end()

    assert code == 130
    assert made.seen.rstrip().endswith("holon: interrupted")
    assert len(holon("approval", "list", "--json").json["approvals"]) == 1


def test_watch_walks_through_what_waits(holon):
    """Each held call of whichever workspace is shown and decided; the end is clean."""
    for text in ("one", "two", "three"):
        holon("tool", "call", "host.cli/write", "path=x", f"text={text}", "--actor", "ann")

    with at_terminal(holon, "approval", "watch", "--once", "--actor", "bo") as made:
        assert '"text": "one"' in made.read_until(ASKED)
        made.type("a")
        answer(made, "fine")
        assert '"text": "two"' in made.read_until(ASKED)
        made.type("n")
        assert '"text": "three"' in made.read_until(ASKED)
        made.type("d")
        answer(made, "fine")
        code = made.end()

    states = holon("approval", "list", "--state", "all", "--json").json["approvals"]
    assert code == 0, made.seen
    assert [each["state"] for each in states] == ["approved", "pending", "denied"]
    assert not (holon.folder / "x").exists()


def test_watch_refuses_an_own_call_where_another_is_the_operator(holon):
    """The command's actor is its operator, so that an own call is marked and not refused."""
    holon("tool", "call", "host.cli/write", "path=x", "text=own", "--actor", "bo")

    with at_terminal(holon, "approval", "watch", "--once", "--actor", "bo") as made:
        made.read_until(ASKED)
        made.type("a")
        answer(made, "fine")
        made.end()

    states = holon("approval", "list", "--state", "all", "--json").json["approvals"]
    assert [(each["state"], each["self_approved"]) for each in states] == [("approved", True)]


def test_watch_waits_for_the_next_call(holon):
    """A call that is held while it waits is shown; `q` ends it."""
    with at_terminal(holon, "approval", "watch", "--actor", "bo") as made:
        made.read_until("nothing waits")
        holon("tool", "call", "host.cli/write", "path=x", "text=late", "--actor", "ann")
        assert '"text": "late"' in made.read_until(ASKED)
        made.type("n")
        made.read_until("nothing waits but what you left")
        made.type("x")
        made.type("q")
        code = made.end()

    assert code == 0
    assert made.seen.count("nothing waits") == 2


def test_a_table_on_a_terminal_keeps_whole_ids(holon):
    """A long id is folded, never cut."""
    with at_terminal(holon, "approval", "list", COLUMNS="40") as made:
        made.end()
    holon(*CALL)
    with at_terminal(holon, "tool", "list", COLUMNS="200") as made:
        code = made.end()

    assert code == 0
    assert "host.cli/write" in made.seen
    assert "…" not in made.seen


def test_long_work_shows_how_far_it_is(holon):
    """A bar with what is done of how much, which is gone in the end; programs get none."""
    with at_terminal(holon, "tool", "call", "host.cli/copy") as made:
        made.read_until("copying the third of all")
        made.read_until("3/20")
        assert made.end() == 0
    with at_terminal(holon, "tool", "call", "host.cli/copy", "--json") as made:
        assert made.end() == 0

    assert "copying" not in made.seen
