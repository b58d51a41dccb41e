"""A process that pumps a store's evidence into a file, slowly, until it is killed."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from holon_core.clock import SystemClock
from holon_core.guard.evidence_read import to_record
from holon_core.guard.sinks import SinkPump
from holon_core.records.evidence import EvidenceRecord
from holon_core.sinks.jsonl import JsonLinesSink
from holon_core.store.sqlite import SqliteStore


class Slow(JsonLinesSink):
    def write(self, records: Sequence[EvidenceRecord]) -> None:
        super().write(records)
        time.sleep(0.02)


def main(root: str, owner: str) -> None:
    store = SqliteStore(Path(root) / "holon.db")
    sink = Slow(Path(root) / "evidence.jsonl")
    pump = SinkPump(store, [sink], clock=SystemClock(), to_record=to_record, runtime_id=owner)
    pump.start()
    print("started", flush=True)
    time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
