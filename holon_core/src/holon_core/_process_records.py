"""What the runner is asked for and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen
from attrs.validators import and_, ge, le

from holon_core._process_capture import Captured
from holon_core.errors import Misuse
from holon_core.records.base import Record
from holon_core.records.words import Word


class ProcessCause(Word):
    """Why a process is not running any more, or never was."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUTPUT_LIMIT = "output_limit"
    SIGNALLED = "signalled"
    SPAWN_FAILED = "spawn_failed"
    EXIT_STATUS_LOST = "exit_status_lost"


@frozen(kw_only=True, eq=False, repr=False)
class ProcessLimits(Record):
    """The bounds under which a process ran; without environment, input or arguments."""

    timeout_s: float
    max_stdout_bytes: int
    max_stderr_bytes: int
    grace_s: float
    at_stdout_limit: Literal["fail", "cut"]


def _arguments(_: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, (tuple, list)) or not all(isinstance(each, str) for each in value):
        raise Misuse("argv is the program's absolute path and its arguments: a tuple of texts")
    if not value or not Path(value[0]).is_absolute():
        first = value[0] if value else ""
        raise Misuse(f"argv starts with {first!r}; resolve it to an absolute path first")


def _folder(_: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, (str, Path)) or not Path(value).is_absolute():
        raise Misuse(f"cwd is {value!r}; resolve it to an absolute path first")


def _variables(_: object, attribute: Any, value: Any) -> None:
    pairs = value.items() if isinstance(value, Mapping) else ((value, None),)
    if not all(isinstance(each, str) for pair in pairs for each in pair):
        raise Misuse("env maps names of variables to values, both texts")


def _bytes(_: object, attribute: Any, value: Any) -> None:
    if value is not None and not isinstance(value, (bytes, bytearray, memoryview)):
        raise Misuse(f"stdin is bytes, not {type(value).__name__}")


def _number(_: object, attribute: Any, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Misuse(f"{attribute.name} is a number")


def _count(_: object, attribute: Any, value: Any) -> None:
    if type(value) is not int or value < 0:
        raise Misuse(f"{attribute.name} is a whole number of bytes, 0 or more")


@frozen(kw_only=True, eq=False, repr=False)
class ProcessSpec(Record):
    """One process to start: never through a shell, never found by searching.

    ``argv[0]`` and ``cwd`` are absolute. ``env`` is added to the allowed part of this process's
    environment. ``stdin`` is at its end at once unless given. A ``timeout_s`` of 0 starts
    nothing. Past ``max_stdout_bytes`` the process is ended: a failure, or with
    ``at_stdout_limit="cut"`` the wanted end of a reader that has enough. Of stderr the first
    and last halves of ``max_stderr_bytes`` are kept, however much comes. ``grace_s`` lies
    between the request to end (SIGTERM) and SIGKILL. ``stdin_fd`` is an open file that
    the program gets as its standard input, in place of ``stdin``.
    """

    argv: tuple[str, ...] = field(validator=_arguments, repr=lambda argv: f"({argv[0]!r}, …)")
    cwd: Path = field(validator=_folder)
    env: Mapping[str, str] = field(factory=dict, repr=False, validator=_variables)
    stdin: bytes | None = field(default=None, repr=False, validator=_bytes)
    timeout_s: float = field(validator=and_(_number, ge(0), le(86_400)))
    max_stdout_bytes: int = field(validator=_count)
    max_stderr_bytes: int = field(validator=_count)
    at_stdout_limit: Literal["fail", "cut"] = "fail"
    grace_s: float = field(default=0.5, validator=and_(_number, ge(0), le(60)))
    stdin_fd: int | None = None

    @property
    def limits(self) -> ProcessLimits:
        """The bounds alone."""
        return ProcessLimits(
            timeout_s=self.timeout_s,
            max_stdout_bytes=self.max_stdout_bytes,
            max_stderr_bytes=self.max_stderr_bytes,
            grace_s=self.grace_s,
            at_stdout_limit=self.at_stdout_limit,
        )


@frozen(kw_only=True, eq=False, repr=False)
class ProcessOutcome(Record):
    """How a process ended and what it said.

    ``exit_code`` or ``signal`` (a name, as SIGSEGV) is how the program itself ended; both are
    None where it never started or its status was lost. ``stopped_by`` is the signal with which
    the runner ended it. ``descendants_killed`` counts processes that it left behind or that
    were stopped with it; ``descendant_may_survive`` says that it can't be excluded that others
    go on. ``reason`` is the operating system's, for a process that never started.
    """

    cause: ProcessCause
    limits: ProcessLimits
    exit_code: int | None = None
    signal: str | None = None
    stopped_by: str | None = None
    duration_s: float = 0.0
    stdout: Captured = field(factory=Captured)
    stderr: Captured = field(factory=Captured)
    descendants_killed: int = 0
    descendant_may_survive: bool = False
    reason: str | None = None
