"""Entering an executor: secrets first, then the tool within its limits, its answer checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.guard.attempt import Refusal, Unconfined
from holon_core.guard.secrets import of_slot
from holon_core.guard.threads import Late
from holon_core.plugins.faults import kind_of, text_of
from holon_core.records.failure import failure
from holon_core.records.outcome import (
    ExecutorEvidenceDraft,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.failure import StructuredFailure

# How long a cancelled or late tool is waited for before it is given up on.
PATIENCE_S = 3.0
# A tool called from a blocked event loop may be waiting for that very loop.
LOOP_LIMIT_S = 30.0
NO_ANSWER = (
    "no answer in {:g} s while session.call kept the running event loop of its thread waiting,"
    " which the tool may need"
)
# What asyncio says where a future or a lock belongs to another loop.
OTHER_LOOP = r"different (event )?loop"


def failed(
    problem: StructuredFailure, *, started: bool = True, blocked: bool = False
) -> ExecutorOutcome:
    """Make the outcome of an execution that did not complete."""
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        started=started,
    )


def fetch_secrets(guard: Guard, call: SealedCall) -> ExecutorOutcome | None:
    """Fetch the tool's secrets; each is known to the redactor before the tool can see it."""
    for slot in call.tool.secret_slots:
        found = guard.secrets.fetch(slot.ref)
        problem = getattr(found, "code", None)
        if problem is not None:
            problem = of_slot(found, slot)  # type: ignore[arg-type]
            return failed(problem, started=False, blocked=True)
        value = found.reveal()  # type: ignore[union-attr]
        guard.redactor.register(slot.name, value)
        call._secrets[slot.name] = value
    return None


def run(guard: Guard, call: SealedCall) -> ExecutorOutcome:
    """Run a call's tool to its end, from a thread that may block."""
    attempt = call._attempt
    if attempt.cancelled:
        return interrupted(attempt)
    entry = attempt.entry
    if entry.tool.secret_slots:
        problem = fetch_secrets(guard, call)
        if problem is not None:
            return problem
    if entry.is_async:
        return _on_loop(guard, call)
    limit = attempt.time_limit_s
    if limit is None or entry.self_limiting:
        return enter(call)
    try:
        return guard.threads.run_limited(lambda: enter(call), limit, stop=lambda: _expire(attempt))
    except Late as late:
        return failed(_late(limit, "its thread may still be running" if late.running else ""))


def _expire(attempt: Attempt) -> None:
    """End a call by its tool's own limit; what it runs ends, and is then known."""
    attempt.expired = True
    attempt.cancel.cancel()
    end_programs(attempt)


def end_programs(attempt: Attempt) -> None:
    """End what runs for a call, and wait for it a while, so that its evidence is there."""
    attempt.end_programs(PATIENCE_S)


def enter(call: SealedCall) -> ExecutorOutcome:
    """Call the executor; whatever it raises becomes an outcome."""
    attempt = call._attempt
    executor: Any = attempt.entry.executor
    if not attempt.enter():
        return interrupted(attempt)
    try:
        return executor.execute(call)  # type: ignore[no-any-return]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return raised(error, call)


def raised(error: BaseException, call: SealedCall) -> ExecutorOutcome:
    """Turn what a tool raised into an outcome: a refusal of ours keeps its code."""
    # Asked of its type: an exception can lie, or raise, where it is asked itself.
    if issubclass(type(error), Unconfined):
        return failed(error.failure, started=False, blocked=True)  # type: ignore[attr-defined]
    if issubclass(type(error), Refusal):
        return failed(error.failure)  # type: ignore[attr-defined]
    name, text = kind_of(error), text_of(error)
    if issubclass(type(error), RuntimeError) and re.search(OTHER_LOOP, text):
        return failed(failure("event_loop_blocked", "the tool uses another event loop"))
    said = f"{name}: {text}" if text else name
    outcome = failed(failure("tool_raised", said, exception=name))
    return evolve(outcome, evidence=(_trace(error, said, call),))


