"""Which formats are asserted, and which are annotations whatever an engine knows."""

from __future__ import annotations

ASSERTED = frozenset(
    {
        "date",
        "date-time",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "regex",
        "time",
        "uri",
        "uuid",
    }
)

# What an engine knows besides, and is told to leave alone.
UNASSERTED = (
    "duration",
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "json-pointer",
    "relative-json-pointer",
    "uri-reference",
    "uri-template",
)
