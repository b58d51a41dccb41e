"""Mistakes of a user: a text that says what to do, an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

NOISE = re.compile(r"Traceback|Error:|\bFile \"")
# Words of the command, exit code, what the text names.
MISTAKES: dict[str, tuple[list[str], int, str]] = {
    "no such noun": (["tol", "list"], 2, "tol"),
    "no such verb": (["tool", "cal"], 2, "cal"),
    "no such option": (["tool", "list", "--colour"], 2, "--colour"),
    "no verb": (["tool"], 2, "list"),
    "nothing": ([], 2, "Commands"),
    "no tool named": (["tool", "call"], 2, "TOOL"),
    "unknown tool": (["tool", "call", "host.cli/nope"], 3, "unknown_tool"),
    "unknown tool read": (["tool", "read", "host.cli/nope"], 3, "unknown_tool"),
    "bad json": (["tool", "call", "host.cli/add", "--args", "{a: 1}"], 2, "strict JSON"),
    "json key twice": (["tool", "call", "host.cli/add", "--args", '{"a":1,"a":2}'], 2, "strict"),
    "json null": (["tool", "call", "host.cli/add", "--args", "null"], 2, "null"),
    "json list": (["tool", "call", "host.cli/add", "--args", "[1]"], 1, "arguments_invalid"),
    "list and pair": (["tool", "call", "host.cli/add", "--args", "[1]", "a=1"], 2, "object"),
    "no pair": (["tool", "call", "host.cli/add", "a"], 2, "KEY=VALUE"),
    "pair and args": (
        ["tool", "call", "host.cli/add", "--args", '{"a": 1, "b": 1}', "b=2"],
        2,
        "b: in --args",
    ),
    "no actor": (["tool", "list", "--actor", ""], 2, "--actor is empty"),
    "no actor on top": (["--actor", "", "tool", "list"], 2, "--actor is empty"),
    "blank actor": (["tool", "list", "--actor", " "], 2, "--actor is empty"),
    "no root": (["tool", "list", "--root", ""], 2, "--root is empty"),
    "no workspace": (["tool", "list", "--workspace", ""], 2, "--workspace is empty"),
    "no role": (["tool", "list", "--role", ""], 2, "--role is empty"),
    "no profile": (["tool", "list", "--profile", ""], 2, "--profile is empty"),
    "no tools": (["tool", "list", "--tools", ""], 2, "--tools is empty"),
    "no approver": (["serve", "--approver", ""], 2, "--approver is empty"),
    "pair twice": (["tool", "call", "host.cli/add", "a=1", "a=2"], 2, "twice"),
    "missing file": (["tool", "call", "host.cli/add", "--args", "@nope.json"], 2, "nope.json"),
    "folder as file": (["tool", "call", "host.cli/add", "--args", "@."], 2, "cannot read"),
    "missing argument": (["tool", "call", "host.cli/add", "a=1"], 1, "/"),
    "long key": (["tool", "call", "host.cli/add", "a=1", "b=1", "--key", "k" * 300], 2, "/key"),
    "limit zero": (["tool", "list", "--limit", "0"], 2, "/limit"),
    "limit no number": (["tool", "list", "--limit", "x"], 2, "--limit"),
    "no such state": (["approval", "list", "--state", "lost"], 2, "lost"),
    "no reason": (["approval", "approve", "c1"], 2, "--reason"),
    "empty reason": (["approval", "approve", "c1", "--reason", ""], 2, "/reason"),
    "nothing held": (["approval", "approve", "c1", "--reason", "x"], 3, "not_held"),
    "nothing to show": (["approval", "show", "c1"], 3, "not_held"),
    "nothing to release": (["tool", "release", "c1"], 3, "not_held"),
    "wild pattern": (
        [
            *("approval", "grant", "host.cli/add", "--principal", "x", "--uses", "1"),
            *("--ttl-s", "1", "--reason", "r", "--pattern", '{"a": 1}'),
        ],
        2,
        "pattern",
    ),
    "head no head": (["evidence", "verify", "--head", "{}"], 2, "/head"),
    "erase all": (["evidence", "erase", "--reason", "r"], 2, "exactly one"),
    "export nowhere": (["evidence", "export", "nope/x.jsonl"], 1, "arguments_invalid"),
    "unknown workspace": (["tool", "list", "--workspace", "nope"], 3, "wrong_workspace"),
    "workspace is no folder": (["workspace", "open", "nope"], 3, "workspace_unavailable"),
    "workspace around root": (["workspace", "open", ".."], 2, "overlaps"),
    "tools missing": (["tool", "list", "--tools", "nope.py"], 2, "nope.py"),
    "tools no module": (["tool", "list", "--tools", "no_such_module_here"], 2, "no_such"),
    "empty actor": (["tool", "list", "--actor", "x" * 300], 2, "200 characters"),
    "no such guard": (["plugin", "retire", "nope", "--reason", "x"], 3, "nope"),
    "no such shell": (["completion", "tcsh"], 2, "tcsh"),
    "watch without terminal": (["approval", "watch"], 2, "terminal"),
    "demo nowhere": (["demo", "--workspace", "nope"], 2, "nope"),
    "control characters": (["tool", "read", "a\x1b[2Jb"], 3, "unknown_tool"),
}
EACH = pytest.mark.parametrize(("words", "code", "named"), MISTAKES.values(), ids=list(MISTAKES))


@EACH
def test_a_mistake_ends_with_a_text_and_its_exit_code(holon, words, code, named):
    """People read on standard error what is wrong; standard output stays empty."""
    holon.begin()
    done = holon(*words)

    assert done.code == code, done.err
    assert named in done.err
    assert NOISE.search(done.err.replace("ModuleNotFoundError: ", "")) is None
    assert "\x1b" not in done.err
    assert done.out == ""


@EACH
def test_a_mistake_is_one_json_document_for_programs(holon, inside, words, code, named):
    """Programs read the same on standard output."""
    holon.begin()
    done = inside(*words, "--json")

    assert done.code == code
    document = done.json
    assert document["status"] in ("failed", "blocked", "misused", "rejected")
    assert named in json.dumps(document, ensure_ascii=False)
    assert NOISE.search(done.err) is None


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("def broken(:\n", "line 1"),
        ("import no_such_thing\n", "no_such_thing"),
        ("raise RuntimeError('own fault')\n", "own fault"),
        ("raise SystemExit(7)\n", "SystemExit"),
        ("def plain(): ...\n", "@holon.tool"),
    ],
    ids=["syntax", "import", "raises", "exits", "unmarked"],
)
def test_a_file_of_tools_that_cannot_be_used_is_told(holon, content, named):
    """It names the file and what is wrong in it."""
    holon.tools.write_text(content, encoding="utf-8")

    done = holon("tool", "list")

    assert done.code == 2
    assert str(holon.tools) in done.err
    assert named in done.err
    assert "Traceback" not in done.err


def test_a_tool_that_cannot_be_described_is_rejected(holon):
    """All findings at once, exit code 4."""
    holon.tools.write_text(
        "import holon_core as holon\n@holon.tool\ndef odd(a, *more): ...\n", encoding="utf-8"
    )

    done = holon("tool", "list")

    assert done.code == 4
    assert "signature_unsupported" in done.err


@pytest.mark.parametrize("kind", ["file", "text in the store", "foreign store"])
def test_a_storage_root_that_is_none_is_told(holon, kind):
    """The file is left as it is."""
    if kind == "file":
        holon.root.write_text("x")
    else:
        holon.root.mkdir()
        (holon.root / "holon.db").write_bytes(b"x" * 5000 if kind[0] == "t" else b"SQLite")

    done = holon("tool", "list")

    assert done.code in (1, 3)
    assert "store_" in done.err
    assert "Traceback" not in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_storage_root_that_may_not_be_made_is_told(holon, tmp_path):
    """The folder's permissions are the user's to change."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)

    done = holon("tool", "list", "--root", str(closed / "root"))

    assert done.code == 3
    assert "store_unavailable" in done.err


