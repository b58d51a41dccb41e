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
    from holon_core.records.frozen import ValidationRun
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
            self._forgive(tables, tool)
            if self._deterministic and output is not None:
                self._compare(tables, attempt, output)
        elif problem.kind in DRIFT_KINDS:
            before = tables.circuit(tool) or CircuitRow(0, 0, "")
            again = before._replace(failures=before.failures + 1, call=attempt.call_id)
            tables.put_circuit(tool, again)

    def _forgive(self, tables: Tables, tool: str) -> None:
        """Begin the count anew.

        That its fixtures passed lately is kept: else anybody could have them run at will.
        """
        row = tables.circuit(tool)
        if row is None:
            return
        if row.cleared_at <= int(self._guard.clock.now()) - OPEN_S:
            tables.put_circuit(tool, None)
        elif row.failures or row.opened_at:
            tables.put_circuit(tool, CircuitRow(0, 0, row.call, row.cleared_at))

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
            record(self._guard, tables, attempt, "drift", fields)


def record(
    guard: Guard, tables: Tables, attempt: Attempt, kind: str, fields: dict[str, str]
) -> None:
    """Record what a call's end says of its tool, in the trail of the call."""
    fields = {**fields, "tool": attempt.entry.fragment}
    draft = guard.recorder.draft(attempt.chain, attempt.call_id, kind, fields)
    attempt.seqs.append(tables.append(draft))


def open_circuit(guard: Guard, tool: str) -> StructuredFailure | None:
    """Say that a tool's circuit is open, or ``None``."""
    row = guard.store.read(lambda tables: tables.circuit(tool))
    if row is None or not row.opened_at:
        return None
    left = max(0, row.opened_at + OPEN_S - int(guard.clock.now()))
    text = f"{row.failures} failures in a row; its fixtures are tried again in {left} s"
    return failure("circuit_open", text, failures=row.failures, retry_after_s=left, call=row.call)


def is_suspect(guard: Guard, tool: str) -> bool:
    """Tell whether a tool failed so often in a row that its fixtures have to say whose fault it is.

    Once a minute at most: between two such trials its failures are only counted.
    """
    row = guard.store.read(lambda tables: tables.circuit(tool))
    if row is None or row.failures < THRESHOLD or row.opened_at:
        return False
    return row.cleared_at <= int(guard.clock.now()) - OPEN_S


def is_due(guard: Guard, tool: str) -> bool:
    """Tell whether an open circuit may be tried by a fixture now."""
    row = guard.store.read(lambda tables: tables.circuit(tool))
    return row is not None and 0 < row.opened_at <= int(guard.clock.now()) - OPEN_S


def settle_probe(guard: Guard, tool: str, *, run: ValidationRun, attempt: Attempt | None) -> None:
    """Let a circuit be closed where fixtures passed, open it for a while where they did not.

    Args:
        guard: The parts.
        tool: Its id.
        run: Of its fixtures.
        attempt: The call whose failure made it suspect; ``None`` where it was open already.
    """
    trial = run.fixtures[-1].call_id

    def work(tables: Tables) -> None:
        row = tables.circuit(tool)
        if row is None:
            return
        now = int(guard.clock.now())
        kept = CircuitRow(0, 0, row.call, now)
        tables.put_circuit(tool, kept if run.passed else CircuitRow(row.failures, now, trial))
        if attempt is not None:
            kind = "circuit_kept" if run.passed else "circuit_opened"
            fields = {"failures": str(row.failures), "fixture_call": quote(trial)}
            record(guard, tables, attempt, kind, fields)

    guard.store.transact(work)
