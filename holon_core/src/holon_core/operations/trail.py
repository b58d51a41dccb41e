"""What operations with effects leave in evidence: who asked for which, and what became of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.errors import HolonError, Refused, StoreError
from holon_core.guard.evidence import RUNTIME_CHAIN
from holon_core.ids import new_id
from holon_core.operations.faults import ProblemStatus, problem_of
from holon_core.records.failure import failure
from holon_core.records.words import READ_ONLY
from holon_core.store.chains import NotOpen, OpenCall

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.guard.policy import PolicyOutcome
    from holon_core.records.approval import ApprovalRecord
    from holon_core.records.caller import CallerContext
    from holon_core.records.operation import Operation
    from holon_core.store.chains import Draft

KIND = "operation"
PARAMS_DOMAIN = "holon-operation-parameters/1"
# Governed calls and decisions about them: what they record themselves says all of it.
CALLS = frozenset(
    {
        "runtime-tool/call",
        "runtime-tool/dry-run",
        "runtime-tool/release",
        "execution-approval/request",
    }
)
DECISIONS = frozenset(
    {
        "execution-approval/approve",
        "execution-approval/deny",
        "execution-approval/edit",
        "execution-approval/grant",
        "execution-approval/revoke",
    }
)
# What these do themselves leaves records that say all of it.
OWN_TRAIL = CALLS | DECISIONS | {"structured-output/validate", "structured-output/hand-over"}


def leaves_trail(operation: Operation) -> bool:
    """Tell whether an operation is recorded here: by its effects, unless it records itself."""
    return not operation.effects <= READ_ONLY and operation.method not in OWN_TRAIL


@contextmanager
def trail(
    guard: Guard, operation: Operation, caller: CallerContext, *, call_id: str | None = None
) -> Iterator[Trail]:
    """Record an operation: refused, or that it begins and then how it ended.

    Args:
        guard: The parts.
        operation: The row.
        caller: Who asks it.
        call_id: That of a held one that is released.

    Yields:
        What records with which verdict, and on whose word, it begins.

    Raises:
        Refused: ``evidence_not_closed``: it was done, and its end could not be recorded.
    """
    made = Trail(guard, operation, caller, call_id or new_id("o"))
    try:
        yield made
    except BaseException as error:
        # What it failed with is the answer, also where the store fails as well.
        with contextlib.suppress(StoreError):
            made.end(*_outcome(error))
        raise
    try:
        made.end("completed")
    except StoreError as error:
        details = {"method": operation.method, "started": True, "store": error.code}
        raise Refused(failure("evidence_not_closed", **details)) from error


def _outcome(error: BaseException) -> tuple[str, str]:
    """Say how an operation ended and by which code; no text, which may hold what was given."""
    if not isinstance(error, HolonError):
        return "failed", type(error).__name__
    problem = problem_of(error)
    code = problem.body["failure"]["code"] if "failure" in problem.body else problem.status.value
    refused = problem.status is not ProblemStatus.FAILED
    return "refused" if refused else "failed", str(code)


class Trail:
    """The records of one operation, under an id of its own.

    Args:
        guard: The parts.
        operation: The row.
        caller: Who asks it.
        call_id: Of the operation, as that of a call.
    """

    def __init__(
        self, guard: Guard, operation: Operation, caller: CallerContext, call_id: str
    ) -> None:
        self.id = call_id
        self.chain = _chain_of(guard, caller)
        # What policy said, and whose approval was used.
        self.policy: PolicyOutcome | None = None
        self.approval: ApprovalRecord | None = None
        # Its own work records it, so that only a refusal by policy is recorded here.
        self.quiet = operation.method in OWN_TRAIL
        self._guard, self._operation, self._caller = guard, operation, caller
        self._open: OpenCall | None = None

    def accepted(self, params: Mapping[str, Any]) -> Draft:
        """Return the record that it is about to be done, and with what, as a digest."""
        from holon_core.wire.canonical import digest

        unread = self._operation.unread
        read = {name: value for name, value in params.items() if name not in unread}
        return self._draft("accepted", {"params_sha256": quote(digest(read, domain=PARAMS_DOMAIN))})

    def begun(self, seq: int) -> None:
        """Know the position of the record that it is about to be done."""
        self._open = OpenCall(self.id, self.chain, seq, self._guard.runtime_id)

    def end(self, outcome: str, code: str | None = None) -> None:
        """Record how it ended; what a closing runtime marked as interrupted stays that."""
        if self.quiet:
            return
        draft = self._draft(outcome, {} if code is None else {"code": quote(code)})
        with contextlib.suppress(NotOpen):
            self._guard.store.append(draft, closes=self._open)
        self._guard.pump.notify()

    def _draft(self, outcome: str, fields: dict[str, str]) -> Draft:
        recorder, operation = self._guard.recorder, self._operation
        effects = ",".join(sorted(quote(each.value) for each in operation.effects))
        fields = {
            **fields,
            "caller": recorder.caller(self._caller),
            "host": recorder.host_fragment(),
            "operation": f'{{"authority":{quote(operation.authority.value)},'
            f'"effects":[{effects}],"method":{quote(operation.method)}}}',
            "outcome": quote(outcome),
        }
        if self.policy is not None:
            said = {"decision": self.policy.decision.value, "rule": self.policy.rule}
            fields["policy"] = recorder.safe_json(said)
        if self.approval is not None:
            fields["approval"] = quote(self.approval.id)
            fields["self_approved"] = "true" if self.approval.self_approved else "false"
        return recorder.draft(self.chain, self.id, KIND, fields)


def _chain_of(guard: Guard, caller: CallerContext) -> str:
    if caller.workspace is None:
        return RUNTIME_CHAIN
    found = guard.workspaces.usable(caller.workspace, caller.principal)
    return RUNTIME_CHAIN if found is None else found.id
