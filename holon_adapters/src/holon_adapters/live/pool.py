"""Connections of one binding, kept for its next calls and closed with the runtime."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import httpcore
import httpx

from holon_adapters.live.addresses import allowed
from holon_adapters.live.budget import current
from holon_adapters.live.network import VettedBackend

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    from holon_adapters.records import Binding

MAX_CONNECTIONS = 32
MAX_IDLE = 8
IDLE_S = 30.0


class VettedTransport(httpx.BaseTransport):
    """An httpx transport of one binding: HTTP/1.1, no proxy, certificates verified.

    httpx's own transport resolves names by itself and takes proxies from the environment; this
    one has neither. A client around it would follow cookies and redirects of its own, so that
    requests are given to it as they are.

    Args:
        binding: Which addresses, and whose certificates.

    Raises:
        OSError: Its file of certificates cannot be read, or holds none.
    """

    def __init__(self, binding: Binding) -> None:
        self.origin = httpx.URL(binding.origin)
        encrypted = self.origin.scheme == "https"
        self._pool = httpcore.ConnectionPool(
            ssl_context=_context(binding.ca_file) if encrypted else None,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE,
            keepalive_expiry=IDLE_S,
            http1=True,
            http2=False,
            retries=0,
            network_backend=VettedBackend(allowed(binding.allow_addresses, public=encrypted)),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request and answer with its response, the body still to be read."""
        url = request.url
        answer = self._pool.handle_request(
            httpcore.Request(
                request.method,
                httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions={**request.extensions, "timeout": {"pool": current().left()}},
            )
        )
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer), request=request
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    """The body of a response as it comes in."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


def _context(ca_file: str | None) -> ssl.SSLContext:
    import ssl

    context = ssl.create_default_context(cafile=ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class Pools:
    """The transports of a runtime, one for each adapter that was called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transports: dict[str, tuple[Binding, VettedTransport]] = {}

    def get(self, source: str, binding: Binding) -> VettedTransport:
        """Return the transport of an adapter's binding, made at its first use.

        All operations of the adapter share it; another binding has connections of its own.

        Args:
            source: The adapter's source id.
            binding: What it may connect to.
        """
        with self._lock:
            known, transport = self._transports.get(source, (None, None))
            if transport is not None and known == binding:
                return transport
            self._transports[source] = binding, (made := VettedTransport(binding))
        if transport is not None:
            transport.close()
        return made

    def drop(self, source: str) -> None:
        """Close what an adapter has open."""
        with self._lock:
            _, transport = self._transports.pop(source, (None, None))
        if transport is not None:
            transport.close()

    def close(self) -> None:
        """Close all connections of all adapters."""
        for source in list(self._transports):
            self.drop(source)
