"""A later import that fails changes nothing, and an id is never taken from somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core.errors import Refused, Rejected
from holon_core.records.finding import Finding
from holon_core.store.protocol import Tables
from plugin_packages import Asked, capability, manifest, opened, write_package

SAY = "holon-plugin-packages.acme.tools/say"


class Reviewer:
    """Refuses what its word is in."""

    name = "acme-reviewer"

    def __init__(self) -> None:
        self.word = ""

    @holon.hookimpl
    def holon_review_registration(self, candidate: Any, previous: Any) -> list[Finding]:
        """Find fault with the word."""
        if self.word and self.word in candidate.description:
            return [Finding(code="review_refused", message="it has the word")]
        return []


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[holon.Runtime]:
    """A runtime with the lane."""
    with opened(tmp_path / "root") as made:
        yield made


@pytest.fixture
def ask(rt: holon.Runtime) -> Asked:
    """Asks its operations."""
    return Asked(rt)


def changed(folder: Path) -> None:
    """Change a package: another text, a capability more, one less."""
    kept = [capability(description="Say it twice."), capability(id="more")]
    write_package(folder, manifest(version="2", capabilities=kept, skills=[_skill("new")]))


def _skill(name: str) -> dict[str, Any]:
    return {"id": name, "instructions": "Read this."}


def state(ask: Asked) -> Any:
    """Return all that the catalogue and the registry of skills have."""
    return [
        [[t.id, t.digest] for t in ask.rt.tools.list(limit=100)],
        [[s.skill.id, s.skill.digest, s.revision] for s in ask.rt.skills.list()],
        ask("skill-source/list")["sources"],
        [a.tool for s in ask.rt.skills.list() for a in ask.rt.skills.approvals(s.skill.id)],
        ask("plugin-package/read", package="acme.tools")["package"]["imported"],
    ]


def test_a_later_import_that_fails_leaves_the_earlier_one(
    tmp_path: Path, ask: Asked, monkeypatch: pytest.MonkeyPatch
):
    """Whichever of its writes fails: tools, skills, approvals are those of before."""
    folder = write_package(tmp_path / "acme", manifest(skills=[_skill("old")]))
    ask.installed(folder)
    ask.approved(SAY)
    before = state(ask)
    changed(folder)
    ask("plugin-package/register", path=str(folder))
    writes = {name: getattr(Tables, name) for name in ("put_document", "add_documents")}
    at, failed = 0, 0
    while True:
        at += 1
        count = [0]

        def failing(real: Any, at: int = at, count: list[int] = count) -> Any:
            def write(self: Any, collection: str, *args: Any, **more: Any) -> Any:
                done = real(self, collection, *args, **more)
                count[0] += 1
                if count[0] == at:
                    raise holon.StoreError("store_unavailable", "the disk is full")
                return done

            return write

        with monkeypatch.context() as patched:
            for name, real in writes.items():
                patched.setattr(Tables, name, failing(real))
            try:
                ask("plugin-package/import", package="acme.tools")
                break
            except holon.StoreError:
                failed += 1
        assert state(ask) == before, at
    assert failed > 5
    assert {each[0] for each in state(ask)[0]} == {SAY, SAY.replace("say", "more")}


def test_a_reviewer_that_refuses_one_definition_keeps_all_of_a_later_import_out(tmp_path: Path):
    """The others do not come in without it, and nothing of the earlier import goes."""
    reviewer = Reviewer()
    with opened(tmp_path / "root", reviewer) as rt:
        ask = Asked(rt)
        folder = write_package(tmp_path / "acme", manifest(skills=[_skill("old")]))
        ask.installed(folder)
        before = state(ask)
        changed(folder)
        ask("plugin-package/register", path=str(folder))
        reviewer.word = "twice"

        with pytest.raises(Rejected) as refused:
            ask("plugin-package/import", package="acme.tools")

        assert [each.code for each in refused.value.findings] == ["review_refused"]
        assert state(ask) == before


def test_an_import_that_a_rule_holds_keeps_the_held_operation(tmp_path: Path):
    """Where policy asks about the source, what it holds is there to be decided."""
    root = tmp_path / "root"
    root.mkdir()
    rule = '[[rules]]\nname = "ask"\nid = "skill-source/register"\ndecision = "ask"\n'
    (root / "holon.toml").write_text(rule, encoding="utf-8")
    with opened(root) as rt:
        ask = Asked(rt)
        ask("plugin-package/register", path=str(write_package(tmp_path / "acme")))

        with pytest.raises(Refused) as refused:
            ask("plugin-package/import", package="acme.tools")

        assert refused.value.failure.code == "approval_required"
        [held] = rt.approvals.held()
        assert held.tool["id"] == "skill-source/register"
        assert ask("skill-source/list")["sources"] == []


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"publisher": {"name": "Acme"}}, {"publisher": {"name": "Evil"}}, "by Acme"),
        ({"publisher": {"name": "Acme"}}, {}, "by Acme"),
    ],
    ids=["another", "nobody"],
)
def test_a_package_of_another_publisher_does_not_take_an_id(
    ask: Asked, before: dict[str, Any], now: dict[str, Any], told: str
):
    """It is refused with whose the id is, and comes in once that was removed."""
    there = manifest(capabilities=[], **before)
    ask("plugin-package/register", manifest=there)

    with pytest.raises(Rejected) as refused:
        ask("plugin-package/register", manifest=manifest(capabilities=[], version="2", **now))

    [finding] = refused.value.findings
    assert (finding.code, finding.path) == ("duplicate_id", "/id")
    assert told in finding.message
    assert ask("plugin-package/read", package="acme.tools")["manifest"] == there
    ask("plugin-package/remove", package="acme.tools")
    ask("plugin-package/register", manifest=manifest(capabilities=[], version="2", **now))


def test_a_package_of_another_format_does_not_take_an_id(tmp_path: Path, ask: Asked):
    """Two formats of one project are two packages; neither replaces the other by itself."""
    folder = tmp_path / "acme"
    write_package(
        folder,
        manifest(id="acme", capabilities=[]),
        **{
            ".claude-plugin__plugin.json": '{"name": "acme"}',
        },
    )
    ask("plugin-package/register", path=str(folder))

    with pytest.raises(Rejected) as refused:
        ask("plugin-package/register", path=str(folder), format="claude-plugin")

    assert "of the format holon-plugin/v1" in refused.value.findings[-1].message


def test_what_a_package_replaces_is_told(tmp_path: Path, ask: Asked):
    """A newer one of the same publisher and format comes in its place, and says so."""
    first = ask("plugin-package/register", path=str(write_package(tmp_path / "one")))
    second = ask(
        "plugin-package/register",
        path=str(write_package(tmp_path / "two", manifest(version="2"))),
    )

    assert (first["is_new"], first["replaced"]) == (True, None)
    assert second["is_new"] is False
    assert second["replaced"]["version"] == "1.0.0"
    assert second["replaced"]["origin"].endswith("one")


def test_files_that_a_crash_left_are_removed_by_removing_again(tmp_path: Path, ask: Asked):
    """The record goes first, so that files without a package are all that can be left."""
    left = tmp_path / "root" / "plugins" / "holon-plugin-packages" / "packages" / "acme.tools"
    ask.installed(write_package(tmp_path / "acme"))
    [folder] = [each.parent for each in (tmp_path / "root").rglob("holon-plugin.json")]
    ask("plugin-package/remove", package="acme.tools")
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "say").write_text("left")

    with pytest.raises(Refused):
        ask("plugin-package/remove", package="acme.tools")

    assert not folder.exists()
    assert not left.exists()
