"""Chains of evidence for tests, written as the library writes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from holon_core.clock import SystemClock
from holon_core.guard.evidence import Recorder
from holon_core.guard.evidence_read import Evidence
from holon_core.guard.redaction import Redactor
from holon_core.store.chains import Draft, OpenCall
from holon_core.store.protocol import Store, Tables
from holon_core.store.sqlite import SqliteStore
from holon_core.wire.canonical import canonical


def append(
    tables: Tables,
    chain: str,
    call: str,
    *,
    kind: str = "accepted",
    at: int = 1_700_000_000,
    payload: Any = None,
    opens: str = "",
    closes: OpenCall | None = None,
    **fields: Any,
) -> int:
    """Append one record inside a transaction; return its position."""
    data = None if payload is None else canonical(payload)
    body: dict[str, Any] = {"v": 1, "kind": kind, "call": call, "at": at, **fields}
    if data is not None:
        body["payload"] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    text = canonical(body)
    draft = Draft(chain, call, kind, at=at, body=text, payload=data)
    return tables.append(draft, opens=opens, closes=closes)


def write(store: Store, chain: str, count: int, *, prefix: str = "call") -> None:
    """Append records with payloads, each in its own transaction."""
    for number in range(count):
        store.transact(
            partial(append, chain=chain, call=f"{prefix}-{number}", payload={"n": number})
        )


def position(store: Store, chain: str) -> int:
    """Return how many records a chain has by its head."""
    head = store.read(lambda tables: tables.head(chain))
    return 0 if head is None else head[0]


def evidence_of(store: Store) -> Evidence:
    """Return the evidence of a store, as a runtime has it."""
    return Evidence(store, Recorder(SystemClock(), Redactor(), {"os_user": "test"}))


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[SqliteStore]:
    """Open a store and close it in the end."""
    with closing(SqliteStore(path, **options)) as store:
        yield store


def main(path: str, chain: str, count: str, prefix: str) -> None:
    """Write records as a process of its own."""
    with opened(Path(path)) as store:
        write(store, chain, int(count), prefix=prefix)


if __name__ == "__main__":
    main(*sys.argv[1:])
