"""What reading a contract has to say about its data, and the error that carries it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from attrs import frozen


class Severity(str, Enum):
    """How much a finding matters: with an error the data is refused, with a warning it is read."""

    ERROR = "error"
    WARNING = "warning"

    __str__ = str.__str__


@frozen(kw_only=True)
class Finding:
    """One thing that is wrong with data, or worth knowing.

    ``code`` is a stable word; ``path`` is a JSON pointer (RFC 6901) into the data, empty for
    the whole of it. ``spoils`` is the id of the one capability, projection or component that is
    of no use because of it; empty where it concerns the whole.
    """

    code: str
    message: str
    path: str = ""
    severity: Severity = Severity.ERROR
    spoils: str = ""


def has_errors(findings: Iterable[Finding]) -> bool:
    """Tell whether any finding refuses its data."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def pointer(*steps: str | int) -> str:
    """Write steps as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


class ContractError(ValueError):
    """Data that is refused; ``findings`` holds everything that was found, warnings too."""

    def __init__(self, subject: str, findings: Sequence[Finding]) -> None:
        super().__init__(subject, tuple(findings))
        self.subject = subject
        self.findings = tuple(findings)

    def __str__(self) -> str:
        errors = [f for f in self.findings if f.severity is Severity.ERROR]
        shown = "; ".join(f"{f.message} at {f.path or '/'}" for f in errors[:5])
        more = len(errors) - 5
        return f"{self.subject}: {shown}" + (f"; and {more} more" if more > 0 else "")