def test_a_locale_without_unicode_is_no_fault(holon):
    """What ASCII cannot carry is shown escaped."""
    done = holon(
        *("tool", "call", "host.cli/echo", "text=naïve ☃"),
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )

    assert done.code == 0, done.err
    assert "\\u2603" in done.out or "☃" in done.out


def started(holon, *words, **streams):
    """Run the command with streams of its own, through a shell's eyes."""
    return subprocess.run(
        holon.argv(*words),
        cwd=holon.folder,
        env=holon.environment,
        check=False,
        timeout=60,
        text=True,
        **streams,
    )


FULL = Path("/dev/full")
WRITING = {
    "list": ["tool", "list"],
    "doctor": ["doctor"],
    "help": ["tool", "--help"],
    "call": ["--json", "tool", "call", "host.cli/echo", "text=hi"],
    "mistake": ["--json", "tool", "read", "host.cli/nope"],
}


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is full")
@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_a_full_disk_under_standard_output_is_told_in_one_line(holon, words):
    """Neither a traceback nor a success."""
    with FULL.open("w") as full:
        done = started(holon, *words, stdout=full, stderr=subprocess.PIPE)

    assert done.returncode == 1
    assert "holon: cannot write standard output: No space left on device" in done.stderr
    assert not NOISE.search(done.stderr)
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is full")
def test_a_full_disk_under_standard_error_changes_no_exit_code(holon):
    """What cannot be said there is lost, and nothing else."""
    with FULL.open("w") as full:
        wrong = started(holon, "tool", "read", "host.cli/nope", stdout=subprocess.PIPE, stderr=full)
        right = started(
            holon,
            *("--json", "tool", "call", "host.cli/echo", "text=hi"),
            stdout=subprocess.PIPE,
            stderr=full,
        )

    assert (wrong.returncode, wrong.stdout) == (3, "")
    assert (right.returncode, json.loads(right.stdout)["output"]["text"]) == (0, "hi")


