"""How the tools of this lane refuse: one exception inside, one outcome outside."""

from __future__ import annotations

import errno
import os
from typing import Any

from attrs import evolve

from holon_core.errors import FAILURES
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.outcome import ExecutorFailure, ExecutorOutcome, ExecutorStatus
from holon_core.records.words import Status

_SHOWN = 1000
# What the operating system says while a path is followed or a file is read.
_ERRNO_CODES = {
    "ENOENT": "path_not_found",
    "EACCES": "permission_denied",
    "EPERM": "permission_denied",
    "ENOTDIR": "not_a_directory",
    "EISDIR": "is_a_directory",
    "ENXIO": "not_regular_file",
    "ENAMETOOLONG": "path_invalid",
    "EILSEQ": "path_invalid",
    "EINVAL": "path_invalid",
}


class Refused(Exception):
    """A tool cannot or may not do what it was asked; carries the failure."""

    def __init__(self, problem: StructuredFailure) -> None:
        super().__init__(problem.code)
        self.problem = problem


def refuse(code: str, message: str | None = None, /, **details: Any) -> Refused:
    """Make the refusal of one row of the failure table; the caller raises it."""
    return Refused(failure(code, message, **details))


def naming(refusal: Refused, asked: str) -> Refused:
    """Return a refusal with the asked path in its details."""
    problem = refusal.problem
    return Refused(evolve(problem, details={"path": asked[:_SHOWN], **problem.details}))


def refused_by_system(error: OSError, asked: str) -> Refused:
    """Make the refusal of an operating system's error; it never names a path but the asked one."""
    name = errno.errorcode.get(error.errno or 0, "")
    text = os.strerror(error.errno) if error.errno else "the system refuses it"
    code = _ERRNO_CODES.get(name, "tool_failed")
    message = f"{FAILURES[code][2]} ({text})" if code == "tool_failed" else None
    return refuse(code, message, path=asked[:_SHOWN], system=name)


def outcome_of(problem: StructuredFailure) -> ExecutorOutcome:
    """Answer with a failure: blocked or failed as its row says; blocked means nothing was done."""
    blocked = FAILURES[problem.code][1] is Status.BLOCKED
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        started=not blocked,
    )
