"""Calls of one adapter at the same time: they share connections, and none ends another's."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holon_core import Status

DOCUMENT = {
    "adapter": "holon-adapter/v1",
    "operations": [
        {
            "id": name,
            "method": "GET",
            "path": f"/{name}",
            "description": f"Ask for {name}.",
            "responses": {"200": {"schema": {"type": "object"}}},
        }
        for name in ("slow", "quick")
    ],
}


class Api:
    """Answers ``slow`` once ``quick`` was asked for; counts connections."""

    def __init__(self) -> None:
        self.connections = 0
        self.asked, self.waiting = threading.Event(), threading.Event()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                api.connections += 1
                super().setup()

            def do_GET(self) -> None:
                if self.path == "/slow":
                    api.waiting.set()
                    api.asked.wait(10)
                else:
                    api.asked.set()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                """Be quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def api() -> Iterator[Api]:
    """The API, served."""
    made = Api()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def source(do, api) -> str:
    """The API registered and bound; the source id of its tools."""
    do("register", name="two", document=DOCUMENT)
    made = do("bind", name="two", server=api.url, allow_addresses=["loopback"], max_retries=0,
              reason="ours")  # fmt: skip
    return str(made["adapter"]["source"])


def test_operations_of_one_adapter_share_a_connection(source, session, api) -> None:
    """One after the other, whichever operation it is."""
    api.asked.set()
    for name in ("quick", "slow", "quick", "slow"):
        assert session.call(f"{source}/{name}", {}).status is Status.COMPLETED

    assert api.connections == 1


def test_a_call_goes_on_while_another_operation_is_called(source, session, api) -> None:
    """The second call neither closes nor waits for the connection of the first."""
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(session.call, f"{source}/slow", {})
        assert api.waiting.wait(10)
        second = session.call(f"{source}/quick", {})

        assert second.status is Status.COMPLETED
        assert first.result().status is Status.COMPLETED