@pytest.mark.skipif(os.name != "posix", reason="a shell closes descriptors")
@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
@pytest.mark.parametrize("closed", ["1", "1 2", "0 1 2"])
def test_streams_that_are_closed_are_no_fault(holon, closed, words):
    """What was opened otherwise would get their numbers, and be written into."""
    shell = 'for each in $CLOSED; do eval "exec $each>&-"; done; exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", *holon.argv(*words)],
        cwd=holon.folder,
        env={**holon.environment, "CLOSED": closed},
        check=False,
        timeout=60,
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    told = "" if "2" in closed else "holon: cannot write standard output: Bad file descriptor\n"
    assert done.stderr == told
    assert sqlite_is_sound(holon)


def sqlite_is_sound(holon):
    """Whether nothing was written into the store that is not the store's."""
    path = holon.root / "holon.db"
    if not path.exists():
        return True
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("pragma integrity_check").fetchone() == ("ok",)


def test_an_option_of_the_command_itself_outweighs_a_variable(holon, tmp_path):
    """What is said on the command line counts, wherever it stands there."""
    other = tmp_path / "other.py"
    other.write_text(
        "import holon_core as holon\n"
        '@holon.tool(effects={"none"})\n'
        'def hello() -> str:\n    """Greet."""\n    return "hi"\n'
    )

    for words in (
        ["--tools", str(other), "tool", "call", "host.cli/hello"],
        ["tool", "--tools", str(other), "call", "host.cli/hello"],
        ["tool", "call", "host.cli/hello", "--tools", str(other)],
        ["--tools", "nope.py", "tool", "call", "host.cli/hello", "--tools", str(other)],
    ):
        assert holon(*words).code == 0, words
    assert holon("--app", "shop", "tool", "list", HOLON_APP="x").out.count("host.shop/") > 0
