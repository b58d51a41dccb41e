"""Live execution: programs, probes, secrets, outputs; and what stays closed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin_packages import Asked, capability, manifest, opened, program, reasons, write_package

SAY = "holon-plugin-packages.acme.tools/say"
ANY = {"type": "object"}


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asked]:
    """Asks operations with every authority."""
    with opened(tmp_path / "root") as rt:
        yield Asked(rt)


def ready(ask: Asked, folder: Path, script: str, *, secrets: Any = None, **changes: Any) -> None:
    """Install a package whose program is a script, and approve it."""
    package = {k: changes.pop(k) for k in ("tool_requirements", "secret_slots") if k in changes}
    write_package(folder, manifest(capabilities=[capability(**changes)], **package))
    program(folder / "bin" / "say", f"#!{sys.executable}\nimport json, os, sys\n{script}\n")
    ask.installed(folder, **(secrets or {}))
    ask.approved(SAY)


@pytest.mark.parametrize(
    ("printed", "output", "value"),
    [
        ('{"a": 1}', None, {"a": 1}),
        ('{"a": {"b": [5, {"c": 2}]}}', {"format": "json", "pointer": "/a/b/1"}, {"c": 2}),
        ('{"n": 1}\n\n{"n": 2}', {"format": "json_lines"}, {"lines": [{"n": 1}, {"n": 2}]}),
        ('{"n": 1}\n{"n": 2}', {"format": "json_lines", "pointer": "/lines/1"}, {"n": 2}),
        (
            "took 12 ms, read 3 files",
            {"format": "text", "pattern": r"took (?P<ms>\d+) ms.* (?P<files>\d+) files"},
            {"ms": "12", "files": "3"},
        ),
        (
            '{"schemaVersion": "elegy.cli/v1", "status": "ok", "data": {"x": 1}}',
            {"format": "elegy"},
            {"x": 1},
        ),
    ],
    ids=["object", "pointer", "lines", "line", "pattern", "envelope"],
)
def test_output_is_taken_as_declared(
    tmp_path: Path, ask: Asked, printed: str, output: Any, value: Any
):
    """JSON, JSON lines, and text by a pattern; a pointer picks a part of either."""
    more = {} if output is None else {"output": output}
    ready(ask, tmp_path / "acme", f"print({printed!r})", output_schema=ANY, **more)

    assert ask.called(SAY, {"text": "x"}).output == value


@pytest.mark.parametrize(
    ("printed", "output", "code"),
    [
        ("no json", {"format": "json"}, "extraction_failure"),
        ('{"a": 1}', {"format": "json", "pointer": "/b"}, "extraction_failure"),
        ('{"a": [1]}', {"format": "json", "pointer": "/a/01"}, "extraction_failure"),
        ('{"n": 1}\nnope', {"format": "json_lines"}, "extraction_failure"),
        ("nothing", {"format": "text", "pattern": "(?P<a>x)y"}, "extraction_failure"),
        ("a" * 60, {"format": "text", "pattern": "(?P<a>(a+)+)b"}, "extraction_failure"),
        ("no json", None, "output_not_json"),
        ('{"a": "x"}', {"format": "json"}, "output_schema"),
        (
            '{"schemaVersion": "elegy.cli/v1", "status": "error", "failure": {"code": "X"}}',
            {"format": "elegy"},
            "tool_failed",
        ),
    ],
    ids=["json", "pointer", "index", "line", "pattern", "for-ever", "plain", "schema", "envelope"],
)
def test_output_that_cannot_be_taken_is_a_typed_failure(
    tmp_path: Path, ask: Asked, printed: str, output: Any, code: str
):
    """Nothing is guessed: a pattern that takes for ever is ended, too."""
    more = {} if output is None else {"output": output}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    ready(ask, tmp_path / "acme", f"print({printed!r})", output_schema=schema, **more)

    result = ask.called(SAY, {"text": "x"})

    assert (result.status, result.failure.code) == ("failed", code)


def test_an_exit_code_that_is_declared_is_no_failure(tmp_path: Path, ask: Asked):
    """As of programs that say by it that they found nothing."""
    command = {**capability()["command"], "exit_codes": [0, 1]}
    ready(ask, tmp_path / "acme", "print('{}'); sys.exit(int(sys.argv[-1]))", command=command)

    assert ask.called(SAY, {"text": "1"}).output == {}
    assert ask.called(SAY, {"text": "2"}).failure.code == "tool_exit"


@pytest.mark.parametrize("value", ["--version", "-x"])
def test_a_value_never_becomes_an_option(tmp_path: Path, ask: Asked, value: str):
    """Without -- before it, a value with a dash is refused and nothing starts."""
    command = {"program": "./bin/say", "arguments": ["${text}"]}
    ready(ask, tmp_path / "acme", "print('{}')", command=command)

    result = ask.called(SAY, {"text": value})

    assert (result.status, result.failure.code) == ("failed", "arguments_invalid") or (
        result.status,
        result.failure.code,
    ) == ("blocked", "arguments_invalid")
    assert result.failure.details["path"] == "/text"
    session = ask.rt.session(principal="ann")
    for refused in (session.call(SAY, {"text": value}), session.dry_run(SAY, {"text": value})):
        assert (refused.failure.code, refused.held) == ("arguments_invalid", None)


def test_secrets_reach_the_program_by_declared_slots_alone(
    tmp_path: Path, ask: Asked, monkeypatch: pytest.MonkeyPatch
):
    """Bound by the operator at import; no other variable of the host comes along."""
    monkeypatch.setenv("THE_TOKEN", "s3cret-value-of-acme")
    monkeypatch.setenv("OTHER_TOKEN", "another-secret-value")
    script = (
        "t = os.environ['ACME_TOKEN'];"
        "print(json.dumps({'n': len(t), 't': t, 'other': 'OTHER_TOKEN' in os.environ}))"
    )
    slots = [{"name": "token", "env": "ACME_TOKEN", "purpose": "to log in"}]
    more = {"secret_slots": slots, "secrets": {"token": "env:THE_TOKEN"}}
    folder = tmp_path / "acme"
    write_package(
        folder,
        manifest(capabilities=[capability(secret_slots=["token"])], secret_slots=slots),
    )
    program(folder / "bin" / "say", f"#!{sys.executable}\nimport json, os\n{script}\n")
    ask.installed(folder, **more["secrets"])
    ask.approved(SAY)

    result = ask.called(SAY, {"text": "x"})

    assert (result.output["n"], result.output["other"]) == (20, False)
    assert "s3cret" not in json.dumps(result.output)


def test_an_unbound_slot_blocks(tmp_path: Path, ask: Asked):
    """A capability that needs a secret which nobody bound is not executable, and says so."""
    slots = [{"name": "token", "env": "ACME_TOKEN"}]
    write_package(
        tmp_path / "acme",
        manifest(capabilities=[capability(secret_slots=["token"])], secret_slots=slots),
    )
    ask.installed(tmp_path / "acme")
    ask.approved(SAY)

    assert "secret_unresolved" in reasons(ask.session.call(SAY, {"text": "x"}))


@pytest.mark.parametrize(
    ("least", "prints", "blocked"),
    [
        ("1.2", "probe 1.10.0", False),
        ("1.10.0", "probe 1.10", False),
        ("2", "probe 1.10.0", True),
        ("1.0", "no version at all", True),
    ],
    ids=["newer", "same", "older", "unknown"],
)
def test_required_programs_are_probed_when_a_capability_executes(
    tmp_path: Path,
    ask: Asked,
    monkeypatch: pytest.MonkeyPatch,
    *,
    least: str,
    prints: str,
    blocked: bool,
):
    """The version is compared by its numbers; one too old is dependency_missing."""
    tools = tmp_path / "tools"
    mark = tmp_path / "probed"
    program(tools / "probe", f"#!/bin/sh\ntouch {mark}\necho '{prints}'\n")
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    ready(
        ask,
        tmp_path / "acme",
        "print('{}')",
        tool_requirements=[{"name": "probe", "program": "probe", "min_version": least}],
        requires_tools=["probe"],
    )
    assert not mark.exists()

    result = ask.called(SAY, {"text": "x"})

    assert mark.exists()
    expected = ("blocked", "dependency_missing") if blocked else ("completed", None)
    code = None if result.failure is None else result.failure.code
    assert (result.status, code) == expected


def test_a_probe_is_shown_before_it_is_approved(
    tmp_path: Path, ask: Asked, monkeypatch: pytest.MonkeyPatch
):
    """What is started besides the capability is in the dry run and before the approver."""
    probe = program(tmp_path / "tools" / "probe", "#!/bin/sh\necho 1.0\n")
    monkeypatch.setenv("PATH", str(probe.parent), prepend=":")
    wanted = {"name": "probe", "program": "probe", "probe_command": ["about", "--all"]}
    ready(
        ask,
        tmp_path / "acme",
        "print('{}')",
        tool_requirements=[wanted, {"name": "plain", "program": "sh"}],
        requires_tools=["probe", "plain"],
        approval="required",
    )

    held = ask.session.call(SAY, {"text": "x"}).held
    shown = ask.session.dry_run(SAY, {"text": "x"}).output

    assert shown["probes"] == [[str(probe), "about", "--all"]]
    asked = ask.rt.approvals.view(held).request
    assert asked is not None
    assert json.loads(asked.text)["probes"] == shown["probes"]


def test_a_program_that_cannot_be_started_uses_nothing_up(tmp_path: Path, ask: Asked):
    """As one whose interpreter is not there: the approval serves once it is."""
    ready(ask, tmp_path / "acme", "print('{}')", approval="required")
    folder = write_package(
        tmp_path / "acme", manifest(version="2", capabilities=[capability(approval="required")])
    )
    program(folder / "bin" / "say", "#!/no/such/interpreter\n")
    ask.installed(folder)
    ask.approved(SAY)
    held = ask.session.call(SAY, {"text": "x"}).held
    ask.rt.approvals.approve(held, by="bob", reason="read it")

    result = ask.session.release(held)

    assert (result.status, result.failure.code) == ("failed", "spawn_failed")
    [approval] = ask.rt.approvals.list(state=None)
    assert approval.state.value == "approved"


def test_a_missing_program_blocks_and_is_named(tmp_path: Path, ask: Asked):
    """It is said before anything is approved or started."""
    command = {"program": "no-such-program-here", "arguments": []}
    write_package(tmp_path / "acme", manifest(capabilities=[capability(command=command)]))
    ask.installed(tmp_path / "acme")
    ask.approved(SAY)

    result = ask.session.call(SAY, {"text": "x"})

    assert "dependency_missing" in reasons(result)


@pytest.mark.parametrize("lane", ["mcp", "api", "plugin", "rust", "telepathy"])
def test_every_other_lane_is_catalogued_and_closed(tmp_path: Path, ask: Asked, lane: str):
    """Found like any other capability; not executable, whatever is approved."""
    write_package(tmp_path / "acme", manifest(capabilities=[capability(lane=lane)]))
    ask.installed(tmp_path / "acme")
    ask.approved(SAY)

    result = ask.session.call(SAY, {"text": "x"})

    assert [each.id for each in ask.session.discover("repeat a text").items] == [SAY]
    assert result.failure.kind == "unsupported_capability"
    assert reasons(result) == {"live_execution_blocked"}


def test_two_packages_with_one_function_live_side_by_side(tmp_path: Path, ask: Asked):
    """Each under its own source; a model gets two names, and each calls its own."""
    for name in ("acme.tools", "other.tools"):
        folder = write_package(tmp_path / name, manifest(id=name, title=name))
        script = f'#!{sys.executable}\nprint(\'{{"by": "{name}"}}\')\n'
        program(folder / "bin" / "say", script)
        ask.installed(folder)
        ask.approved(f"holon-plugin-packages.{name}/say")

    by = {
        name: ask.called(f"holon-plugin-packages.{name}/say", {"text": "x"}).output["by"]
        for name in ("acme.tools", "other.tools")
    }

    assert by == {"acme.tools": "acme.tools", "other.tools": "other.tools"}
    shown = ask.session.tools("openai-chat")
    names = [each["function"]["name"] for each in shown]
    assert len(set(names)) == len(names) == 2


def test_limits_of_a_capability_end_its_program(tmp_path: Path, ask: Asked):
    """Time and output are bounded as the manifest says, by the runner."""
    command = {**capability()["command"], "timeout_s": 0.5, "max_output_bytes": 1000}
    script = "import time\nprint('x' * 5000) if sys.argv[-1] == 'big' else time.sleep(60)"
    ready(ask, tmp_path / "acme", script, command=command)

    assert ask.called(SAY, {"text": "big"}).failure.code == "output_too_large"
    assert ask.called(SAY, {"text": "slow"}).failure.code == "timeout"


def test_a_program_finds_its_package_by_the_template(tmp_path: Path, ask: Asked):
    """An interpreter from the path runs a packaged script by ${package_root}."""
    command = {"program": "sh", "arguments": ["${package_root}/scripts/go.sh", "${text}"]}
    folder = write_package(
        tmp_path / "acme",
        manifest(capabilities=[capability(command=command)]),
        scripts__go="",
    )
    (folder / "scripts" / "go.sh").write_text('echo "{\\"said\\": \\"$1\\"}"\n')
    ask.installed(folder)
    ask.approved(SAY)

    assert ask.called(SAY, {"text": "hello"}).output == {"said": "hello"}


def test_a_hint_of_a_binding_binds_nothing(tmp_path: Path, ask: Asked):
    """It is offered as a proposal, with the package's name, and changes no verdict."""
    hint = {"adapter": "shop", "server": "https://shop.example", "capability": SAY}
    write_package(
        tmp_path / "acme",
        manifest(capabilities=[capability(lane="api")], adapter_bindings=[hint]),
    )
    ask.installed(tmp_path / "acme")

    read = ask("plugin-package/read", package="acme.tools")

    assert read["adapter_bindings"] == [{"package": "acme.tools", **hint}]
    assert "live_execution_blocked" in reasons(ask.session.call(SAY, {"text": "x"}))
