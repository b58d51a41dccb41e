"""A store whose rows were damaged: refused or answered, whatever stands where."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from chains import append, opened, write

ADD, SEND = "host.app/add", "host.app/send"
BAD_VALUES: dict[str, Any] = {
    "nothing": None,
    "text": "xx",
    "bytes": b"\xff\xfe",
    "negative": -1,
    "huge": 2**62,
    "fraction": 1.5,
    "list": b"[]",
}
NOT_UTF8 = "cast(x'ff41fe' as text)"
COLUMNS = {
    "live": ("key", "chain", "number", "seq", "hash", "rev", "open"),
    "evidence": ("seq", "call", "kind", "at", "opens", "closes", "body", "hash", "payload"),
    "evidence_calls": ("call", "seq"),
    "cursors": ("name", "chain", "seq"),
    "approvals": (
        *("id", "state", "tool", "definition", "fingerprint", "arguments_digest", "workspace"),
        *("principal", "role", "profile", "pattern", "uses_left", "requested_at", "expires_at"),
        *("decided_at", "decided_by", "reason", "self_approved", "used_by"),
    ),
    "held": (
        *("call", "approval", "state", "workspace", "principal", "idempotency_key", "at"),
        *("replaced_by", "body"),
    ),
    "idempotency": ("key", "call", "fingerprint", "state", "expires_at", "result"),
    "run_effects": ("run", "effect"),
    "documents": ("collection", "id", "revision", "at", "body"),
}


@holon.tool(effects={"none"})
def add(a: int) -> int:
    """Add."""
    return a


@holon.tool(effects={"network_write"})
def send(a: int) -> int:
    """Send."""
    return a


def use(root: Path) -> list[Any]:
    """Do all that reads the store; what Holon itself raises on purpose is an answer."""
    with holon.Runtime.open(
        root, tools=[add, send], discover=False, config={"retention_days": 1}
    ) as rt:
        session = rt.session(principal="ann", workspace=root.parent / "ws", run="r")
        steps: list[Callable[[], Any]] = [
            lambda: session.call(ADD, {"a": 1}),
            lambda: session.call(ADD, {"a": 1}, key="k"),
            lambda: session.call(SEND, {"a": 1}),
            rt.approvals.list,
            lambda: [rt.approvals.view(held.call_id) for held in rt.approvals.held()],
            lambda: [session.release(held.call_id) for held in rt.approvals.held()],
            lambda: rt.evidence.list(workspace=session.caller.workspace),
            rt.evidence.heads,
            lambda: rt.evidence.verify(session.caller.workspace),
            lambda: rt.evidence.read("x"),
            lambda: rt.evidence.erase(None, by="a", reason="b", before_unix_seconds=5),
            lambda: rt.evidence.export(
                root.parent / "out.jsonl", workspace=session.caller.workspace, replace=True
            ),
            rt.workspaces.list,
            rt.tools.list,
            lambda: rt.tools.pin(ADD, by="a", reason="b"),
            rt.tools.pins,
        ]
        return [answer(step) for step in steps]


def answer(step: Callable[[], Any]) -> Any:
    """Return what a step gives, or the failure that it names."""
    try:
        return step()
    except holon.HolonError as error:
        return error


def outcome(root: Path) -> str:
    """Use a root; say whether it answered, or which fault of the store it named."""
    try:
        use(root)
    except holon.StoreError as error:
        return error.code
    return "answered"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root in which every table that calls touch has rows."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "ws").mkdir()
    use(folder / "root")
    with closing(sqlite3.connect(folder / "root" / "holon.db")) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    return folder / "root"


@pytest.fixture
def copies(sound: Path) -> Callable[[], Path]:
    """Make a fresh copy of the root, each time in the same place."""

    def copy() -> Path:
        place = sound.parent / "copy"
        shutil.rmtree(place, ignore_errors=True)
        return shutil.copytree(sound, place)

    return copy


def damages(column: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield assignments that put something wrong into a column."""
    yield f"{column}={NOT_UTF8}", ()
    for value in BAD_VALUES.values():
        yield f"{column}=?", (value,)


