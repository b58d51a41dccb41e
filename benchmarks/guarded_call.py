"""A guarded call against the least that any guard must pay, in the same run.

The floor is one assembled path without a library around it: validate the arguments, ask three
rules through pluggy, digest, commit an intent, run, validate the output, digest, commit the
outcome; SQLite in WAL mode with synchronous=NORMAL, jsonschema-rs and orjson.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pluggy
from pairs import Work, paired, report

import holon_core as holon

INPUT = {
    "type": "object",
    "required": ["a", "b"],
    "additionalProperties": False,
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
}
OUTPUT = {
    "type": "object",
    "required": ["sum"],
    "additionalProperties": False,
    "properties": {"sum": {"type": "integer"}},
}
ARGUMENTS = {"a": 1, "b": 2}


@holon.tool(effects={"none"}, output_schema=OUTPUT)
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@holon.tool(effects={"none"}, output_schema=OUTPUT)
async def aadd(a: int, b: int) -> dict[str, int]:
    """Add two numbers, asynchronously."""
    return {"sum": a + b}


def rules() -> Callable[[], bool]:
    """Three policy rules through a pluggy hook."""
    spec, impl = pluggy.HookspecMarker("floor"), pluggy.HookimplMarker("floor")

    class Specs:
        @spec
        def decide(self, tool: str, arguments: object) -> None: ...

    class Rule:
        @impl
        def decide(self, tool: str, arguments: object) -> None: ...

    manager = pluggy.PluginManager("floor")
    manager.add_hookspecs(Specs)
    for _ in range(3):
        manager.register(Rule())
    allowed = {"add": frozenset({"workspace"})}

    def decide() -> bool:
        answers = manager.hook.decide(tool="add", arguments=ARGUMENTS)
        return all(a is None for a in answers) and "workspace" in allowed["add"]

    return decide


def floor(folder: Path) -> Work:
    """The assembled floor, both records durable."""
    takes = jsonschema_rs.Draft202012Validator(INPUT).is_valid
    gives = jsonschema_rs.Draft202012Validator(OUTPUT).is_valid
    decide = rules()
    database = sqlite3.connect(folder / "floor.db", isolation_level=None)
    run = database.execute
    run("pragma journal_mode=wal")
    run("pragma synchronous=normal")
    run(
        "create table ev(id integer primary key, call text not null, phase text not null,"
        " at real not null, digest text not null, body blob not null)"
    )

    def digest(value: Any) -> str:
        return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def keep(phase: str, value: Any, checksum: str) -> None:
        run("begin immediate")
        row = ("c1", phase, time.time(), checksum, orjson.dumps(value))
        run("insert into ev(call, phase, at, digest, body) values(?,?,?,?,?)", row)
        run("commit")

    def call() -> Any:
        if not (takes(ARGUMENTS) and decide()):
            raise PermissionError
        keep("intent", ARGUMENTS, digest(ARGUMENTS))
        out = {"sum": ARGUMENTS["a"] + ARGUMENTS["b"]}
        if not gives(out):
            raise ValueError
        keep("outcome", out, digest(out))
        return out

    return call


def main() -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp())
    base = floor(folder)
    with holon.Runtime.open(folder / "root", tools=[add, aadd], discover=False) as runtime:
        session = runtime.session(principal="bench")

        def guarded(tool: str, arguments: Any, status: str, **more: Any) -> Work:
            def work() -> None:
                assert session.call(tool, arguments, **more).status == status

            return work

        serial = iter(range(10**9))

        def with_key() -> None:
            session.call("host.app/add", ARGUMENTS, key=f"k{next(serial)}")

        cases: dict[str, Work] = {
            "guarded call, no effects": guarded("host.app/add", ARGUMENTS, "completed"),
            "refused argument": guarded("host.app/add", {"a": 1, "b": "2"}, "failed"),
            "with an idempotency key": with_key,
            "async tool by call()": guarded("host.app/aadd", ARGUMENTS, "completed"),
        }
        rows: list[dict[str, object]] = []
        for name, work in cases.items():
            if "--quick" in sys.argv and name != "guarded call, no effects":
                continue
            rows.append({"case": name, **paired(base, work)._asdict()})
    with holon.Runtime.in_memory(tools=[add]) as memory:
        bare = memory.session(principal="bench")
        in_memory = paired(base, lambda: bare.call("host.app/add", ARGUMENTS))
        rows.append({"case": "store in memory", **in_memory._asdict()})
    report("guarded call against the floor (CPU, paired)", rows)


if __name__ == "__main__":
    main()
