"""What registration, import or validation has to say about its subject."""

from collections.abc import Iterable

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.words import Severity
from holon_core.visible import escape_controls


@frozen(kw_only=True, eq=False, repr=False)
class Finding(Record):
    """One thing found wrong, or worth knowing, about a candidate.

    ``path`` is a JSON pointer (RFC 6901) into the candidate; empty for the whole of it.
    ``code`` is a word of the failure table.
    """

    code: str
    message: str = field(converter=escape_controls)
    path: str = ""
    severity: Severity = Severity.ERROR


def has_errors(findings: Iterable[Finding]) -> bool:
    """Tell whether any finding keeps its subject out."""
    return any(finding.severity is Severity.ERROR for finding in findings)
