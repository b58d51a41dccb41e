"""Readers: what is lost, what is kept, and that a restriction is never lost."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import holon_core as holon
from holon_core.errors import Rejected
from holon_plugin_packages.readers.servers import without_comments
from holon_plugin_packages.records import PackageReader, Reading
from plugin_packages import Asked, manifest, opened
from support import ABSENT, shared_folder

SKILL = """---
name: pdf-forms
description: Fill in forms.
allowed-tools: Read Bash(pdftk fill:*), Grep
license: MIT
---
# Forms

Use pdftk.
"""


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asked]:
    """Asks operations with every authority."""
    with opened(tmp_path / "root") as rt:
        yield Asked(rt)


def write(folder: Path, **files: Any) -> Path:
    """Write files by path, ``__`` for ``/`` and ``DOT`` for ``.``; what is no text as JSON."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return folder


def converted(ask: Asked, folder: Path) -> dict[str, Any]:
    """Return a package as a manifest of Holon's."""
    return dict(ask("plugin-package/convert", path=str(folder)))


def test_a_skill_is_loaded_with_its_restriction_and_provenance(tmp_path: Path, ask: Asked):
    """Its text goes to a context, marked as untrusted, with where it comes from, and recorded."""
    folder = write(tmp_path / "pdf-forms", SKILLDOTmd=SKILL, scripts__runDOTsh="echo no")
    source = ask.installed(folder)["source"]

    loaded = ask("runtime-skill/load", skill=f"{source}/pdf-forms")

    assert loaded["instructions"].startswith("# Forms")
    assert loaded["is_untrusted"] is True
    assert loaded["source"] == source
    kept = ask("skill/read", skill=f"{source}/pdf-forms")["skill"]["metadata"]
    assert kept["allowed_tools"] == ["Read", "Bash(pdftk fill:*)", "Grep"]
    assert kept["package"]["digest"] == ask("plugin-package/list")["packages"][0]["digest"]
    kinds = [each.kind for each in ask.rt.evidence.list(workspace=None, limit=500)]
    assert "skill_loaded" in kinds


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (SKILL.replace("Fill in forms.", "Fill: in forms."), "line 3, column"),
        (SKILL.replace("license: MIT", "name: other"), "is twice"),
        (SKILL.replace("allowed-tools: Read", "allowed-tools: {a: b}\nx: Read"), "neither a text"),
        ("# no front matter", "no front matter"),
        (SKILL.replace("---\n# Forms", "# Forms"), "not closed"),
        (SKILL.replace("license: MIT", "license: &a [*a]"), "no YAML"),
    ],
    ids=["colon", "twice", "type", "none", "open", "alias"],
)
def test_front_matter_that_cannot_be_read_refuses_its_skill(
    tmp_path: Path, ask: Asked, broken: str, said: str
):
    """The skill is lost with its reason, and never comes in without its restriction."""
    folder = write(tmp_path / "pdf-forms", SKILLDOTmd=broken)
    with pytest.raises(Rejected) as refused:
        ask("plugin-package/register", path=str(folder))
    assert said in str(refused.value)

    plugin = {"name": "forms", "version": "1.0.0", "description": "d"}
    more = {"DOTclaude-plugin__pluginDOTjson": plugin}
    folder = write(
        tmp_path / "plugin",
        skills__good__SKILLDOTmd=SKILL.replace("pdf-forms", "good"),
        skills__bad__SKILLDOTmd=broken,
        **more,
    )
    found = converted(ask, folder)
    assert [each["id"] for each in found["manifest"]["skills"]] == ["good"]
    assert any("skills/bad/SKILL.md" in each["path"] for each in found["unmapped"])


def test_values_of_secrets_never_come_in(tmp_path: Path, ask: Asked):
    """Names and purposes do; a literal credential is left out, and said."""
    servers = {
        "github": {
            "command": "npx",
            "args": ["-y", "server", "ghp_abcdefghijklmnopqrstuvwxyz012345"],
            "env": {"GITHUB_TOKEN": "literal-value-of-a-token", "MODE": "${MODE}"},
        },
        "web": {
            "url": "https://user:word@mcp.example/mcp?key=abc#x",
            "headers": {"Authorization": "Bearer abc"},
        },
    }
    folder = write(tmp_path / "p", DOTmcpDOTjson={"mcpServers": servers})

    found = converted(ask, folder)

    text = json.dumps(found)
    for value in ("literal-value", "ghp_", "word@", "key=abc", "Bearer"):
        assert value not in text
    github, web = found["manifest"]["mcp_servers"]
    assert github["env_names"] == ["GITHUB_TOKEN", "MODE"]
    assert web["url"] == "https://mcp.example/mcp"
    assert len([each for each in found["findings"] if each["code"] == "host_only"]) == 4


OUT = "(left out)"


