"""Definitions of sources: what is taken, what is refused and how it is told."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import holon_core as holon
from holon_core.catalogue import registry as registering
from holon_core.catalogue.candidates import DEFINITION_DOMAIN, Candidates
from holon_core.records.finding import Finding
from holon_core.records.lane import CapabilityLane
from holon_core.records.tool import Dependency, Limits, Provenance, SecretSlot
from holon_core.records.words import ApprovalRequirement, Effect, Origin, Posture, Severity
from holon_core.wire.canonical import digest
from sample_lanes import Lane, ids, plugin, tool

GOOD = tool("acme/good")
LIMITS = Limits(timeout_s=30.0)


class Mute:
    """An object that can't be shown."""

    def __repr__(self):
        raise SystemExit(1)

    __str__ = __repr__


class Liar:
    """An object whose class lies about its name."""

    __class__ = property(lambda self: 1 / 0)  # type: ignore[assignment]


def judge(*, limits: Limits = LIMITS) -> Candidates:
    lane = CapabilityLane(kind="acme", postures=frozenset({Posture.LANE_LIVE}))
    return Candidates(
        "acme",
        lanes={"acme": lane},
        limits=limits,
        origin=Origin.PLUGIN,
        provenance=Provenance(distribution="acme", version="1"),
    )


def opened(open_runtime: Any, definitions: Any) -> holon.Runtime:
    acme = Lane("acme")
    acme.source.definitions = definitions
    rt: holon.Runtime = open_runtime(acme, discover=False)
    return rt


def found(rt: holon.Runtime) -> dict[str, str]:
    (state,) = rt.tools.sources()
    return {label: each[0].message for label, each in state.findings.items()}


GARBAGE = [
    None,
    {"name": "x"},
    Mute(),
    Liar(),
    evolve(GOOD, id=5),
    evolve(GOOD, id="acme"),
    evolve(GOOD, id="other/x"),
    evolve(GOOD, id="acme/a b"),
    evolve(GOOD, id="acme/" + "x" * 201),
    evolve(GOOD, title=None),
    evolve(GOOD, title="\ud800"),
    evolve(GOOD, description="\ud800"),
    evolve(GOOD, description="x" * 1024 * 1024),
    evolve(GOOD, lane=Mute()),
    evolve(GOOD, examples=["x"]),
    evolve(GOOD, examples=(1,)),
    evolve(GOOD, posture="lane_live"),
    evolve(GOOD, posture=Posture.HOST_FUNCTION),
    evolve(GOOD, approval=True),
    evolve(GOOD, dependencies=(1,)),
    evolve(GOOD, dependencies=(Dependency(kind="program", name=1),)),  # type: ignore[arg-type]
    evolve(GOOD, secret_slots=(SecretSlot(name="a", ref=None),)),  # type: ignore[arg-type]
    evolve(GOOD, idempotent=1),
    evolve(GOOD, effects=frozenset()),
    evolve(GOOD, effects={Effect.NONE}),
    evolve(GOOD, effects=frozenset({"none"})),
    evolve(GOOD, limits=None),
    evolve(GOOD, limits=Limits(timeout_s=True)),
    evolve(GOOD, input_schema={"type": "nonsense"}),
    evolve(GOOD, input_schema={"type": "object", "x": float("nan")}),
    evolve(GOOD, input_schema=Mute()),
    evolve(GOOD, input_schema=None),
    evolve(GOOD, output_schema={"$ref": "https://elsewhere.example/schema"}),
]


def test_garbage_is_reported_by_position_and_good_entries_are_kept(open_runtime) -> None:
    """Whatever stands between them, good definitions come in; reporting never raises."""
    definitions: list[Any] = []
    for number, each in enumerate(GARBAGE):
        definitions += [each, tool(f"acme/good{number:02}")]

    rt = opened(open_runtime, definitions)

    assert ids(rt) == [f"acme/good{number:02}" for number in range(len(GARBAGE))]
    labels = set(found(rt))
    by_id = {label for label in labels if not label.startswith("#")}
    assert by_id == {"acme/good"}
    unnamed = {f"#{2 * n}" for n, each in enumerate(GARBAGE)} - labels
    assert {GARBAGE[int(label[1:]) // 2].id for label in unnamed} == {"acme/good"}


@pytest.mark.parametrize("number", range(len(GARBAGE)))
def test_each_piece_of_garbage_is_refused(number: int) -> None:
    """It makes no candidate, and at least one error says why."""
    one = judge().judge(7, GARBAGE[number])

    assert one.tool is None
    assert one.findings
    assert one.label in ("#7", "acme/good")


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError(), SystemExit(1)])
def test_a_fault_while_judging_stays_with_its_definition(monkeypatch, error) -> None:
    """Whatever a check runs into, the other definitions are judged."""

    def failing(copy, *, role, size):
        raise error

    monkeypatch.setattr("holon_core.catalogue.candidates.check_normalised", failing)

    one = judge().judge(3, GOOD)

    assert (one.label, one.tool) == ("#3", None)
    assert type(error).__name__ in one.findings[0].message


