"""The abuse cases of the area package, each by its id: refused as a whole, nothing left behind."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core.errors import Rejected
from holon_core.store.sqlite import SqliteStore
from plugin_packages import Asked, capability, manifest, opened, write_package
from support import ABSENT, shared_folder

SHARED = shared_folder()
INPUTS = (SHARED or Path()) / "abuse-cases" / "inputs" / "package"
needs_inputs = pytest.mark.skipif(SHARED is None, reason=ABSENT)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the runtime keeps everything."""
    return tmp_path / "root"


@pytest.fixture
def ask(root: Path) -> Iterator[Asked]:
    """Asks operations with every authority."""
    with opened(root) as rt:
        yield Asked(rt)


def files_of(folder: Path) -> set[str]:
    """Return every file of a folder but the store's own."""
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}
    return {each for each in found if "holon.db" not in each and "lock" not in each}


def refused(ask: Asked, **given: Any) -> dict[str, list[str]]:
    """Register what is refused; return the messages by code, and see that nothing is stored."""
    managed = ask.rt.service("plugin_packages")._managed().root
    with pytest.raises(Rejected) as told:
        ask("plugin-package/register", **given)
    assert ask("plugin-package/list")["packages"] == []
    assert ask("skill-source/list")["sources"] == []
    assert not managed.exists()
    codes: dict[str, list[str]] = {}
    for each in told.value.findings:
        codes.setdefault(each.code, []).append(f"{each.path} {each.message}")
    return codes


@needs_inputs
@pytest.mark.parametrize(
    ("file", "code", "named"),
    [
        pytest.param("slip.zip", "package_path_escape", ["../evil.txt"], id="AB-PACKAGE-001"),
        pytest.param(
            "abs.zip", "package_path_escape", ["/abs.txt", "C:", "e.txt"], id="AB-PACKAGE-002"
        ),
        pytest.param("symlink.zip", "package_entry_type", ["assets"], id="AB-PACKAGE-003"),
        pytest.param("dup.zip", "package_duplicate_entry", ["SKILL.md"], id="AB-PACKAGE-004"),
        pytest.param(
            "case.zip", "package_duplicate_entry", ["SKILL.md", "skill.md"], id="AB-PACKAGE-005"
        ),
        pytest.param("bomb.zip", "package_too_large", ["max_bytes"], id="AB-PACKAGE-006"),
    ],
)
def test_a_hostile_archive_is_refused_as_a_whole(
    tmp_path: Path, ask: Asked, file: str, code: str, named: list[str]
):
    """Every entry is judged before any is taken; nothing appears anywhere."""
    before = files_of(tmp_path)

    found = refused(ask, path=str(INPUTS / file))

    assert code in found
    assert all(name in " ".join(found[code]) for name in named)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("kind", ["symlinks", "hardlink", "fifo", "device"])
def test_ab_package_007_a_tar_of_links_is_refused(tmp_path: Path, ask: Asked, kind: str):
    """Links and devices of any kind are refused, whatever filter the interpreter has."""
    archive = tmp_path / "links.tar"
    with tarfile.open(archive, "w") as made:
        data = json.dumps(manifest()).encode()
        info = tarfile.TarInfo("holon-plugin.json")
        info.size = len(data)
        made.addfile(info, io.BytesIO(data))
        types = {"hardlink": tarfile.LNKTYPE, "fifo": tarfile.FIFOTYPE, "device": tarfile.CHRTYPE}
        for step in range(20):
            link = tarfile.TarInfo(f"{'d' * 5}{step}")
            link.type = types.get(kind, tarfile.SYMTYPE)
            link.linkname = "../" * step or "."
            made.addfile(link)

    found = refused(ask, path=str(archive))

    assert len(found["package_entry_type"]) == 20


@pytest.mark.parametrize("kind", ["file", "folder", "dangling", "fifo"])
def test_links_and_pipes_in_folders_are_refused(tmp_path: Path, ask: Asked, kind: str):
    """A folder holds folders and regular files; nothing else is followed, opened or waited for."""
    folder = write_package(tmp_path / "acme")
    (tmp_path / "outside").write_text("secret of the machine")
    if kind == "fifo":
        os.mkfifo(folder / "odd")
    else:
        target = {"file": tmp_path / "outside", "folder": tmp_path, "dangling": tmp_path / "no"}
        (folder / "odd").symlink_to(target[kind])

    assert "odd" in refused(ask, path=str(folder))["package_entry_type"][0]


