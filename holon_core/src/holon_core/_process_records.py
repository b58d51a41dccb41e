"""What the runner is asked for and what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attrs import field, frozen
from attrs.validators import and_, ge, le

from holon_core._process_capture import Captured
from holon_core.errors import Misuse
from holon_core.records.words import Word

if TYPE_CHECKING:
    from collections.abc import Mapping


class ProcessCause(Word):
    """Why a process is not running any more, or never was."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUTPUT_LIMIT = "output_limit"
    SIGNALLED = "signalled"
    SPAWN_FAILED = "spawn_failed"
    EXIT_STATUS_LOST = "exit_status_lost"


@frozen(kw_only=True)
class ProcessLimits:
    """The bounds under which a process ran; without environment, input or arguments."""

    timeout_s: float
    max_stdout_bytes: int
    max_stderr_bytes: int
    grace_s: float
    at_stdout_limit: Literal["fail", "cut"]


def _absolute(_: object, attribute: Any, value: Any) -> None:
    path = value[0] if attribute.name == "argv" and value else value
    if not path or not Path(path).is_absolute():
        raise Misuse(f"{attribute.name} starts with {path!r}; resolve it to an absolute path first")


@frozen(kw_only=True)
class ProcessSpec:
    """One process to start: never through a shell, never found by searching.

    ``argv[0]`` and ``cwd`` are absolute. ``env`` is added to the allowed part of this process's
    environment. ``stdin`` is at its end at once unless given. A ``timeout_s`` of 0 starts
    nothing. Past ``max_stdout_bytes`` the process is ended: a failure, or with
    ``at_stdout_limit="cut"`` the wanted end of a reader that has enough. Of stderr the first
    and last halves of ``max_stderr_bytes`` are kept, however much comes. ``grace_s`` lies
    between the request to end (SIGTERM) and SIGKILL.
    """

    argv: tuple[str, ...] = field(validator=_absolute, repr=lambda argv: f"({argv[0]!r}, …)")
    cwd: Path = field(validator=_absolute)
    env: Mapping[str, str] = field(factory=dict, repr=False)
    stdin: bytes | None = field(default=None, repr=False)
    timeout_s: float = field(validator=and_(ge(0), le(86_400)))
    max_stdout_bytes: int = field(validator=ge(0))
    max_stderr_bytes: int = field(validator=ge(0))
    at_stdout_limit: Literal["fail", "cut"] = "fail"
    grace_s: float = field(default=0.5, validator=and_(ge(0), le(60)))

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


@frozen(kw_only=True)
class ProcessOutcome:
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
