"""What a plugin sees of its runtime: little while it opens, documents and services afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

import holon_core as holon
from holon_core.records.tool import Limits
from sample_lanes import Lane, plugin, problems


@frozen(kw_only=True)
class Note:
    text: str
    stars: int = 0


class Keeping:
    """A plugin that keeps its host."""

    def __init__(self, name: str = "keeping") -> None:
        self.name = name
        self.host: Any = None
        self.early: list[Any] = []

    @holon.hookimpl
    def holon_services(self, host):
        self.host = host
        for asked in (
            lambda: host.documents("notes"),
            lambda: host.service("x"),
            lambda: host.offers("holon_services"),
        ):
            try:
                asked()
            except holon.RuntimeNotOpen as error:
                self.early.append(error)
        return [(self.name, self)]


@pytest.fixture
def keeping() -> Keeping:
    return Keeping()


def test_while_opening_a_host_offers_only_what_needs_no_runtime(
    open_runtime, keeping, clock, tmp_path: Path
) -> None:
    """Folder, clock, logger and config; everything else raises until the runtime is open."""
    rt = open_runtime(keeping, discover=False, config={"lane": {"keeping": {"n": 1}}})
    host = keeping.host

    assert len(keeping.early) == 3
    assert host.folder == tmp_path / "root" / "plugins" / "keeping"
    assert host.folder.is_dir()
    assert host.clock is clock
    assert host.logger.name == "holon.plugin.keeping"
    assert dict(host.config) == {"n": 1}
    assert host.service("keeping") is keeping
    rt.close()
    with pytest.raises(holon.RuntimeNotOpen):
        host.documents("notes")


def test_a_host_can_neither_approve_nor_call(open_runtime, keeping) -> None:
    """What it has is on one short list."""
    open_runtime(keeping, discover=False)

    public = {name for name in dir(keeping.host) if not name.startswith("_")}

    assert public == {
        "bind",
        "binding",
        "clock",
        "config",
        "documents",
        "folder",
        "logger",
        "name",
        "offers",
        "register_source",
        "remove_source",
        "service",
        "unbind",
        "workbench",
    }


def test_a_runtime_in_memory_has_no_folder() -> None:
    """A plugin learns that there is no file system for it."""
    keeping = Keeping()
    with holon.Runtime.in_memory(plugins=[keeping]), pytest.raises(holon.Misuse):
        _ = keeping.host.folder


def test_a_plugin_keeps_typed_documents_by_revision(open_runtime, keeping, clock) -> None:
    """What it stores comes back as the same record; earlier revisions stay readable."""
    open_runtime(keeping, discover=False)
    notes = keeping.host.documents("notes", Note)

    assert notes.put("a", Note(text="one")) == 1
    clock.advance(5)
    assert notes.put("a", Note(text="two", stars=3), expected=1) == 2

    found = notes.get("a")
    assert (found.value, found.revision) == (Note(text="two", stars=3), 2)
    assert found.at_unix_seconds == int(clock.now())
    assert notes.get("a", revision=1).value == Note(text="one")
    assert notes.get("a", revision=2).value == found.value
    assert notes.get("a", revision=3) is None
    assert notes.get("b") is None
    assert notes.get("b", revision=1) is None


def test_a_write_on_an_old_revision_is_refused(open_runtime, keeping) -> None:
    """Who was first wins, and the other learns the revision."""
    open_runtime(keeping, discover=False)
    notes = keeping.host.documents("notes")
    notes.put("a", {"n": 1}, expected=0)

    with pytest.raises(holon.Refused) as caught:
        notes.put("a", {"n": 2}, expected=0)

    assert caught.value.failure.code == "conflict"
    assert caught.value.failure.details == {"revision": 1}
    assert notes.get("a").value == {"n": 1}


def test_many_documents_are_stored_and_removed_in_one_change(open_runtime, keeping) -> None:
    """Each at its next revision; where one of them is no document, none is stored."""
    open_runtime(keeping)
    notes = keeping.host.documents("notes", Note)
    notes.put("a", Note(text="one"))

    assert notes.put_all({"a": Note(text="two"), "b": Note(text="new")}) == {"a": 2, "b": 1}
    with pytest.raises(holon.Misuse):
        notes.put_all({"a": Note(text="three"), "c": "no note"})

    assert {each.id: each.revision for each in notes} == {"a": 2, "b": 1}
    assert notes.remove_all(["a", "b", "none"]) == 2
    assert (len(notes), notes.get("a", revision=2).value) == (0, Note(text="two"))
    assert (notes.put_all({}), notes.remove_all([])) == ({}, 0)


def test_documents_are_listed_counted_and_removed(open_runtime, keeping, monkeypatch) -> None:
    """By id, a page at a time; a removed one keeps its history and its numbers."""
    open_runtime(keeping, discover=False)
    notes = keeping.host.documents("notes")
    for name in "cab":
        notes.put(name, {"name": name})

    monkeypatch.setattr("holon_core.plugins.documents.MAX_PAGE", 2)
    assert [each.id for each in notes] == ["a", "b", "c"]
    assert [each.id for each in notes.list(after="a", limit=1)] == ["b"]
    assert len(notes) == 3
    assert notes.remove("b")
    assert not notes.remove("b")
    assert [each.id for each in notes] == ["a", "c"]
    assert notes.get("b", revision=1).value == {"name": "b"}
    assert notes.get("b", revision=2) is None
    assert notes.put("b", {}) == 3


def test_collections_of_plugins_are_apart(open_runtime) -> None:
    """One name of a collection in two plugins is two collections."""
    one, two = Keeping("one"), Keeping("two")
    open_runtime(one, two, discover=False)

    one.host.documents("notes").put("a", {"of": "one"})

    assert two.host.documents("notes").get("a") is None
    assert len(one.host.documents("other")) == 0


@pytest.mark.parametrize("name", ["", "A", "a/b", "a:b", "../x", "x" * 65])
def test_a_bad_name_of_a_collection_is_misuse(open_runtime, keeping, name: str) -> None:
    """Only plain names, so that no plugin reaches another's collection."""
    open_runtime(keeping, discover=False)

    with pytest.raises(holon.Misuse):
        keeping.host.documents(name)


