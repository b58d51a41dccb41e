"""Exit codes of the command, and which answer gives which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """What a shell sees (design, section 8)."""

    COMPLETED = 0
    FAILED = 1
    USAGE = 2
    BLOCKED = 3
    REJECTED = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141


_BY_STATUS = {
    "completed": Exit.COMPLETED,
    "failed": Exit.FAILED,
    "misused": Exit.USAGE,
    "blocked": Exit.BLOCKED,
    "rejected": Exit.REJECTED,
}
_GIVEN = ("approved", "consumed")
# What the result of a call has and no other answer.
RESULT = frozenset({"call_id", "evidence_refs", "replayed_from", "status"})


def of_status(status: str) -> Exit:
    """Return the exit code of a result's or a problem's status."""
    return _BY_STATUS[status]


_BY_RUN = {"completed": Exit.COMPLETED, "failed": Exit.FAILED, "cancelled": Exit.FAILED}


def of_run(state: str) -> Exit:
    """Return the exit code of a workflow's run: what has not ended waits for something."""
    return _BY_RUN.get(state, Exit.BLOCKED)


def result_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result of the call that an answer is about, where there is one; else it itself."""
    result = answer.get("result")
    return result if isinstance(result, Mapping) and result.keys() >= RESULT else answer


def _of_validation(answer: Mapping[str, Any]) -> Exit:
    """Return the exit code of a judgement: of a document, or of a tool by its fixtures."""
    if not answer.get("valid", True) or not answer.get("usable", True):
        return Exit.REJECTED
    run = answer.get("validation")
    return Exit.COMPLETED if run is None or run["passed"] else Exit.FAILED


def of_answer(method: str, answer: Mapping[str, Any]) -> Exit:
    """Return the exit code of an operation's answer."""
    result = result_of(answer)
    if result is not answer:
        return of_answer(method, result)
    status = answer.get("status")
    if isinstance(status, str) and status in _BY_STATUS:
        return of_status(status)
    if method in ("workflow-run/ready-run", "workflow-run/resume"):
        return of_run(answer["state"])
    if method.endswith("/validate"):
        return _of_validation(answer)
    if method == "frozen-tool-proposal/revalidate":
        blocked = any(each["state"] == "blocked" for each in answer["proposals"])
        return Exit.FAILED if blocked else Exit.COMPLETED
    if method == "script-artifact/test":
        return Exit.COMPLETED if answer["passed"] else Exit.FAILED
    if method == "evidence/verify":
        sound = answer["consistent"] and answer["matches_head"] is not False
        return Exit.COMPLETED if sound else Exit.FAILED
    if method == "execution-approval/wait":
        return Exit.COMPLETED if answer["state"] in _GIVEN else Exit.BLOCKED
    return Exit.COMPLETED
