"""The commands: derived from the table, with the exit codes that a shell can rely on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import click
import pytest

from holon_cli.commands import ALIASES, COMMAND_ONLY, NOUNS, root
from holon_core.operations.table import OPERATIONS


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the path of every command below a group."""
    found: set[tuple[str, ...]] = set()
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        here = (*path, name)
        found |= leaves(command, here) if isinstance(command, click.Group) else {here}
    return found


def test_every_command_has_a_row_and_every_row_a_command():
    """Nothing is stated beside the table but the commands that are no operations."""
    commands = leaves(root())

    rows = {path for path in commands if path not in COMMAND_ONLY}
    methods = {f"{ALIASES.get(path[0], path[0])}/{path[1]}" for path in rows}
    assert methods == set(OPERATIONS)
    # Nouns of plugins are there once a runtime with them is open.
    nouns = {path[0] for path in commands}
    assert {path for path in COMMAND_ONLY if path[0] in nouns or len(path) == 1} <= commands


def test_every_noun_of_the_table_has_its_text():
    """The help lists nouns without making their commands, and no others."""
    rows = {row.noun for row in OPERATIONS.values()}
    others = {path[0] for path in COMMAND_ONLY if len(path) > 1}

    assert rows <= set(NOUNS)
    assert set(NOUNS) - rows <= others


def test_a_noun_is_reached_by_its_alias_and_its_name(holon):
    """`tool` is runtime-tool, `show` is read."""
    short = holon("tool", "show", "host.cli/add", "--json")
    long = holon("runtime-tool", "read", "host.cli/add", "--json")

    assert short.json == long.json
    assert short.json["tool"]["id"] == "host.cli/add"


def test_a_completed_call_exits_with_0_and_prints_its_output(holon):
    """The output is on standard output, what is about it on standard error."""
    done = holon("tool", "call", "host.cli/add", "a=1", "b=2")

    assert done.code == 0
    assert done.out.startswith("noise on standard output\n")
    assert json.loads(done.out.removeprefix("noise on standard output\n")) == {"sum": 3}
    assert done.err.startswith("completed  call c")


def test_a_failed_call_exits_with_1(holon):
    """The tool ran and failed."""
    done = holon("tool", "call", "host.cli/fail")

    assert done.code == 1
    assert "tool_raised" in done.err


def test_refused_arguments_exit_with_1_and_name_their_path(holon):
    """The attempt is recorded like a run."""
    done = holon("tool", "call", "host.cli/add", "a=1", "b=x")

    assert done.code == 1
    assert "arguments_invalid" in done.err
    assert "/b" in done.err


def test_wrong_usage_exits_with_2(holon):
    """A missing positional argument is told with the usage."""
    done = holon("tool", "call")

    assert done.code == 2
    assert "Missing argument 'TOOL'" in done.err
    assert "Usage: holon tool call" in done.err


def test_a_held_call_exits_with_3_and_says_what_to_do(holon):
    """Without a terminal nobody is asked."""
    done = holon("tool", "call", "host.cli/write", "path=x", "text=y")

    assert done.code == 3
    assert "holon approval approve c" in done.err
    assert "holon tool release c" in done.err
    assert not (holon.folder / "x").exists()


def test_a_rejected_configuration_exits_with_4_and_all_findings(holon):
    """`holon.toml` is refused as a whole, with file, line and key."""
    holon.root.mkdir()
    (holon.root / "holon.toml").write_text("colour = 1\nkey_ttl_s = 'x'\n", encoding="utf-8")

    done = holon("tool", "list")

    assert done.code == 4
    assert "holon.toml:1" in done.err
    assert "key_ttl_s" in done.err


