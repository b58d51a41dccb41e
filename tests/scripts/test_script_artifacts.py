"""Script artifacts: judged by reading, run as they were validated, told what they may know."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holon_core import FrozenState, FrozenToolRecord, Refused, Rejected, Status
from holon_core.records.words import Authority
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.wire.schema_engine import compiled
from holon_script_tools.operations import proposal_of, rows
from scripts import activate, open_scripts, script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")
ALL = frozenset(Authority)
Make = Callable[..., FrozenToolRecord]
ECHO = "import os; print(os.environ['HOLON_INPUT_JSON'])"


@pytest.mark.parametrize(
    ("interpreter", "file", "text"),
    [
        ("python3", "main.py", ECHO),
        ("sh", "main.sh", 'printf "%s\\n" "$HOLON_INPUT_JSON"'),
        ("bash", "main.sh", 'echo "$HOLON_INPUT_JSON"'),
        ("node", "main.js", "console.log(process.env.HOLON_INPUT_JSON)"),
    ],
    ids=["python3", "sh", "bash", "node"],
)
def test_each_interpreter_of_the_list_runs_its_sealed_program(
    make: Make, session: Session, interpreter: str, file: str, text: str
) -> None:
    """The input is exactly the normalised arguments."""
    from holon_core import resolve_program

    if interpreter != "python3" and resolve_program(interpreter) is None:
        pytest.skip(f"no {interpreter} here")
    record = make("", name=interpreter, files={file: text}, command=[interpreter, file])

    assert session.call(record.id, {"b": 1.0, "a": "é"}).output == {"a": "é", "b": 1}


def test_a_script_of_several_modules_runs_from_one_sealed_archive(
    make: Make, session: Session
) -> None:
    """What it imports is what was validated, too."""
    files = {
        "main.py": "import json\nfrom lib import words\nprint(json.dumps({'said': words.WORD}))",
        "lib/__init__.py": "",
        "lib/words.py": "WORD = 'hello'",
    }
    record = make("", files=files, name="modules")

    assert session.call(record.id, {}).output == {"said": "hello"}


def test_a_script_that_refuses_its_arguments_has_not_drifted(make: Make, session: Session) -> None:
    """Exit 64 is the caller's mistake, however often it makes it."""
    text = (
        "import json, os, sys\n"
        "sys.exit(64) if json.loads(os.environ['HOLON_INPUT_JSON']) else print('{}')"
    )
    record = make(text, name="refuses")

    codes = [session.call(record.id, {"bad": n}).failure for n in range(4)]

    assert {each.code for each in codes if each} == {"arguments_invalid"}
    assert session.call(record.id, {}).output == {}


def test_what_lies_on_disk_is_not_what_runs(make: Make, session: Session, runtime: Runtime) -> None:
    """A file that is replaced, or written into, changes nothing."""
    record = make("print('{\"v\": 1}')", name="swapped")
    root = runtime._parts.root
    assert root is not None
    found = [path for path in root.rglob("main.py") if b'"v": 1' in path.read_bytes()]
    for path in found:
        path.chmod(0o600)
        path.write_text("print('{\"v\": 2}')", encoding="utf-8")

    assert found
    assert session.call(record.id, {}).output == {"v": 1}


def test_a_running_script_cannot_change_its_own_program(make: Make, session: Session) -> None:
    """The memory is sealed, for its maker as well."""
    text = (
        "import json, os\n"
        "try: open('/proc/self/fd/0', 'r+b', 0).write(b'x'); said = 'written'\n"
        "except OSError as error: said = error.strerror\n"
        "print(json.dumps({'said': said}))"
    )
    record = make(text, name="sealed")

    assert session.call(record.id, {}).output["said"] != "written"


READS = """
import json
with open("rules.txt") as file:
    print(json.dumps({"rule": file.read()}))
"""


