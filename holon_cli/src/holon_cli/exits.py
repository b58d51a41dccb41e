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


def of_status(status: str) -> Exit:
    """Return the exit code of a result's or a problem's status."""
    return _BY_STATUS[status]


_BY_RUN = {"completed": Exit.COMPLETED, "failed": Exit.FAILED, "cancelled": Exit.FAILED}


def of_run(state: str) -> Exit:
    """Return the exit code of a workflow's run: what has not ended waits for something."""
    return _BY_RUN.get(state, Exit.BLOCKED)


def of_answer(method: str, answer: Mapping[str, Any]) -> Exit:
    """Return the exit code of an operation's answer."""
    status = answer.get("status")
    if isinstance(status, str) and status in _BY_STATUS:
        return of_status(status)
    if method in ("workflow-run/ready-run", "workflow-run/resume"):
        return of_run(answer["state"])
    if method == "workflow-definition/validate":
        return Exit.COMPLETED if answer["valid"] else Exit.REJECTED
    if method == "evidence/verify":
        sound = answer["consistent"] and answer["matches_head"] is not False
        return Exit.COMPLETED if sound else Exit.FAILED
    if method == "execution-approval/wait":
        return Exit.COMPLETED if answer["state"] in _GIVEN else Exit.BLOCKED
    return Exit.COMPLETED
