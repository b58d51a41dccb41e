"""Joining lanes: whose ids and kinds they are, and who loses when two want the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import holon_core as holon
from holon_core.records.failure import failure
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin, Posture
from sample_lanes import Echo, Lane, Site, Source, ids, plugin, problems, tool

LIVE = frozenset({Posture.LANE_LIVE})


def lane(kind: Any = "acme", **changes: Any) -> CapabilityLane:
    return CapabilityLane(**{"kind": kind, "postures": LIVE, **changes})


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        (None, "NoneType was offered where CapabilityLane is wanted"),
        ({"kind": "x"}, "dict was offered where CapabilityLane is wanted"),
        (lane(5), "a lane kind is of a-z 0-9 . _ -"),
        (lane("Bad Kind"), "a lane kind is of a-z 0-9 . _ -"),
        (lane("mcp"), "the lane kind mcp is reserved"),
        (lane(postures=frozenset()), "declares no posture"),
        (lane(postures=frozenset({Posture.DRY_RUN})), "declares no posture"),
        (lane(postures=frozenset({"lane_live"})), "declares no posture"),
        (lane(postures=[Posture.LANE_LIVE]), "declares no posture"),
        (lane(gates=[]), "are no tuple of callables"),
        (lane(gates=(1,)), "are no tuple of callables"),
    ],
)
def test_a_bad_lane_is_refused_alone(open_runtime, offered: Any, said: str) -> None:
    """The plugin stays active, and its good offers count."""
    good = Lane("acme", "x")
    good.lane = lane("good")
    good.source.definitions = [tool("acme/x", lane="good")]
    offering = plugin(
        "acme",
        capability_lanes=lambda host: [offered, good.lane],
        skill_sources=lambda host: [good.source],
        executors=lambda host: [LaneExecutor(source="acme", executor=good.executor)],
    )

    rt = open_runtime(offering, discover=False)

    assert said in problems(rt, "acme")
    assert rt.session(principal="p").call("acme/x").status is holon.Status.COMPLETED


@pytest.mark.parametrize("kind", ["built_in", "host"])
def test_the_cores_own_kinds_are_nobodys(site: Site, open_runtime, kind: str) -> None:
    """Not even a first-party plugin replaces them."""
    code = f"""
    import holon_core as holon
    @holon.hookimpl
    def holon_capability_lanes(host):
        from test_lanes_helper import lane
        return [lane({kind!r})]
    """
    (site.folder / "test_lanes_helper.py").write_text(
        "from holon_core.records.lane import CapabilityLane\n"
        "from holon_core.records.words import Posture\n"
        "def lane(kind):\n"
        "    return CapabilityLane(kind=kind, postures=frozenset({Posture.LANE_LIVE}))\n",
        encoding="utf-8",
    )
    site.add("holon-mcp", code)

    assert "is the core's own" in problems(open_runtime(), "holon-mcp")


def test_a_kind_that_two_offer_is_refused_for_both(open_runtime) -> None:
    """Neither wins by name or order, and their tools say what is missing."""
    one, two = Lane("one", "a"), Lane("two", "b")
    two.lane = one.lane

    rt = open_runtime(one, two, discover=False)

    said = "the lane kind one is offered more than once, by one, two"
    assert (problems(rt, "one"), problems(rt, "two")) == (said, said)
    result = rt.session(principal="p").call("one/a")
    assert result.failure.code == "dependency_missing"


def test_this_projects_lane_kind_never_loses(site: Site, open_runtime) -> None:
    """A stranger that offers the same kind is refused alone."""
    site.add("holon-mcp")
    stranger = plugin("acme", capability_lanes=lambda host: [lane("holon-mcp")])

    rt = open_runtime(stranger)

    assert problems(rt, "holon-mcp") == ""
    assert "offered more than once" in problems(rt, "acme")
    assert rt.session(principal="p").call("holon-mcp/say").status is holon.Status.COMPLETED


@pytest.mark.parametrize(
    ("owner", "source", "said"),
    [
        ("acme", "other", "does not begin with acme"),
        ("acme", "acmex", "does not begin with acme"),
        ("acme", "Acme", "a source id is of"),
        ("acme", 5, "a source id is of"),
        ("acme", "holon.built-in.workspace", "is reserved"),
        ("holon", "holon.built-in.workspace", "is reserved"),
        ("host", "host.app", "is reserved"),
        ("host", "host", "is reserved"),
        ("frozen", "frozen.w", "is reserved"),
        ("holon", "holon-mcp.github", "belongs to holon-mcp"),
        ("acme", "acme-tools.x", "belongs to acme-tools"),
    ],
)
def test_a_source_under_anothers_name_is_refused(
    open_runtime, owner: str, source: Any, said: str
) -> None:
    """Ids begin with the provider's own name; longer names belong to their owners."""
    offering = plugin(
        owner,
        skill_sources=lambda host: [Source(source)],
        executors=lambda host: [LaneExecutor(source=source, executor=Echo())],
    )

    rt = open_runtime(offering, Lane("acme-tools"), discover=False)

    # Offered twice, and told once.
    assert problems(rt, owner).count(said) == 1


