"""What operations with effects leave in evidence: who asked for which, and what became of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.errors import HolonError, Refused, StoreError
from holon_core.guard.evidence import RUNTIME_CHAIN
from holon_core.ids import new_id
from holon_core.operations.faults import ProblemStatus, problem_of
from holon_core.records.failure import failure
from holon_core.records.words import READ_ONLY
from holon_core.store.evidence_tables import NotOpen, OpenCall

if TYPE_CHECKING:
    from holon_core.guard.evidence import Draft
    from holon_core.operations.door import Door
    from holon_core.records.operation import Operation

KIND = "operation"
PARAMS_DOMAIN = "holon-operation-parameters/1"
# Governed calls and decisions about them: what they record themselves says all of it.
OWN_TRAIL = frozenset(
    {
        "runtime-tool/call",
        "runtime-tool/dry-run",
        "runtime-tool/release",
        "execution-approval/request",
        "execution-approval/approve",
        "execution-approval/deny",
        "execution-approval/edit",
        "execution-approval/grant",
        "execution-approval/revoke",
        "structured-output/validate",
    }
)


def leaves_trail(operation: Operation) -> bool:
    """Tell whether an operation is recorded here: by its effects, unless it records itself."""
    return not operation.effects <= READ_ONLY and operation.method not in OWN_TRAIL


@contextmanager
def trail(door: Door, operation: Operation) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Record an operation: refused, or that it begins and then how it ended.

    Yields:
        What is called with the parameters before anything is done; where it raises, nothing may
        be done.

    Raises:
        StoreError: It cannot be recorded, so it was not begun.
        Refused: ``evidence_not_closed``: it was done, and its end could not be recorded.
    """
    made = _Trail(door, operation)
    try:
        yield made.begin
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


class _Trail:
    """The records of one operation, under an id of its own."""

    def __init__(self, door: Door, operation: Operation) -> None:
        self._door, self._operation = door, operation
        self._guard = door.runtime._guard
        self._id = new_id("o")
        self._open: OpenCall | None = None

    def begin(self, params: Mapping[str, Any]) -> None:
        """Record that it is about to be done, and with what, as a digest."""
        from holon_core.wire.canonical import digest

        unread = self._operation.unread
        read = {name: value for name, value in params.items() if name not in unread}
        fields = {"params_sha256": quote(digest(read, domain=PARAMS_DOMAIN))}
        draft, guard = self._draft("accepted", fields), self._guard
        seq = guard.store.transact(
            lambda tables: draft.append(tables, opens=guard.runtime_id), full=True
        )
        self._open = OpenCall(self._id, draft.chain, seq, guard.runtime_id)
        guard.pump.notify()

    def end(self, outcome: str, code: str | None = None) -> None:
        """Record how it ended; what a closing runtime marked as interrupted stays that."""
        draft = self._draft(outcome, {} if code is None else {"code": quote(code)})
        with contextlib.suppress(NotOpen):
            self._guard.store.transact(lambda tables: draft.append(tables, closes=self._open))
        self._guard.pump.notify()

    def _draft(self, outcome: str, fields: dict[str, str]) -> Draft:
        recorder, operation = self._guard.recorder, self._operation
        effects = ",".join(sorted(quote(each.value) for each in operation.effects))
        fields = {
            **fields,
            "caller": recorder.caller(self._door.caller),
            "host": recorder.host_fragment(),
            "operation": f'{{"authority":{quote(operation.authority.value)},'
            f'"effects":[{effects}],"method":{quote(operation.method)}}}',
            "outcome": quote(outcome),
        }
        return recorder.draft(self._chain(), self._id, KIND, fields)

    def _chain(self) -> str:
        caller = self._door.caller
        if caller.workspace is None:
            return RUNTIME_CHAIN
        found = self._guard.workspaces.usable(caller.workspace, caller.principal)
        return RUNTIME_CHAIN if found is None else found.id
