"""Discovery as a caller uses it: pages, availability, reasons; and all that it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import holon_core as holon
from door import HandClock, kinds
from holon_core.records.discovery import DiscoveredTool
from holon_core.records.rule import Rule
from holon_core.records.tool import SecretSlot
from holon_core.records.words import Availability, Decision, Effect, Origin, Surface

Make = Callable[..., Any]
Open = Callable[..., holon.Runtime]


def found(session: holon.Session, tool: str, **options: Any) -> DiscoveredTool:
    """Return one tool out of all that a session finds."""
    return next(t for t in session.discover(limit=100, **options).items if t.id == tool)


def reasons(session: holon.Session, tool: str) -> list[str]:
    """Return the codes of what blocks a tool; none where it is executable."""
    item = found(session, tool)
    blocked = item.availability is Availability.BLOCKED
    assert blocked is bool(item.blocking_reasons)
    assert all(reason.next_action for reason in item.blocking_reasons)
    return [reason.code for reason in item.blocking_reasons]


def test_tools_of_all_lanes_are_found_by_what_they_do(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """Host functions and a lane's tools stand on one page, best first."""

    @holon.tool(effects={"none"})
    def refund_order(order_id: str) -> str:
        """Give the money of an order back."""
        return order_id

    lane.definitions = [make("list-orders", "List the orders of a customer."), make("weather")]
    session = open_runtime(refund_order).session(principal="ann")

    page = session.discover("please refund the order")

    assert [item.id for item in page.items] == ["host.app/refund_order", "acme-tools/list-orders"]
    assert page.items[0].score > page.items[1].score > 0
    assert (page.total_hint, page.next_cursor, page.none_fits) == (2, None, False)


def test_discovery_may_answer_that_nothing_fits(open_runtime: Open) -> None:
    """A query that no tool matches, or that holds no word, is answered so."""

    @holon.tool(effects={"none"})
    def add(a: int) -> int:
        """Add."""
        return a

    session = open_runtime(add).session(principal="ann")

    assert session.discover("quarantine").none_fits
    assert session.discover("?!").none_fits
    assert not session.discover("").none_fits
    assert not session.discover("add").none_fits


