"""Front matter of skills: no error, spelling or form ever loses a restriction of tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.errors import Rejected
from holon_plugin_packages.readers.building import Builder
from holon_plugin_packages.readers.frontmatter import FrontMatterRefused, front_matter
from holon_plugin_packages.readers.instructions import add_skill
from holon_plugin_packages.records import PackageFiles
from plugin_packages import Asked, opened

HEAD = "---\nname: forms\ndescription: Fill in forms.\n"


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asked]:
    """Asks operations of one runtime."""
    with opened(tmp_path / "root") as rt:
        yield Asked(rt)


def read(text: str, plain: str = "") -> tuple[Builder, dict[str, Any] | None]:
    """Read one file as a skill, or as a command or an agent; return what came of it."""
    path = "commands/forms.md" if plain else "forms/SKILL.md"
    builder = Builder(PackageFiles(files={path: text.encode()}))
    came = add_skill(builder, path, plain=plain)
    return builder, builder.manifest["skills"][0] if came else None


@pytest.mark.parametrize(
    "member",
    ["allowed-tools", "allowed_tools", "allowedTools", "Allowed-Tools", "tools", '"allowed-tools"'],
)
def test_a_restriction_counts_however_it_is_spelled(member: str):
    """Hosts name it differently; none of the names is merely metadata."""
    _, skill = read(f"{HEAD}{member}: Read, Bash(git add:*)\n---\nDo it.\n")

    assert skill is not None
    assert skill["allowed_tools"] == ["Read", "Bash(git add:*)"]


def test_what_is_forbidden_is_not_taken_for_allowed():
    """The opposite restriction has a member of its own."""
    _, skill = read(f"{HEAD}disallowedTools: [Bash, Write]\n---\nDo it.\n", plain="agent")

    assert skill is not None
    assert skill["disallowed_tools"] == ["Bash", "Write"]
    assert "allowed_tools" not in skill


def test_an_empty_restriction_allows_nothing():
    """It is not the same as none."""
    _, skill = read(f"{HEAD}allowed-tools:\n---\nDo it.\n")

    assert skill is not None
    assert skill["allowed_tools"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}allowed-tools: Read\ntools: Read Write\n---\n", "restrict its tools differently"),
        (f"{HEAD}x: &x {{allowed-tools: Read}}\n<<: *x\n---\n", "merging keys are not read"),
        (f"\n{HEAD}allowed-tools: Read\n---\n", "does not begin with --- on the first line"),
        (f"{HEAD}allowed-tools: Bash(git\n---\n", "bracket without its other half"),
        (f"{HEAD}allowed-tools: !!set {{Read}}\n---\n", "neither a text nor a list"),
        (f"{HEAD}allowed-tools: [Read, [Write]]\n---\n", "neither a text nor a list"),
        (f"{HEAD}allowed-tools: [{', '.join(f't{n}' for n in range(201))}]\n---\n", "200 tools"),
        (f"{HEAD}allowed-tools: Read\n...\nbody\n", "not closed"),
    ],
    ids=["two", "merge", "late", "bracket", "set", "nested", "many", "dots"],
)
@pytest.mark.parametrize("plain", ["", "command"])
def test_what_cannot_be_told_for_sure_refuses_its_file(text: str, said: str, plain: str):
    """Also of commands and agents, which may do without any front matter."""
    builder, skill = read(text, plain)

    assert skill is None
    assert said in builder.unmapped[0].reason


def test_values_that_are_no_texts_are_found(tmp_path: Path, ask: Asked):
    """The specification wants texts in metadata; what YAML takes for more is told, and kept."""
    folder = tmp_path / "forms"
    folder.mkdir()
    inner = 'metadata:\n  version: 1.0\n  draft: true\n  on: 2024-01-01\n  fine: "2"\n  word: x\n'
    (folder / "SKILL.md").write_text(f"{HEAD}{inner}---\nDo it.\n")

    made = ask("plugin-package/register", path=str(folder))

    said = [each["message"] for each in made["findings"] if "no texts in YAML" in each["message"]]
    assert len(said) == 1
    assert said[0].endswith("metadata/version, metadata/draft, metadata/on")
    skill = ask("plugin-package/read", package="forms")["manifest"]["skills"][0]
    assert skill["metadata"]["metadata"]["version"] == "1.0"


def test_a_skill_that_is_refused_is_told_with_its_place(tmp_path: Path, ask: Asked):
    """Line and column are those of the file."""
    folder = tmp_path / "forms"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"{HEAD}allowed-tools: Read: Write\n---\n")

    with pytest.raises(Rejected, match="line 4, column"):
        ask("plugin-package/register", path=str(folder))


@given(
    tools=st.lists(
        st.from_regex(r"[A-Z][a-z]{0,8}(\([a-z :*]{1,9}\))?", fullmatch=True), max_size=5
    ),
    before=st.sampled_from(["", "x: 1\n", "# a comment\n", "list: [1, 2]\n", "t: |\n  ---x\n"]),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_a_written_restriction_is_kept_or_the_file_is_refused(
    tools: list[str], before: str, ending: str
):
    """Whatever stands around it: exactly these tools, or no skill at all."""
    text = f"{HEAD}{before}allowed-tools: {', '.join(tools)}\n---\nDo it.\n"
    _, skill = read(text.replace("\n", ending))

    assert skill is None or skill["allowed_tools"] == tools


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_reason(text: str):
    """Nothing else comes out of it, whatever it is."""
    try:
        made = front_matter(f"---\n{text}\n---\n").members
    except FrontMatterRefused as refused:
        made = {"refused": str(refused)}

    assert isinstance(made, dict)
    assert made.get("refused") != ""