def test_an_interrupt_while_judging_passes(monkeypatch) -> None:
    """The user's interrupt is no fault of a definition."""

    def interrupting(self, tool):
        raise KeyboardInterrupt

    monkeypatch.setattr(Candidates, "_of_lane", interrupting)

    with pytest.raises(KeyboardInterrupt):
        judge().judge(0, GOOD)


@given(
    junk=st.recursive(
        st.none() | st.integers() | st.text() | st.binary() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
        max_leaves=5,
    ),
    name=st.sampled_from([a.name for a in type(GOOD).__attrs_attrs__]),
)
def test_no_field_of_any_kind_raises(junk: Any, name: str) -> None:
    """Any value in any field is judged, and what is accepted is stored as what was digested."""
    one = judge().judge(0, evolve(GOOD, **{name: junk}))

    if one.tool is not None:
        assert one.tool.digest == digest(one.tool.definition(), domain=DEFINITION_DOMAIN)


def test_what_the_core_states_is_not_taken_from_the_definition() -> None:
    """Origin, provenance and digest are the core's to say."""
    lying = evolve(
        GOOD, origin=Origin.BUILT_IN, provenance=Provenance(distribution="holon-mcp"), digest="x"
    )

    one = judge().judge(0, lying)

    assert one.tool is not None
    assert (one.tool.origin, one.tool.provenance.distribution) == (Origin.PLUGIN, "acme")
    assert one.tool.digest != "x"


@pytest.mark.parametrize(
    ("stated", "timeout_s", "max_output_bytes"),
    [
        (Limits(), 7.0, 1000),
        (Limits(timeout_s=2.0), 2.0, 1000),
        (Limits(max_output_bytes=5), 7.0, 5),
    ],
)
def test_a_tool_that_states_no_limit_has_the_configured_one(
    stated: Limits, timeout_s: float, max_output_bytes: int
) -> None:
    """What a definition states is kept."""
    one = judge(limits=Limits(timeout_s=7.0, max_output_bytes=1000)).judge(
        0, evolve(GOOD, limits=stated)
    )

    assert one.tool is not None
    assert one.tool.limits == Limits(timeout_s=timeout_s, max_output_bytes=max_output_bytes)


def test_limits_of_holon_toml_reach_lanes_and_their_change_is_noticed(open_runtime) -> None:
    """A changed setting makes definitions anew, though the source itself did not change."""
    acme = Lane("acme", "x")
    with open_runtime(acme, discover=False) as rt:
        assert rt.tools.read("acme/x").limits.timeout_s == 30.0

    rt = open_runtime(acme, discover=False, config={"limits.timeout_s": 5})

    assert rt.tools.read("acme/x").limits.timeout_s == 5.0
    assert acme.source.readings == 2


def test_an_id_that_is_defined_twice_counts_for_neither(open_runtime) -> None:
    """Which of them came first is nothing to decide by; a third changes nothing."""
    twice = [tool("acme/a"), tool("acme/b"), tool("acme/a"), tool("acme/a", version="3")]

    rt = opened(open_runtime, twice)

    assert ids(rt) == ["acme/b"]
    (finding,) = rt.tools.findings("acme/a")
    assert finding.code == "duplicate_id"


def test_the_number_of_definitions_is_bounded(open_runtime, monkeypatch) -> None:
    """An endless source ends at the limit, and the rest is reported."""
    monkeypatch.setattr(registering, "MAX_DEFINITIONS", 5)
    monkeypatch.setattr("holon_core.catalogue.reading.MAX_DEFINITIONS", 5)

    def endless():
        number = 0
        while True:
            number += 1
            yield tool(f"acme/t{number}")

    rt = opened(open_runtime, endless)

    assert len(rt.tools) == 5
    assert found(rt) == {"#5": "more than 5 definitions; the rest is left out"}


def test_many_definitions_are_stored_in_parts(open_runtime, monkeypatch) -> None:
    """Other writers get their turn in between; nothing is lost where parts meet."""
    monkeypatch.setattr(registering, "BATCH", 3)
    acme = Lane("acme", *(f"t{number}" for number in range(7)))
    rt = open_runtime(acme, discover=False)
    assert len(rt.tools) == 7

    acme.source.definitions = [tool("acme/t1", version="2")]
    (state,) = rt.tools.refresh()

    assert ids(rt) == ["acme/t1"]
    assert (state.changed, len(state.removed), state.added) == (("acme/t1",), 6, ())


def test_findings_of_a_start_that_read_nothing_are_still_there(open_runtime) -> None:
    """They are stored with the source."""
    acme = Lane("acme")
    acme.source.definitions = [None, tool("acme/x", version=1)]
    first = open_runtime(acme, discover=False)
    before = found(first)
    first.close()

    rt = open_runtime(acme, discover=False)

    assert acme.source.readings == 1
    assert found(rt) == before
    assert set(before) == {"#0", "#1"}


