"""Every package of the corpora: registered, imported and found; or refused for the named reason."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holon_core.errors import Rejected
from holon_core.records.words import Severity
from plugin_packages import Asked, opened
from support import ABSENT, shared_folder

SHARED = shared_folder() or Path()
CORPUS = SHARED / "package-corpus"
FIXTURES = SHARED / "elegy-corpus" / "fixtures"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)

FORMATS = {
    "agent-plugins": "agent-plugins/1.0",
    "agent-skill": "agent-skill",
    "claude-marketplace": "claude-marketplace",
    "claude-plugin": "claude-plugin",
    "codex-plugin": "codex-plugin",
    "copilot-plugin": "copilot-plugin",
    "cursor-plugin": "cursor-plugin",
    "docker-catalog": "docker-catalog",
    "gemini-extension": "gemini-extension",
    "mcp-registry": "mcp-registry",
    "mcpb": "mcpb",
    "vscode-mcp": "mcp.json",
}
# Templates, whose names are still to be filled in.
TEMPLATES = ("mcp-azure.mcp.server", "mcp-fabric.mcp.server")
REFUSED = {
    "elegy-package-v1.negative-path-escape.json": "package_path_escape",
    "elegy-plugin-package-v2.negative-side-effect-loosening.json": "side_effect_loosened",
    "elegy-plugin-package.negative-phantom-capability.json": "unknown_capability",
    "elegy-plugin-package.template.json": "/identity/packageId",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Asks operations of one runtime for the whole walk."""
    with opened(tmp_path_factory.mktemp("corpus") / "root") as rt:
        yield Asked(rt)


def install(ask: Asked, folder: Path) -> dict[str, Any]:
    """Register and import a package; return the answer of registering."""
    made = ask("plugin-package/register", path=str(folder))
    ask("plugin-package/import", package=made["package"]["id"])
    return dict(made)


def errors(ask: Asked, folder: Path) -> str:
    """Return everything for which a package is refused, as one text."""
    with pytest.raises(Rejected) as refused:
        install(ask, folder)
    found = [each for each in refused.value.findings if each.severity is Severity.ERROR]
    return "\n".join(f"{each.code} {each.path} {each.message}" for each in found)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_package_of_a_format_registers_imports_and_appears(ask: Asked, form: str):
    """Its skills and capabilities are found by their ids; templates are refused by their name."""
    count = 0
    for folder in sorted((CORPUS / form).iterdir()):
        if form == "mcp-registry" and folder.name in TEMPLATES:
            assert "/name the name has exactly one slash" in errors(ask, folder)
            continue
        made = install(ask, folder)
        package = made["package"]
        source = package["source"]
        read = ask("plugin-package/read", package=package["id"])
        skills = ask("skill/list", source=source, limit=1000)["skills"]
        assert package["format"] == FORMATS[form], folder
        assert [ask.rt.tools.read(each).id for each in read["tools"]] == read["tools"]
        assert len(skills) >= max(1, package["skills"])
        # Nothing of a package is lost without a word.
        parts = package["skills"] + package["capabilities"] + package["mcp_servers"]
        assert parts or made["unmapped"] or form.endswith(("marketplace", "cursor-plugin"))
        count += 1
    assert count


@pytest.mark.parametrize("form", ["codex-marketplace", "copilot-marketplace"])
def test_formats_without_a_reader_are_refused_by_name(ask: Asked, form: str):
    """What is recognised and not read is named, with the formats that are."""
    for folder in sorted((CORPUS / form).iterdir()):
        assert f"a package of the format {form} is not read" in errors(ask, folder)


