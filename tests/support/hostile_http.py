"""A server on loopback that misbehaves on purpose, one way for each path."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

OK = b'{"ok":true}'
MAX_STEPS = 2000


def reply(body: bytes = OK, *, status: str = "200 OK", **headers: Any) -> bytes:
    """Write a response; ``_`` in names of headers stands for ``-``."""
    given = {
        "content_type": "application/json",
        "content_length": str(len(body)),
        "connection": "close",
        **headers,
    }
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items() if value]
    return f"HTTP/1.1 {status}\r\n".encode() + "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@cache
def _packed_spaces() -> bytes:
    return gzip.compress(b" " * (64 * 1024 * 1024), 9)


class Hostile:
    """Serves until it is closed; keeps what it was asked.

    ``seen`` are the heads of requests, ``bodies`` what came after them.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.bodies: list[bytes] = []
        self.failures_left = 0
        self.patience = "3600"
        self.elsewhere = ""
        # Made before any test measures memory, and once.
        _packed_spaces()
        self._stop = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._stop.set()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            while not self._stop.is_set():
                head = self._head(connection)
                if not head:
                    return
                self.seen.append(head)
                path = head.split(" ", 2)[1].partition("?")[0].strip("/")
                if not self._say(connection, path, head):
                    return

    def _head(self, connection: socket.socket) -> str:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return ""
            data += piece
        head, _, rest = data.partition(b"\r\n\r\n")
        text = head.decode("latin-1")
        length = int(text.lower().partition("content-length: ")[2].partition("\r\n")[0] or 0)
        while len(rest) < length:
            rest += connection.recv(65536)
        self.bodies.append(rest)
        return text

    def _say(self, connection: socket.socket, path: str, head: str) -> bool:
        """Answer one request; tell whether the connection goes on."""
        action = getattr(self, f"_{path.replace('-', '_')}", None)
        if action is not None:
            for piece in action(head):
                if self._stop.is_set():
                    return False
                connection.sendall(piece)
            return False
        connection.sendall(reply(connection=""))
        return True

    def _redirect_away(self, _: str) -> Iterator[bytes]:
        yield reply(b"", status="302 Found", location=self.elsewhere)

    def _redirect_within(self, _: str) -> Iterator[bytes]:
        yield reply(b"", status="307 Temporary Redirect", location="/fine?x=1")

    def _redirect_round(self, _: str) -> Iterator[bytes]:
        yield reply(b"", status="302 Found", location="/redirect-round")

    def _redirect_file(self, _: str) -> Iterator[bytes]:
        yield reply(b"", status="302 Found", location="file:///etc/passwd")

    def _slow(self, _: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2000\r\n\r\n"
        for _step in range(MAX_STEPS):
            time.sleep(0.05)
            yield b" "

    def _slow_head(self, _: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        for step in range(MAX_STEPS):
            time.sleep(0.05)
            yield f"x-{step}: y\r\n".encode()

    def _silent(self, _: str) -> Iterator[bytes]:
        self._stop.wait(8)
        yield b""

    def _endless(self, _: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        yield b"transfer-encoding: chunked\r\n\r\n"
        for _step in range(MAX_STEPS):
            yield b"10000\r\n" + b" " * 65536 + b"\r\n"

    def _says_large(self, _: str) -> Iterator[bytes]:
        yield reply(OK, content_length=str(10**12))

    def _bomb(self, _: str) -> Iterator[bytes]:
        yield reply(_packed_spaces(), content_encoding="gzip")

    def _bombs(self, _: str) -> Iterator[bytes]:
        inner = gzip.compress(gzip.compress(b" " * (16 * 1024 * 1024), 9), 9)
        yield reply(inner, content_encoding="gzip, gzip")

    def _cut(self, _: str) -> Iterator[bytes]:
        whole = gzip.compress(json.dumps({"ok": True}).encode())
        yield reply(whole[:-6], content_encoding="gzip")

    def _damaged(self, _: str) -> Iterator[bytes]:
        yield reply(b"\x1f\x8bnonsense", content_encoding="gzip")

    def _packed(self, _: str) -> Iterator[bytes]:
        yield reply(gzip.compress(OK), content_encoding="gzip")

    def _brotli(self, _: str) -> Iterator[bytes]:
        yield reply(OK, content_encoding="br")

    def _html(self, _: str) -> Iterator[bytes]:
        yield reply(b"<html>", content_type="text/html")

    def _untyped(self, _: str) -> Iterator[bytes]:
        yield reply(OK, content_type="")

    def _not_json(self, _: str) -> Iterator[bytes]:
        yield reply(b'{"ok": true, "ok": false}')

    def _against_schema(self, _: str) -> Iterator[bytes]:
        yield reply(b'{"ok": "perhaps"}')

    def _undocumented(self, _: str) -> Iterator[bytes]:
        yield reply(status="203 Non-Authoritative Information")

    def _echo(self, head: str) -> Iterator[bytes]:
        yield reply(json.dumps({"ok": True, "you_sent": head}).encode())

    def _echo_escaped(self, head: str) -> Iterator[bytes]:
        from base64 import b64encode

        sent = _secret_of(head)
        yield reply(json.dumps({"ok": True, "x": b64encode(sent.encode()).decode()}).encode())

    def _echo_in_header(self, head: str) -> Iterator[bytes]:
        yield reply(x_seen=_secret_of(head))

    def _echo_in_error(self, head: str) -> Iterator[bytes]:
        body = json.dumps({"detail": f"bad token {_secret_of(head)}", "title": "No"}).encode()
        kind = "application/problem+json"
        yield reply(body, status="401 Unauthorized", content_type=kind)

    def _long_error(self, _: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\n\r\n"
        for _step in range(MAX_STEPS):
            yield b"stack trace " * 5000

    def _many_headers(self, _: str) -> Iterator[bytes]:
        headers = {f"x_{n}": "y" * 1000 for n in range(90)}
        yield reply(OK, **headers)

    def _no_http(self, _: str) -> Iterator[bytes]:
        yield b"SSH-2.0-OpenSSH_9.2\r\n\r\n"

    def _hangs_up(self, _: str) -> Iterator[bytes]:
        yield b""

    def _say_back(self, _: str) -> Iterator[bytes]:
        yield reply(self.bodies[-1])

    def _flaky(self, _: str) -> Iterator[bytes]:
        if self.failures_left > 0:
            self.failures_left -= 1
            yield reply(b"", status="503 Service Unavailable", retry_after="0")
        else:
            yield reply()

    def _busy(self, _: str) -> Iterator[bytes]:
        yield reply(b"", status="429 Too Many Requests", retry_after=self.patience)

    def _wrong_length(self, _: str) -> Iterator[bytes]:
        yield reply(OK, content_length="500")


def _secret_of(head: str) -> str:
    found: Any = [line for line in head.split("\r\n") if line.lower().startswith("x-key: ")]
    return found[0].partition(": ")[2] if found else ""


@contextlib.contextmanager
def hostile() -> Iterator[Hostile]:
    """Serve for as long as the block lasts."""
    server = Hostile()
    try:
        yield server
    finally:
        server.close()
