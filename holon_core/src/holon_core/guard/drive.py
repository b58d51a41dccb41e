"""Driving a guarded call from a thread that may block, and on an event loop that may not."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, TypeVar

from holon_core.errors import StoreError
from holon_core.guard import execute
from holon_core.guard.call import finish, prepare
from holon_core.guard.results import record_refusal
from holon_core.guard.sealed import SealedCall, mint
from holon_core.plugins.faults import kind_of
from holon_core.records.failure import failure
from holon_core.records.result import ToolResult
from holon_core.store.protocol import StoreBusy

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from holon_core.cancel import CancelToken
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard, Lifecycle
    from holon_core.records.outcome import ExecutorOutcome


T = TypeVar("T")
FROZEN_PREFIX = "frozen."


def request(guard: Guard, attempt: Attempt) -> ToolResult:
    """Make, or find, the pending approval of a payload; nothing is held and nothing runs."""
    try:
        answer = prepare(guard, attempt)
    except BaseException as error:
        end_interrupted(guard, attempt, error)
        raise
    assert isinstance(answer, ToolResult)
    return answer


def call(guard: Guard, attempt: Attempt) -> ToolResult:
    """Drive one call from a thread that may block."""
    try:
        if guard.lifecycle is not None and attempt.tool_id.startswith(FROZEN_PREFIX):
            return _with_lifecycle(guard, guard.lifecycle, attempt)
        ready = prepare(guard, attempt)
        if isinstance(ready, ToolResult):
            return ready
        return finish(guard, ready, execute.run(guard, ready))
    except BaseException as error:
        # A KeyboardInterrupt may come at any line; the record still tells how the call ended.
        end_interrupted(guard, attempt, error)
        raise


def _with_lifecycle(guard: Guard, lifecycle: Lifecycle, attempt: Attempt) -> ToolResult:
    lifecycle.before(attempt)
    ready = prepare(guard, attempt)
    if not isinstance(ready, ToolResult):
        ready = finish(guard, ready, execute.run(guard, ready))
    return ready if ready.failure is None else lifecycle.after(attempt, ready)


async def acall(guard: Guard, attempt: Attempt) -> ToolResult:
    """Drive one call on an event loop without ever blocking it."""
    lifecycle = guard.lifecycle
    if lifecycle is None or not attempt.tool_id.startswith(FROZEN_PREFIX):
        return await _acall(guard, attempt)
    await _in_thread(guard, lambda: lifecycle.before(attempt))
    result = await _acall(guard, attempt)
    if result.failure is None:
        return result
    return await _in_thread(guard, lambda: lifecycle.after(attempt, result))


async def _acall(guard: Guard, attempt: Attempt) -> ToolResult:
    try:
        ready = await _off_loop(guard, lambda wait: prepare(guard, attempt, wait=wait))
        if isinstance(ready, ToolResult):
            return ready
        outcome = await _execute(guard, ready)
        return await _off_loop(guard, lambda wait: finish(guard, ready, outcome, wait=wait))
    except GeneratorExit as error:
        # The loop is gone, so nothing can be awaited any more.
        end_interrupted(guard, attempt, error)
        raise
    except BaseException as error:
        ended = error
        await _off_loop(guard, lambda wait: end_interrupted(guard, attempt, ended, wait=wait))
        raise


def end_interrupted(
    guard: Guard, attempt: Attempt, error: BaseException, *, wait: bool = True
) -> None:
    """Record how an attempt ended that something like an interrupt went through.

    Args:
        guard: The parts.
        attempt: At any step; whatever runs for it is ended.
        error: What went through. An ``Exception`` of an attempt that was not accepted is the
            caller's mistake or a fault, and no end of a call.
        wait: As for ``prepare``.
    """
    attempt.cancel.cancel()
    attempt.close()
    if attempt.accepted:
        outcome = execute.interrupted(attempt)
        ended = finish(guard, mint(attempt, guard.services), outcome, wait=wait)
        if ended.failure is None or ended.failure.code != "evidence_not_closed":
            return
    if not isinstance(error, Exception) and not _recorded(guard, attempt):
        text = f"ended by {kind_of(error)} before it started"
        record_refusal(guard, attempt, failure("cancelled", text, started=False), wait=wait)


def _recorded(guard: Guard, attempt: Attempt) -> bool:
    """Tell whether a record of an attempt is there, and not only was about to be."""
    if not attempt.seqs:
        return False
    last = attempt.seqs[-1]
    try:
        rows = guard.store.read(lambda t: t.records(attempt.chain, after=last - 1, limit=1))
    except StoreError:
        return True
    return any(row.seq == last and row.call == attempt.call_id for row in rows)


async def _execute(guard: Guard, call: SealedCall) -> ExecutorOutcome:
    entry = call._attempt.entry
    if entry.inline and not entry.tool.secret_slots:
        return execute.enter(call)
    if entry.is_async:
        problem = None
        if entry.tool.secret_slots:
            problem = await _in_thread(guard, lambda: execute.fetch_secrets(guard, call))
        if problem is not None:
            return problem
        limit = call._attempt.time_limit_s
        return execute.uninterrupted(await execute.run_async_tool(call, limit))
    return await _in_thread(guard, lambda: execute.run(guard, call), token=call.cancel)


async def _off_loop(guard: Guard, step: Callable[[bool], T]) -> T:
    """Run a step on the loop's thread if it can neither wait nor flush, else in another."""
    if not guard.policy.needs_thread:
        try:
            return step(False)
        except StoreBusy:
            pass
    return await _in_thread(guard, lambda: step(True))


async def _in_thread(guard: Guard, work: Callable[[], T], *, token: CancelToken | None = None) -> T:
    """Await work in a thread to its end, even where this task is cancelled meanwhile.

    With a token (of work that can be long) cancelling stops the work, and it is waited for a
    short while only; without one the work is short and always awaited.
    """
    import asyncio

    future = asyncio.get_running_loop().run_in_executor(guard.threads.pool(), work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if token is not None:
            token.cancel()
        await _settle(future, None if token is None else execute.PATIENCE_S)
        raise


async def _settle(future: asyncio.Future[T], patience_s: float | None) -> None:
    """Wait for work in a thread, through any further cancelling: what it did is to be known."""
    import asyncio

    deadline = None if patience_s is None else time.monotonic() + patience_s
    while not future.done():
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({future}, timeout=left)
    with contextlib.suppress(asyncio.CancelledError):
        future.exception()
