"""Every package of the corpora: registered, imported and found; or refused for the named reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holon_core.errors import Rejected
from holon_core.records.words import Severity
from holon_plugin_packages.normalising import NOT_READ
from plugin_packages import ELEGY_FIXTURES as FIXTURES
from plugin_packages import Asked, elegy_folder, opened
from support import ABSENT, shared_folder

SHARED = shared_folder() or Path()
CORPUS = SHARED / "package-corpus"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)

FORMATS = {
    "agent-plugins": "agent-plugins/1.0",
    "agent-skill": "agent-skill",
    "claude-marketplace": "claude-marketplace",
    "claude-plugin": "claude-plugin",
    "codex-marketplace": "codex-marketplace",
    "codex-plugin": "codex-plugin",
    "copilot-marketplace": "copilot-marketplace",
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
    """Register and import a package; return the answer of registering.

    Where another format of the project, or another publisher, has its id, that is told, and the
    other one is removed first.
    """
    try:
        made = ask("plugin-package/register", path=str(folder))
    except Rejected as refused:
        if [each.code for each in refused.findings] != ["duplicate_id"]:
            raise
        ask("plugin-package/remove", package=refused.subject)
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
        empty = any("nothing of it came in" in each["message"] for each in made["findings"])
        assert empty is not bool(parts)
        count += 1
    assert count


@pytest.mark.parametrize("place", sorted(NOT_READ))
def test_formats_without_a_reader_are_refused_by_name(ask: Asked, tmp_path: Path, place: str):
    """What is recognised and not read is named, with the formats that are."""
    manifest = tmp_path / place
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text("{}")

    assert f"a package of the format {NOT_READ[place]} is not read" in errors(ask, tmp_path)


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
