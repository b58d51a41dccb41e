"""The lane: from a folder or an archive to a governed live call, and back out again."""

from __future__ import annotations

import io
import os
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core.errors import Rejected
from holon_plugin_packages import managed
from holon_plugin_packages.reading_files import stamp
from plugin_packages import (
    Asked,
    capability,
    manifest,
    opened,
    program,
    reasons,
    write_package,
)

SAY = "holon-plugin-packages.acme.tools/say"


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[holon.Runtime]:
    """A runtime with the lane."""
    with opened(tmp_path / "root") as made:
        yield made


@pytest.fixture
def ask(rt: holon.Runtime) -> Asked:
    """Asks operations with every authority."""
    return Asked(rt)


def zipped(folder: Path) -> bytes:
    """Return a folder as a zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder).as_posix())
    return made.getvalue()


def tarred(folder: Path, mode: Any) -> bytes:
    """Return a folder as a tar."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        archive.add(folder, ".")
    return made.getvalue()


def test_a_package_goes_from_folder_to_a_guarded_call(tmp_path: Path, ask: Asked):
    """Registered, imported, approved: then its program runs, and its output is checked."""
    ask.installed(write_package(tmp_path / "acme"))
    before = ask.session.call(SAY, {"text": "hi"})
    ask.approved(SAY)

    result = ask.called(SAY, {"text": "hi", "loud": True})

    assert reasons(before) == {"posture_unapproved"}
    assert result.output["said"] == ["--loud", "--", "hi"]
    assert ask.rt.evidence.verify(None).consistent


@pytest.mark.parametrize("form", ["zip", "w", "w:gz", "w:bz2", "w:xz"])
def test_archives_are_packages_as_folders_are(tmp_path: Path, ask: Asked, form: str):
    """A zip and a tar, compressed or not, give the package that the folder gives."""
    folder = write_package(tmp_path / "acme")
    archive = tmp_path / "acme.bin"
    archive.write_bytes(zipped(folder) if form == "zip" else tarred(folder, form))
    by_folder = ask("plugin-package/register", path=str(folder))["package"]["digest"]

    ask.installed(archive)
    ask.approved(SAY)

    assert ask("plugin-package/read", package="acme.tools")["package"]["digest"] == by_folder
    assert ask.called(SAY, {"text": "x"}).output["said"] == ["--", "x"]


def test_nothing_of_a_package_runs_on_register_or_import(tmp_path: Path, ask: Asked):
    """The program would leave a file; it is started by an approved call alone."""
    folder = write_package(tmp_path / "acme")
    mark = tmp_path / "ran"
    (folder / "bin" / "say").write_text(f"#!/bin/sh\ntouch {mark}\necho '{{}}'\n")
    ask.installed(folder)
    ask.session.dry_run(SAY, {"text": "x"})
    assert not mark.exists()

    ask.approved(SAY)
    ask.called(SAY, {"text": "x"})
    assert mark.exists()


def test_a_dry_run_shows_the_exact_request(tmp_path: Path, ask: Asked):
    """Program, arguments and package, and nothing starts."""
    ask.installed(write_package(tmp_path / "acme"))

    shown = ask.session.dry_run(SAY, {"text": "hi"})

    assert shown.output["argv"][1:] == ["--", "hi"]
    assert shown.output["argv"][0].endswith("/bin/say")
    assert shown.output["package"]["id"] == "acme.tools"


@pytest.mark.parametrize("where", ["source", "installed"])
def test_a_changed_file_blocks_until_registered_again(
    tmp_path: Path, ask: Asked, rt: holon.Runtime, where: str
):
    """A pinned file that differs, installed or where it came from, blocks every capability."""
    folder = write_package(tmp_path / "acme")
    package = ask.installed(folder)
    ask.approved(SAY)
    changed = folder / "bin" / "say"
    if where == "installed":
        packages = rt.service("plugin_packages")
        changed = packages.folder(packages.read("acme.tools")) / "bin" / "say"
    changed.write_text(changed.read_text() + "# more\n")

    blocked = ask.session.call(SAY, {"text": "x"})
    assert (blocked.status, reasons(blocked)) == ("blocked", {"definition_changed"})
    assert ask("plugin-package/list")["packages"][0]["changed"] == ["bin/say"]

    again = ask("plugin-package/register", path=str(folder))
    assert again["changed"]
    assert (again["package"]["digest"] != package["digest"]) == (where == "source")
    ask("plugin-package/import", package="acme.tools")
    if where == "source":
        ask.approved(SAY)
    assert ask.called(SAY, {"text": "x"}).status == "completed"


