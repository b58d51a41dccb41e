"""`elegy-lock/v1`: a package held against what somebody reviewed, in a folder and in an archive."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from holon_core.errors import Rejected
from holon_core.records.words import Severity
from holon_plugin_packages.readers.elegy_lock import runs_here
from plugin_packages import ELEGY_FIXTURES as FIXTURES
from plugin_packages import Asked, elegy_folder, opened
from support import ABSENT, shared_folder

pytestmark = pytest.mark.skipif(shared_folder() is None, reason=ABSENT)

PROGRAM = "./bin/example-tool.exe"


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asked]:
    """Asks operations of one runtime."""
    with opened(tmp_path / "root") as rt:
        yield Asked(rt)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package of Elegy that runs anywhere, without a lock."""
    made = elegy_folder(FIXTURES / "elegy-package-v1.example-tool.json", tmp_path / "package")
    path = made / "elegy-package.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "targets": ["any"]}))
    return made


def lock_of(folder: Path, **changes: Any) -> dict[str, Any]:
    """Make the lock of a package as it is, but for changes."""
    lock: dict[str, Any] = json.loads(
        (FIXTURES / "elegy-lock-v1.example-agent.json").read_text(encoding="utf-8")
    )
    entry = lock["packages"][0]

    def compact(name: str, **options: Any) -> str:
        data = json.loads((folder / name).read_text())
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, **options)
        return sha256(text.encode()).hexdigest()

    entry |= {
        "target": "any",
        "executableDigests": {PROGRAM: sha256((folder / PROGRAM).read_bytes()).hexdigest()},
        "manifestSha256": compact("elegy-package.json"),
        "capabilityCatalogSha256": compact("capability-catalog.json", sort_keys=True),
        **changes,
    }
    return lock


def archive(folder: Path, path: Path) -> str:
    """Pack a folder; return the digest of the archive."""
    with zipfile.ZipFile(path, "w") as made:
        for each in sorted(folder.rglob("*")):
            made.write(each, each.relative_to(folder))
    return sha256(path.read_bytes()).hexdigest()


def errors(ask: Asked, path: Path) -> list[tuple[str, str]]:
    """Return everything for which a package is refused."""
    with pytest.raises(Rejected) as refused:
        ask("plugin-package/register", path=str(path))
    found = refused.value.findings
    return [(each.code, each.path) for each in found if each.severity is Severity.ERROR]


def test_every_drift_from_a_lock_is_told_at_once(ask: Asked, folder: Path):
    """Digests, publisher, version, target, source: each with its place in the lock."""
    wrong = "f" * 64
    changes: dict[str, Any] = {
        "version": "9.9.9",
        "publisher": "https://evil.example/tool",
        "manifestSha256": wrong,
        "capabilityCatalogSha256": wrong,
        "executableDigests": {PROGRAM: wrong},
        "source": "http://evil.example/tool.zip",
    }
    (folder / "elegy-lock.json").write_text(json.dumps(lock_of(folder, **changes)))

    found = errors(ask, folder)

    assert sorted(found) == sorted(
        ("package_digest_mismatch", f"/packages/0/{name}") for name in changes
    )


def test_a_target_that_the_package_does_not_have_is_refused(ask: Asked, folder: Path):
    """A lock chooses among the targets of the package."""
    path = folder / "elegy-package.json"
    given = {**json.loads(path.read_text()), "targets": ["x86_64-unknown-linux-gnu"]}
    path.write_text(json.dumps(given))
    lock = lock_of(folder, target="x86_64-pc-windows-msvc")
    (folder / "elegy-lock.json").write_text(json.dumps(lock))

    assert errors(ask, folder) == [("package_digest_mismatch", "/packages/0/target")]


def test_a_lock_for_another_system_blocks_what_it_allows(ask: Asked, folder: Path):
    """Its programs are of that system; a word that names none is not held against it."""
    names = ("x86_64-pc-windows-msvc", "aarch64-apple-darwin", "x86_64-unknown-linux-gnu")
    elsewhere = next(each for each in names if not runs_here(each))
    lock = lock_of(folder, target=elsewhere, allowedCapabilities=["demo.run"])
    (folder / "elegy-lock.json").write_text(json.dumps(lock))
    ask("plugin-package/register", path=str(folder))

    [capability] = ask("plugin-package/read", package="example-tool")["manifest"]["capabilities"]

    assert f"the lock is for {elsewhere}" in capability["blocked"]
    assert runs_here("any")
    assert runs_here("wasm32-wasi")


def test_a_matching_lock_lets_only_what_it_allows_be_active(ask: Asked, folder: Path):
    """It comes in; that an archive's digest is no folder's is said."""
    (folder / "elegy-lock.json").write_text(json.dumps(lock_of(folder)))

    made = ask("plugin-package/register", path=str(folder))

    manifest = ask("plugin-package/read", package="example-tool")["manifest"]
    assert manifest["capabilities"][0]["blocked"] == ["the lock does not allow it"]
    assert "/packages/0/archiveSha256" in [each["path"] for each in made["findings"]]


def test_an_archive_is_held_against_the_lock_beside_it(ask: Asked, folder: Path, tmp_path: Path):
    """Its bytes have the digest, or nothing of it comes in."""
    packed = tmp_path / "example-tool.zip"
    digest = archive(folder, packed)
    beside = tmp_path / "elegy-lock.json"
    beside.write_text(json.dumps(lock_of(folder, archiveSha256="a" * 64)))

    assert errors(ask, packed) == [("package_digest_mismatch", "/packages/0/archiveSha256")]

    beside.write_text(json.dumps(lock_of(folder, archiveSha256=digest)))
    made = ask("plugin-package/register", path=str(packed))
    assert "/packages/0/archiveSha256" not in [each["path"] for each in made["findings"]]


def _link(path: Path) -> None:
    path.symlink_to(path.with_name("package") / "elegy-package.json")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (_link, "source_invalid"),
        (lambda path: path.write_text(" " * (1024 * 1024 + 1)), "package_too_large"),
        (lambda path: path.write_text("no JSON"), "package_manifest_invalid"),
        (lambda path: path.write_text('{"schemaVersion": "other"}'), "package_manifest_invalid"),
    ],
    ids=["link", "large", "no-json", "other"],
)
def test_a_lock_that_cannot_be_read_refuses_its_archive(
    ask: Asked, folder: Path, tmp_path: Path, make: Callable[[Path], Any], code: str
):
    """Whoever put it there wants the package held against it."""
    packed = tmp_path / "example-tool.zip"
    archive(folder, packed)
    make(tmp_path / "elegy-lock.json")

    assert code in {each for each, _ in errors(ask, packed)}
