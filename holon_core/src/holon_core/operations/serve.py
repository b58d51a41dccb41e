"""JSON-RPC over two byte streams: many requests at once, each answered once."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.cancel import CancelToken
from holon_core.errors import Refused
from holon_core.names import checked_caller, required_name
from holon_core.operations import jsonrpc
from holon_core.operations.dispatch import dispatch
from holon_core.operations.door import Door, granted
from holon_core.operations.jsonrpc import Fault, Message, Request
from holon_core.operations.lines import TooLong, nobody_reads, read_lines, write_all
from holon_core.operations.pool import Pool
from holon_core.operations.table import row_of
from holon_core.records.failure import failure
from holon_core.records.words import Authority
from holon_core.session import Session

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.records.caller import CallerContext
    from holon_core.records.progress import Progress
    from holon_core.runtime import Runtime

CANCEL = "$/cancelRequest"
PROGRESS = "$/progress"
# Threads that answer at once, and requests that may wait for one.
MAX_THREADS = 32
MAX_PENDING = 1024
# What waits for people has threads of its own, and takes none of those that others need.
WAITING = frozenset({"execution-approval/wait"})
MAX_WAITING = 8
# How long what was cancelled is waited for at the end, in seconds.
GRACE_S = 5.0
_WATCH_S = 0.2

Deliver = Callable[["Message | None"], None]


class _Job:
    """One request on its way: how to cancel it, its calls, and where its answer goes."""

    def __init__(self, request: Request, deliver: Deliver) -> None:
        self.request = request
        self.deliver = deliver
        self.token = CancelToken()
        self.calls: list[str] = []

    @property
    def key(self) -> str | None:
        return json.dumps(self.request.id) if self.request.answered else None


class Server:
    """Serves the operations of a runtime to one caller, who is fixed from the start.

    A bad line is answered and never ends it. Requests run at once in a bounded pool and are
    answered in the order in which they end. ``$/cancelRequest`` with an ``id`` cancels a request;
    a governed call then ends as cancelled and answers so; what had not begun answers -32800. A
    function of this process that does not look for cancellation runs to its end. ``$/progress``
    tells how far a call is.

    Args:
        runtime: An open runtime, which stays open.
        caller: Who asks.
        authorities: What it may do.
        approver: In whose name it decides approvals; by default in the caller's own.
    """

    def __init__(
        self,
        runtime: Runtime,
        caller: CallerContext,
        *,
        authorities: Iterable[Authority] = (Authority.CALLER,),
        approver: str | None = None,
    ) -> None:
        self._runtime = runtime
        self._caller = checked_caller(caller)
        if approver is not None:
            caller = evolve(caller, principal=required_name(approver, "approver"))
        self._approver = caller
        self._authorities = granted(authorities)
        self._pool = Pool(MAX_THREADS, name="holon-serve")
        self._waits = Pool(MAX_WAITING, name="holon-serve-wait")
        self._ends: SimpleQueue[str] = SimpleQueue()
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._jobs: set[_Job] = set()
        self._by_id: dict[str, _Job] = {}
        self._by_call: dict[str, _Job] = {}
        self._sink = -1
        self._at_end = False
        self._closed = False

    def run(self, source: int, sink: int) -> None:
        """Serve until the source ends, nobody reads the sink, or ``stop``.

        At the end of the source what runs is finished while somebody reads; else it is
        cancelled, as ``stop`` does, and waited for at most ``GRACE_S``.

        Args:
            source: Descriptor that requests are read from, one message a line.
            sink: Descriptor that answers are written to.
        """
        self._sink = sink
        services = self._runtime._guard.services
        before, services.progress = services.progress, self._progress
        reader = threading.Thread(
            target=self._read, args=(source,), name="holon-serve-reader", daemon=True
        )
        reader.start()
        try:
            if self._ends.get() == "eof":
                self._finish()
        finally:
            self._cancel_all()
            services.progress = before
            self._close()

    def stop(self) -> None:
        """End serving: cancel what runs. May be called from a signal handler."""
        self._ends.put("stop")

    def _finish(self) -> None:
        with self._lock:
            self._at_end = True
            if not self._jobs:
                return
        while not nobody_reads(self._sink):
            try:
                self._ends.get(timeout=_WATCH_S)
            except Empty:
                continue
            return

    def _cancel_all(self) -> None:
        with self._lock:
            self._at_end = True
            jobs = list(self._jobs)
        for job in jobs:
            job.token.cancel()
        deadline = time.monotonic() + GRACE_S
        while self._jobs and (left := deadline - time.monotonic()) > 0:
            try:
                self._ends.get(timeout=min(left, _WATCH_S))
            except Empty:
                continue

    def _close(self) -> None:
        # Whoever is in the middle of a line may end it, unless nobody reads.
        held = self._write_lock.acquire(timeout=_WATCH_S)
        self._closed = True
        if held:
            self._write_lock.release()
        self._pool.close()
        self._waits.close()

    def _read(self, source: int) -> None:
        for line in read_lines(source, jsonrpc.MAX_LINE_BYTES, stopped=lambda: self._closed):
            try:
                self._take(line)
            except Exception as error:
                self._report(error)
                self._send(jsonrpc.error_message(jsonrpc.fault_of(error, None)))
        self._ends.put("eof")

    def _take(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self._send(jsonrpc.error_message(jsonrpc.too_long()))
            return
        if not line.strip():
            return
        found = jsonrpc.read(line)
        deliver = self._collector(len(found.members)) if found.batch else self._send
        for each in found.members:
            if isinstance(each, Fault):
                deliver(jsonrpc.error_message(each))
            elif each.method == CANCEL:
                deliver(self._cancel(each))
            else:
                self._begin(each, deliver)

    def _collector(self, count: int) -> Deliver:
        """Gather the answers of a batch, and send them as one message when all are there."""
        lock, answers, left = threading.Lock(), [], [count]

        def deliver(message: Message | None) -> None:
            with lock:
                left[0] -= 1
                if message is not None:
                    answers.append(message)
                whole = left[0] == 0 and bool(answers)
            if whole:
                self._send(answers)

        return deliver

    def _begin(self, request: Request, deliver: Deliver) -> None:
        job = _Job(request, deliver)
        with self._lock:
            fault = self._refusal(job)
            if fault is None:
                self._jobs.add(job)
                if job.key is not None:
                    self._by_id[job.key] = job
        if fault is None:
            pool = self._waits if request.method in WAITING else self._pool
            pool.submit(lambda: self._answer(job))
        else:
            deliver(jsonrpc.error_message(fault) if request.answered else None)

    def _refusal(self, job: _Job) -> Fault | None:
        request_id = job.request.id
        if job.key in self._by_id:
            text = "a request with this id is still running"
            return Fault(code=jsonrpc.INVALID_REQUEST, message=text, id=request_id)
        if len(self._jobs) >= MAX_PENDING:
            text = f"more than {MAX_PENDING} requests at once; wait for some answers"
            return Fault(code=jsonrpc.BUSY, message=text, id=request_id)
        waiting = sum(each.request.method in WAITING for each in self._jobs)
        if job.request.method in WAITING and waiting >= MAX_WAITING:
            text = f"{MAX_WAITING} requests of this caller wait already"
            problem = failure("budget_exceeded", text, limit="waits at once", allowed=MAX_WAITING)
            return jsonrpc.fault_of(Refused(problem), request_id)
        return None

    def _cancel(self, request: Request) -> Message | None:
        wanted = request.params.get("id")
        with self._lock:
            job = self._by_id.get(json.dumps(wanted))
        if job is not None:
            job.token.cancel()
        if not request.answered:
            return None
        return jsonrpc.result_message(request.id, {"cancelled": job is not None})

    def _answer(self, job: _Job) -> None:
        message = self._answered(job)
        with self._lock:
            if job.key is not None:
                del self._by_id[job.key]
            for call in job.calls:
                self._by_call.pop(call, None)
        job.deliver(message if job.request.answered else None)
        with self._lock:
            # Last of all: while it is there, its answer is waited for.
            self._jobs.discard(job)
            if self._at_end and not self._jobs:
                self._ends.put("idle")

    def _answered(self, job: _Job) -> Message:
        request = job.request
        if job.token.cancelled:
            text = "cancelled before it began"
            fault = Fault(code=jsonrpc.CANCELLED, message=text, id=request.id)
            return jsonrpc.error_message(fault)
        try:
            return jsonrpc.result_message(request.id, self._dispatch(job))
        except BaseException as error:
            # On this thread an interrupt is only what a tool raised.
            self._report(error)
            return jsonrpc.error_message(jsonrpc.fault_of(error, request.id))

    def _dispatch(self, job: _Job) -> Any:
        method = job.request.method
        row = row_of(self._runtime, method)
        deciding = row is not None and row.authority is Authority.APPROVER
        runtime = self._runtime
        session = Session(
            runtime._guard,
            self._approver if deciding else self._caller,
            lambda: runtime._open,
            begun=lambda attempt: self._begun(job, attempt),
            agents=lambda: runtime._parts.agents,
        )
        door = Door(
            runtime=runtime, session=session, authorities=self._authorities, cancel=job.token
        )
        return dispatch(door, method, job.request.params)

    def _begun(self, job: _Job, attempt: Attempt) -> None:
        attempt.cancel_by(job.token)
        with self._lock:
            job.calls.append(attempt.call_id)
            self._by_call[attempt.call_id] = job

    def _progress(self, report: Progress) -> None:
        with self._lock:
            job = self._by_call.get(report.call_id)
        if job is None and report.call_id:
            # Its request was answered already.
            return
        params: Mapping[str, Any] = {
            "call_id": report.call_id,
            "stage": report.stage,
            "done": report.done,
            "total": report.total,
            "message": report.message,
        }
        if job is not None and job.request.answered:
            params = {"id": job.request.id, **params}
        self._send(jsonrpc.notification(PROGRESS, params))

    def _send(self, message: Message | list[Message] | None) -> None:
        if message is None:
            return
        try:
            data = jsonrpc.line_of(message)
        except (TypeError, ValueError) as error:
            self._report(error)
            request_id = message.get("id") if isinstance(message, dict) else None
            data = jsonrpc.line_of(jsonrpc.error_message(jsonrpc.fault_of(error, request_id)))
        try:
            with self._write_lock:
                if not self._closed:
                    write_all(self._sink, data)
        except OSError:
            self._ends.put("stop")

    @staticmethod
    def _report(error: BaseException) -> None:
        """Name a fault of Holon itself to whoever runs it; refusals are answers, not faults."""
        from holon_core.errors import HolonError

        if not isinstance(error, HolonError):
            sys.stderr.write(f"holon serve: internal fault: {type(error).__name__}\n")