@needs_inputs
@pytest.mark.parametrize(
    ("file", "code", "named"),
    [
        pytest.param(
            "dup_ids.json",
            "duplicate_id",
            ["/capabilities/0/id", "/capabilities/2/id"],
            id="AB-PACKAGE-008",
        ),
        pytest.param(
            "unresolved.json", "unresolved_ref", ["schemas/out.json", "ghost"], id="AB-PACKAGE-009"
        ),
        pytest.param(
            "cycle.json",
            "cyclic_ref",
            ["/a -> acme.skills/b -> acme.skills/c ->"],
            id="AB-PACKAGE-010",
        ),
        pytest.param(
            "homoglyph.json", "invalid_id", ["U+043E", "U+200D", "U+202E"], id="AB-PACKAGE-011"
        ),
    ],
)
def test_a_hostile_manifest_is_refused_with_every_place(
    ask: Asked, file: str, code: str, named: list[str]
):
    """All that is wrong is listed at once, each with its place; nothing is registered."""
    given = json.loads((INPUTS / file).read_text(encoding="utf-8"))

    found = refused(ask, manifest=given)

    assert set(found) == {code}
    assert all(name in " ".join(found[code]) for name in named)


def test_ab_package_012_what_is_registered_is_what_was_checked(
    tmp_path: Path, ask: Asked, monkeypatch: pytest.MonkeyPatch
):
    """A file that changes while a package is read refuses it; afterwards it is read no more."""
    from holon_plugin_packages import checking, normalising, reading_files

    folder = write_package(tmp_path / "acme")
    path = folder / "holon-plugin.json"
    good = path.read_text()
    read = reading_files._stable

    def swapping(at: Path, limit: int) -> Any:
        got = read(at, limit)
        path.write_text(good.replace("Repeat", "Delete"))
        return got

    with monkeypatch.context() as changed:
        changed.setattr(reading_files, "_stable", swapping)
        assert "changed_during_read" in refused(ask, path=str(folder))

    path.write_text(good)
    check = checking.manifest_findings

    def swapped(*given: Any) -> Any:
        path.write_text(good.replace("Repeat", "Delete"))
        return check(*given)

    monkeypatch.setattr(normalising, "manifest_findings", swapped)
    ask("plugin-package/register", path=str(folder))
    kept = ask("plugin-package/read", package="acme.tools")["manifest"]
    assert kept["capabilities"][0]["description"] == "Repeat a text."


@pytest.mark.parametrize(
    "given",
    [
        {"capabilities": [capability(id="holon.built-in.memory/search-workspace-memory")]},
        {"id": "holon.built-in.memory"},
        {"id": "host.shop"},
    ],
    ids=["capability", "package", "host"],
)
def test_ab_package_013_a_reserved_namespace_stays_its_owners(ask: Asked, given: dict[str, Any]):
    """A package cannot say that it is somebody else; its tools are under its own source anyway."""
    assert "reserved_id" in refused(ask, manifest=manifest(**given))


def test_ab_package_014_an_invalid_ninth_capability_keeps_all_ten_out(ask: Asked):
    """The catalogue and the store are as before, and a good package comes in afterwards."""
    ten = [capability(id=f"c{at}", lane="mcp") for at in range(10)]
    for each in ten:
        del each["command"]
    ten[8]["effects"] = ["everything"]
    found = refused(ask, manifest=manifest(capabilities=ten))
    assert any("/capabilities/8/effects" in each for each in found["package_manifest_invalid"])

    ten[8]["effects"] = ["none"]
    ask("plugin-package/register", manifest=manifest(capabilities=ten))
    assert ask("plugin-package/import", package="acme.tools")["skills"][0]["state"] == "added"


def test_ab_package_014_a_store_that_fails_half_way_leaves_nothing(
    tmp_path: Path, ask: Asked, monkeypatch: pytest.MonkeyPatch
):
    """Whichever write of the import fails, the catalogue is as before; again it works."""
    ask("plugin-package/register", path=str(write_package(tmp_path / "acme")))
    transact = SqliteStore.transact
    failing_at = 1
    while True:
        count = 0

        def failing(self: Any, work: Any, at: int = failing_at, **options: Any) -> Any:
            nonlocal count
            inner = getattr(work, "__module__", "")
            if inner.startswith(("holon_core.skills.storing", "holon_core.catalogue.registry")):
                count += 1
                if count == at:
                    raise holon.StoreError("store_unavailable", "the disk is full")
            return transact(self, work, **options)

        with monkeypatch.context() as changed:
            changed.setattr(SqliteStore, "transact", failing)
            try:
                ask("plugin-package/import", package="acme.tools")
                break
            except holon.StoreError:
                pass
        assert ask("skill-source/list")["sources"] == []
        assert ask("skill/list")["skills"] == []
        assert ask("runtime-tool/list")["tools"] == []
        failing_at += 1
    assert failing_at > 1
    assert len(ask("runtime-tool/list")["tools"]) == 1
