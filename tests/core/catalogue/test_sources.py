"""Reading sources: when they are read, and what becomes of one that is late, fails or goes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import holon_core as holon
from door import eventually
from holon_core.catalogue import sources as reading
from sample_lanes import Lane, Site, Source, ids, plugin, problems, tool


def states(rt: holon.Runtime) -> dict[str, str]:
    return {each.id: each.state for each in rt.tools.sources()}


def test_an_unchanged_source_is_not_read_again(open_runtime) -> None:
    """A second start asks for the signal alone, and uses what is stored."""
    acme = Lane("acme", "a")
    with open_runtime(acme, discover=False) as rt:
        assert states(rt) == {"acme": "read"}

    rt = open_runtime(acme, discover=False)

    assert states(rt) == {"acme": "current"}
    assert acme.source.readings == 1
    assert rt.session(principal="p").call("acme/a").status is holon.Status.COMPLETED


def test_another_signal_reads_anew(open_runtime) -> None:
    """New definitions come in, changed ones change, missing ones go."""
    acme = Lane("acme", "a", "b")
    open_runtime(acme, discover=False).close()
    acme.source.said = "2"
    acme.source.definitions = [tool("acme/a", version="2"), tool("acme/c")]

    rt = open_runtime(acme, discover=False)

    (state,) = rt.tools.sources()
    assert (state.added, state.changed, state.removed) == (("acme/c",), ("acme/a",), ("acme/b",))
    assert ids(rt) == ["acme/a", "acme/c"]
    assert rt.session(principal="p").call("acme/b").failure.code == "unknown_tool"


def test_another_version_of_the_distribution_reads_anew(site: Site, open_runtime) -> None:
    """Provenance is part of every entry."""
    site.add("acme-one")
    open_runtime().close()
    site.add("acme-one", version="1.1")

    rt = open_runtime()

    assert rt.tools.read("acme-one/say").provenance.version == "1.1"


def test_a_late_source_is_shown_as_late_and_keeps_what_is_stored(open_runtime, monkeypatch) -> None:
    """The others are read; a refresh starts no second reading beside the one that hangs."""
    monkeypatch.setattr(reading, "READ_S", 0.1)
    free = threading.Event()
    slow, before, after = Lane("m", "a"), Lane("a", "x"), Lane("z", "y")
    open_runtime(slow, discover=False).close()
    slow.source.said = "2"
    slow.source.definitions = lambda: free.wait(60) and []

    rt = open_runtime(before, slow, after, discover=False)

    assert states(rt) == {"a": "read", "m": "late", "z": "read"}
    assert ids(rt) == ["a/x", "m/a", "z/y"]
    assert rt.session(principal="p").call("m/a").status is holon.Status.COMPLETED
    readings = slow.source.readings
    assert rt.tools.refresh()[1].state == "late"
    assert slow.source.readings == readings
    assert "more than 0.1 s" in rt.tools.sources()[1].problem

    free.set()
    assert eventually(lambda: not any(t.name == "holon-source" for t in threading.enumerate()))
    slow.source.definitions = [tool("m/b")]
    assert rt.tools.refresh()[1].state == "read"
    assert ids(rt) == ["a/x", "m/b", "z/y"]
    assert rt.close() == ()


def test_a_source_that_never_ends_is_named_at_closing(open_runtime, monkeypatch) -> None:
    """A thread that can't be ended is reported, and no other is left."""
    monkeypatch.setattr(reading, "READ_S", 0.1)
    free = threading.Event()
    slow = Lane("slow")
    slow.source.definitions = lambda: free.wait(60)
    rt = open_runtime(slow, Lane("quick", "x"), discover=False)

    try:
        assert rt.close() == ("holon-source in slow",)
    finally:
        free.set()
    assert eventually(lambda: not any(t.name == "holon-source" for t in threading.enumerate()))


def test_reading_leaves_no_thread(open_runtime) -> None:
    """Once all sources are read, nothing of it goes on."""
    open_runtime(Lane("a", "x"), Lane("b", "y"), discover=False)

    assert "holon-source" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    "fault",
    [RuntimeError("why"), SystemExit("why"), GeneratorExit("why")],
    ids=["error", "exit", "generator"],
)
def test_a_source_that_fails_half_way_keeps_the_rest(open_runtime, fault) -> None:
    """What came before the fault comes in, what is stored beyond it stays."""
    acme = Lane("acme", "a", "b")
    open_runtime(acme, discover=False).close()

    def half():
        yield tool("acme/a", version="2")
        yield tool("acme/new")
        raise fault

    acme.source.definitions, acme.source.said = half, "2"

    rt = open_runtime(acme, discover=False)

    (state,) = rt.tools.sources()
    assert state.state == "failed"
    assert state.problem == f"reading raised {type(fault).__name__}: why after 2 definitions"
    assert ids(rt) == ["acme/a", "acme/b", "acme/new"]
    assert rt.tools.read("acme/a").version == "2"
    rt.close()
    assert states(open_runtime(acme, discover=False)) == {"acme": "failed"}


