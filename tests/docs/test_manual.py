"""The manual: what is generated is current, links lead somewhere, examples are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import docs
import holon_core
from holon_core.config import load
from holon_core.errors import FAILURES, StructuredFailureKind
from support import ROOT

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(`{3,}|:{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
TOML = re.compile(r"^```toml\n(# holon\.toml.*?)^```$", re.MULTILINE | re.DOTALL)
# Written so that they do not find themselves.
FOREIGN = re.compile(
    r"(?<![\w.])/(roo[t]|wor[k]|tm[p]|hom[e])/|issues sho[w]|far[m]-|TOD[O]|FIXM[E]"
    r"|pip install holo[n]\b(?!-)"
)
PAGES = docs.pages()
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("*/README.md"))]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as MyST and code hosts make them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    plain = (heading.replace("`", "").strip().lower() for heading in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def links(path: Path) -> Iterator[str]:
    """Yield the links of a page that stay in the repository."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    yield from (link for link in LINK.findall(text) if "://" not in link)


def leads_nowhere(path: Path, link: str) -> bool:
    """Tell whether a link names a file or a heading that is not there."""
    name, _, anchor = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


def test_every_generated_part_is_what_the_code_says() -> None:
    """A changed docstring, failure, setting or operation changes its page with it."""
    assert [named(path) for path in docs.outdated()] == []


def test_a_part_that_is_not_current_is_noticed() -> None:
    """The comparison above can fail."""
    stale = "<!-- generated: findings -->\n\nnothing\n\n<!-- end -->"

    assert "`duplicate_id`" in docs.renewed(stale)


def test_every_public_name_has_its_section() -> None:
    """What `__all__` lists is described, in its order, and is sorted."""
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    first = page.partition("## What they return")[0]

    assert re.findall(r"^### (.+)$", first, re.MULTILINE) == holon_core.__all__
    assert holon_core.__all__ == sorted(holon_core.__all__)


def test_every_page_is_in_the_overview_for_models() -> None:
    """A page that the index leads to is named in `llms.txt`, with a link that leads there."""
    text = (ROOT / "docs/llms.txt").read_text(encoding="utf-8")
    linked = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", text, re.MULTILINE)

    assert sorted(linked) == sorted(
        path.relative_to(docs.DOCS).as_posix()
        for path in PAGES
        if path.name != "index.md" or path.parent != docs.DOCS
    )


def test_the_overview_for_models_follows_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made of titles and first paragraphs, so a changed page makes it outdated."""
    monkeypatch.setattr(docs, "about", lambda path: ("Another title", ""))

    assert docs.DOCS / "llms.txt" in docs.outdated()


def test_every_failure_and_every_kind_is_in_the_table() -> None:
    """Nobody meets a code that the manual does not explain."""
    page = (ROOT / "docs/failures.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))

    assert rows >= {*FAILURES, *(kind.value for kind in StructuredFailureKind)}


def test_every_hook_has_a_page_with_an_example() -> None:
    """A lane author finds each hook described and used."""
    folder = ROOT / "docs/hooks"

    assert {path.stem for path in folder.glob("holon_*.md")} == set(docs.hooks())
    without = [p.name for p in folder.glob("*.md") if "```python" not in p.read_text("utf-8")]
    assert without == []


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    """Every link inside the repository names a file and a heading that are there."""
    assert [link for link in links(path) if leads_nowhere(path, link)] == []


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_no_text_speaks_of_something_else(path: Path) -> None:
    """No path of a machine, no tool of its makers, no unfinished note, no foreign package."""
    assert FOREIGN.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text", [text for path in PAGES for text in TOML.findall(path.read_text(encoding="utf-8"))]
)
def test_a_configuration_that_is_shown_can_be_used(text: str, tmp_path: Path) -> None:
    """What a reader copies into `holon.toml` opens."""
    (tmp_path / "holon.toml").write_text(text, encoding="utf-8")

    sources = load(tmp_path, {}).sources.values()
    assert any(source.startswith("holon.toml") for source in sources)


def test_the_readme_shows_the_demo_as_it_is(tmp_path: Path) -> None:
    """Its parts are those that the demo prints now, in the same order."""
    pytest.importorskip("click", reason="the command is not installed here")
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    part = re.compile(r"^(?:\d+\. .+| {3}\w[^\n]*? {2})", re.MULTILINE)

    done = subprocess.run(
        [sys.executable, "-m", "holon_cli", "demo"],
        cwd=ROOT,
        env={**os.environ, "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )

    block = re.search(r"^```text\n(.*?)^```$", shown, re.MULTILINE | re.DOTALL)
    assert block is not None
    assert part.findall(block[1]) == part.findall(done.stdout)


@pytest.mark.parametrize("path", sorted(ROOT.glob("*/README.md")), ids=named)
def test_the_examples_of_each_distribution_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README that a package index shows can be followed."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )

    exec("\n".join(blocks), {"__name__": "example"})
