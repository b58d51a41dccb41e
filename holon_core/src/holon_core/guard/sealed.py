"""The sealed call: what an executor is entered with, minted by the guarded call alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from holon_core.errors import Misuse
from holon_core.guard.attempt import OPEN, Attempt
from holon_core.records.outcome import ExecutorEvidenceDraft

if TYPE_CHECKING:
    from holon_core.cancel import CancelToken
    from holon_core.guard.services import CallServices
    from holon_core.process import ProcessOutcome
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import Limits, RuntimeToolDescriptor
    from holon_core.records.words import Posture
    from holon_core.records.workspace import Workspace


class SealedCall:
    """One call that went through every step before execution.

    Only the guarded call makes one. It cannot be copied or pickled. Within one process that
    guards against mistakes, not against hostile Python. While a preview is made, and once the
    call has ended, it only tells what is called: all that does something raises ``Misuse``.
    """

    # Parameters of this type are filled in by the host and are no arguments of the tool.
    __holon_inject__ = True
    __slots__ = ("_attempt", "_drafts", "_secrets", "_services")

    _attempt: Attempt
    _services: CallServices
    _secrets: dict[str, str]
    _drafts: list[ExecutorEvidenceDraft]

    def __init__(self) -> None:
        raise Misuse("a sealed call is made by the guarded call; use session.call(…)")

    def __reduce__(self) -> NoReturn:
        raise Misuse("a sealed call cannot be copied or pickled")

    def __repr__(self) -> str:
        return f"<SealedCall {self.call_id} of {self.tool.id}>"

    def _open(self, what: str) -> Attempt:
        attempt = self._attempt
        if attempt.phase is not OPEN:
            raise Misuse(f"{what} works while the tool runs; this call {attempt.phase}")
        return attempt

    @property
    def call_id(self) -> str:
        """The id of this call; also in the environment of its processes, HOLON_CALL_ID."""
        return self._attempt.call_id

    @property
    def tool(self) -> RuntimeToolDescriptor:
        """The tool as it was resolved."""
        return self._attempt.entry.tool

    @property
    def arguments(self) -> dict[str, Any]:
        """The normalised arguments: what was approved, and nobody else's object."""
        return self._attempt.arguments

    @property
    def arguments_json(self) -> bytes:
        """The same arguments as canonical JSON (RFC 8785)."""
        return self._attempt.canonical

    @property
    def caller(self) -> CallerContext:
        """Who calls."""
        return self._attempt.caller

    @property
    def posture(self) -> Posture:
        """Under which authority this call runs."""
        return self._attempt.posture

    @property
    def idempotency_key(self) -> str | None:
        """The caller's key for this logical call; pass it on to what takes one."""
        return self._attempt.key

    @property
    def workspace(self) -> Workspace | None:
        """The workspace of the call."""
        return self._attempt.workspace

    @property
    def limits(self) -> Limits:
        """The limits in force for this call."""
        return self._attempt.limits

    @property
    def confined(self) -> bool:
        """Whether policy requires confinement: every program of this call then runs confined."""
        verdict = getattr(self._attempt, "verdict", None)
        return verdict is not None and verdict.confined

    @property
    def cancel(self) -> CancelToken:
        """Tells when the caller no longer wants the answer."""
        return self._attempt.cancel

    def secret(self, slot: str) -> str:
        """Return the value of one of the tool's secret slots; it never leaves the execution.

        Raises:
            Misuse: The tool declares no such slot, or it is not running.
        """
        self._open("secret()")
        try:
            return self._secrets[slot]
        except KeyError:
            raise Misuse(f"{self.tool.id} declares no secret slot {slot!r}") from None

    def holds_secret(self, text: str) -> bool:
        """Tell whether a text contains the value of a secret that this runtime knows.

        It knows what it fetched since it was opened; ``know_secrets`` fetches the rest.
        """
        return self._services.clean(text) != text

    def know_secrets(self) -> StructuredFailure | None:
        """Fetch every registered secret, so that ``holds_secret`` knows its value.

        For a tool that keeps what it is given in plain, before it does. Registered is what
        ``holon.toml`` binds and what any tool of the catalogue names. What has no value here is
        passed over.

        Returns:
            ``secret_unresolved`` where a provider fails: the tool can't tell, and keeps nothing.
            Else ``None``.

        Raises:
            Misuse: The tool is not running: a preview fetches nothing.
        """
        self._open("know_secrets()")
        knower = self._services.knower
        assert knower is not None, "set before a call is made"
        return knower()

    def request_approval(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Ask, for this caller, for an approval of another tool's call with exactly this payload.

        Args:
            tool: Id of a tool of the same source.
            arguments: What it would be called with.

        Returns:
            As ``Session.request_approval`` does. All that comes of it is a pending approval,
            or the one that is there already.

        Raises:
            Misuse: The tool is of another source, or this one is not running.
        """
        attempt = self._open("request_approval()")
        source = attempt.entry.tool.id.rpartition("/")[0]
        if tool.rpartition("/")[0] != source:
            raise Misuse(f"{attempt.entry.tool.id} may ask only for tools of {source}")
        requester = self._services.requester
        assert requester is not None, "set before a call is made"
        return requester(Attempt(tool, dict(arguments), attempt.caller, mode="request"))

    def progress(
        self, stage: str, done: int = 0, total: int | None = None, message: str = ""
    ) -> None:
        """Report how far the work is; cheap, and nothing where nobody listens.

        Args:
            stage: What is being done, up to 200 characters; secrets are taken out.
            done: How much of it, in units of the tool's own.
            total: How much there is; ``None`` where that is not known.
            message: For people, up to 500 characters; secrets are taken out.

        Raises:
            Misuse: ``done`` or ``total`` is no number, or the tool is not running.
        """
        self._open("progress()")
        self._services.report_progress(self.call_id, stage, done, total, message)

    def draft(self, source: str, data: Mapping[str, Any]) -> None:
        """Keep something as evidence of this call.

        Args:
            source: Under which name it is kept, apart from the host's own fields; redacted, and
                cut beyond 100 characters.
            data: JSON; redacted, and cut beyond 16 KiB. At most 100 drafts of a call are kept.

        Raises:
            Misuse: The tool is not running.
        """
        self._open("draft()")
        self._drafts.append(self._services.snapshot(source, data))
        # Of one that came while the call was being closed nobody knows whether it is kept.
        self._open("draft()")

    def artifact(self, data: bytes) -> str:
        """Store a file that the call made.

        Args:
            data: Up to 64 MiB.

        Returns:
            Its SHA-256 in hexadecimal, by which it is stored.

        Raises:
            Misuse: It is larger, or the tool is not running.
        """
        self._open("artifact()")
        return self._services.put_blob(data)

    def run_process(
        self,
        argv: tuple[str, ...],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout_s: float | None = None,
        max_stdout_bytes: int | None = None,
        cut_at_limit: bool = False,
        on_stdout: Callable[[bytes], None] | None = None,
        stdin_fd: int | None = None,
        confine: bool = False,
        reads: Sequence[Path] = (),
    ) -> ProcessOutcome:
        """Run a program under the bounds of this call; see ``holon_core.process``.

        Args:
            argv: Absolute program path and its arguments; never a shell.
            cwd: Working directory; the workspace's root where there is one.
            env: Additions to the allow-listed environment.
            stdin: Bytes for standard input; closed where none are given.
            timeout_s: At most the call's own limit, which is the default.
            max_stdout_bytes: At most the call's own limit, which is the default.
            cut_at_limit: End the program at the output limit without calling that a failure.
            on_stdout: Called with each piece of standard output as it is read.
            stdin_fd: An open file that the program gets as standard input, in place of ``stdin``.
            confine: Run it confined also where no policy requires that.
            reads: What it needs beside the system's own programs where it is confined, read-only:
                its folder, its interpreter's.

        Raises:
            Refusal: It has to be confined and can't be; let it pass, it says why the call is
                blocked.
            Misuse: The tool is not running. What runs when the call ends is ended with it.
        """
        mark = object()
        programs = self._open("run_process()").programs
        # Added before the last look at the phase: either this or who ends the call notices.
        programs.add(mark)
        try:
            self._open("run_process()")
            return self._services.run_process(
                self,
                argv,
                cwd=cwd,
                env=env or {},
                stdin=stdin,
                timeout_s=timeout_s,
                max_stdout_bytes=max_stdout_bytes,
                cut_at_limit=cut_at_limit,
                on_stdout=on_stdout,
                stdin_fd=stdin_fd,
                confine=confine or self.confined,
                reads=reads,
            )
        finally:
            programs.discard(mark)


def mint(attempt: Attempt, services: CallServices) -> SealedCall:
    """Make the sealed call of an attempt. Only the guard may call this."""
    call = object.__new__(SealedCall)
    call._attempt = attempt
    call._services = services
    call._secrets = {}
    # The list is the attempt's: a call that is cancelled and closed anew keeps its evidence.
    call._drafts = attempt.drafts
    return call
