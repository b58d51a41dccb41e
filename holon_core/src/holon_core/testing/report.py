"""What a run of the conformance suite came to: one row for each check and tool."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from holon_core.records.words import Word


class Verdict(Word):
    """What one check says of one tool, or of the lane as a whole."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


@frozen(kw_only=True)
class Result:
    """One row. ``tool`` is empty for what concerns the whole lane; ``reason`` is for people."""

    check: str
    tool: str = ""
    verdict: Verdict
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return {
            "check": self.check,
            "tool": self.tool,
            "verdict": self.verdict.value,
            "reason": self.reason,
        }


@frozen(kw_only=True)
class Report:
    """All rows of one lane, in the order of the checks."""

    distribution: str
    results: tuple[Result, ...]

    @property
    def conforms(self) -> bool:
        """Whether no row failed. What was skipped says in its reason what it lacks.

        Rows that warn are of checks that are new in this version of the core: in the next one
        they fail.
        """
        return all(result.verdict is not Verdict.FAIL for result in self.results)

    def of(self, verdict: Verdict) -> tuple[Result, ...]:
        """Return the rows of one verdict."""
        return tuple(result for result in self.results if result.verdict is verdict)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "distribution": self.distribution,
            "conforms": self.conforms,
            "counts": {verdict.value: len(self.of(verdict)) for verdict in Verdict},
            "results": [result.to_json() for result in self.results],
        }

    def text(self) -> str:
        """Return the rows as a table for people."""
        head = ("verdict", "check", "tool", "reason")
        rows = [(r.verdict.value, r.check, r.tool or "-", r.reason) for r in self.results]
        widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head) - 1)]
        return "\n".join(
            "  ".join(
                [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]
            ).rstrip()
            for row in (head, *rows)
        )