@pytest.mark.parametrize(
    ("command", "args", "kept"),
    [
        ("npx", ["-y", "@a/b@1.2", "T1"], ["-y", "@a/b@1.2", OUT]),
        ("npx", ["x", "--token", "T1", "--api-key=T2"], ["x", "--token", OUT, f"--api-key={OUT}"]),
        ("npx", ["--registry", "T1", "x"], ["--registry", OUT, OUT]),
        ("docker", ["run", "--rm", "-e", "KEY=T1"], [OUT, "--rm", "-e", OUT]),
        ("node", ["${ROOT}/dist/index.js", "-pT1"], ["${ROOT}/dist/index.js", OUT]),
        ("python", ["./server.py", "${input:key}"], ["./server.py", "${input:key}"]),
        ("x", ["${KEY:-T1}", "--k=${env:KEY}"], [OUT, "--k=${env:KEY}"]),
        ("x", ["postgresql://u:T1@h/db"], [OUT]),
    ],
)
@pytest.mark.parametrize("native", [False, True], ids=["mcp.json", "holon-plugin"])
def test_a_word_of_a_command_line_is_kept_only_where_it_is_no_value(
    tmp_path: Path, ask: Asked, *, native: bool, command: str, args: list[str], kept: list[str]
):
    """Options, coordinates, files and variables are; tokens look like any other word."""
    if native:
        server = {"id": "s", "transport": "stdio", "command": command, "arguments": args}
        given = manifest(mcp_servers=[server], capabilities=[])
        folder = write(tmp_path / "p", **{"holon-pluginDOTjson": given})
    else:
        servers = {"s": {"command": command, "args": args}}
        folder = write(tmp_path / "p", mcpDOTjson={"mcpServers": servers})

    found = converted(ask, folder)

    [server] = found["manifest"]["mcp_servers"]
    assert (server["command"], server["arguments"]) == (command, kept)
    assert not any(token in json.dumps(found) for token in ("T1", "T2"))
    told = [each for each in found["findings"] if each["code"] == "host_only"]
    assert len(told) == (kept != args)


def test_a_command_of_several_words_holds_no_value_either(tmp_path: Path, ask: Asked):
    """Some write the whole line there, or variables before it."""
    servers = {
        "line": {"command": "npx -y @a/b --token T1"},
        "variable": {"command": "KEY=T1 server"},
    }
    folder = write(tmp_path / "p", mcpDOTjson={"mcpServers": servers})

    made = converted(ask, folder)["manifest"]["mcp_servers"]

    assert [each["command"] for each in made] == [
        f"npx -y @a/b --token {OUT}",
        f"{OUT} {OUT}",
    ]


def test_an_mcp_server_is_found_and_stays_closed(tmp_path: Path, ask: Asked):
    """It is in the catalogue and in discovery as any capability; nothing can start it."""
    folder = write(tmp_path / "p", mcpDOTjson={"mcpServers": {"maps": {"command": "maps-mcp"}}})
    source = ask.installed(folder)["source"]
    tool = f"{source}/mcp.maps"
    ask.approved(tool)

    assert [each.id for each in ask.session.discover("maps server").items] == [tool]
    result = ask.session.call(tool, {})
    assert result.failure.kind == "unsupported_capability"
    assert "live_execution_blocked" in {each.code for each in result.blocking_reasons}


def test_several_formats_are_reported_and_one_is_read(tmp_path: Path, ask: Asked):
    """By a stated order; another is read where it is asked for; two are never merged."""
    claude = {"name": "both", "version": "1", "description": "of claude"}
    folder = write(
        tmp_path / "p",
        **{
            "DOTclaude-plugin__pluginDOTjson": claude,
            "gemini-extensionDOTjson": {"name": "both", "version": "2"},
        },
    )

    found = converted(ask, folder)

    assert found["formats"] == ["claude-plugin", "gemini-extension"]
    assert any(each["code"] == "package_formats" for each in found["findings"])
    other = ask("plugin-package/convert", path=str(folder), format="gemini-extension")
    assert other["manifest"]["version"] == "2"
    with pytest.raises(Rejected, match="it is of claude-plugin, gemini-extension"):
        ask("plugin-package/convert", path=str(folder), format="mcpb")


def test_hooks_are_kept_as_files_and_never_run(tmp_path: Path, ask: Asked):
    """A hook is an arbitrary program: named as not mapped, in no capability."""
    mark = tmp_path / "ran"
    hooks = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {mark}"}]}]}
    }
    plugin = {"name": "h", "version": "1", "hooks": "./hooks/hooks.json"}
    folder = write(
        tmp_path / "p",
        hooks__hooksDOTjson=hooks,
        **{"DOTclaude-plugin__pluginDOTjson": plugin},
    )

    ask.installed(folder)

    read = ask("plugin-package/read", package="h")
    assert any(each["path"] == "hooks/hooks.json" for each in read["unmapped"])
    assert read["tools"] == []
    assert not mark.exists()


