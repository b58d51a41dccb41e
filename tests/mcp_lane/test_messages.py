"""Messages of clients are read once and strictly: each that cannot be read is answered."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from queue import Queue
from typing import Any

import pytest

from mcp_served import HOLON, Served


class Wire:
    """A client that sends whatever bytes it is given.

    Args:
        served: The root that is served.
        more: Further words of the command.
    """

    def __init__(self, served: Served, *more: str) -> None:
        self.process = subprocess.Popen(
            [HOLON, *served.arguments(*more)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=served.root.parent,
        )
        self._lines: Queue[bytes] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def send(self, data: bytes) -> None:
        """Send one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def ask(self, request_id: Any, method: str, **params: Any) -> None:
        """Send a request."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.send(json.dumps(message).encode())

    def next(self) -> Any:
        """Return the next message that is no notification."""
        while True:
            message = json.loads(self._lines.get(timeout=60))
            if "id" in message:
                return message

    def shake(self, **capabilities: Any) -> None:
        """Do the handshake."""
        client = {"name": "raw", "version": "1"}
        self.ask(
            0,
            "initialize",
            protocolVersion="2025-11-25",
            capabilities=capabilities,
            clientInfo=client,
        )
        self.next()
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def close(self) -> int:
        """Close the input, and return how the server ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        ended = self.process.wait(60)
        self._reader.join(60)
        self.process.stdout.close()
        return ended


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A served root and its one client."""
    made = Wire(Served(tmp_path_factory.mktemp("served")))
    made.shake()
    yield made
    assert made.close() == 0


def _call(request_id: int, arguments: bytes) -> bytes:
    head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call",' % request_id
    return head + b'"params":{"name":"add","arguments":' + arguments + b"}}"


LATE = b'{"method":"tools/call","params":{"name":"add","arguments":%s},"jsonrpc":"2.0","id":%d}'
UNREAD: dict[str, tuple[bytes, int, Any, dict[str, Any]]] = {
    "a key twice": (
        _call(900, b'{"a":1,"a":5,"b":2}'),
        -32700,
        900,
        {"rule": "duplicate_key", "path": "/params/arguments/a"},
    ),
    "a name twice": (
        b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"add","name":"wait"}}',
        -32700,
        "x",
        {"rule": "duplicate_key", "path": "/params/name"},
    ),
    "an id twice": (
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        -32700,
        None,
        {"rule": "duplicate_key", "path": "/id"},
    ),
    "beyond a double": (_call(901, b'{"a":1e400,"b":2}'), -32700, 901, {"rule": "number_range"}),
    "deep": (_call(902, b"[" * 100_000 + b"]" * 100_000), -32700, 902, {"rule": "depth"}),
    "a long integer": (
        _call(903, b'{"a":' + b"9" * 5000 + b',"b":2}'),
        -32700,
        903,
        {"rule": "number_range", "path": "/params/arguments/a"},
    ),
    "a lone surrogate": (
        _call(904, b'{"a":"\\ud800","b":2}'),
        -32700,
        904,
        {"rule": "surrogate", "path": "/params/arguments/a"},
    ),
    "its id last": (LATE % (b'{"a":1,"a":2}', 907), -32700, 907, {"rule": "duplicate_key"}),
    "no JSON": (b"not json", -32700, None, {"rule": "syntax"}),
    "NaN": (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700, None, {"rule": "syntax"}),
    "no UTF-8": (b"\xff\xfe", -32700, None, {"rule": "not_utf8"}),
    "cut off": (_call(908, b'{"a":"x')[:-2], -32700, 908, {"rule": "syntax"}),
    "ids inside alone": (b'{"params":{"id":5},"x":["id",{"id":6}],', -32700, None, {}),
    "long": (_call(909, b'"' + b"x" * 6_000_000 + b'"'), -32700, 909, {"rule": "too_large"}),
    "long, its id last": (
        LATE % (b'"' + b"x" * 6_000_000 + b'"', 910),
        -32700,
        910,
        {"rule": "too_large"},
    ),
    "long, without an id": (b"x" * 6_000_000, -32700, None, {"rule": "too_large"}),
    "a list": (b"[]", -32600, None, {}),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None, {}),
    "null": (b"null", -32600, None, {}),
    "an id that is an object": (
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}',
        -32600,
        None,
        {},
    ),
    "another version": (b'{"jsonrpc":"1.0","id":906,"method":"ping"}', -32600, 906, {}),
    "no method": (b'{"jsonrpc":"2.0","id":911}', -32600, 911, {}),
    "params in a list": (
        b'{"jsonrpc":"2.0","id":912,"method":"ping","params":[]}',
        -32600,
        912,
        {},
    ),
}


@pytest.mark.parametrize(("line", "code", "request_id", "data"), UNREAD.values(), ids=UNREAD)
def test_what_cannot_be_read_is_answered_and_ends_nothing(wire, line, code, request_id, data):
    """With the id where it can be told, and the path of what was given twice; nothing runs."""
    wire.send(line)
    answer = wire.next()
    wire.ask(1, "tools/call", name="add", arguments={"a": 1, "b": 2})
    after = wire.next()

    assert (answer["id"], answer["error"]["code"]) == (request_id, code)
    assert data.items() <= answer["error"].get("data", {}).items()
    assert after["result"]["structuredContent"] == {"result": 3}


ANSWERS = {
    "an error": {"error": {"code": -1, "message": "no window"}},
    "another shape": {"result": {"action": "perhaps"}},
    "a text for yes": {"result": {"action": "accept", "content": {"approve": "true"}}},
    "a key twice": b'"result":{"action":"decline","action":"accept","content":{"approve":true}}',
}


@pytest.mark.parametrize("given", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_decides_nothing_leaves_the_call_held(tmp_path, given):
    """The client is told the id of the held call all the same, and nobody said no in its name."""
    served = Served(tmp_path)
    wire = Wire(served, "--approver", "bo")
    wire.shake(elicitation={})
    wire.ask(7, "tools/call", name="refund", arguments={"order_id": "o1"})
    asked = wire.next()
    body = given if isinstance(given, bytes) else json.dumps(given).encode()[1:-1]
    wire.send(b'{"jsonrpc":"2.0","id":%s,%s}' % (json.dumps(asked["id"]).encode(), body))
    answer = wire.next()
    if answer["id"] is None:
        assert answer["error"]["data"]["path"] == "/result/action"
        answer = wire.next()

    told = json.loads(answer["result"]["content"][0]["text"])

    assert (answer["id"], told["status"]) == (7, "held")
    assert served.run("approval", "read", told["held"])["approval"]["state"] == "pending"
    assert wire.close() == 0


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


def test_without_a_handshake_as_well(tmp_path):
    """There an answer comes with the call made again; an empty one, or no clear yes, is none."""
    served = Served(tmp_path)
    wire = Wire(served, "--approver", "bo")
    call = {"name": "refund", "arguments": {"order_id": "o1"}, "_meta": META}
    wire.ask(1, "tools/call", **call)
    state = wire.next()["result"]["requestState"]
    answers = []
    for given in ({}, {"approval": {"action": "accept", "content": {"approve": "true"}}}):
        wire.ask(2, "tools/call", **call, inputResponses=given, requestState=state)
        answers.append(wire.next()["result"]["_meta"]["holon/held"])

    assert len(set(answers)) == 1
    assert served.run("approval", "read", answers[0])["approval"]["state"] == "pending"
    assert wire.close() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_a_silent_client_keeps_no_process(tmp_path, number):
    """Whoever asks the server to end is not made to wait for a client that says nothing."""
    wire = Wire(Served(tmp_path))
    wire.shake()

    wire.process.send_signal(number)

    assert wire.process.wait(60) != 0
    wire.close()
