"""Bodies of requests, read strictly before the SDK has them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.requests import Request

from holon_core.operations.jsonrpc import error_message, line_of, too_long
from holon_mcp.serving.messages import MAX_BYTES, Unread, read_message

if TYPE_CHECKING:
    from mcp.server.transport_security import TransportSecuritySettings


class StrictBodies:
    """Answers a body that cannot be read as one message; hands others on as they came.

    Args:
        app: What is behind.
        security: Whose Host and Origin are looked at first; nothing is read of others.
    """

    def __init__(self, app: Any, security: TransportSecuritySettings) -> None:
        self._app = app
        self._security = TransportSecurityMiddleware(security)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request of ASGI."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        refused = await self._security.validate_request(Request(scope), is_post=True)
        if refused is not None:
            await refused(scope, receive, send)
            return
        body = await _whole(receive)
        if body is None:
            await _answer(send, 413, line_of(error_message(too_long())))
            return
        found = await asyncio.to_thread(read_message, body)
        if isinstance(found, Unread):
            await _answer(send, 400, line_of(error_message(found.fault)))
            return
        await self._app(scope, _again(body, receive), send)


async def _whole(receive: Any) -> bytes | None:
    """Receive a body; ``None`` for one that is too long, of which the rest is not read."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)


def _again(body: bytes, receive: Any) -> Any:
    """Make what hands a body on that was received, and after it what else comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return waiting.pop() if waiting else await receive()

    return again


async def _answer(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
