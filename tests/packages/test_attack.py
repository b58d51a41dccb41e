"""Attacks on the lane: small inputs that would cost much, planted programs, names of any kind."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.errors import Rejected
from holon_plugin_packages.archives import read_archive
from holon_plugin_packages.limits import PackageLimits
from holon_plugin_packages.paths import path_problem
from holon_plugin_packages.readers.frontmatter import FrontMatterRefused, yaml_mapping
from holon_plugin_packages.readers.servers import without_comments
from plugin_packages import Asked, capability, manifest, opened, program, reasons, write_package

SAY = "holon-plugin-packages.acme.tools/say"
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n"
    for old, new in zip("abcdef", "bcdefg", strict=True)
)


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asked]:
    """Asks operations with every authority."""
    with opened(tmp_path / "root") as rt:
        yield Asked(rt)


def test_aliases_do_not_multiply():
    """A few lines of YAML that stand for millions of values are refused."""
    with pytest.raises(FrontMatterRefused, match="more than 5000 values"):
        yaml_mapping(LAUGHS)


@pytest.mark.parametrize("text", ["/*" * 200_000, '\\"' * 200_000, "," * 200_000, '"\\'])
def test_comments_are_taken_out_in_one_pass(text: str):
    """What is not closed goes to the end, instead of being looked for again and again."""
    began = time.process_time()

    without_comments("{" + text)

    assert time.process_time() - began < 5


def test_an_archive_of_too_many_entries_is_refused_before_they_are_read():
    """Their number is counted in the bytes, not in objects."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(500):
            archive.writestr(f"f{number}", "")

    with pytest.raises(Rejected, match="package_too_large"):
        read_archive(made.getvalue(), PackageLimits(max_files=100), where="x")


def test_a_program_planted_in_the_workspace_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Even where the workspace is on the path: what an agent may write is never what runs."""
    place = tmp_path / "place"
    mark = tmp_path / "ran"
    program(place / "planted", f"#!/bin/sh\ntouch {mark}\necho '{{}}'\n")
    monkeypatch.setenv("PATH", str(place), prepend=":")
    command = {"program": "planted", "arguments": []}
    write_package(tmp_path / "acme", manifest(capabilities=[capability(command=command)]))
    with opened(tmp_path / "root") as rt:
        ask = Asked(rt)
        ask.session = rt.session(principal="ann", workspace=place)
        ask.installed(tmp_path / "acme")
        ask.approved(SAY)

        result = ask.called(SAY, {"text": "x"})

    assert (result.status, result.failure.code) == ("blocked", "dependency_missing")
    assert not mark.exists()


def test_an_approval_does_not_cover_the_next_version(tmp_path: Path, ask: Asked):
    """A command that changes voids the approval, though the capability's id stays."""
    folder = write_package(tmp_path / "acme")
    ask.installed(folder)
    ask.approved(SAY)
    other = {"program": "sh", "arguments": ["-c", "echo '{}'"]}
    write_package(folder, manifest(capabilities=[capability(command=other)]))
    ask.installed(folder)

    assert reasons(ask.session.call(SAY, {"text": "x"})) == {"posture_unapproved"}


NAMES = st.text(
    st.sampled_from([*"ab.AZ/\\: ", "\u00e9", "\u0301", "\u202e", "\0", "\n", "ſ", "ﬁ"]),
    min_size=1,
    max_size=12,
)


@given(st.lists(NAMES, max_size=6, unique=True))
def test_names_of_any_kind_are_taken_as_they_are_or_refused(names: list[str]):
    """Nothing is renamed: what comes in has the names of the archive, each inside of it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name
            archive.writestr(info, b"" if name.endswith("/") else name.encode())
    try:
        found = read_archive(made.getvalue(), PackageLimits(), where="x").files
    except Rejected:
        return
    kept = {name for name in names if not name.endswith("/")}
    tops = {name.partition("/")[0] for name in kept}
    if len(tops) == 1 and all("/" in name for name in kept):
        kept |= {name.partition("/")[2] for name in kept}
    assert set(found) <= kept
    assert not [name for name in found if path_problem(name)]


@pytest.mark.parametrize(
    "name",
    ["CONIN$", "conout$.txt", "lpt\u00b9", "COM\u00b2.log", "con .txt", "a/nul", "say\u202egpj.sh"],
)
def test_names_of_devices_and_names_that_turn_are_refused(name: str):
    """On every platform, as a package may go to any; what is shown is what is there."""
    assert path_problem(name)


def test_a_package_is_no_device_either(tmp_path: Path, ask: Asked):
    """Its id names a folder."""
    with pytest.raises(Rejected) as refused:
        ask("plugin-package/register", path=str(write_package(tmp_path / "a", manifest(id="con"))))

    assert [(each.code, each.path) for each in refused.value.findings] == [("invalid_id", "/id")]
