"""Tables of frozen tools that change with calls: circuits, and outputs of deterministic tools."""

from __future__ import annotations

from typing import Any, NamedTuple

from holon_core.store.rows import decodes, number, text


class CircuitRow(NamedTuple):
    """The failures in a row of one tool, and what its fixtures said of them.

    ``opened_at`` is when its circuit opened (0: it is closed), ``cleared_at`` when its fixtures
    last passed in spite of the failures (0: never).
    """

    failures: int
    opened_at: int
    call: str
    cleared_at: int = 0


@decodes("a circuit")
def _circuit(row: tuple[Any, ...]) -> CircuitRow:
    return CircuitRow(number(row[0]), number(row[1]), text(row[2]), number(row[3]))


class FrozenTables:
    """Statements of frozen tools, inside a transaction or a read."""

    _sql: Any

    def circuit(self, tool: str) -> CircuitRow | None:
        """Return the circuit of a tool; ``None`` where nothing failed since it was closed."""
        row = self._sql(
            "select failures, opened_at, call, cleared_at from circuits where tool=?", (tool,)
        ).fetchone()
        return None if row is None else _circuit(row)

    def put_circuit(self, tool: str, circuit: CircuitRow | None) -> None:
        """Store the circuit of a tool; ``None`` closes it."""
        if circuit is None:
            self._sql("delete from circuits where tool=?", (tool,))
        else:
            self._sql("insert or replace into circuits values(?,?,?,?,?)", (tool, *circuit))

    def seen_output(self, tool: str, input_digest: str) -> tuple[str, str] | None:
        """Return output digest and call of the first run of an input, or ``None``."""
        row = self._sql(
            "select output, call from seen_outputs where tool=? and input=?", (tool, input_digest)
        ).fetchone()
        return None if row is None else (text(row[0]), text(row[1]))

    def count_seen_outputs(self, tool: str) -> int:
        """Count the inputs of a tool whose output is known."""
        row = self._sql("select count(*) from seen_outputs where tool=?", (tool,)).fetchone()
        return number(row[0])

    def put_seen_output(self, tool: str, input_digest: str, *, output: str, call: str) -> None:
        """Keep the output of an input's first run."""
        self._sql(
            "insert or ignore into seen_outputs values(?,?,?,?)",
            (tool, input_digest, output, call),
        )

    def forget_seen_outputs(self, tool: str) -> None:
        """Drop what is known of a tool's outputs."""
        self._sql("delete from seen_outputs where tool=?", (tool,))