def test_a_definition_requires_what_it_says(open_runtime) -> None:
    """An approval requirement, slots and dependencies come through the store unchanged."""
    full = tool(
        "acme/full",
        approval=ApprovalRequirement.REQUIRED,
        risk_hints=("spends money",),
        dependencies=(Dependency(kind="program", name="rg", version="14"),),
        secret_slots=(SecretSlot(name="key", ref="env:KEY", purpose="to pay"),),
        output_schema={"type": "object", "additionalProperties": False},
        examples=("full",),
        idempotent=True,
    )

    read = opened(open_runtime, [full]).tools.read("acme/full")

    for name in ("approval", "risk_hints", "dependencies", "secret_slots", "examples"):
        assert getattr(read, name) == getattr(full, name)
    assert read.output_schema == full.output_schema


class TestReview:
    """Reviewers see everything that enters or changes; an error of theirs keeps it out."""

    def test_a_refused_definition_stays_out(self, open_runtime) -> None:
        """And its neighbours come in."""
        seen: list[Any] = []

        def review(candidate, previous):
            seen.append((candidate.id, previous))
            if candidate.id.endswith("bad"):
                yield Finding(code="review_refused", message="no")

        rt = open_runtime(
            Lane("acme", "bad", "good"), plugin("r", review_registration=review), discover=False
        )

        assert ids(rt) == ["acme/good"]
        assert seen == [("acme/bad", None), ("acme/good", None)]
        assert [f.message for f in rt.tools.findings("acme/bad")] == ["no"]

    def test_a_changed_definition_is_shown_with_the_one_before(self, open_runtime) -> None:
        """An unchanged one is not asked about again."""
        seen: list[Any] = []

        def review(candidate, previous):
            seen.append((candidate.version, previous and previous.version))

        acme = Lane("acme", "a", "b")
        rt = open_runtime(acme, plugin("r", review_registration=review), discover=False)
        del seen[:]
        acme.source.definitions = [tool("acme/a"), tool("acme/b", version="2")]

        rt.tools.refresh()

        assert seen == [("2", "1")]

    @pytest.mark.parametrize(
        "answer",
        [
            lambda candidate: 1 // 0,
            lambda candidate: [None],
            lambda candidate: 5,
            lambda candidate: [Finding(code="x", message=None)],
        ],
        ids=["raises", "none", "number", "no text"],
    )
    def test_a_reviewer_that_fails_keeps_it_out(self, open_runtime, answer) -> None:
        """Only findings, or none, are an answer."""
        rt = open_runtime(
            Lane("acme", "a"), plugin("r", review_registration=answer), discover=False
        )

        assert ids(rt) == []
        assert rt.tools.findings("acme/a")[0].code == "review_refused"

    def test_a_warning_lets_it_in(self, open_runtime) -> None:
        """And is kept; a code that nobody knows is put under the reviewers'."""
        finding = Finding(code="odd", message="hm", severity=Severity.WARNING)
        reviewing = plugin("r", review_registration=lambda previous: [finding])

        rt = open_runtime(Lane("acme", "a"), reviewing, discover=False)

        assert ids(rt) == ["acme/a"]
        assert rt.tools.findings("acme/a") == (evolve(finding, code="review_refused"),)

    def test_an_interrupt_in_a_review_passes(self, open_runtime) -> None:
        """The user's interrupt ends the opening."""

        def review(candidate):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            open_runtime(Lane("acme", "a"), plugin("r", review_registration=review), discover=False)

    def test_host_functions_are_reviewed_too(self, open_runtime) -> None:
        """What is new or changed; a refused change leaves the one before."""
        seen: list[Any] = []

        def review(candidate, previous):
            seen.append((candidate.version, previous and previous.version))
            if candidate.version == "bad":
                yield Finding(code="review_refused", message="no")

        def read() -> int:
            """Read."""
            return 1

        rt = open_runtime(plugin("r", review_registration=review), discover=False)
        rt.register(read, effects={"none"})
        rt.register(read, effects={"none"})
        rt.register(read, effects={"none"}, version="2")

        with pytest.raises(holon.Rejected):
            rt.register(read, effects={"none"}, version="bad")

        assert [previous for _, previous in seen] == [None, seen[0][0], "2"]
        assert rt.tools.read("host.app/read").version == "2"


@pytest.mark.parametrize("timeout", [None, 30, 30.0, 0.5])
def test_the_digest_is_of_the_whole_definition(timeout) -> None:
    """Put together from its parts it is what digesting the definition says, whatever it holds."""
    hostile = 'x","input_schema":null,"lane":"y","output_schema":null,"risk_hints":[] \u2028\\"é'
    given = evolve(
        GOOD,
        description=hostile,
        examples=(hostile, ',"input_schema":null,'),
        version=hostile,
        output_schema={"type": "object", "description": hostile},
        limits=Limits(timeout_s=timeout),
    )

    tool = judge().judge(0, given).tool

    assert tool.digest == digest(tool.definition(), domain=DEFINITION_DOMAIN)
