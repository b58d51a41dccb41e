"""The catalogue as hosts see it: pages in stable order, single tools, what is read meanwhile."""

from __future__ import annotations

import pytest

import holon_core as holon
from holon_core.catalogue import catalogue as cataloguing
from sample_lanes import Lane, ids, tool


def read() -> int:
    """Read."""
    return 1


READ = holon.tool(effects={"none"})(read)


def test_pages_go_through_lanes_and_functions_by_id(open_runtime) -> None:
    """Whoever registered them, in which order: every page begins where the last one ended."""
    rt = open_runtime(Lane("z", "b", "a"), Lane("a", "y", "x"), discover=False, tools=[READ])
    seen: list[str] = []
    page = rt.tools.list(limit=2)
    while page:
        seen += [each.id for each in page]
        page = rt.tools.list(after=seen[-1], limit=2)

    assert seen == ["a/x", "a/y", "host.app/read", "z/a", "z/b"] == ids(rt)
    assert len(rt.tools) == 5


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_a_bound(open_runtime, limit: int) -> None:
    """A thousand at most, and at least one."""
    with pytest.raises(holon.Misuse):
        open_runtime(discover=False).tools.list(limit=limit)


def test_an_unknown_tool_is_refused(open_runtime) -> None:
    """Reading says so; there is nothing to say of its registration."""
    rt = open_runtime(discover=False)

    with pytest.raises(holon.Refused) as caught:
        rt.tools.read("acme/nosuch")

    assert caught.value.failure.code == "unknown_tool"
    assert rt.tools.findings("acme/nosuch") == ()


def test_warnings_about_a_function_are_kept(open_runtime) -> None:
    """What registration had to say of an accepted tool can be read."""
    rt = open_runtime(discover=False)
    schema = {"type": "object", "properties": {}}

    rt.register(read, effects={"none"}, id="loose", input_schema=schema)

    assert [each.code for each in rt.tools.findings("host.app/loose")] == ["schema_closed"]


def test_only_so_many_entries_are_kept_read(open_runtime, monkeypatch) -> None:
    """The first that was read goes first, and comes back when it is asked for."""
    monkeypatch.setattr(cataloguing, "MAX_READ", 2)
    rt = open_runtime(Lane("acme", "a", "b", "c"), discover=False)
    catalogue = rt._guard.catalogue
    first = [catalogue.get(f"acme/{name}") for name in "abc"]

    assert catalogue.get("acme/c") is first[2]
    assert catalogue.get("acme/a") is not first[0]


@pytest.mark.parametrize("what", ["entry", "pin"])
def test_what_was_read_before_a_change_is_not_kept_after_it(open_runtime, what: str) -> None:
    """A reading that another thread's notice of a change overtakes is used once and forgotten."""
    acme = Lane("acme", "a")
    rt = open_runtime(acme, discover=False)
    catalogue = rt._guard.catalogue
    store = catalogue._store

    class Overtaking:
        def read(self, work):
            found = store.read(work)
            acme.source.definitions = [tool("acme/a", version="2")]
            catalogue._store = store
            rt.tools.refresh()
            rt.tools.pin("acme/a", by="olga", reason="r")
            return found

    catalogue.forget()
    catalogue._store = Overtaking()
    if what == "entry":
        assert catalogue.get("acme/a").tool.version == "1"
        assert catalogue.get("acme/a").tool.version == "2"
    else:
        assert catalogue.pin_of("acme/a") is None
        assert catalogue.pin_of("acme/a") is not None
