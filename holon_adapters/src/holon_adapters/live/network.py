"""Connections: resolved, every address looked at, connected to exactly one that may be."""

from __future__ import annotations

import queue
import socket
import threading
from typing import TYPE_CHECKING, Any

import httpcore

from holon_adapters.live.addresses import parsed
from holon_adapters.live.budget import current

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

    from holon_adapters.live.addresses import Address, Allowed

MAX_ADDRESSES = 16
PATIENCE_S = 0.05


class AddressRefused(Exception):
    """No address of the host may be connected to; the text says why."""


class HostUnknown(Exception):
    """The host has no address."""


class VettedStream(httpcore.NetworkStream):
    """A stream whose every wait spends the budget of the call that uses it.

    A connection outlives its call and is used by the next; whose time counts is whose thread
    waits.
    """

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._socket = stream.get_extra_info("socket")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has come, within the time of the call that waits."""
        with current().watching(self._socket) as left:
            return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it, within the time of the call that waits."""
        # In pieces: a peer that takes a little at a time would start the time anew at each.
        view = memoryview(buffer)
        while view:
            with current().watching(self._socket) as left:
                self._stream.write(bytes(view[:65536]), left)
            view = view[65536:]

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Speak TLS from here on, verified by the context."""
        with current().watching(self._socket) as left:
            return VettedStream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        """Tell of the connection beneath."""
        return self._stream.get_extra_info(info)


class VettedBackend(httpcore.NetworkBackend):
    """Connects to allowed addresses alone.

    The name is resolved once, here, and what is connected to is an address of that answer: a
    name that resolves otherwise a moment later changes nothing. Names that have both kinds of
    addresses are connected to by the public ones.

    Args:
        allowed: What may be connected to besides public addresses.
    """

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._tcp = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that may be and answers."""
        addresses = self._vetted(host, port)
        for at, address in enumerate(addresses):
            try:
                # A dead address must not spend the time of those that follow it.
                left = current().left() / (len(addresses) - at)
                stream = self._tcp.connect_tcp(str(address), port, left)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if at == len(addresses) - 1:
                    raise
                continue
            self._check_peer(stream)
            return VettedStream(stream)
        raise HostUnknown(host)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        """Refuse."""
        raise AddressRefused("sockets of this machine are no servers of an API")

    def sleep(self, seconds: float) -> None:
        """Wait, within the time of the call."""
        current().wait(seconds)

    def _vetted(self, host: str, port: int) -> list[Address]:
        found = _resolved(host, port)
        if not found:
            raise HostUnknown(host)
        refusals = {address: self._allowed.refusal(address) for address in found}
        good = [address for address, refusal in refusals.items() if refusal is None]
        if not good:
            raise AddressRefused(next(iter(refusals.values())) or "")
        return good

    def _check_peer(self, stream: httpcore.NetworkStream) -> None:
        """Look at who answered, too: whatever led there, this is the address that counts."""
        peer = parsed(stream.get_extra_info("server_addr")[0])
        refusal = self._allowed.refusal(peer)
        if refusal is not None:
            stream.close()
            raise AddressRefused(refusal)


def _resolved(host: str, port: int) -> list[Address]:
    """Ask for the addresses of a host, within the time of the call."""
    try:
        return [parsed(host.strip("[]"))]
    except ValueError:
        pass
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # The system's resolver takes its own time and cannot be ended; a thread of it ends by itself.
    worker = threading.Thread(
        target=_ask, args=(host, port, answers), name="holon-adapter-resolver", daemon=True
    )
    worker.start()
    while True:
        try:
            found = answers.get(timeout=min(PATIENCE_S, current().left()))
            break
        except queue.Empty:
            continue
    if isinstance(found, BaseException):
        return []
    rows = [row[4][0] for row in found]
    return list(dict.fromkeys(map(parsed, rows)))[:MAX_ADDRESSES]


def _ask(host: str, port: int, answers: queue.SimpleQueue[Any]) -> None:
    try:
        answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except BaseException as error:
        answers.put(error)