def test_a_document_of_another_type_is_misuse(open_runtime, keeping) -> None:
    """A collection holds what it was asked for, and ids are texts of a bounded length."""
    open_runtime(keeping, discover=False)
    notes, plain = keeping.host.documents("notes", Note), keeping.host.documents("plain")

    for wrong in (
        lambda: notes.put("a", {"text": "x"}),
        lambda: notes.put("a", Limits()),
        lambda: plain.put("a", [1]),
        lambda: plain.put("", {}),
        lambda: plain.put("x" * 401, {}),
        lambda: plain.put(1, {}),
        lambda: plain.list(limit=0),
    ):
        with pytest.raises(holon.Misuse):
            wrong()
    with pytest.raises(holon.JsonRefused):
        plain.put("a", {"x": float("nan")})


def test_hosts_ask_for_services_by_name_or_type(open_runtime, keeping) -> None:
    """A lane's service is what it offered, and one that nobody offers is named."""
    other = plugin("other", services=lambda host: [("number", 7), ("text", "x"), ("more", "y")])
    rt = open_runtime(keeping, other, discover=False)

    assert rt.service("number") == 7
    assert rt.service(int) == 7
    assert rt.service(Keeping) is keeping
    with pytest.raises(holon.Misuse, match="more, text"):
        rt.service(str)
    for absent in ("nosuch", Lane):
        with pytest.raises(holon.Refused) as caught:
            rt.service(absent)
        assert caught.value.failure.code == "dependency_missing"
    rt.close()
    with pytest.raises(holon.RuntimeNotOpen):
        rt.service("number")


def test_a_service_that_two_offer_is_refused_for_both(open_runtime) -> None:
    """Neither wins by order; the others of each stay."""
    one = plugin("one", services=lambda host: [("same", 1), ("a", 1)])
    two = plugin("two", services=lambda host: [("same", 2), ("b", 2)])

    rt = open_runtime(one, two, discover=False)

    with pytest.raises(holon.Refused):
        rt.service("same")
    assert (rt.service("a"), rt.service("b")) == (1, 2)
    assert problems(rt, "one") == "the service same is offered more than once, by one, two"


def test_garbage_is_no_service(open_runtime) -> None:
    """A service is a pair of a plain name and an object."""

    class Trap(tuple):  # noqa: SLOT001
        def __len__(self):
            raise SystemExit

    garbage = [None, "ab", ("Bad Name", 1), (1, 2), ("a", 1, 2), Trap(), ("good", 1)]
    rt = open_runtime(plugin("g", services=lambda host: garbage), discover=False)

    assert rt.service("good") == 1
    assert problems(rt, "g").count("it offered") == 5


def test_a_runtime_has_at_most_fifteen_public_names() -> None:
    """The rest are facets, so that the object that hosts keep stays small."""
    public = [name for name in dir(holon.Runtime) if not name.startswith("_")]

    assert len(public) <= 15


def test_a_held_call_is_taken_back_once(open_runtime, keeping) -> None:
    """Not after it was released; an approval that another call waits for stays."""

    @holon.tool(effects={"network_write"})
    def send(text: str) -> None:
        """Send a text."""

    rt = open_runtime(keeping, discover=False, tools=[send])
    workbench = keeping.host.workbench()
    ann, bo = (rt.session(principal=who) for who in ("ann", "bo"))
    held = ann.call("host.app/send", {"text": "a"}).held
    done = bo.call("host.app/send", {"text": "a"}).held
    rt.approvals.approve(done, by="cy", reason="ok")
    assert bo.release(done).status == "completed"

    twin = ann.call("host.app/send", {"text": "a"}).held
    assert workbench.withdraw(held, by="lane", reason="over")
    assert rt.approvals.read(rt.approvals.held_call(twin).approval_id).state == "pending"
    assert not workbench.withdraw(held, by="lane", reason="over")
    assert not workbench.withdraw(done, by="lane", reason="over")

    assert ann.release(held).failure is not None
    assert workbench.withdraw(twin, by="lane", reason="over")
    assert [each.state for each in rt.approvals.list() if each.state == "pending"] == []
