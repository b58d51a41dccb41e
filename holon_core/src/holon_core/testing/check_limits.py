"""Checks of bounds: executors keep to time and output limits, and end when cancelled."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from holon_core.errors import StructuredFailureKind
from holon_core.testing.bench import approve, call, calls_of
from holon_core.testing.check_offers import bad, ok, skip
from holon_core.testing.spying import spied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.records.result import ToolResult
    from holon_core.runtime import Runtime
    from holon_core.session import Session
    from holon_core.testing.bench import Arguments, Bench
    from holon_core.testing.report import Result
    from holon_core.testing.spying import Spy

TIME_LIMIT_S = 0.3
OUTPUT_LIMIT = 4096
# How long an executor may take to notice that its time is up; processes get a moment to end.
PATIENCE_S = 3.0
ENTER_S = 10.0


def keeps_time(bench: Bench) -> Iterator[Result]:
    """Under a limit of 0.3 s an executor is back soon after it, and leaves no thread behind."""
    for tool_id in bench.tools:
        given = calls_of(bench.lane.slow, tool_id)
        if not given:
            yield skip("no slow call is known: give one in `slow`", tool=tool_id)
            continue
        with bench.open() as runtime, spied(runtime, tool_id) as spy:
            session = bench.session(runtime, timeout_s=TIME_LIMIT_S)
            result = call(runtime, session, tool_id, given[0])
            yield _judge_time(spy, result, tool_id)


def _judge_time(spy: Spy, result: ToolResult, tool_id: str) -> Result:
    if not spy.runs:
        return bad(f"the call did not come to the executor: {result.failure}", tool=tool_id)
    if not spy.runs[-1].ended.wait(PATIENCE_S):
        text = f"it still ran {PATIENCE_S:g} s after its limit of {TIME_LIMIT_S:g} s"
        return bad(text, tool=tool_id)
    if result.failure is None:
        return skip("the call given as slow ended within the limit", tool=tool_id)
    if result.failure.kind is not StructuredFailureKind.TIMEOUT:
        return bad(f"it answered {result.failure.code} and not timeout", tool=tool_id)
    return ok(tool=tool_id)


def keeps_output(bench: Bench) -> Iterator[Result]:
    """Under a limit of 4 KiB an executor stops by itself: its answer fits or says so."""
    for tool_id in bench.tools:
        given = calls_of(bench.lane.large, tool_id)
        if not given:
            yield skip("no large call is known: give one in `large`", tool=tool_id)
            continue
        with bench.open() as runtime, spied(runtime, tool_id) as spy:
            session = bench.session(runtime, max_output_bytes=OUTPUT_LIMIT)
            result = call(runtime, session, tool_id, given[0])
            yield _judge_output(spy, result, tool_id)


def _judge_output(spy: Spy, result: ToolResult, tool_id: str) -> Result:
    if not spy.runs:
        return bad(f"the call did not come to the executor: {result.failure}", tool=tool_id)
    size = len(json.dumps(getattr(spy.runs[-1].answer, "output_json", None), default=str))
    if size > OUTPUT_LIMIT:
        return bad(f"it made {size} bytes under a limit of {OUTPUT_LIMIT}", tool=tool_id)
    if result.failure is None:
        return ok("it answers with what fits", tool=tool_id)
    if result.failure.kind is not StructuredFailureKind.OUTPUT_LIMIT:
        text = f"it answered {result.failure.code} and not output_too_large"
        return bad(text, tool=tool_id)
    return ok(tool=tool_id)


def ends_on_cancel(bench: Bench) -> Iterator[Result]:
    """An executor whose caller goes away ends soon."""
    for tool_id in bench.tools:
        given = calls_of(bench.lane.slow, tool_id)
        if not given:
            yield skip("no slow call is known: give one in `slow`", tool=tool_id)
            continue
        with bench.open() as runtime, spied(runtime, tool_id) as spy:
            session = bench.session(runtime)
            cancelled = asyncio.run(_cancelled(runtime, session, spy, (tool_id, given[0])))
            yield _judge_cancel(spy, tool_id, cancelled=cancelled)


async def _cancelled(
    runtime: Runtime, session: Session, spy: Spy, wanted: tuple[str, Arguments]
) -> bool:
    """Cancel a call once its executor was entered; tell whether it was still running then."""
    task = asyncio.ensure_future(_call(runtime, session, *wanted))
    await asyncio.wait(
        {asyncio.ensure_future(asyncio.to_thread(spy.entered.wait, ENTER_S)), task},
        return_when=asyncio.FIRST_COMPLETED,
    )
    running = not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    spy.entered.set()
    return running


async def _call(runtime: Runtime, session: Session, tool_id: str, arguments: Arguments) -> Any:
    result = await session.acall(tool_id, arguments)
    if result.held is None:
        return result
    approve(runtime, result.held)
    return await session.arelease(result.held)


def _judge_cancel(spy: Spy, tool_id: str, *, cancelled: bool) -> Result:
    if not spy.runs:
        return bad("the call did not come to the executor", tool=tool_id)
    if not cancelled:
        return skip("the call given as slow ended before it could be cancelled", tool=tool_id)
    if not spy.runs[-1].ended.wait(PATIENCE_S):
        return bad(f"it still ran {PATIENCE_S:g} s after it was cancelled", tool=tool_id)
    return ok(tool=tool_id)