def test_an_interrupt_exits_with_130_in_one_line(holon):
    """Ctrl-C during a tool ends the command without a traceback."""
    with subprocess.Popen(
        holon.argv("tool", "call", "host.cli/nap", "seconds=30"),
        cwd=holon.folder,
        env=holon.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "asleep\n"
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()

    assert process.returncode == 130
    assert rest == "holon: interrupted\n"
    trail = holon("evidence", "list", "--json").json["records"]
    assert [record["kind"] for record in trail] == ["accepted", "failed"]
    assert trail[1]["body"]["failure"]["code"] == "cancelled"


def test_a_reader_that_goes_away_ends_the_command_quietly(holon):
    """A closed pipe is no fault worth a text."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            holon.argv("protocol", "list"),
            stdout=pipe,
            stderr=subprocess.PIPE,
            env=holon.environment,
            cwd=holon.folder,
            check=False,
        )

    assert (done.returncode, done.stderr) == (141, b"")


def test_a_call_is_held_approved_and_released_by_three_commands(holon):
    """Each is a process of its own on one storage root."""
    target = holon.folder / "x"
    words = ("path=x", "text=hello")
    held = holon("tool", "call", "host.cli/write", *words, "--json").json["held"]

    approved = holon("approval", "approve", held, "--reason", "ok")
    assert (approved.code, target.exists()) == (0, False)
    released = holon("tool", "release", held)

    assert (released.code, target.read_text()) == (0, "hello")
    assert "self approved" in released.err


def test_a_denied_call_stays_denied(holon):
    """The same payload is refused, and release finds nothing held."""
    words = ("tool", "call", "host.cli/write", "path=x", "text=hello")
    held = holon(*words, "--json").json["held"]
    holon("approval", "deny", held, "--reason", "no")

    again = holon(*words)
    released = holon("tool", "release", held)

    assert (again.code, released.code) == (3, 3)
    assert "approval_denied" in again.err
    assert not (holon.folder / "x").exists()


def test_an_edit_changes_the_words_it_names(holon):
    """KEY=VALUE adds to the held arguments; what comes of it is held anew."""
    held = holon("tool", "call", "host.cli/write", "path=x", "text=a", "--json").json["held"]

    edited = holon("approval", "edit", held, "text=b", "--reason", "better", "--json").json

    view = holon("approval", "show", edited["held"], "--json").json["view"]
    assert json.loads(view["payload"]["text"]) == {"path": "x", "text": "b"}


def test_a_grant_lets_calls_of_its_scope_run(holon):
    """The common options give the scope; the pattern covers exactly these arguments."""
    pattern = '{"path": {"equals": "x"}, "text": {"glob": "note *"}}'
    granted = holon(
        *("approval", "grant", "host.cli/write", "--pattern", pattern, "--principal", "ann"),
        *("--uses", "2", "--ttl-s", "60", "--reason", "notes", "--actor", "bo", "--role", "writer"),
    )
    assert granted.code == 0, granted.err
    call = ("tool", "call", "host.cli/write", "path=x", "--actor", "ann", "--role", "writer")

    assert holon(*call, "text=note 1").code == 0
    assert holon(*call, "text=other").code == 3
    assert (holon.folder / "x").read_text() == "note 1"


def test_an_approver_cannot_be_the_caller_under_another_name(holon):
    """`--actor` is the caller of each command; the decision names it."""
    call = ("tool", "call", "host.cli/write", "path=x", "text=y", "--actor", "ann", "--json")
    held = holon(*call).json["held"]

    decided = holon("approval", "approve", held, "--reason", "ok", "--actor", "bo", "--json").json

    assert (decided["decided_by"], decided["self_approved"]) == ("bo", False)


def test_a_wait_tells_by_its_exit_code_what_was_decided(holon):
    """3 while nobody decided, 0 once it is approved."""
    call = ("tool", "call", "host.cli/write", "path=x", "text=y", "--json")
    held = holon(*call).json["held"]
    waiting = holon("approval", "wait", held, "--timeout-s", "0.1")
    holon("approval", "approve", held, "--reason", "ok")
    approved = holon("approval", "wait", held, "--timeout-s", "5")

    assert (waiting.code, approved.code) == (3, 0)


def test_a_dry_run_starts_nothing(holon):
    """`--dry-run` and `tool dry-run` show the same request."""
    words = ("host.cli/write", "path=x", "text=y", "--json")
    one = holon("tool", "call", *words, "--dry-run").json
    other = holon("tool", "dry-run", *words).json

    assert one["output"] == other["output"]
    assert one["status"] == "completed"
    assert [reason["code"] for reason in one["blocking_reasons"]] == ["approval_required"]
    assert not (holon.folder / "x").exists()


def test_a_key_runs_a_call_once(holon):
    """The second answer names the first call."""
    call = ("tool", "call", "host.cli/add", "a=1", "b=1", "--key", "k1", "--json")

    first, second = holon(*call).json, holon(*call).json

    assert second["replayed_from"] == first["call_id"]


def test_the_workspace_is_the_one_that_holds_the_current_folder(holon):
    """A call from inside an open workspace is in it; `-` is none."""
    opened = holon("workspace", "open", ".", "--json").json
    inner = holon.folder / "inner"
    inner.mkdir()
    call = ("tool", "call", "host.cli/add", "a=1", "b=1", "--json")

    inside = holon(*call, cwd=inner).json["evidence_refs"][0]["chain"]
    none = holon(*call, "--workspace", "-", cwd=inner).json["evidence_refs"][0]["chain"]

    assert (inside, none) == (opened["id"], "_runtime")


def test_an_exported_bundle_and_a_kept_head_verify(holon, tmp_path):
    """A head kept in a file is compared by `--head @FILE`."""
    holon("tool", "call", "host.cli/add", "a=1", "b=1")
    head = tmp_path / "head.json"
    head.write_text(holon("evidence", "head", "--json").out)

    exported = holon("evidence", "export", str(tmp_path / "bundle.jsonl"))
    again = holon("evidence", "export", str(tmp_path / "bundle.jsonl"))
    verified = holon("evidence", "verify", "--head", f"@{head}", "--json")
    forged = json.dumps({**json.loads(head.read_text()), "hash": "0" * 64})
    other = holon("evidence", "verify", "--head", forged, "--json")

    assert (exported.code, again.code) == (0, 3)
    assert (verified.code, verified.json["matches_head"]) == (0, True)
    assert (other.code, other.json["matches_head"]) == (1, False)


def test_text_of_others_cannot_move_the_terminal(holon):
    """Control characters and markup in untrusted text are written out or shown as they are."""
    call = ("tool", "call", "host.cli/write", "path=[bold]x[/bold]", "text=\x1b[2J\u202egnp")
    held = holon(*call, "--json").json["held"]

    shown = holon("approval", "show", held)

    assert "\x1b" not in shown.out + shown.err
    assert "\u202e" not in shown.out
    assert "[bold]x[/bold]" in shown.out
    assert "bidirectional" in shown.out


def test_output_to_a_pipe_is_plain(holon):
    """A table is lines of columns parted by tabs."""
    lines = holon("tool", "list").out.splitlines()

    assert lines[0].split("\t")[0] == "id"
    assert "host.cli/add" in [line.split("\t")[0] for line in lines]


def test_help_loads_nothing_heavy():
    """`holon --help` stays quick: no table, no store, no rich."""
    heavy = ["rich", "sqlite3", "jsonschema_rs", "cattrs", "asyncio"]
    program = (
        "import sys; from holon_cli.main import run; code = run(['--help']);"
        f"print(code, [name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    # What measures coverage imports some of them itself.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )

    assert done.stderr.strip() == "0 []"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_the_command(holon, shell):
    """The script asks the command itself what comes next."""
    done = holon("completion", shell)

    assert done.code == 0
    assert "_HOLON_COMPLETE" in done.out


def test_bash_reads_its_completion_script(holon):
    """The script is sound, and completing `holon to` gives `tool`."""
    script = holon("completion", "bash").out
    checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)

    words = {"_HOLON_COMPLETE": "bash_complete", "COMP_WORDS": "holon to", "COMP_CWORD": "1"}
    completed = holon(**words)

    assert checked.returncode == 0
    assert completed.out == "plain,tool\n"


def test_functions_are_registered_under_the_name_of_their_application(holon):
    """What rules, grants and held calls of an application name is there under --app alone."""
    named = holon("--app", "shop", "tool", "call", "host.shop/add", "a=1", "b=2")
    by_variable = holon("tool", "show", "host.shop/add", HOLON_APP="shop")
    without = holon("tool", "call", "host.shop/add", "a=1", "b=2")
    bad = holon("--app", "No Name", "tool", "list")

    assert (named.code, by_variable.code, without.code, bad.code) == (0, 0, 3, 2)
    assert "unknown_tool" in without.err


def test_a_call_whose_function_is_elsewhere_stays_held(holon):
    """It is approved from here, and released by who has the function."""
    shop = ("--app", "shop", "tool")
    call = holon(*shop, "call", "host.shop/write", "path=x", "text=hi", "--json").json["held"]
    assert holon("approval", "approve", call, "--reason", "fine").code == 0

    refused = holon("tool", "release", call)
    released = holon(*shop, "release", call)

    assert refused.code == 3
    assert "host.shop/write is not registered in this process" in refused.err
    assert "still held" in refused.err
    assert released.code == 0, released.err
    assert (holon.folder / "x").read_text() == "hi"


def test_tools_that_are_missing_are_traced_to_the_variable(holon):
    """Who set it once, long ago, learns what to correct."""
    stated = holon("tool", "list", "--tools", "nope.py")
    by_variable = holon("tool", "list", HOLON_TOOLS="gone.py")

    assert "holon: --tools nope.py: no such file" in stated.err
    assert "holon: HOLON_TOOLS=gone.py: no such file" in by_variable.err


def test_the_list_says_what_a_tool_itself_requires(holon):
    """Whether a call needs an approval is policy's to say, and stands in no list."""
    head, *rows = holon("tool", "list").out.splitlines()

    column = head.split("\t").index("itself requires")
    requires = {row.split("\t")[0]: row.split("\t")[column] for row in rows}
    write = "holon.built-in.memory/write-workspace-memory"
    assert requires.pop(write, "an approval") == "an approval"
    assert set(requires.values()) == {"no approval"}


def test_the_choices_of_a_missing_word_are_read_in_one_line(holon):
    """No control characters of click's are shown."""
    done = holon("completion")

    assert done.code == 2
    assert "\\t" not in done.err
    assert "bash, zsh, fish" in done.err


def test_an_export_onto_a_file_names_the_option(holon, tmp_path):
    """What to do next is an option of this command."""
    path = str(tmp_path / "bundle.jsonl")
    holon.begin()
    holon("evidence", "export", path)

    again = holon("evidence", "export", path)

    assert again.code == 3
    assert "--replace" in again.err
    assert holon("evidence", "export", path, "--replace").code == 0


def test_a_session_of_an_agent_is_named_by_its_run_and_ends_by_its_answer(holon, tmp_path):
    """What the options say is the caller's profile and run, in each of the commands."""
    file = tmp_path / "profile.json"
    file.write_text(
        json.dumps({"id": "reviewer", "output_class": "reviewer_output"}), encoding="utf-8"
    )
    assert holon("agent-profile", "create", str(file), "--reason", "r").code == 0
    caller = ("--profile", "reviewer", "--run", "case-1", "--json")
    answer = json.dumps({"verdict": "approve", "summary": "ok", "findings": []})

    called = holon("tool", "call", "host.cli/add", "a=1", "b=2", *caller)
    finished = holon("agent-session", "finish", answer, *caller)
    after = holon("tool", "call", "host.cli/add", "a=1", "b=2", *caller)
    other = holon("tool", "call", "host.cli/add", "a=1", "b=2", *caller[:2], "--run", "case-2")
    listed = holon("agent-session", "list", "--json").json["sessions"]

    assert (called.code, finished.code, other.code) == (0, 0, 0)
    assert "is finished" in after.json["failure"]["message"]
    assert {(each["run"], each["state"]) for each in listed} == {
        ("case-1", "finished"),
        ("case-2", "open"),
    }
