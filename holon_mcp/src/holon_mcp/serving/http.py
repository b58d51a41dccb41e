"""Serving many clients over streamable HTTP, on loopback alone, to those who hold the token."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from holon_core.errors import Misuse
from holon_mcp.serving.bodies import StrictBodies
from holon_mcp.serving.changes import telling_changes
from holon_mcp.serving.messages import MAX_BYTES
from holon_mcp.serving.server import Serving

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime
    from holon_mcp.serving.server import ServeOptions

PATH = "/mcp"
MIN_TOKEN = 16
MAX_SESSIONS = 64
IDLE_S = 1800.0


class TokenRequired:
    """Lets requests through that carry the token; others get 401 before anything is read.

    Args:
        app: What is behind.
        token: What a client has to send as ``Authorization: Bearer``.
    """

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._wanted = b"Bearer " + token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request of ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if scope["type"] == "http" and len(given) == 1 and self._is_right(given[0]):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"a token is needed\n"})

    def _is_right(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self._wanted)


def application(serving: Serving, *, host: str, port: int, token: str) -> Any:
    """Make the ASGI application of a server.

    Host and Origin have to be this server's own, so that no page of a browser reaches it by
    another name.

    Raises:
        Misuse: The address is not loopback, or the token too short.
    """
    if not ipaddress.ip_address(host).is_loopback:
        raise Misuse(f"MCP is served on loopback alone, and {host} is none")
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable():
        raise Misuse(f"a token has {MIN_TOKEN} printable ASCII characters or more")
    shown = f"[{host}]" if ":" in host else host
    names = (f"{shown}:{port}", f"localhost:{port}")
    security = TransportSecuritySettings(
        allowed_hosts=list(names), allowed_origins=[f"http://{name}" for name in names]
    )
    made = serving.server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=MAX_BYTES,
        session_idle_timeout=IDLE_S,
        max_sessions=MAX_SESSIONS,
    )
    inner = made.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        serving.begin()
        changes = asyncio.create_task(telling_changes(serving))
        try:
            async with inner(app):
                yield
        finally:
            changes.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await changes

    made.router.lifespan_context = lifespan
    return TokenRequired(StrictBodies(made, security), token)


def serve_http(
    runtime: Runtime,
    caller: CallerContext,
    options: ServeOptions,
    *,
    host: str,
    port: int,
    token: str,
) -> None:
    """Serve until the process is asked to end.

    Args:
        runtime: The open runtime.
        caller: Who every client calls as.
        options: What is shown.
        host: An address of loopback.
        port: A free port.
        token: At least 16 characters, which every request has to carry.
    """
    app = application(Serving(runtime, caller, options), host=host, port=port, token=token)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=3
    )
    uvicorn.Server(config).run()