def test_a_provider_may_have_several_sources(open_runtime) -> None:
    """Its own name, continued by a dot or a dash."""
    names = ["acme", "acme.github", "acme-import"]
    offering = plugin(
        "acme",
        capability_lanes=lambda host: [lane()],
        skill_sources=lambda host: [Source(s, [tool(f"{s}/x", lane="acme")]) for s in names],
    )

    rt = open_runtime(offering, discover=False)

    assert ids(rt) == ["acme-import/x", "acme.github/x", "acme/x"]


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        (None, "raised AttributeError"),
        (SimpleNamespace(descriptor=1), "int was offered where SkillSourceDescriptor"),
        (SimpleNamespace(descriptor=Source("acme").descriptor, read=1, signal=2), "no read and"),
        *((Source("acme", origin=each), "Origin.PLUGIN") for each in Origin if each != "plugin"),
        (Source("acme", origin="plugin"), "Origin.PLUGIN"),
    ],
)
def test_a_bad_source_is_refused_alone(open_runtime, offered: Any, said: str) -> None:
    """Whatever is offered, it is one line in the list of plugins."""
    good = Source("acme.good", [tool("acme.good/x")])

    rt = open_runtime(plugin("acme", skill_sources=lambda host: [offered, good]), discover=False)

    assert said in problems(rt, "acme")
    assert ids(rt) == ["acme.good/x"]


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        (LaneExecutor(source="acme", executor=object()), "raised AttributeError"),
        (
            LaneExecutor(source="acme", executor=SimpleNamespace(execute=1, preview=2)),
            "has no execute and preview",
        ),
        ("acme", "str was offered where LaneExecutor is wanted"),
    ],
)
def test_a_bad_executor_is_refused_alone(open_runtime, offered: Any, said: str) -> None:
    """Its tools stay in the catalogue and are blocked."""
    offering = plugin(
        "acme",
        capability_lanes=lambda host: [lane()],
        skill_sources=lambda host: [Source("acme", [tool("acme/x")])],
        executors=lambda host: [offered],
    )

    rt = open_runtime(offering, discover=False)

    assert said in problems(rt, "acme")
    refused = rt.session(principal="p").call("acme/x").failure
    assert refused.code == "unsupported_capability"
    assert "acme offers nothing for the source acme, or it was refused" in refused.message
    assert "list of plugins" in refused.next_action


