"""The bounded runner: the one place that starts processes, and sees to it that they end."""

from __future__ import annotations

import _thread
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from holon_core._process_capture import Capture, Captured
from holon_core._process_io import STDERR, ChildIO, PollIO, ThreadIO
from holon_core._process_launch import (
    child_environment,
    refuse_batch_file,
    resolve_program,
    spawn_reason,
)
from holon_core._process_records import (
    ProcessCause,
    ProcessLimits,
    ProcessOutcome,
    ProcessSpec,
)
from holon_core._process_tree import CALL_ID, LEADERS, SIGKILL, SIGTERM, Family, signal_group

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from holon_core.cancel import CancelToken

__all__ = [
    "Captured",
    "ProcessCause",
    "ProcessLimits",
    "ProcessOutcome",
    "ProcessSpec",
    "resolve_program",
    "run",
]

PIPE_GRACE_S = 0.1
_GONE_S = 2.0
_WATCH_S = 0.01
# More than any pipe holds: what was written before the end is read, however busy the machine.
_LAST_READS = 64
_IO: type[ChildIO] = ThreadIO if os.name == "nt" else PollIO
# On Windows: CREATE_NEW_PROCESS_GROUP and CREATE_NO_WINDOW.
_OWN_GROUP: dict[str, Any] = (
    {"creationflags": 0x0800_0200} if os.name == "nt" else {"start_new_session": True}
)


def run(
    spec: ProcessSpec,
    *,
    cancel: CancelToken | None = None,
    on_stdout: Callable[[bytes], None] | None = None,
) -> ProcessOutcome:
    """Run one process to its end, within its limits, and leave nothing of it behind.

    Blocks; may be called from any thread, and from many at once. An exception in this thread
    (KeyboardInterrupt, or one of ``on_stdout``) ends the process group before it goes on.

    Args:
        spec: What to start and its bounds.
        cancel: Ends the process when cancelled; nothing is started where it already is.
        on_stdout: Given each piece of stdout within the limit as it comes, in this thread,
            until the process is stopped.

    Returns:
        An outcome, for every way in which a process can end or fail to start. It comes at most
        ``timeout_s + grace_s`` and a moment after the start, whoever holds the pipes.
    """
    if cancel is not None and cancel.cancelled:
        return ProcessOutcome(cause=ProcessCause.CANCELLED, limits=spec.limits)
    if spec.timeout_s == 0:
        return ProcessOutcome(cause=ProcessCause.TIMEOUT, limits=spec.limits)
    job = _Job(spec, cancel, on_stdout)
    try:
        reason = job.start()
        if reason is not None:
            return ProcessOutcome(
                cause=ProcessCause.SPAWN_FAILED, limits=spec.limits, reason=reason
            )
        return job.supervise()
    finally:
        job.close()