def test_a_path_of_a_manifest_stays_inside(tmp_path: Path, ask: Asked):
    """A plugin that names a skill outside of itself loses that, and it is said."""
    (tmp_path / "outside").mkdir()
    write(tmp_path / "outside", SKILLDOTmd=SKILL)
    plugin = {"name": "h", "version": "1", "skills": ["../outside", "/etc", "C:\\x"]}
    folder = write(tmp_path / "p", **{"DOTclaude-plugin__pluginDOTjson": plugin})

    found = converted(ask, folder)

    assert "skills" not in found["manifest"]
    assert len([each for each in found["unmapped"] if "refused" in each["reason"]]) == 3


def test_a_marketplace_reads_what_is_inside_and_fetches_nothing(tmp_path: Path, ask: Asked):
    """Plugins of its own come in under their names; those elsewhere are named."""
    market = {
        "name": "market",
        "owner": {"name": "o"},
        "plugins": [
            {"name": "forms", "source": "./plugins/forms"},
            {"name": "far", "source": {"source": "github", "repo": "a/b"}},
            {"name": "out", "source": "../../etc"},
        ],
    }
    folder = write(
        tmp_path / "p",
        **{
            "DOTclaude-plugin__marketplaceDOTjson": market,
            "plugins__forms__skills__pdf-forms__SKILLDOTmd": SKILL,
        },
    )

    found = converted(ask, folder)

    assert [each["id"] for each in found["manifest"]["skills"]] == ["forms.pdf-forms"]
    assert [each["path"] for each in found["unmapped"]] == ["/plugins/1", "/plugins/2"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // x\n "b": [1,],}', {"a": 1, "b": [1]}),
        ('{"a": "// no, }"}', {"a": "// no, }"}),
        ('/* c */ {"u": "http://x"} ', {"u": "http://x"}),
        ('{"a": [1, /* c */ ]}', {"a": [1]}),
    ],
    ids=["comma", "inside a text", "url", "comment after a comma"],
)
def test_comments_and_commas_of_host_files_are_taken(text: str, value: Any):
    """Host configurations are JSON with comments; what stands in texts stays."""
    assert json.loads(without_comments(text)) == value


def reading(name: str, **more: Any) -> ModuleType:
    """Make a plugin that reads a format of its own; ``more`` goes into its manifests."""
    plugin = ModuleType(name)

    def recognise(package: Any) -> str:
        return "acme.txt" if "acme.txt" in package.files else ""

    def read(package: Any, path: str) -> Reading:
        version = package.files[path].decode().strip()
        made = {"kind": "holon-plugin/v1", "id": "by.hook", "version": version, **more}
        return Reading(manifest=made)

    @holon.hookimpl(optionalhook=True)
    def holon_package_readers(host: Any) -> Any:
        return [PackageReader(format="acme", rank=5, recognise=recognise, read=read)]

    plugin.holon_package_readers = holon_package_readers  # type: ignore[attr-defined]
    return plugin


def test_a_plugin_brings_a_reader(tmp_path: Path):
    """What it makes is checked as any manifest; it can smuggle nothing in."""
    folder = write(tmp_path / "p", acmeDOTtxt="7\n")
    with opened(tmp_path / "root", reading("acme_reader")) as rt:
        made = Asked(rt)("plugin-package/register", path=str(folder))["package"]
        assert (made["id"], made["version"], made["format"]) == ("by.hook", "7", "acme")
    with (
        opened(tmp_path / "other", reading("acme_reader", secrets={})) as rt,
        pytest.raises(Rejected, match="host_only"),
    ):
        Asked(rt)("plugin-package/register", path=str(folder))


def test_a_format_of_two_plugins_is_read_by_neither(tmp_path: Path):
    """Nobody wins by the order of installation, and this lane's own formats never lose."""
    folder = write(tmp_path / "p", acmeDOTtxt="7\n")
    both = (reading("one_reader"), reading("two_reader"))
    with opened(tmp_path / "root", *both) as rt, pytest.raises(Rejected):
        Asked(rt)("plugin-package/register", path=str(folder))


@pytest.mark.skipif(shared_folder() is None, reason=ABSENT)
def test_a_bundle_of_a_server_comes_in_as_its_archive(tmp_path: Path, ask: Asked):
    """An `.mcpb` is a zip; packed, each bundle of the corpus is what it is unpacked."""
    corpus = (shared_folder() or Path()) / "package-corpus" / "mcpb"
    folders = sorted(each for each in corpus.iterdir() if each.is_dir())
    for folder in folders:
        packed = tmp_path / f"{folder.name}.mcpb"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
            for each in sorted(folder.rglob("*")):
                made.write(each, each.relative_to(folder))

        bundle, unpacked = converted(ask, packed), converted(ask, folder)

        assert bundle["format"] == "mcpb"
        assert bundle["manifest"] == unpacked["manifest"]
    assert len(folders) > 2
