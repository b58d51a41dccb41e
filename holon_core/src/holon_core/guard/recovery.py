"""What an open finds of processes that died: calls that started and never ended."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from pathlib import Path
from typing import TYPE_CHECKING

from holon_core.store.chains import NotOpen
from holon_core.store.oslock import is_held

if TYPE_CHECKING:
    from holon_core.guard.evidence import Recorder
    from holon_core.store.chains import OpenCall
    from holon_core.store.protocol import Store, Tables


def close_interrupted(
    store: Store, recorder: Recorder, live: Path | None, *, own: str, closing: bool = False
) -> int:
    """Mark calls as interrupted whose runtime is gone; return how many.

    Args:
        store: The store.
        recorder: Makes the records.
        live: The folder of runtimes' locks; ``None`` for a store in memory.
        own: This runtime's id.
        closing: This runtime is closing: its own leftovers are marked, and no others.

    Calls of runtimes whose lock is held run elsewhere and are left alone. Nothing is retried.
    """
    left = store.read(lambda tables: tables.open_calls())
    dead = {
        runtime
        for runtime in {call.runtime for call in left}
        if (runtime == own if closing else runtime != own and not _lives(live, runtime))
    }
    gone = [call for call in left if call.runtime in dead]
    for call in gone:
        store.transact(lambda tables, call=call: _interrupt(tables, recorder, call))  # type: ignore[misc]
    return len(gone)


def _lives(live: Path | None, runtime: str) -> bool:
    return live is not None and is_held(live / runtime)


def _interrupt(tables: Tables, recorder: Recorder, call: OpenCall) -> None:
    fields = {"accepted_seq": str(call.seq), "runtime": quote(call.runtime)}
    try:
        draft = recorder.draft(call.chain, call.call, "interrupted", fields)
        tables.append(draft, closes=call)
    except NotOpen:
        # Another process that opens at the same time was first.
        return
    tables.interrupt_keys(call.call)


def sweep_locks(live: Path, *, own: str) -> None:
    """Remove lock files of runtimes that are gone."""
    for path in live.iterdir():
        if path.name != own and not is_held(path):
            path.unlink(missing_ok=True)