def _trace(error: BaseException, said: str, call: SealedCall) -> ExecutorEvidenceDraft:
    """Log where a tool raised, and keep it: whoever looks into it has nothing else."""
    from holon_core import logs

    places = logs.frames(error)
    where = f"the tool {call.tool.id} (call {call.call_id})"
    logs.raised(where, said, places, clean=call._services.clean)
    return ExecutorEvidenceDraft(source="holon-traceback", data={"frames": places})


def _on_loop(guard: Guard, call: SealedCall) -> ExecutorOutcome:
    from concurrent.futures import CancelledError as Cancelled
    from concurrent.futures import TimeoutError as StillRuns

    limit = call._attempt.time_limit_s
    blocked_loop = limit is None and _in_running_loop()
    future = guard.threads.run_on_loop(run_async_tool(call, limit))
    forget = call.cancel.subscribe(lambda: _stop(call, future))
    try:
        return uninterrupted(future.result(LOOP_LIMIT_S if blocked_loop else None))
    except StillRuns:
        future.cancel()
        return failed(failure("event_loop_blocked", NO_ANSWER.format(LOOP_LIMIT_S)))
    except Cancelled:
        note = "" if call.cancel.cancelled else "the runtime was closed"
        return interrupted(call._attempt, note)
    except KeyboardInterrupt:
        future.cancel()
        raise
    finally:
        forget()


def _stop(call: SealedCall, future: Future[Any]) -> None:
    # Past its limit the tool is ended where it runs, and its answer says so.
    if not call._attempt.expired:
        future.cancel()


def _in_running_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def uninterrupted(outcome: ExecutorOutcome | KeyboardInterrupt) -> ExecutorOutcome:
    """Return an outcome, or raise the interrupt that stands for it."""
    if isinstance(outcome, KeyboardInterrupt):
        raise outcome
    return outcome


async def run_async_tool(
    call: SealedCall, limit: float | None
) -> ExecutorOutcome | KeyboardInterrupt:
    """Await an asynchronous executor within its limit.

    An interrupt is returned: raised in a task it would end the loop and everything on it.
    """
    import asyncio

    task = asyncio.ensure_future(_enter_async(call))
    try:
        done, _ = await asyncio.wait({task}, timeout=limit)
    except asyncio.CancelledError:
        call.cancel.cancel()
        await _end(task)
        raise
    if not done:
        call._attempt.expired = True
        call.cancel.cancel()
        ended = await _end(task)
        return failed(_late(limit or 0, "" if ended else "it may still be running"))
    try:
        return task.result()
    except asyncio.CancelledError as error:
        return raised(error, call)


async def _enter_async(call: SealedCall) -> ExecutorOutcome | KeyboardInterrupt:
    import asyncio

    attempt = call._attempt
    executor: Any = attempt.entry.executor
    if not attempt.enter():
        return interrupted(attempt)
    try:
        return await executor.execute(call)  # type: ignore[no-any-return]
    except KeyboardInterrupt as interrupt:
        return interrupt
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return raised(error, call)


async def _end(task: Any) -> bool:
    import asyncio

    task.cancel()
    await asyncio.wait({task}, timeout=PATIENCE_S)
    if task.done() and not task.cancelled():
        task.exception()
    return bool(task.done())


def _late(limit: float, note: str) -> StructuredFailure:
    text = f"ended by the time limit of {limit:g} s" + (f"; {note}" if note else "")
    return failure("timeout", text, limit_s=limit)


def interrupted(attempt: Attempt, note: str = "") -> ExecutorOutcome:
    """Make the outcome of a call that was ended from outside, by what ended it first."""
    if attempt.expired:
        return failed(_late(attempt.time_limit_s or 0, "its cleaning up was cut short"))
    if not attempt.entered:
        text = f"ended before it started{'; ' if note else ''}{note}"
        return failed(failure("cancelled", text, started=False), started=False)
    return failed(failure("cancelled", f"ended by the caller; {note}" if note else None))
