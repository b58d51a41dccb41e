"""How calls of this lane fail: codes of its own beside those of the core, one table."""

from __future__ import annotations

from typing import Any

from holon_core.errors import FAILURES, StructuredFailureKind
from holon_core.records.outcome import ExecutorFailure, ExecutorOutcome, ExecutorStatus
from holon_core.records.words import Status

K = StructuredFailureKind
# code: (kind, meaning). The manual's table of the lane has the same rows.
CODES: dict[str, tuple[StructuredFailureKind, str]] = {
    "address_refused": (K.POLICY_DENIED, "the host's address is not one that the binding allows"),
    "redirect_refused": (K.POLICY_DENIED, "the server sends elsewhere than the call may go"),
    "host_unknown": (K.TOOL_FAILED, "the host has no address"),
    "connection_failed": (K.TOOL_FAILED, "no connection, or it broke"),
    "tls_failed": (K.TOOL_FAILED, "the server's certificate does not verify"),
    "http_protocol": (K.TOOL_FAILED, "the server breaks HTTP"),
    "http_client_error": (K.TOOL_FAILED, "the API refused the request"),
    "http_server_error": (K.TOOL_FAILED, "the API failed"),
    "http_status": (K.INVALID_OUTPUT, "a status that is not documented"),
    "content_type": (K.INVALID_OUTPUT, "content of a type that is not documented"),
    "content_encoding": (K.INVALID_OUTPUT, "content that cannot be decoded"),
    "secret_echoed": (K.INVALID_OUTPUT, "the answer holds a secret of the call"),
}


class CallFailed(Exception):
    """A call that ends here. ``started`` is false where nothing was sent."""

    def __init__(
        self, code: str, message: str | None = None, /, *, started: bool = True, **details: Any
    ) -> None:
        super().__init__(code)
        self.code, self.started, self.details = code, started, details
        self.message = message or _meaning(code)

    def outcome(self) -> ExecutorOutcome:
        """Return it as the answer of an executor."""
        kind = CODES[self.code][0] if self.code in CODES else FAILURES[self.code][0]
        problem = ExecutorFailure(
            kind=kind, code=self.code, message=self.message, details=self.details
        )
        blocks = kind is K.POLICY_DENIED
        if self.code in FAILURES:
            blocks = FAILURES[self.code][1] is Status.BLOCKED
        blocked = blocks and not self.started
        status = ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED
        return ExecutorOutcome(status=status, failure=problem, started=self.started)


def _meaning(code: str) -> str:
    return CODES[code][1] if code in CODES else FAILURES[code][2]
