"""A reader of somebody else's distribution, found as it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holon_core as holon
from holon_core.errors import Rejected
from holon_plugin_packages import plugin
from installed import site  # noqa: F401
from plugin_packages import Asked
from sample_lanes import Site

READER = """
import holon_core as holon


@holon.hookimpl(optionalhook=True)
def holon_package_readers(host):
    from holon_plugin_packages.records import PackageReader, Reading, Unmapped

    def recognise(package):
        return "{file}" if "{file}" in package.files else ""

    def read(package, path):
        name, version = package.files[path].decode().split()
        manifest = {{
            "kind": "holon-plugin/v1",
            "id": name,
            "version": version,
            "skills": [{{"id": "how-to", "instructions": "Read by somebody else."}}],
        }}
        return Reading(manifest=manifest, unmapped=(Unmapped(path="other", reason="no place"),))

    yield PackageReader(format="{format}", rank={rank}, recognise=recognise, read=read)
"""


def reader(format: str = "acme-text", *, file: str = "acme.txt", rank: int = 200) -> str:
    """Return the module of a distribution that reads packages of one text."""
    return READER.format(format=format, file=file, rank=rank)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package of a format that nobody here knows."""
    made = tmp_path / "package"
    made.mkdir()
    (made / "acme.txt").write_text("acme.read 1.0")
    return made


def opened(tmp_path: Path) -> Iterator[Asked]:
    """Open a runtime that looks for what is installed."""
    with holon.Runtime.open(tmp_path / "root", plugins=[plugin]) as rt:
        yield Asked(rt)


def test_a_format_of_another_distribution_registers_and_imports(
    site: Site,  # noqa: F811
    tmp_path: Path,
    folder: Path,
):
    """It goes the way of every format: named, normalised, judged, imported, listed."""
    site.add("acme-readers", reader())
    for ask in opened(tmp_path):
        made = ask("plugin-package/register", path=str(folder))
        ask("plugin-package/import", package="acme.read")
        loaded = ask("runtime-skill/load", skill="holon-plugin-packages.acme.read/how-to")

    assert made["package"]["format"] == "acme-text"
    assert made["unmapped"] == [{"path": "other", "reason": "no place"}]
    assert loaded["instructions"] == "Read by somebody else."


def test_a_format_of_two_distributions_is_read_by_neither(
    site: Site,  # noqa: F811
    tmp_path: Path,
    folder: Path,
):
    """Which of them came first is nothing to decide by."""
    site.add("acme-readers", reader())
    site.add("other-readers", reader())
    for ask in opened(tmp_path):
        with pytest.raises(Rejected) as refused:
            ask("plugin-package/register", path=str(folder))

    assert [each.code for each in refused.value.findings] == ["package_format_unknown"]


def test_a_format_of_this_lane_is_never_taken_over(
    site: Site,  # noqa: F811
    tmp_path: Path,
    folder: Path,
):
    """Whoever offers a reader of `holon-plugin/v1` reads nothing of it."""
    site.add("acme-readers", reader("holon-plugin/v1", rank=-1))
    for ask in opened(tmp_path):
        with pytest.raises(Rejected) as refused:
            ask("plugin-package/register", path=str(folder))

    assert [each.code for each in refused.value.findings] == ["package_format_unknown"]
