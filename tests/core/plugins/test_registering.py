"""Sources that a plugin registers while a runtime is open."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin, Status
from sample_lanes import Lane, tool


class Importing(Lane):
    """A lane that also keeps its host, to register what comes in later."""

    host: Any = None

    @holon.hookimpl
    def holon_runtime_opened(self, host: Any) -> None:
        self.host = host


def source(source_id: str, *, origin: Any = Origin.REGISTERED) -> SkillSourceDescriptor:
    return SkillSourceDescriptor(id=source_id, kind=SkillSourceKind.LANE, origin=origin)


def imported(source_id: str, *names: str, **changes: Any) -> list[Any]:
    return [tool(f"{source_id}/{name}", lane="acme", **changes) for name in names]


@pytest.fixture
def lane() -> Importing:
    return Importing("acme", "own")


def test_what_is_registered_runs_by_the_executor_above_it(open_runtime, lane) -> None:
    """A tool of ``acme.imported`` is listed as registered and run by the executor of ``acme``."""
    rt = open_runtime(lane, discover=False)

    done = lane.host.register_source(source("acme.imported"), imported("acme.imported", "a", "b"))

    assert done.added == ("acme.imported/a", "acme.imported/b")
    assert rt.tools.read("acme.imported/a").origin is Origin.REGISTERED
    result = rt.session(principal="ann").call("acme.imported/a")
    assert result.output == {"tool": "acme.imported/a"}


def test_what_is_registered_stays_over_a_start(open_runtime, lane) -> None:
    """A source that nothing offers at the next start keeps its definitions, and runs."""
    open_runtime(lane, discover=False).tools.list()
    lane.host.register_source(source("acme.imported"), imported("acme.imported", "a"))

    later = open_runtime(Importing("acme", "own"), discover=False)

    states = {state.id: state.state for state in later.tools.sources()}
    assert states == {"acme": "current", "acme.imported": "registered"}
    assert later.session(principal="ann").call("acme.imported/a").status is Status.COMPLETED


def test_registering_again_changes_and_removes(open_runtime, lane) -> None:
    """What is given is all: a changed definition is a new one, and one left out is gone."""
    rt = open_runtime(lane, discover=False)
    lane.host.register_source(source("acme.imported"), imported("acme.imported", "a", "b"))
    before = rt.tools.read("acme.imported/a").digest

    changed = imported("acme.imported", "a", description="another")
    done = lane.host.register_source(source("acme.imported"), changed)

    assert (done.changed, done.removed) == (("acme.imported/a",), ("acme.imported/b",))
    assert rt.tools.read("acme.imported/a").digest != before
    with pytest.raises(holon.Refused, match="unknown_tool"):
        rt.tools.read("acme.imported/b")


def test_a_removed_source_is_gone(open_runtime, lane) -> None:
    """Its tools leave the catalogue, and its state the list of sources."""
    rt = open_runtime(lane, discover=False)
    lane.host.register_source(source("acme.imported"), imported("acme.imported", "a"))

    done = lane.host.remove_source("acme.imported")

    assert done.removed == ("acme.imported/a",)
    assert [state.id for state in rt.tools.sources()] == ["acme"]
    failed = rt.session(principal="ann").call("acme.imported/a").failure
    assert failed is not None
    assert failed.code == "unknown_tool"


def test_a_bad_definition_stays_out_and_says_why(open_runtime, lane) -> None:
    """Its neighbour comes in; the finding is kept under its id."""
    rt = open_runtime(lane, discover=False)
    bad = imported("acme.imported", "bad", input_schema={"type": "nothing"})

    done = lane.host.register_source(
        source("acme.imported"), [*bad, *imported("acme.imported", "good")]
    )

    assert done.added == ("acme.imported/good",)
    assert {f.code for f in rt.tools.findings("acme.imported/bad")} == {"schema_invalid"}


@pytest.mark.parametrize("source_id", ["other.imported", "holon.imported", "host.x", "Acme"])
def test_a_plugin_registers_under_its_own_name_alone(open_runtime, lane, source_id) -> None:
    """Ids of others and reserved ones are not its to give."""
    open_runtime(lane, discover=False)

    with pytest.raises(holon.Misuse, match="source id"):
        lane.host.register_source(source(source_id), [])


def test_a_source_that_is_offered_is_not_registered_besides(open_runtime, lane) -> None:
    """What the hook defines stays what the hook says."""
    open_runtime(lane, discover=False)

    with pytest.raises(holon.Refused, match="conflict"):
        lane.host.register_source(source("acme"), [])
    with pytest.raises(holon.Refused, match="conflict"):
        lane.host.remove_source("acme")


def test_a_registered_source_states_where_its_tools_come_from(open_runtime, lane) -> None:
    """An origin of built-ins or of a plugin's own code is refused."""
    open_runtime(lane, discover=False)

    with pytest.raises(holon.Misuse, match="origin"):
        lane.host.register_source(source("acme.imported", origin=Origin.BUILT_IN), [])


def test_another_process_sees_what_was_registered(open_runtime, lane) -> None:
    """A runtime that was open before calls what another one registered since."""
    watching = open_runtime(Importing("acme", "own"), discover=False)
    open_runtime(lane, discover=False)

    lane.host.register_source(source("acme.imported"), imported("acme.imported", "a"))

    assert watching.session(principal="ann").call("acme.imported/a").status is Status.COMPLETED