@pytest.mark.parametrize("name", ["bin/json.py", "bin/__pycache__", "bin/json", "more.txt"])
@pytest.mark.parametrize("where", ["source", "installed"])
def test_a_file_that_came_besides_blocks(
    tmp_path: Path, ask: Asked, rt: holon.Runtime, where: str, name: str
):
    """A program may take it for its own: a module beside it, a cache, a folder, a link."""
    folder = write_package(tmp_path / "acme")
    ask.installed(folder)
    ask.approved(SAY)
    packages = rt.service("plugin_packages")
    at = folder if where == "source" else packages.folder(packages.read("acme.tools"))
    if name.endswith(("__pycache__", "/json")):
        (at / name).mkdir()
    else:
        (at / name).write_text("raise SystemExit('planted')\n")

    blocked = ask.session.call(SAY, {"text": "x"})

    # What tools leave in a folder is no part of the package that is read from it.
    fine = where == "source" and name.endswith("__pycache__")
    assert reasons(blocked) == (set() if fine else {"definition_changed"})
    assert ask("plugin-package/list")["packages"][0]["changed"] == ([] if fine else [name])
    if where == "installed":
        ask("plugin-package/register", path=str(folder))
        ask("plugin-package/import", package="acme.tools")
        assert not (at / name).exists()
        assert ask.called(SAY, {"text": "x"}).status == "completed"


@pytest.mark.skipif(os.name == "nt", reason="its change time is the time of creation")
def test_a_change_of_equal_size_and_time_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whoever writes sets back size and time of writing; the time of change tells."""
    monkeypatch.setattr(managed, "SETTLED_NS", 0)
    place = tmp_path / "say"
    place.write_text("print(1)")
    watched, pins = managed.Watched(), managed.pins_of({"say": b"print(1)"})
    assert watched.changed(tmp_path, pins) == []
    before = place.stat()
    until = before.st_ctime_ns + 50_000_000
    while time.time_ns() < until:
        time.sleep(0.01)

    place.write_text("print(2)")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert place.stat().st_mtime_ns == before.st_mtime_ns
    assert watched.changed(tmp_path, pins) == ["say"]


def test_a_file_that_just_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two changes in one tick of the clock have one stamp: what is that young is not known."""
    place = tmp_path / "say"
    place.write_text("print(1)")
    status = place.stat()
    monkeypatch.setattr(managed, "_stamp", lambda _: stamp(status))
    watched, pins = managed.Watched(), managed.pins_of({"say": b"print(1)"})
    assert watched.changed(tmp_path, pins) == []

    place.write_text("print(2)")

    assert watched.changed(tmp_path, pins) == ["say"]


def test_a_python_program_of_several_files_leaves_no_cache(tmp_path: Path, ask: Asked):
    """Its own caches would be files that came besides."""
    script = f"#!{sys.executable}\nimport helper\nhelper.say()\n"
    folder = write_package(tmp_path / "acme", bin__helper="")
    (folder / "bin" / "helper").rename(folder / "bin" / "helper.py")
    (folder / "bin" / "helper.py").write_text("def say():\n    print('{}')\n")
    program(folder / "bin" / "say", script)
    ask.installed(folder)
    ask.approved(SAY)

    results = [ask.called(SAY, {"text": "x"}) for _ in range(2)]

    assert [each.status for each in results] == ["completed", "completed"]


def test_registered_anew_the_old_import_is_blocked(tmp_path: Path, ask: Asked):
    """What is registered and not imported yet runs nothing, neither the old nor the new."""
    folder = write_package(tmp_path / "acme")
    ask.installed(folder)
    ask.approved(SAY)
    write_package(folder, manifest(version="1.0.1"))
    ask("plugin-package/register", path=str(folder))

    assert "definition_changed" in reasons(ask.session.call(SAY, {"text": "x"}))
    listed, found = ask("plugin-package/list"), ask("plugin-package/diff", package="acme.tools")
    [shown] = listed["packages"]
    assert (shown["imported"], shown["import_outstanding"], shown["changed"]) == (True, True, [])
    assert (found["import_outstanding"], found["compared_version"]) == (True, "1.0.0")
    assert [each["path"] for each in found["manifest"]] == ["/version"]
    assert found["files"] == {"holon-plugin.json": "changed"}

    ask("plugin-package/import", package="acme.tools")

    [shown] = ask("plugin-package/list")["packages"]
    assert not shown["import_outstanding"]
    assert ask("plugin-package/diff", package="acme.tools")["same"]