class _Job:
    """One run: its process, its streams and its descendants."""

    def __init__(
        self,
        spec: ProcessSpec,
        cancel: CancelToken | None,
        on_stdout: Callable[[bytes], None] | None,
    ) -> None:
        half = spec.max_stderr_bytes // 2
        self._spec, self._cancel, self._on_stdout = spec, cancel, on_stdout
        self._began = time.monotonic()
        self._stdout = Capture(head_max=spec.max_stdout_bytes)
        self._stderr = Capture(head_max=spec.max_stderr_bytes - half, tail_max=half)
        self._io = _IO()
        self._popen: subprocess.Popen[bytes] | None = None
        self._attached = self._ended = False
        self._claim, self._launched = threading.Lock(), threading.Lock()
        self._launched.acquire()
        self._error: BaseException | None = None
        self._stopped_by: str | None = None
        self._may_survive = False

    def start(self) -> str | None:
        """Start the process; returns why that failed."""
        # Signal handlers run in the main thread alone. One that raises there just after the
        # fork, before the child's number is noted, would lose the child.
        if threading.current_thread() is threading.main_thread():
            _thread.start_new_thread(self._try_launch, ())
            self._await_launch()
        else:
            self._try_launch()
        if isinstance(self._error, (OSError, ValueError)):
            return spawn_reason(self._error, self._spec.argv[0], self._spec.cwd)
        if self._error is not None:
            raise self._error
        return None

    def _await_launch(self) -> None:
        with self._launched:
            pass

    def _try_launch(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._launch()
        except BaseException as error:
            self._error = error
        finally:
            self._launched.release()

    def _launch(self) -> None:
        import subprocess

        spec, io = self._spec, self._io
        refuse_batch_file(spec.argv[0])
        io.open(stdin=spec.stdin is not None, cancel=self._cancel)
        stdin, stdout, stderr = io.child_ends
        env = child_environment(spec.env)
        with LEADERS.lock:
            self._popen = subprocess.Popen(
                spec.argv,
                cwd=spec.cwd,
                env=env,
                stdin=stdin if stdin is not None else spec.stdin_fd or subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                close_fds=True,
                **_OWN_GROUP,
            )
            self._family = Family(self._popen.pid, spec.env.get(CALL_ID))
            LEADERS.pids.add(self._popen.pid)
        io.attach(self._popen.pid, spec.stdin or b"", self._popen.wait)
        self._attached = True

    def supervise(self) -> ProcessOutcome:
        """Follow the process to its end, then end what it left behind."""
        cause = self._watch()
        if cause is not ProcessCause.EXITED:
            self._stop()
        if self._io.exited:
            self._drain()
        self._end()
        return self._outcome(cause)

    def close(self) -> None:
        """End a process that an exception left running, and let go of everything."""
        if not self._claim.acquire(blocking=False):
            self._await_launch()
        try:
            if self._running and self._attached:
                self._stop()
        finally:
            if self._running:
                self._end() if self._attached else self._abandon()
            self._io.close()

    @property
    def _running(self) -> bool:
        return self._popen is not None and not self._ended

    def _abandon(self) -> None:
        """End a process that was started and could not be followed."""
        if self._popen is not None:
            signal_group(self._popen.pid, SIGKILL)
            self._popen.kill()
            self._popen.wait()
            LEADERS.pids.discard(self._popen.pid)

    def _watch(self) -> ProcessCause:
        deadline = self._began + self._spec.timeout_s
        while not self._io.exited:
            if self._stdout.over:
                return ProcessCause.OUTPUT_LIMIT
            if self._cancel is not None and self._cancel.cancelled:
                return ProcessCause.CANCELLED
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return ProcessCause.TIMEOUT
            self._pump(left_s)
        return ProcessCause.EXITED

    def _stop(self) -> None:
        """Ask everybody to end, and give them the grace for it."""
        self._on_stdout = None
        self._stopped_by = SIGTERM.name
        self._family.signal(SIGTERM)
        until = time.monotonic() + self._spec.grace_s
        while (left_s := until - time.monotonic()) > 0:
            if self._io.exited and not self._family.living():
                return
            self._pump(min(left_s, _WATCH_S) if self._io.exited else left_s)

    def _end(self) -> None:
        """Kill what is left while the zombie keeps the group's number taken, then reap it."""
        forced = self._stopped_by is not None or self._io.held
        # Counted before they die; a clean end costs no look at every process.
        looked = (forced or not self._family.quiet()) and self._family.living()
        if not self._io.exited:
            self._stopped_by = SIGKILL.name
        signal_group(self._family.leader, SIGKILL)
        self._await_exit()
        gone = self._family.end(within_s=_GONE_S) if looked else self._io.exited
        self._drain()
        self._may_survive = not gone or self._io.held or not self._family.excluded
        LEADERS.pids.discard(self._family.leader)
        if self._io.exited and self._popen is not None:
            self._io.reap()
            # Reaped without it: it would warn of a child that still runs.
            self._popen.returncode = 0
        self._family.reap()
        self._ended = True

    def _await_exit(self) -> None:
        until = time.monotonic() + _GONE_S
        while not self._io.exited and (left_s := until - time.monotonic()) > 0:
            self._pump(left_s)

    def _drain(self) -> None:
        """Read to the end of both streams, but wait for those who hold them a moment only."""
        until = time.monotonic() + PIPE_GRACE_S
        while self._io.held and (left_s := until - time.monotonic()) > 0:
            self._pump(left_s)
        for _ in range(_LAST_READS):
            if not self._io.held or not self._pump(0):
                return

    def _pump(self, timeout_s: float) -> bool:
        events = self._io.wait(timeout_s)
        for stream, data in events:
            if stream == STDERR:
                self._stderr.add(data)
            elif (kept := self._stdout.add(data)) and self._on_stdout is not None:
                self._on_stdout(kept)
        return bool(events)

    def _outcome(self, cause: ProcessCause) -> ProcessOutcome:
        code, number = self._io.status or (None, None)
        if cause is ProcessCause.EXITED:
            cause = self._judge()
        return ProcessOutcome(
            cause=cause,
            limits=self._spec.limits,
            exit_code=code,
            signal=None if number is None else _signal_name(number),
            stopped_by=self._stopped_by,
            duration_s=time.monotonic() - self._began,
            stdout=self._stdout.result(),
            stderr=self._stderr.result(),
            descendants_killed=len(self._family.seen),
            descendant_may_survive=self._may_survive,
        )

    def _judge(self) -> ProcessCause:
        if self._stdout.over:
            return ProcessCause.OUTPUT_LIMIT
        if self._io.status is None:
            return ProcessCause.EXIT_STATUS_LOST
        return ProcessCause.EXITED if self._io.status[1] is None else ProcessCause.SIGNALLED


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