def test_without_a_query_all_tools_stand_by_id(lane: Any, make: Make, open_runtime: Open) -> None:
    """Pages join to the whole catalogue, each tool once."""
    lane.definitions = [make(f"t{n}") for n in range(7)]
    session = open_runtime().session(principal="ann")

    ids: list[str] = []
    cursor = None
    while True:
        page = session.discover(limit=3, cursor=cursor)
        ids += [item.id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert ids == [f"acme-tools/t{n}" for n in range(7)]


def test_an_effect_that_asks_is_blocked_until_a_person_approves(open_runtime: Open) -> None:
    """The call would be held, so something outside the request has to change first."""

    @holon.tool(id="write", effects={"machine_write"})
    def write(text: str) -> str:
        return text

    session = open_runtime(write).session(principal="ann")

    assert reasons(session, "host.app/write") == ["approval_required"]
    assert session.call("host.app/write", {"text": "x"}).blocking_reasons[0].code == (
        "approval_required"
    )


def test_a_grant_makes_a_tool_executable_for_whom_it_was_given(
    open_runtime: Open, clock: HandClock
) -> None:
    """It covers calls without asking anybody, while it lives and in its scope alone."""

    @holon.tool(id="write", effects={"machine_write"})
    def write(text: str) -> str:
        return text

    rt = open_runtime(write)
    pattern = {"text": {"glob": "a*"}}
    rt.approvals.grant(
        "host.app/write", pattern, principal="ann", uses=1, ttl_s=60, by="boss", reason="ok"
    )

    assert reasons(rt.session(principal="ann"), "host.app/write") == []
    assert reasons(rt.session(principal="bob"), "host.app/write") == ["approval_required"]
    assert reasons(rt.session(principal="ann", role="x"), "host.app/write") == ["approval_required"]
    clock.advance(61)
    assert reasons(rt.session(principal="ann"), "host.app/write") == ["approval_required"]


def test_a_grant_never_speaks_for_what_is_destructive(open_runtime: Open) -> None:
    """Such a tool is asked about each time."""

    @holon.tool(id="wipe", effects={"destructive"})
    def wipe() -> None:
        return None

    session = open_runtime(wipe).session(principal="ann")

    assert reasons(session, "host.app/wipe") == ["approval_required"]


def test_a_denial_is_named_with_its_rule(open_runtime: Open) -> None:
    """Role, principal and plan step count, as in the call."""

    @holon.tool(id="read", effects={"none"})
    def read() -> int:
        return 1

    rule = Rule(decision=Decision.DENY, id="host.app/*", role="guest", reason="guests only look")
    rt = open_runtime(read, config={"rules": [rule]})

    item = found(rt.session(principal="ann", role="guest"), "host.app/read")
    assert [(r.code, r.message) for r in item.blocking_reasons] == [
        ("policy_denied", "guests only look")
    ]
    assert reasons(rt.session(principal="ann", role="staff"), "host.app/read") == []


def test_what_the_tool_itself_lacks_is_named_all_at_once(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """Nobody has to lift one reason to learn the next."""
    slot = SecretSlot(name="key", ref="env:NO_SUCH_SECRET_HERE")
    effects = frozenset({Effect.NETWORK_WRITE})
    lane.definitions = [make("send", secret_slots=(slot,), effects=effects)]
    session = open_runtime().session(principal="ann")

    assert reasons(session, "acme-tools/send") == ["secret_unresolved", "approval_required"]


def test_undeclared_effects_block(lane: Any, make: Make, open_runtime: Open) -> None:
    """Such a tool is only listed."""
    lane.definitions = [make("odd", effects=frozenset({Effect.UNKNOWN}))]
    session = open_runtime().session(principal="ann")

    assert reasons(session, "acme-tools/odd") == ["effects_undeclared", "policy_denied"]


def test_a_workspace_tool_is_blocked_without_one(open_runtime: Open, tmp_path: Path) -> None:
    """The session has to be opened with a workspace, which then has to be there."""

    @holon.tool(id="grep", effects={"workspace_read"})
    def grep() -> int:
        return 1

    rt = open_runtime(grep)
    place = tmp_path / "place"
    place.mkdir()

    assert reasons(rt.session(principal="ann"), "host.app/grep") == ["workspace_required"]
    session = rt.session(principal="ann", workspace=place)
    assert reasons(session, "host.app/grep") == []
    place.rmdir()
    assert reasons(session, "host.app/grep") == ["workspace_unavailable"]


def test_a_tool_that_nothing_runs_says_what_to_install(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """An entry stays in the catalogue when its lane is not active."""
    lane.definitions = [make("send")]
    open_runtime().close()

    session = open_runtime(plugins=[]).session(principal="ann")

    item = found(session, "acme-tools/send")
    assert item.availability is Availability.BLOCKED
    assert item.blocking_reasons[0].kind in ("dependency_missing", "unsupported_capability")


def test_a_changed_definition_under_a_pin_is_blocked(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """An operator pinned what was reviewed."""
    lane.definitions = [make("send", "One.")]
    rt = open_runtime()
    rt.tools.pin("acme-tools/send", by="boss", reason="reviewed")
    session = rt.session(principal="ann")
    assert reasons(session, "acme-tools/send") == []

    lane.definitions = [make("send", "Another.")]
    rt.tools.refresh()

    assert reasons(session, "acme-tools/send") == ["definition_changed"]
    assert session.call("acme-tools/send").failure.code == "definition_changed"  # type: ignore[union-attr]


def test_a_gate_that_raises_blocks_its_own_tools_alone(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """One faulty lane does not keep the others from being found."""

    def gate(attempt: Any) -> list[Any]:
        raise ValueError("broken")

    @holon.tool(id="read", effects={"none"})
    def read() -> int:
        return 1

    lane.gates, lane.definitions = (gate,), [make("send")]
    session = open_runtime(read).session(principal="ann")

    assert reasons(session, "acme-tools/send") == ["lane_protocol"]
    assert reasons(session, "host.app/read") == []


def test_blocked_tools_can_be_left_out(lane: Any, make: Make, open_runtime: Open) -> None:
    """Paging then goes on until the page is full or all was judged."""
    asks = frozenset({Effect.MACHINE_WRITE})
    lane.definitions = [
        make(f"t{n:03}", effects=frozenset({Effect.NONE}) if n % 50 == 49 else asks)
        for n in range(150)
    ]
    session = open_runtime().session(principal="ann")

    page = session.discover(limit=2, include_blocked=False)
    rest = session.discover(limit=2, include_blocked=False, cursor=page.next_cursor)

    assert [item.id[-4:] for item in page.items] == ["t049", "t099"]
    assert [item.id[-4:] for item in rest.items] == ["t149"]
    assert rest.next_cursor is None


def test_models_see_only_what_is_projected_to_them(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """A tool may be callable by the runtime and never be shown to a model."""
    lane.definitions = [make("hidden", projections=()), make("shown")]
    rt = open_runtime()

    model = rt.session(principal="ann", surface=Surface.FUNCTION_CALLING).discover()
    host = rt.session(principal="ann").discover()

    assert [item.name for item in model.items] == ["shown"]
    assert [item.name for item in host.items] == ["hidden", "shown"]


def test_lanes_narrow_a_page(lane: Any, make: Make, open_runtime: Open) -> None:
    """Only tools of the lanes asked for."""

    @holon.tool(id="send", effects={"none"})
    def send() -> int:
        return 1

    lane.definitions = [make("send")]
    session = open_runtime(send).session(principal="ann")

    assert [t.id for t in session.discover("send", lanes=["acme"]).items] == ["acme-tools/send"]
    assert session.discover(lanes=["host"]).items[0].origin is Origin.HOST
    assert session.discover("send", lanes=["mcp"]).none_fits


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"limit": 101},
        {"limit": True},
        {"query": b"bytes"},
        {"lanes": "acme"},
        {"lanes": ["x"] * 101},
        {"cursor": ""},
        {"cursor": "nonsense"},
        {"cursor": "é"},
        {"cursor": "A" * 2000},
        {"cursor": "WzEsMiwzXQ"},
        {"cursor": "WyJ4IixOYU4sInkiXQ"},
    ],
)
def test_arguments_out_of_bounds_are_misuse(open_runtime: Open, options: dict[str, Any]) -> None:
    """They are refused with a text that says what fits."""
    session = open_runtime().session(principal="ann")
    with pytest.raises(holon.Misuse):
        session.discover(**options)


def test_a_cursor_goes_on_with_its_own_request_alone(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """Another query would make another ranking, in which the place means nothing."""
    lane.definitions = [make("send-mail"), make("send-fax")]
    session = open_runtime().session(principal="ann")
    cursor = session.discover("send", limit=1).next_cursor

    assert len(session.discover("send", limit=1, cursor=cursor).items) == 1
    with pytest.raises(holon.Misuse, match="another query"):
        session.discover("mail", cursor=cursor)


def test_a_closed_runtime_finds_nothing(open_runtime: Open) -> None:
    """Its session says so."""
    rt = open_runtime()
    session = rt.session(principal="ann")
    session.discover()
    rt.close()
    with pytest.raises(holon.RuntimeNotOpen):
        session.discover()


def test_new_definitions_are_found_at_once(lane: Any, make: Make, open_runtime: Open) -> None:
    """Of this process, of a refresh, and of another runtime on the same root."""
    lane.definitions = [make("send-mail")]
    one, other = open_runtime(), open_runtime()
    session, elsewhere = one.session(principal="ann"), other.session(principal="ann")
    assert session.discover("send").total_hint == elsewhere.discover("send").total_hint == 1

    @holon.tool(id="send-fax", effects={"none"})
    def fax() -> int:
        return 1

    one.register(fax)
    assert session.discover("send").total_hint == 2
    assert elsewhere.discover("send").total_hint == 1

    lane.definitions = [make("send-letter"), make("send-parcel")]
    one.tools.refresh()
    assert [t.name for t in elsewhere.discover("send").items] == ["send-letter", "send-parcel"]
    assert session.discover("mail").none_fits


def test_a_function_of_this_process_stands_before_a_stored_one_of_its_id(
    open_runtime: Open,
) -> None:
    """Registered anew, it is found by its new words alone."""

    def old() -> int:
        """About lions."""
        return 1

    def new() -> int:
        """About tigers."""
        return 1

    rt = open_runtime()
    rt.register(old, id="a", effects={"none"})
    session = rt.session(principal="ann")
    assert not session.discover("lions").none_fits
    rt.register(new, id="a", effects={"none"})

    assert session.discover("lions").none_fits
    assert session.discover("tigers").total_hint == 1


def test_looking_leaves_no_trace(lane: Any, make: Make, open_runtime: Open) -> None:
    """Nothing is recorded, held, requested, run or read from a source."""
    lane.definitions = [make("send", effects=frozenset({Effect.NETWORK_WRITE})), make("read")]
    rt = open_runtime()
    session = rt.session(principal="ann", run="r1")
    before, read = kinds(rt), lane.reads

    for query in (None, "send", "read"):
        session.discover(query)

    assert kinds(rt) == before
    assert rt.approvals.list(state=None) == ()
    assert (lane.executor.ran, lane.reads) == ([], read)


def test_slow_policies_bound_a_page_and_deny_what_they_were_not_asked(
    lane: Any, make: Make, open_runtime: Open
) -> None:
    """A page takes about as long as one call may, and says which tools were not judged."""
    import time

    asked: list[str] = []

    class Slow:
        name = "slow"

        def evaluate(self, request: holon.PolicyRequest) -> holon.Verdict:
            asked.append(request.tool.id)
            time.sleep(0.4)
            return holon.Verdict(decision=holon.Decision.ALLOW, rule="slow")

    class Plugin:
        name = "slow"

        @holon.hookimpl
        def holon_policies(self, host: Any) -> list[Slow]:
            return [Slow()]

    lane.definitions = [make(f"t{n}") for n in range(9)]
    session = open_runtime(plugins=[lane, Plugin()]).session(principal="ann")

    items = session.discover().items

    assert len(asked) == 3
    assert [bool(item.blocking_reasons) for item in items] == [False] * 3 + [True] * 6
    assert "too long" in items[-1].blocking_reasons[0].message


def test_an_event_loop_can_discover(lane: Any, make: Make, open_runtime: Open) -> None:
    """The same page, without blocking the loop."""
    lane.definitions = [make("send")]
    session = open_runtime().session(principal="ann")

    page = asyncio.run(session.adiscover("send", limit=5))

    assert page == session.discover("send", limit=5)


@pytest.fixture(scope="module")
def crowd() -> Iterator[holon.Session]:
    """A session on forty functions that share many words."""
    with holon.Runtime.in_memory() as rt:
        for number in range(40):

            def tool(path: str = "") -> str:
                return path

            rt.register(
                tool,
                id=f"{'read' if number % 2 else 'write'}-file-{number}",
                effects={"none"},
                description="Work on a file" if number % 3 else "Größe der Datei, file \U0001f5c2",
            )
        yield rt.session(principal="ann")


@given(query=st.text(max_size=200), limit=st.integers(1, 100))
@example(query="file " * 200_000, limit=20)
@example(query='"file" OR file* NEAR/3 (name : -"', limit=20)
@example(query="file\0file", limit=20)
@example(query="\ud800 file", limit=20)
@example(query="\U0001f5c2" * 1000, limit=20)
def test_any_query_gives_a_stable_page_within_bounds(
    crowd: holon.Session, query: str, limit: int
) -> None:
    """It never raises, and the same request gets the same answer."""
    page = crowd.discover(query, limit=limit)

    assert len(page.items) <= limit
    assert page == crowd.discover(query, limit=limit)
    assert len({item.id for item in page.items}) == len(page.items)
    order = [(-item.score, item.id) for item in page.items]
    assert order == sorted(order)


@given(
    query=st.sampled_from(["file", "read file", "write größe", "", "datei read"]),
    limit=st.integers(1, 17),
)
def test_pages_of_any_size_cover_each_tool_once(
    crowd: holon.Session, query: str, limit: int
) -> None:
    """While nothing changes, no tool is left out and none comes twice."""
    whole = crowd.discover(query, limit=100)
    paged: list[DiscoveredTool] = []
    cursor = None
    while True:
        page = crowd.discover(query, limit=limit, cursor=cursor)
        paged += page.items
        cursor = page.next_cursor
        if cursor is None:
            break

    assert tuple(paged) == whole.items
    assert len(paged) == whole.total_hint