@pytest.mark.parametrize("table", COLUMNS)
def test_whatever_stands_in_a_column_is_a_failure_that_is_named(copies, table):
    """Opening is refused as a store fault, or every operation answers; nothing else is raised."""
    for column in COLUMNS[table]:
        for assignment, values in damages(column):
            root = copies()
            # What the table itself refuses cannot stand there.
            with (
                closing(sqlite3.connect(root / "holon.db")) as connection,
                suppress(sqlite3.IntegrityError),
                connection,
            ):
                connection.execute(f"update or ignore {table} set {assignment}", values)
            assert outcome(root) in ("answered", "store_corrupt"), (column, assignment, values)


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes_in_the_file_are_a_failure_that_is_named(copies, seed):
    """The driver's messages quote what is damaged, and may not be text themselves."""
    chance = random.Random(seed)
    root = copies()
    data = bytearray((root / "holon.db").read_bytes())
    # The first page holds the names of tables, which messages quote.
    for limit in (4096, len(data)):
        size = chance.choice([1, 8, 64, 300])
        at = chance.randrange(limit - size)
        data[at : at + size] = chance.randbytes(size)
    (root / "holon.db").write_bytes(data)

    assert outcome(root).startswith(("answered", "store_"))


@pytest.mark.parametrize(
    "damage",
    [
        "update live set hash=null where key glob 'h:*'",
        "update live set seq='many' where key glob 'h:*'",
        "update live set open='xx' where key glob 'h:*'",
        "delete from live",
    ],
)
def test_a_store_whose_heads_carry_no_record_opens_no_runtime(copies, damage):
    """Found before anything relies on it, and the file is left as it is."""
    root = copies()
    with closing(sqlite3.connect(root / "holon.db")) as connection, connection:
        connection.execute(damage)

    with pytest.raises(holon.StoreError, match="check: rows") as caught:
        use(root)

    assert caught.value.code == "store_corrupt"


@holon.tool(effects={"none"})
def note(n: int) -> int:
    """Note."""
    NOTED.append(n)
    return n


NOTED: list[int] = []


def damage_live(root: Path, change: str, key: str = "h:_runtime") -> None:
    """Change what stands beside the records of calls without a workspace by hand."""
    with closing(sqlite3.connect(root / "holon.db")) as other, other:
        other.execute(f"update live set {change} where key='{key}'")


def blocked(result: holon.ToolResult) -> bool:
    """Whether a call was not run since its record has no place."""
    assert (result.status, result.failure.code) == ("blocked", "evidence_unavailable")
    return result.failure.details["store"] == "store_corrupt"


def test_a_revision_that_is_damaged_while_open_blocks_the_call(tmp_path):
    """What cannot be recorded does not run."""
    NOTED.clear()
    with holon.Runtime.open(tmp_path / "root", tools=[note], discover=False) as rt:
        session = rt.session(principal="ann")
        assert session.call("host.app/note", {"n": 1}).status == "completed"
        damage_live(tmp_path / "root", "rev='x'", "revision")

        assert blocked(session.call("host.app/note", {"n": 2}))
    assert NOTED == [1]


@pytest.mark.parametrize("change", ["seq=seq-1", "seq=seq+1"])
def test_an_anchor_of_another_record_blocks_the_call(tmp_path, change):
    """The chain is not what it was; reading goes on."""
    NOTED.clear()
    for damaged in (False, True):
        with holon.Runtime.open(tmp_path / "root", tools=[note], discover=False) as rt:
            result = rt.session(principal="ann").call("host.app/note", {"n": 1})
            assert not damaged or blocked(result)
            assert rt.evidence.verify(None).consistent is not damaged
        if not damaged:
            damage_live(tmp_path / "root", change)
    assert NOTED == [1]


def test_an_anchor_that_is_damaged_while_open_is_left_for_who_verifies(tmp_path):
    """Calls go on from the end that they know, and closing does not put it right."""
    with holon.Runtime.open(tmp_path / "root", tools=[note], discover=False) as rt:
        rt.session(principal="ann").call("host.app/note", {"n": 1})
    with holon.Runtime.open(tmp_path / "root", tools=[note], discover=False) as rt:
        session = rt.session(principal="ann")
        assert session.call("host.app/note", {"n": 1}).status == "completed"
        damage_live(tmp_path / "root", "seq=1")
        assert session.call("host.app/note", {"n": 2}).status == "completed"

    with holon.Runtime.open(tmp_path / "root", tools=[note], discover=False) as rt:
        found = rt.evidence.verify(None)

    assert (found.consistent, found.bad_seq) == (False, 1)


def test_a_damaged_anchor_is_not_taken_for_a_call_that_somebody_else_ended(tmp_path):
    """Who closes a call that is still open meets damage, and says so."""
    path = tmp_path / "store.db"
    with opened(path) as store:
        write(store, "ws", 2)
        store.transact(lambda t: append(t, "ws", "c", opens="r"))
    with opened(path) as store:
        [call] = store.read(lambda t: t.open_calls())
        store.transact(lambda t: t._sql("update live set seq=1 where key='h:ws'"))
        with pytest.raises(holon.StoreError) as caught:
            store.transact(lambda t: append(t, "ws", "c", closes=call))

    assert caught.value.code == "store_corrupt"