def test_an_interrupt_while_an_offer_is_read_passes(open_runtime) -> None:
    """The user's interrupt ends the opening here, too."""

    class Interrupting:
        @property
        def descriptor(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_runtime(plugin("x", skill_sources=lambda host: [Interrupting()]), discover=False)


def test_a_lane_that_needs_a_file_system_stays_out_of_memory(tmp_path) -> None:
    """In memory it is refused and reported; on a root it runs."""
    disk = Lane("disk", "a", needs_filesystem=True)

    with holon.Runtime.in_memory(plugins=[disk]) as rt:
        assert "unsupported_host: the lane disk needs a file system" in problems(rt, "disk")
        assert ids(rt) == ["disk/a"]
        result = rt.session(principal="p").call("disk/a")
        assert (result.failure.code, str(result.failure.kind)) == (
            "host_unsupported",
            "unsupported_host",
        )
    with holon.Runtime.open(tmp_path / "root", plugins=[disk], discover=False) as rt:
        assert rt.session(principal="p").call("disk/a").status is holon.Status.COMPLETED


def test_a_tool_that_works_for_a_workspace_is_not_held_for_a_caller_without_one(
    open_runtime, tmp_path
) -> None:
    """Nobody is asked to approve what could not run afterwards; a preview shows it, too."""
    keeps = Lane("keeps")
    keeps.source.definitions = [tool("keeps/a", effects=frozenset({holon.Effect.HOST_STATE_WRITE}))]
    keeps.holon_executors = holon.hookimpl(  # type: ignore[method-assign]
        lambda host: [LaneExecutor(source="keeps", executor=Echo(), needs_workspace=True)]
    )
    rt = open_runtime(keeps, discover=False)
    place = tmp_path / "place"
    place.mkdir()
    nowhere, there = rt.session(principal="p"), rt.session(principal="p", workspace=place)

    refused = nowhere.call("keeps/a")

    assert (refused.held, refused.failure.code) == (None, "workspace_required")
    assert nowhere.dry_run("keeps/a").failure.code == "workspace_required"
    assert nowhere.explain("keeps/a").outcome == "would be refused"
    assert rt.approvals.list() == ()
    assert there.call("keeps/a").held is not None


def test_a_tool_says_which_lane_is_missing(open_runtime) -> None:
    """Tools of a lane that is not installed are listed, blocked, and name what to install."""
    source = Source(
        "acme",
        [
            tool("acme/script", lane="script-artifact", posture=Posture.FROZEN_TOOL_LIVE),
            tool("acme/mine", lane="acme-lane"),
        ],
    )

    rt = open_runtime(plugin("acme", skill_sources=lambda host: [source]), discover=False)

    session = rt.session(principal="p")
    first, second = session.call("acme/script"), session.call("acme/mine")
    assert first.failure.code == second.failure.code == "dependency_missing"
    assert first.failure.details["distribution"] == "holon-script-tools"
    assert "install holon-script-tools" in first.failure.message
    assert "install the distribution that brings it" in second.failure.message
    (finding,) = rt.tools.findings("acme/script")
    assert (finding.code, str(finding.severity)) == ("unresolved_ref", "warning")


def test_a_tool_whose_plugin_is_gone_names_its_distribution(site: Site, open_runtime) -> None:
    """What an absent plugin brought stays in the list, and says what to install."""
    site.add("holon-mcp", points={"mcp": "sample_holon_mcp"})
    with open_runtime() as before:
        assert before.tools.read("holon-mcp/say").readiness == "model_callable"

    rt = open_runtime(Lane("other"), discover=False)

    result = rt.session(principal="p").call("holon-mcp/say")
    assert ids(rt) == ["holon-mcp/say"]
    assert result.failure.code == "dependency_missing"
    assert (rt.tools.read("holon-mcp/say").readiness, rt.tools.list()[0].runs_here) == (
        "catalog_only",
        False,
    )
    (state,) = [each for each in rt.tools.sources() if each.id == "holon-mcp"]
    assert (state.state, state.distribution) == ("absent", "holon-mcp")


def test_a_lane_without_its_distribution_names_it(open_runtime) -> None:
    """Lane here, executor gone: what brought the tool is what to install."""
    from holon_core.plugins.blocked import blocker
    from holon_core.plugins.lanes import Joined
    from holon_core.records.tool import Provenance

    why = blocker(Joined(lanes={"acme": lane()}, executors={}, sources=()), frozenset())

    brought = tool("acme/x", provenance=Provenance(distribution="acme-tools"))
    assert "acme-tools is not active here" in why(brought).message
    imported = tool("acme/x", origin=Origin.IMPORTED_STATE)
    assert why(imported).code == "executor_unbound"


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (lambda attempt: [failure("circuit_open")], "circuit_open"),
        (lambda attempt: [], None),
        (lambda attempt: 1 // 0, "lane_protocol"),
        (lambda attempt: [None], "lane_protocol"),
        (lambda attempt: None, "lane_protocol"),
    ],
    ids=["blocks", "passes", "raises", "garbage", "none"],
)
def test_a_lanes_gate_blocks_or_passes_and_nothing_gets_out(
    open_runtime, gate: Any, said: str | None
) -> None:
    """A gate that fails is no gate that passes."""
    rt = open_runtime(Lane("gated", "a", gates=(gate,)), discover=False)

    result = rt.session(principal="p").call("gated/a")

    assert (result.failure and result.failure.code) == said
    assert rt.session(principal="p").explain("gated/a").steps


def test_an_interrupt_in_a_gate_passes(open_runtime) -> None:
    """The user's interrupt ends the call."""

    def interrupting(attempt):
        raise KeyboardInterrupt

    rt = open_runtime(Lane("gated", "a", gates=(interrupting,)), discover=False)

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="p").call("gated/a")


def test_a_descriptor_that_changes_later_changes_nothing(open_runtime) -> None:
    """What a source said of itself when it was offered is what counts."""
    acme = Lane("acme", "x")
    rt = open_runtime(acme, discover=False)

    acme.source.descriptor = SkillSourceDescriptor(id="other", kind=SkillSourceKind.LANE)
    rt.tools.refresh()

    assert [each.id for each in rt.tools.sources()] == ["acme"]
    assert ids(rt) == ["acme/x"]
