"""Serving one client over standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData
from mcp_types.jsonrpc import JSONRPCError

from holon_core.operations.jsonrpc import error_message, line_of
from holon_core.operations.lines import TooLong, claimed_streams, read_lines, write_all
from holon_mcp.serving.beside import Beside
from holon_mcp.serving.changes import telling_changes
from holon_mcp.serving.messages import MAX_BYTES, Unread, read_message
from holon_mcp.serving.server import Serving

if TYPE_CHECKING:
    from mcp_types.jsonrpc import JSONRPCMessage

    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime
    from holon_mcp.serving.server import ServeOptions

Lines: TypeAlias = "Iterator[bytes | TooLong]"


def serve_stdio(runtime: Runtime, caller: CallerContext, options: ServeOptions) -> None:
    """Serve until the client closes the input; calls that run then are cancelled.

    What tools print goes to standard error. A line that cannot be read is answered, and ends
    nothing.
    """
    with claimed_streams() as (source, sink):
        asyncio.run(_serve(Serving(runtime, caller, options), source, sink))


async def _serve(serving: Serving, source: int, sink: int) -> None:
    serving.begin()
    lines = read_lines(source, MAX_BYTES, stopped=lambda: False)
    to_server, read = anyio.create_memory_object_stream[Any](0)
    to_client, written = anyio.create_memory_object_stream[Any](0)
    changes = asyncio.create_task(telling_changes(serving))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, lines, to_server, to_client.clone())
            tasks.start_soon(_write, written, sink)
            await serving.server.run(read, to_client, serving.initialization())
    finally:
        changes.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await changes


async def _read(
    lines: Lines, to_server: ObjectSendStream[Any], to_client: ObjectSendStream[Any]
) -> None:
    reader = Beside("holon-mcp-reader")
    async with to_server, to_client:
        while True:
            found = await reader.run(partial(_next, lines))
            if found is None:
                return
            if isinstance(found, Unread):
                await _refuse(found, to_server, to_client)
            else:
                await to_server.send(SessionMessage(found))


async def _refuse(
    found: Unread, to_server: ObjectSendStream[Any], to_client: ObjectSendStream[Any]
) -> None:
    """Answer what cannot be read; an answer that cannot be is a failed one to who waits for it."""
    fault = found.fault
    told = error_message(fault)
    if found.is_answer and isinstance(fault.id, (str, int)):
        error = ErrorData(code=fault.code, message=fault.message)
        failed = JSONRPCError(jsonrpc="2.0", id=fault.id, error=error)
        await to_server.send(SessionMessage(failed))
        # The id is one of this server's, which the client may have given to a request as well.
        told["id"] = None
    await to_client.send(line_of(told))


def _next(lines: Lines) -> JSONRPCMessage | Unread | None:
    for line in lines:
        if isinstance(line, TooLong) or line.strip():
            return read_message(line)
    return None


async def _write(messages: ObjectReceiveStream[Any], sink: int) -> None:
    writer, reads = Beside("holon-mcp-writer"), True
    async for each in messages:
        data = each if isinstance(each, bytes) else _line(each)
        if not reads:
            continue
        try:
            await writer.run(partial(write_all, sink, data))
        except OSError:
            # The client is gone, and the end of the input follows.
            reads = False


def _line(item: SessionMessage) -> bytes:
    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode() + b"\n"