@pytest.mark.parametrize("how", ["rewritten", "linked", "removed", "added"])
def test_a_file_beside_the_program_that_was_swapped_stops_the_run(
    make: Make, session: Session, tmp_path: Path, how: str
) -> None:
    """Also what is not sealed is what was frozen, or nothing runs."""
    name = f"swapped-{how}"
    files = {"main.py": READS, "rules.txt": f"deny {how}"}
    record = make(READS, name=name, files=files)
    assert session.call(record.id, {}).output == {"rule": f"deny {how}"}
    folder = Path(str(session.dry_run(record.id, {}).output["sources"]))
    rules = folder / "rules.txt"
    if how == "added":
        (folder / "more.txt").write_text("x", encoding="utf-8")
    else:
        rules.chmod(0o600)
        rules.unlink()
        if how == "rewritten":
            rules.write_text("allow", encoding="utf-8")
        elif how == "linked":
            (tmp_path / "theirs").write_text(f"deny {how}", encoding="utf-8")
            rules.symlink_to(tmp_path / "theirs")

    result = session.call(record.id, {})

    assert result.status is Status.BLOCKED
    assert result.failure is not None
    assert result.failure.code == "artifact_changed"


def test_the_working_directory_is_a_copy_of_the_sources(make: Make, session: Session) -> None:
    """Which holds its files, is read-only, and is gone after the run."""
    text = (
        "import json, os, stat\n"
        "modes = [stat.S_IMODE(os.stat(each).st_mode) for each in ('.', 'main.py')]\n"
        "print(json.dumps({'at': os.getcwd(), 'files': os.listdir('.'), 'modes': modes}))"
    )
    record = make(text, name="where")

    output = session.call(record.id, {}).output

    assert (output["files"], output["modes"]) == (["main.py"], [0o500, 0o400])
    assert not Path(output["at"]).exists()


MARKS = """
import json, os, pathlib
how = json.loads(os.environ["HOLON_INPUT_JSON"]).get("how")
if how:
    for each in (".", "rules.txt"):
        os.chmod(each, 0o700)
if how == "adds":
    pathlib.Path("more.txt").write_text("x")
    pathlib.Path("deep", "er").mkdir(parents=True)
    os.chmod("deep", 0)
elif how == "rewrites":
    pathlib.Path("rules.txt").write_text("allow")
elif how == "removes":
    pathlib.Path("rules.txt").unlink()
else:
    rule = pathlib.Path("rules.txt").read_text()
    print(json.dumps({"found": sorted(os.listdir(".")), "rule": rule}))
if how:
    print("{}")
"""


@pytest.mark.parametrize("how", ["adds", "rewrites", "removes"])
def test_what_a_run_does_to_its_folder_reaches_no_other_run(
    make: Make, session: Session, how: str
) -> None:
    """An argument of one caller neither shuts the tool for others nor changes what they get."""
    files = {"main.py": MARKS, "rules.txt": f"deny what {how}"}
    record = make(MARKS, name=f"marks-{how}", files=files)

    assert session.call(record.id, {"how": how}).status is Status.COMPLETED

    whole = {"found": ["main.py", "rules.txt"], "rule": f"deny what {how}"}
    assert session.call(record.id, {}).output == whole


@pytest.mark.parametrize(
    ("effects", "told"), [(["none"], False), (["workspace_read"], True)], ids=["none", "read"]
)
def test_a_script_is_told_of_the_workspace_if_it_declares_an_effect_on_it(
    make: Make, session: Session, place: Path, effects: list[str], told: bool
) -> None:
    """A fixture's run sees a folder of its own instead."""
    text = "import json, os; print(json.dumps({'root': os.environ.get('HOLON_WORKSPACE_ROOT')}))"
    record = make(text, name="told", effects=effects)

    root = session.call(record.id, {}).output["root"]

    assert root == (str(place) if told else None)


def test_a_fixture_has_its_own_files_and_not_those_of_the_workspace(
    make: Make, place: Path
) -> None:
    """What it writes is gone afterwards."""
    (place / "secret.txt").write_text("private", encoding="utf-8")
    text = (
        "import json, os\nroot = os.environ['HOLON_WORKSPACE_ROOT']\n"
        "print(json.dumps({'files': sorted(os.listdir(root))}))"
    )
    expect = {"output": {"files": ["given.txt"]}}
    fixture = {"name": "sees", "input": {}, "files": {"given.txt": "x"}, "expect": expect}

    record = make(text, name="sees", effects=["workspace_read"], fixtures=[fixture])

    assert record.state is FrozenState.ACTIVE


