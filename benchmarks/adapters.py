"""A governed GET of an adapter against the same GET by bare httpx.

The server is a process of its own on loopback, so that the CPU time is the client's alone; both
keep one connection. What httpx gives is read as JSON and nothing more is asked of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from pairs import paired, report

import holon_adapters.plugin as lane
from holon_adapters.records import Binding
from holon_core import Decision, Runtime, Status
from holon_core.records.rule import Rule

SERVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    def do_GET(self):
        body = b'{"id": 3, "name": "cup", "cents": 250, "tags": ["blue", "large"]}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""
ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "cents": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "name", "cents"],
    "additionalProperties": False,
}
DOCUMENT = {
    "adapter": "holon-adapter/v1",
    "operations": [
        {
            "id": "read-item",
            "method": "GET",
            "path": "/items/{item_id}",
            "description": "Read an item.",
            "parameters": [
                {"name": "item_id", "in": "path", "schema": {"type": "integer"}},
                {"name": "words", "in": "query", "schema": {"type": "string"}},
            ],
            "responses": {"200": {"schema": ITEM}},
        }
    ],
}
TOOL = "holon-adapters.shop/read-item"


@contextmanager
def served() -> Iterator[str]:
    """Serve one item from another process."""
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def measure(folder: Path, url: str) -> dict[str, object]:
    """Measure one GET both ways."""
    rules = [Rule(name="reads", lane="adapter", decision=Decision.ALLOW)]
    with (
        Runtime.open(folder, discover=False, plugins=[lane], config={"rules": rules}) as rt,
        httpx.Client(trust_env=False) as client,
    ):
        adapters = rt.service("adapters")
        adapters.register("shop", DOCUMENT, by="bench")
        binding = Binding(
            origin=url,
            allow_addresses=("loopback",),
            by="bench",
            reason="measured",
            at_unix_seconds=1,
        )
        adapters.bind("shop", binding)
        session = rt.session(principal="bench")
        arguments = {"item_id": 3, "words": "blue cups"}

        def governed() -> object:
            result = session.call(TOOL, arguments)
            assert result.status is Status.COMPLETED, result
            return result

        def bare() -> object:
            answer = client.get(f"{url}/items/3", params={"words": "blue cups"})
            return json.loads(answer.raise_for_status().content)

        found = paired(bare, governed, blocks=15)
    return {
        "call": "GET, JSON",
        "httpx_us": found.base_us,
        "governed_us": found.other_us,
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
    }


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, served() as url:
        report("adapters", [measure(Path(folder) / "root", url)])


if __name__ == "__main__":
    main()
