"""The circuit breaker and the drift watch: what calls of a frozen tool leave behind."""

from __future__ import annotations

from hashlib import sha256
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING

from holon_core.errors import StructuredFailureKind
from holon_core.records.failure import failure
from holon_core.store.frozen_tables import CircuitRow

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.failure import StructuredFailure
    from holon_core.store.protocol import Tables

K = StructuredFailureKind
# What says that a tool no longer does what it was validated for; no refusal of arguments is.
DRIFT_KINDS = frozenset({K.INVALID_OUTPUT, K.TIMEOUT, K.PROCESS_FAILED})
THRESHOLD = 3
OPEN_S = 60
# Inputs of a deterministic tool whose first output is known; beyond them no more are kept.
MAX_SEEN = 1000


class Watch:
    """Settles each call of frozen tools in the transaction that closes it.

    Args:
        guard: The parts.
        deterministic: Whether the tool of this watch claims that equal input gives equal output.
    """

    def __init__(self, guard: Guard, *, deterministic: bool) -> None:
        self._guard = guard
        self._deterministic = deterministic

    def __call__(
        self,
        tables: Tables,
        attempt: Attempt,
        problem: StructuredFailure | None,
        output: bytes | None,
    ) -> None:
        """Count a drift failure, close the circuit after a success, compare outputs."""
        tool = attempt.entry.tool.id
        if problem is None:
            if tables.circuit(tool) is not None:
                tables.put_circuit(tool, None)
            if self._deterministic and output is not None:
                self._compare(tables, attempt, output)
        elif problem.kind in DRIFT_KINDS:
            self._count(tables, attempt)

    def _count(self, tables: Tables, attempt: Attempt) -> None:
        tool, now = attempt.entry.tool.id, int(self._guard.clock.now())
        before = tables.circuit(tool)
        failures = (0 if before is None else before.failures) + 1
        was_open = before is not None and before.opened_at > 0
        opens = failures >= THRESHOLD
        opened_at = now if opens else 0
        tables.put_circuit(tool, CircuitRow(failures, opened_at, attempt.call_id))
        if opens and not was_open:
            self._record(tables, attempt, "circuit_opened", {"failures": str(failures)})

    def _compare(self, tables: Tables, attempt: Attempt, output: bytes) -> None:
        tool = attempt.entry.tool
        key = f"{tool.id}@{tool.executor_ref}"
        given, made = sha256(attempt.canonical).hexdigest(), sha256(output).hexdigest()
        before = tables.seen_output(key, given)
        if before is None:
            if tables.count_seen_outputs(key) < MAX_SEEN:
                tables.put_seen_output(key, given, output=made, call=attempt.call_id)
            return
        if before[0] != made:
            fields = {
                "first_call": quote(before[1]),
                "first_output_sha256": quote(before[0]),
                "input_sha256": quote(given),
                "output_sha256": quote(made),
            }
            self._record(tables, attempt, "drift", fields)

    def _record(self, tables: Tables, attempt: Attempt, kind: str, fields: dict[str, str]) -> None:
        fields = {**fields, "tool": attempt.entry.fragment}
        draft = self._guard.recorder.draft(attempt.chain, attempt.call_id, kind, fields)
        attempt.seqs.append(tables.append(draft))


def open_circuit(guard: Guard, tool: str) -> StructuredFailure | None:
    """Say that a tool's circuit is open, or ``None``."""
    row = guard.store.read(lambda tables: tables.circuit(tool))
    if row is None or not row.opened_at:
        return None
    left = max(0, row.opened_at + OPEN_S - int(guard.clock.now()))
    text = f"{row.failures} failures in a row; its fixtures are tried again in {left} s"
    return failure("circuit_open", text, failures=row.failures, retry_after_s=left, call=row.call)


def is_due(guard: Guard, tool: str) -> bool:
    """Tell whether an open circuit may be tried by a fixture now."""
    row = guard.store.read(lambda tables: tables.circuit(tool))
    return row is not None and 0 < row.opened_at <= int(guard.clock.now()) - OPEN_S


def settle_probe(guard: Guard, tool: str, *, passed: bool, call: str) -> None:
    """Close a circuit whose fixtures passed; open it for another while where they did not."""

    def work(tables: Tables) -> None:
        row = tables.circuit(tool)
        if row is None:
            return
        now = int(guard.clock.now())
        again = CircuitRow(row.failures, now, call or row.call)
        tables.put_circuit(tool, None if passed else again)

    guard.store.transact(work)