@pytest.mark.parametrize("signal", [5, None])
def test_a_signal_that_is_no_text_is_a_fault(open_runtime, signal: Any) -> None:
    """It says nothing about what is stored."""
    acme = Lane("acme", "a")
    acme.source.said = signal

    rt = open_runtime(acme, Lane("good", "x"), discover=False)

    assert states(rt) == {"acme": "failed", "good": "read"}
    assert "and no text" in rt.tools.sources()[0].problem


def test_a_source_that_gives_no_list_is_a_fault(open_runtime) -> None:
    """None, a number: nothing to go through."""
    acme = Lane("acme")
    acme.source.definitions = 5

    assert states(open_runtime(acme, discover=False)) == {"acme": "failed"}


@pytest.mark.parametrize("where", ["signal", "read"])
def test_an_interrupt_in_a_source_passes(open_runtime, where: str) -> None:
    """The user's interrupt ends the opening, though a thread of its own was reading."""

    class Interrupting(Source):
        def signal(self):
            if where == "signal":
                raise KeyboardInterrupt
            return ""

        def read(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_runtime(
            plugin("acme", skill_sources=lambda host: [Interrupting("acme")]), discover=False
        )


def test_a_source_that_its_plugin_no_longer_offers_is_removed(site: Site, open_runtime) -> None:
    """The plugin is here and says what it has, so what it lacks is gone."""
    import sys

    module = site.add("acme", points={"acme": "acme"})
    open_runtime().close()
    site.add("acme", "import holon_core\n@holon_core.hookimpl\ndef holon_services(host): ...\n")
    del sys.modules[module]

    rt = open_runtime()

    assert (ids(rt), rt.tools.sources()) == ([], ())


def test_a_source_whose_plugin_raises_is_kept(site: Site, open_runtime) -> None:
    """A hook that fails says nothing about what there is."""
    import sys

    module = site.add("acme")
    open_runtime().close()
    code = "import holon_core\n@holon_core.hookimpl\ndef holon_skill_sources(host): 1 / 0\n"
    site.add("acme", code)
    del sys.modules[module]

    rt = open_runtime()

    assert ids(rt) == ["acme/say"]
    assert states(rt) == {"acme": "absent"}
    assert "ZeroDivisionError" in problems(rt, "acme")


def test_a_refresh_reads_everything(open_runtime) -> None:
    """Whatever the signals say; what changed is called at once."""
    acme = Lane("acme", "a")
    rt = open_runtime(acme, discover=False)
    session = rt.session(principal="p")
    assert session.call("acme/a").status is holon.Status.COMPLETED
    acme.source.definitions = [tool("acme/b")]

    rt.tools.refresh()

    assert session.call("acme/a").failure.code == "unknown_tool"
    assert session.call("acme/b").status is holon.Status.COMPLETED


def test_a_refresh_elsewhere_is_noticed_by_a_call(open_runtime) -> None:
    """Two runtimes on one root: what one read anew, the other calls by its new definition."""
    one, two = Lane("acme", "a"), Lane("acme", "a")
    first = open_runtime(one, discover=False)
    second = open_runtime(two, discover=False)
    assert second.session(principal="p").call("acme/a").status is holon.Status.COMPLETED
    one.source.definitions = [tool("acme/a", version="2"), tool("acme/b")]

    first.tools.refresh()

    changed = second.session(principal="p").call("acme/a")
    assert changed.failure.code == "definition_changed"
    assert second.session(principal="p").call("acme/a").status is holon.Status.COMPLETED
    assert second.session(principal="p").call("acme/b").status is holon.Status.COMPLETED


def test_a_stale_refusal_is_tried_again_on_what_is_true_now(open_runtime) -> None:
    """A tool that another runtime removed and brought back is no longer unknown."""
    strict = {"type": "object", "properties": {}, "additionalProperties": False}
    loose = {"type": "object", "additionalProperties": True}
    one, two = Lane("acme"), Lane("acme")
    one.source.definitions = two.source.definitions = [tool("acme/a", input_schema=strict)]
    first = open_runtime(one, discover=False)
    second = open_runtime(two, discover=False)
    session = second.session(principal="p")
    assert session.call("acme/a", {"n": 1}).failure.code == "arguments_invalid"
    one.source.definitions = [tool("acme/a", input_schema=loose)]

    first.tools.refresh()

    assert session.call("acme/a", {"n": 1}).status is holon.Status.COMPLETED


def test_two_openings_store_a_definition_once(open_runtime) -> None:
    """Who comes second finds it stored, and makes no revision of the same."""
    acme = Lane("acme", "a")
    rt = open_runtime(acme, discover=False)

    rt.tools.refresh()
    rt.tools.refresh()

    found = rt._guard.store.read(lambda tables: tables.document("holon.tools", "acme/a"))
    assert found is not None
    assert found.revision == 1