def test_registered_back_nothing_is_outstanding(tmp_path: Path, ask: Asked):
    """What is in the catalogue is what is registered, however it came to that."""
    folder = write_package(tmp_path / "acme")
    ask.installed(folder)
    ask.approved(SAY)
    for version in ("1.0.1", "1.0.2", "1.0.0"):
        ask("plugin-package/register", path=str(write_package(folder, manifest(version=version))))
        [shown] = ask("plugin-package/list")["packages"]
        assert shown["import_outstanding"] == (version != "1.0.0")

    assert ask.called(SAY, {"text": "x"}).status == "completed"


def test_diff_shows_capabilities_commands_and_files(tmp_path: Path, ask: Asked):
    """Compared with where it came from: what was added, and what of the rest moved."""
    folder = write_package(tmp_path / "acme")
    ask.installed(folder)
    assert ask("plugin-package/diff", package="acme.tools")["same"]
    say = capability(description="Shout.", effects=["machine_write"])
    write_package(folder, manifest(capabilities=[say, capability(id="more")]), docs__a="new")

    found = ask("plugin-package/diff", package="acme.tools")

    assert found["added"] == ["more"]
    paths = {each["path"] for each in found["changed"][0]["changes"]}
    assert paths == {"/description", "/effects/0"}
    assert found["files"] == {"docs/a": "added", "holon-plugin.json": "changed"}


def test_removing_keeps_evidence_and_leaves_no_file(tmp_path: Path, ask: Asked, rt: holon.Runtime):
    """Capabilities, approvals and files go; the records of what ran stay."""
    ask.installed(write_package(tmp_path / "acme"))
    ask.approved(SAY)
    ran = ask.called(SAY, {"text": "x"})
    folder = tmp_path / "root" / "plugins"

    assert ask("plugin-package/remove", package="acme.tools")["removed"] == [SAY]

    assert ask.session.call(SAY, {"text": "x"}).failure.code == "unknown_tool"
    assert [p for p in folder.rglob("*") if p.is_file()] == []
    assert [r for r in rt.evidence.list(workspace=None, limit=500) if r.call_id == ran.call_id]


def test_packages_stay_over_a_start(tmp_path: Path):
    """What was installed and approved runs in the next process, too."""
    with opened(tmp_path / "root") as rt:
        Asked(rt).installed(write_package(tmp_path / "acme"))
        Asked(rt).approved(SAY)
    with opened(tmp_path / "root") as rt:
        assert Asked(rt).called(SAY, {"text": "again"}).output["said"] == ["--", "again"]


def test_a_manifest_alone_is_a_package(ask: Asked):
    """Capabilities without packaged files come as an object, and are catalogued."""
    given = manifest(capabilities=[capability(lane="mcp", command=None) | {}])
    del given["capabilities"][0]["command"]
    ask("plugin-package/register", manifest=given)
    ask("plugin-package/import", package="acme.tools")

    blocked = ask.session.call(SAY, {"text": "x"})

    assert blocked.failure.kind == "unsupported_capability"
    assert "live_execution_blocked" in reasons(blocked)


def found(ask: Asked, **changes: Any) -> list[tuple[str, str]]:
    """Register a manifest that is refused; return its findings."""
    with pytest.raises(Rejected) as refused:
        ask("plugin-package/register", manifest=manifest(**changes))
    return [(each.code, each.path) for each in refused.value.findings]


@pytest.mark.parametrize(
    "name",
    ["policy", "secrets", "approvals", "session_id", "posture", "executionAuthority", "apiKey"],
)
def test_a_manifest_holds_nothing_of_the_host(ask: Asked, name: str):
    """Policy, secrets, approvals, sessions and authority are refused, wherever they stand."""
    codes = found(ask, **{name: {"x": 1}}, capabilities=[{**capability(), name: "x"}])

    assert {code for code, _ in codes} >= {"host_only"}
    assert len([path for code, path in codes if code == "host_only"]) == 2
    assert ask("plugin-package/list")["packages"] == []
