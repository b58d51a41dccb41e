"""The envelope ``elegy.cli/v1``: one JSON object on standard output for every answer."""

from __future__ import annotations

import json
import struct
from typing import Any

SCHEMA_VERSION = "elegy.cli/v1"


class Envelope:
    """What is the same for every answer of one run."""

    def __init__(self, command: str, *, correlation_id: str, non_interactive: bool) -> None:
        self._head: dict[str, Any] = {
            "schemaVersion": SCHEMA_VERSION,
            "correlationId": correlation_id,
            "command": [command],
        }
        self._non_interactive = non_interactive

    def answer(self, data: Any, *, status: str = "ok") -> str:
        """Return the text of an answer."""
        return self._text(status, {"data": data})

    def fault(self, fault: Any) -> str:
        """Return the text of a failure."""
        failure = {
            "code": fault.code,
            "category": fault.category,
            "message": str(fault),
            "retryable": False,
            "details": None,
            "cause": None,
        }
        return self._text(fault.status, {"failure": failure})

    def _text(self, status: str, rest: dict[str, Any]) -> str:
        whole = {**self._head, "status": status}
        if self._non_interactive:
            whole["nonInteractive"] = True
        return json.dumps({**whole, **rest}, indent=2, ensure_ascii=False, allow_nan=False)


def single(number: float) -> float:
    """Return a number as it is after being kept in 32 bits; so envelopes show it."""
    value: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return value