def test_secrets_come_as_declared_variables_and_are_nowhere_else(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The redactor knows them before the script does."""
    monkeypatch.setenv("SHOP_KEY", "sk-12345678-secret")
    text = (
        "import json, os\nkey = os.environ['API_KEY']\n"
        "print(json.dumps({'key': key, 'n': len(key)}))"
    )
    with open_scripts(tmp_path / "root") as runtime:
        session = runtime.session(principal="ann", workspace=place)
        slot = {"name": "API_KEY", "ref": "env:SHOP_KEY", "purpose": "the shop"}
        record = activate(runtime, session, script(text, name="keyed", secret_slots=[slot]))

        result = session.call(record.id, {})

        assert result.output == {"key": "[redacted:API_KEY]", "n": 18}
    assert b"sk-12345678-secret" not in b"".join(
        path.read_bytes() for path in (tmp_path / "root").rglob("*") if path.is_file()
    )


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"command": "python3 main.py"}, "/content/command"),
        ({"command": ["python3"]}, "/content/command"),
        ({"command": ["perl", "main.py"]}, "/content/command/0"),
        ({"command": ["/usr/bin/python3", "main.py"]}, "/content/command/0"),
        ({"command": ["python3", "other.py"]}, "/content/command/1"),
        ({"command": ["python3", "-c"]}, "/content/command/1"),
        ({"command": ["sh", "a.sh"], "files": {"a.sh": "", "b.sh": ""}}, "/files"),
        ({"files": {"main.py": "x\0"}}, "/files"),
        ({"files": {"main.py": "", "__main__.py": ""}}, "/files"),
        ({"secret_slots": [{"name": "LD_PRELOAD", "ref": "env:X"}]}, "/secret_slots/0/name"),
        ({"secret_slots": [{"name": "PYTHONPATH", "ref": "env:X"}]}, "/secret_slots/0/name"),
        ({"secret_slots": [{"name": "GCONV_PATH", "ref": "env:X"}]}, "/secret_slots/0/name"),
        ({"secret_slots": [{"name": "HTTPS_PROXY", "ref": "env:X"}]}, "/secret_slots/0/name"),
        ({"secret_slots": [{"name": "OPENSSL_CONF", "ref": "env:X"}]}, "/secret_slots/0/name"),
        ({"secret_slots": [{"name": "SSLKEYLOGFILE", "ref": "env:X"}]}, "/secret_slots/0/name"),
        ({"effects": ["unknown"]}, "/policy/effects"),
    ],
    ids=[
        *("text", "no file", "not listed", "a path", "not a file", "an option", "two files"),
        *("NUL", "main", "loader", "python", "encodings", "proxy", "tls", "tls keys", "unknown"),
    ],
)
def test_a_script_is_judged_by_reading_it(
    runtime: Runtime, session: Session, changed: dict[str, Any], path: str
) -> None:
    """Nothing is stored, nothing runs."""
    given = {"script": script("print('{}')", **changed)}
    row = next(each for each in rows() if each.verb == "validate")

    answer = row.handler(None, given)

    assert answer["usable"] is False
    assert path in {each["path"] for each in answer["findings"]}


def test_a_script_goes_its_way_by_operations(runtime: Runtime, session: Session) -> None:
    """Judge, propose, try, read, list."""
    by_method = {each.method: each for each in rows()}

    def ask(verb: str, **given: Any) -> Any:
        method = f"script-artifact/{verb}"
        answer = by_method[method].handler(_door(runtime, session), given)
        assert compiled(by_method[method].response, f"answer {method}").errors(answer) == ()
        return answer

    given = script(ECHO, name="by-operations")
    assert ask("validate", script=given)["usable"] is True
    made = ask("create-frozen-tool-proposal", script=given)
    assert ask("test", id=made["id"])["passed"] is True
    assert ask("read", id=made["id"])["files"] == [{"path": "main.py", "text": ECHO}]
    assert [each["id"] for each in ask("list")["proposals"]] == [made["id"]]
    assert runtime.tools.frozen.read(made["id"]).state is FrozenState.PROPOSED


def _door(runtime: Runtime, session: Session) -> Any:
    from holon_core.operations.door import Door

    return Door(runtime=runtime, session=session, authorities=ALL)


def test_an_agents_script_becomes_a_proposal_once_its_gate_is_passed(
    runtime: Runtime, session: Session
) -> None:
    """Its fixtures are those that the agent gave; secrets are bound by who takes it."""
    answer = {
        "name": "echo",
        "purpose": "Say it again",
        "inputs": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "outputs": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "command": ["python3", "main.py"],
        "files": {"main.py": ECHO},
        "side_effects": ["none"],
        "secrets": [{"name": "KEY", "purpose": "none really"}],
        "validation": [
            {
                "name": "one",
                "input": {"a": 1},
                "expect": {"status": "completed", "output": {"a": 1}},
            }
        ],
    }
    accepted = session.accept_output("script_artifact_proposal", answer)
    assert accepted.failure is None, accepted.failure
    assert accepted.output_id is not None
    create = runtime.tools.frozen.create_from_output

    with pytest.raises(Refused) as caught:
        create(accepted.output_id, session=session)
    with pytest.raises(Rejected) as rejected:
        create(accepted.output_id, session=session, secret_refs={"KEY": "env:X"})
    bound = {"KEY": "secret:shop"}
    made = create(accepted.output_id, session=session, secret_refs=bound)

    assert caught.value.failure.code == "secret_unresolved"
    assert made.provenance[0].digest == accepted.digest
    assert rejected.value.findings[0].path == "/secret_slots/0/ref"
    assert made.definition.secret_slots[0].ref == "secret:shop"


def test_confinement_that_is_required_and_not_there_lets_nothing_run(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was enforced is in the evidence of each run."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "holon.toml").write_text(
        '[lane.script-tools]\nconfinement = "required"\n', encoding="utf-8"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with open_scripts(root) as runtime:
        session = runtime.session(principal="ann", workspace=place)
        frozen = runtime.tools.frozen
        record = frozen.create(proposal_of(script(ECHO)), caller=session.caller, calls=[])

        with pytest.raises(Refused) as caught:
            frozen.try_fixtures(record.id, caller=session.caller)

    assert caught.value.failure.code == "dependency_missing"
    assert "bwrap" in caught.value.failure.message


def test_without_confinement_the_evidence_says_so(
    make: Make, session: Session, runtime: Runtime
) -> None:
    """Nobody has to guess."""
    record = make(ECHO, name="plain")

    result = session.call(record.id, {})

    closing = runtime.evidence.read(result.call_id)[-1].body
    said = json.dumps(closing["from_tool"])
    assert '"enforced": false' in said


def test_the_approver_sees_command_program_and_input(runtime: Runtime, session: Session) -> None:
    """By digest: what is shown is what runs."""
    frozen = runtime.tools.frozen
    record = frozen.create(
        proposal_of(script(ECHO, name="seen")),
        caller=session.caller,
        calls=[session.call("host.app/shout", {"text": "a"}).call_id],
    )
    record = frozen.validate(record.id, caller=session.caller)
    held = session.call(record.id, {"a": 1}).held
    assert held is not None

    preview = runtime.approvals.held_call(held).preview

    assert preview is not None
    assert preview["command"] == ["python3", "main.py"]
    assert preview["HOLON_INPUT_JSON"] == {"a": 1}
    assert preview["program_sha256"] == record.definition.files[0].sha256


def test_mistakes_of_all_sorts_are_told_at_once(runtime: Runtime, session: Session) -> None:
    """Judging a script names all that is wrong with it; one mistake hides no other."""
    given = script("print(1)", command="python3 main.py", fixtures=[], name="No Name")
    given["files"] = {"main.py": "print(1)", "../x": "out"}
    given["output_schema"] = {"type": "array"}

    judged = runtime.dispatch("script-artifact/validate", {"script": given}, caller=session.caller)

    assert judged["usable"] is False
    assert {(each["code"], each["path"]) for each in judged["findings"]} == {
        ("invalid_id", "/name"),
        ("source_invalid", "/files/1/path"),
        ("record_invalid", "/content/command"),
        ("schema_invalid", "/output_schema/type"),
        ("fixture_invalid", "/fixtures"),
    }