def elegy_folder(fixture: Path, folder: Path) -> Path:
    """Write a package of Elegy with the files that it refers to, as far as there are any."""
    data = json.loads(fixture.read_text(encoding="utf-8"))
    folder.mkdir()
    if fixture.name.startswith("elegy-plugin-package"):
        shutil.copy(fixture, folder / "elegy-plugin-package.json")
        for each in data.get("components", {}).get("skillDefinitions", ()):
            skill = FIXTURES / Path(each.get("definitionRef", "none")).name
            if skill.is_file():
                shutil.copy(skill, folder)
        return folder
    shutil.copy(fixture, folder / "elegy-package.json")
    for each in data["files"]:
        if not path_escapes(each["path"]):
            path = folder / each["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\necho '{}'\n" if each["role"] == "executable" else "{}")
    catalogue = json.loads((FIXTURES / "capability-catalog-v2.demo-tool.json").read_text())
    catalogue |= {"plugin": data["name"], "pluginVersion": data["version"]}
    catalogue["capabilities"][0]["invocation"]["executable"] = data["entrypoints"][0]["executable"]
    (folder / "capability-catalog.json").write_text(json.dumps(catalogue))
    return folder


def path_escapes(path: str) -> bool:
    """Tell whether a path of a fixture leads outside."""
    return ".." in path


PACKAGES = sorted(
    [*FIXTURES.glob("elegy-plugin-package*.json"), *FIXTURES.glob("elegy-package-v1*.json")]
)


@pytest.mark.parametrize("fixture", PACKAGES, ids=lambda path: path.name)
def test_packages_of_elegy_come_in_or_are_refused_for_the_named_reason(
    tmp_path: Path, ask: Asked, fixture: Path
):
    """What was shipped as valid is stored; what is negative is refused by its rule."""
    folder = elegy_folder(fixture, tmp_path / "package")
    if fixture.name in REFUSED:
        assert REFUSED[fixture.name] in errors(ask, folder)
        return
    package = install(ask, folder)["package"]
    read = ask("plugin-package/read", package=package["id"])
    assert all(ask.rt.tools.read(each) for each in read["tools"])
    assert package["format"].startswith("elegy-")


def test_an_unmarked_subset_is_stored_and_not_active(tmp_path: Path, ask: Asked):
    """A package that leaves capabilities out unsaid comes in, and every one is blocked."""
    name = "elegy-plugin-package.negative-missing-subset-marker.json"
    made = install(ask, elegy_folder(FIXTURES / name, tmp_path / "package"))
    manifest = ask("plugin-package/read", package=made["package"]["id"])["manifest"]

    assert all("subsetOf" in each["blocked"][0] for each in manifest["capabilities"])


def test_a_locked_package_is_held_against_its_lock(tmp_path: Path, ask: Asked):
    """Another digest, version or publisher than the lock's refuses the package, all at once."""
    folder = elegy_folder(FIXTURES / "elegy-package-v1.example-tool.json", tmp_path / "package")
    shutil.copy(FIXTURES / "elegy-lock-v1.example-agent.json", folder / "elegy-lock.json")

    found = errors(ask, folder)

    for name in ("/executableDigests", "/manifestSha256", "/capabilityCatalogSha256"):
        assert f"package_digest_mismatch {name}" in found


def test_a_matching_lock_lets_only_what_it_allows_be_active(tmp_path: Path, ask: Asked):
    """With the right digests it comes in, and a capability that it does not allow is blocked."""
    from hashlib import sha256

    folder = elegy_folder(FIXTURES / "elegy-package-v1.example-tool.json", tmp_path / "package")
    lock = json.loads((FIXTURES / "elegy-lock-v1.example-agent.json").read_text())
    entry = lock["packages"][0]

    def compact(name: str, **options: Any) -> str:
        data = json.loads((folder / name).read_text())
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, **options)
        return sha256(text.encode()).hexdigest()

    program = next(iter(entry["executableDigests"]))
    entry["executableDigests"][program] = sha256((folder / program).read_bytes()).hexdigest()
    entry["manifestSha256"] = compact("elegy-package.json")
    entry["capabilityCatalogSha256"] = compact("capability-catalog.json", sort_keys=True)
    (folder / "elegy-lock.json").write_text(json.dumps(lock))

    install(ask, folder)

    manifest = ask("plugin-package/read", package="example-tool")["manifest"]
    assert manifest["capabilities"][0]["blocked"] == ["the lock does not allow it"]
