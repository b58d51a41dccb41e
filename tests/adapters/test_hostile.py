"""Servers that attack whoever calls them: each a typed failure, no secret anywhere."""

from __future__ import annotations

import json
import socket
import time
import tracemalloc
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from holon_core import Status
from holon_core.testing import EvidenceReader
from hostile_http import Hostile, hostile

SECRET = "sk-7c1fa90b6e3d"
GETS = [
    name[1:].replace("_", "-")
    for name in vars(Hostile)
    if name.startswith("_") and not name.startswith("__")
]
Call = Callable[..., Any]


def descriptor(*paths: str) -> dict[str, Any]:
    """Describe one read for each path, and two writes."""
    answer = {
        "schema": {
            "type": "object",
            "properties": {"ok": {"type": "boolean"}},
            "required": ["ok"],
        }
    }
    reads = [
        {
            "id": path,
            "method": "GET",
            "path": f"/{path}",
            "description": f"Ask for {path}.",
            "parameters": [
                {"name": "X-Note", "in": "header", "schema": {"type": "string"}},
                {"name": "q", "in": "query", "schema": {"type": "string"}},
            ],
            "responses": {"200": answer},
            "secrets": ["key"],
        }
        for path in paths
    ]
    write: dict[str, Any] = {
        "id": "write",
        "method": "POST",
        "path": "/flaky",
        "description": "Write.",
        "body": {"schema": {"type": "object"}, "required": False},
        "responses": {"200": answer},
        "secrets": ["key"],
    }
    keyed = {**write, "id": "write-keyed", "path": "/flaky?keyed=1"}
    keyed["idempotency_header"] = "Idempotency-Key"
    away = {**write, "id": "write-away", "path": "/redirect-away"}
    return {
        "adapter": "holon-adapter/v1",
        "title": "Hostile",
        "secrets": {"key": {"in": "header", "name": "X-Key"}},
        "operations": [*reads, write, keyed, away],
    }


@pytest.fixture(scope="module")
def enemy() -> Iterator[Hostile]:
    with hostile() as server:
        yield server


@pytest.fixture
def binding(do, enemy, monkeypatch) -> dict[str, Any]:
    """The hostile server registered; what binds it."""
    monkeypatch.setenv("ENEMY_KEY", SECRET)
    do("register", name="enemy", document=descriptor(*GETS, "fine"))
    return {
        "name": "enemy",
        "server": enemy.url,
        "secrets": {"key": "env:ENEMY_KEY"},
        "allow_addresses": ["loopback"],
        "reason": "to see what it does",
        "timeout_s": 0.6,
        "max_response_bytes": 100_000,
        "max_retries": 0,
    }


@pytest.fixture
def ask(do, binding, session) -> Call:
    """Call an operation of the hostile server."""

    def ask(operation: str, arguments: Any = None, **changes: Any) -> Any:
        do("bind", **{**binding, **changes})
        return session.call(f"holon-adapters.enemy/{operation}", arguments or {})

    return ask


FAILURES = {
    "redirect-away": "redirect_refused",
    "redirect-round": "redirect_refused",
    "redirect-file": "redirect_refused",
    "slow": "timeout",
    "slow-head": "timeout",
    "silent": "timeout",
    "endless": "output_too_large",
    "says-large": "output_too_large",
    "bomb": "output_too_large",
    "many-headers": "output_too_large",
    "bombs": "content_encoding",
    "cut": "content_encoding",
    "damaged": "content_encoding",
    "brotli": "content_encoding",
    "html": "content_type",
    "untyped": "content_type",
    "not-json": "output_not_json",
    "against-schema": "output_schema",
    "undocumented": "http_status",
    "echo": "secret_echoed",
    "echo-escaped": "secret_echoed",
    "echo-in-header": "secret_echoed",
    "echo-in-error": "http_client_error",
    "long-error": "http_server_error",
    "busy": "http_client_error",
    "no-http": "http_protocol",
    "hangs-up": "connection_failed",
    "wrong-length": "connection_failed",
}


@pytest.mark.parametrize("attack", FAILURES)
def test_each_attack_is_a_failure_by_its_name(ask, rt, enemy, attack) -> None:
    """It fails typed, in time, and the secret is in neither the result nor the evidence."""
    enemy.elsewhere = "https://example.invalid/steal"
    began = time.monotonic()

    result = ask(attack)

    assert result.failure.code == FAILURES[attack], result.failure
    assert result.output is None
    assert time.monotonic() - began < 6
    kept = repr(result) + EvidenceReader(rt).text()
    assert SECRET not in kept
    assert b64encode(SECRET.encode()).decode().rstrip("=") not in kept


def test_a_redirect_elsewhere_takes_no_secret_along(ask, enemy) -> None:
    """Another server on the same machine, by another port, is never asked."""
    with hostile() as other:
        enemy.elsewhere = f"{other.url}/fine"

        result = ask("redirect-away")
        written = ask("write-away")

        assert result.failure.code == written.failure.code == "redirect_refused"
        assert other.seen == []


def test_a_redirect_within_the_origin_is_followed_for_reads(ask, enemy) -> None:
    """The place it leads to is asked, and the answer counts."""
    result = ask("redirect-within")

    assert result.output == {"status": 200, "body": {"ok": True}}
    assert enemy.seen[-1].startswith("GET /fine?x=1 ")


def test_packed_content_is_unpacked(ask) -> None:
    """Compression that stays within the limit is no attack."""
    assert ask("packed").output["body"] == {"ok": True}


def test_a_bomb_is_never_held_in_memory(ask) -> None:
    """Of 64 MiB that 64 KiB stand for, only the limit is ever there."""
    ask("fine")
    tracemalloc.start()
    try:
        ask("bomb")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 * 1024 * 1024


@pytest.mark.parametrize(
    "note",
    ["a\r\nX-Admin: 1", "a\nb", "a\x00b", " a", "a ", "ä", "\x7f", "a\u2028b"],
    ids=["crlf", "lf", "nul", "before", "after", "latin", "del", "line"],
)
def test_a_header_takes_no_second_line(ask, session, enemy, note) -> None:
    """What would break or bend a header is refused by its argument, and nothing is sent."""
    asked = len(enemy.seen)

    result = ask("fine", {"X-Note": note})

    assert result.status is Status.FAILED
    assert result.failure.code == "arguments_invalid"
    assert result.failure.details["path"] == "/X-Note"
    assert len(enemy.seen) == asked
    shown = session.dry_run("holon-adapters.enemy/fine", {"X-Note": note})
    assert (shown.failure.code, shown.failure.details["path"]) == ("arguments_invalid", "/X-Note")


def test_a_query_takes_anything_and_stays_one_value(ask, enemy) -> None:
    """What would end the line, the value or the query is encoded."""
    ask("fine", {"q": "a&admin=1#x\r\nX-Admin: 1"})

    assert enemy.seen[-1].startswith("GET /fine?q=a%26admin%3D1%23x%0D%0AX-Admin%3A%201 HTTP")


def test_a_name_that_resolves_to_a_private_address_is_not_connected_to(
    ask, enemy, monkeypatch
) -> None:
    """Whatever the name says, the address decides, and it is refused before anything is sent."""
    asked = len(enemy.seen)
    _resolve(monkeypatch, ["10.1.2.3"])

    result = ask("fine", server=f"https://api.example.test:{enemy.port}")

    assert result.status is Status.BLOCKED
    assert result.failure.code == "address_refused"
    assert "10.1.2.3 is private" in result.failure.message
    assert len(enemy.seen) == asked


def test_an_answer_that_changes_between_two_questions_gains_nothing(ask, monkeypatch) -> None:
    """The name is asked for once; what is connected to is of that one answer."""
    asked = _resolve(monkeypatch, ["127.0.0.1"], ["169.254.169.254"])

    result = ask("fine", server="http://api.example.test:1", allow_addresses=["loopback"])

    assert result.failure.code == "connection_failed"
    assert len(asked) == 1


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.9.9", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1",
        "fec0::1", "3fff::1", "5f00::1", "64:ff9b:1::1", "2001:db8::1", "192.0.0.1", "198.18.0.1",
    ],
)  # fmt: skip
def test_no_address_within_is_connected_to(ask, monkeypatch, address) -> None:
    """In whatever form it is written; cloud metadata, too."""
    _resolve(monkeypatch, [address])

    result = ask("fine", server="https://api.example.test", allow_addresses=[])

    assert result.failure.code == "address_refused"


def test_plain_http_never_leaves_the_allowed_networks(ask, monkeypatch) -> None:
    """A public address is refused where nothing encrypts what is sent."""
    _resolve(monkeypatch, ["93.184.215.14"])

    result = ask("fine", server="http://api.example.test", allow_addresses=["loopback"])

    assert result.failure.code == "address_refused"
    assert "use https" in result.failure.message


def test_a_proxy_of_the_environment_is_not_used(ask, enemy, monkeypatch) -> None:
    """Requests go where the binding says, whatever the environment of the process says."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert ask("fine").output["body"] == {"ok": True}
    assert enemy.seen[-1].startswith("GET /fine ")


def test_a_certificate_that_nobody_signed_is_refused(ask, tmp_path) -> None:
    """TLS is verified; the request, and the secret in it, are never sent."""
    from tls_server import tls_server

    with tls_server(tmp_path) as served:
        refused = ask("fine", server=served.url)
        trusted = ask("fine", server=served.url, ca_file=str(served.ca_file))

    assert refused.failure.code == "tls_failed"
    assert trusted.output["body"] == {"ok": True}
    assert len(served.seen) == 1


def test_reads_are_tried_again_and_writes_are_not(ask, enemy) -> None:
    """A POST may do twice what is asked once; a GET may not."""
    enemy.failures_left = 2
    read = ask("flaky", max_retries=2, timeout_s=5)
    enemy.failures_left = 1
    before = len(enemy.seen)

    written = ask("write", max_retries=2, timeout_s=5)

    assert read.output == {"status": 200, "body": {"ok": True}}
    assert written.failure.code == "http_server_error"
    assert len(enemy.seen) - before == 1


def test_a_write_with_a_key_of_the_api_is_tried_again(ask, enemy, do, binding, session) -> None:
    """The API knows the second by its key, which is the caller's."""
    do("bind", **{**binding, "max_retries": 2, "timeout_s": 5})
    enemy.failures_left = 1
    before = len(enemy.seen)

    result = session.call("holon-adapters.enemy/write-keyed", {}, key="order-77")

    heads = enemy.seen[before:]
    assert result.output["status"] == 200
    assert len(heads) == 2
    assert all("idempotency-key: order-77" in head.lower() for head in heads)


def test_a_key_that_cannot_stand_in_a_header_is_refused(do, enemy, binding, session) -> None:
    """Nothing is sent."""
    do("bind", **binding)
    before = len(enemy.seen)

    result = session.call("holon-adapters.enemy/write-keyed", {}, key="é order")

    assert result.failure.code == "arguments_invalid"
    assert len(enemy.seen) == before


@pytest.mark.parametrize("patience", ["3600", "100000", "9" * 30, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_server_that_asks_for_patience_is_not_waited_for_beyond_the_limit(
    ask, enemy, monkeypatch, patience
) -> None:
    """Retry-After of an hour, or of years, ends the call with what the server said."""
    monkeypatch.setattr(enemy, "patience", patience)
    before = len(enemy.seen)

    result = ask("busy", max_retries=2, timeout_s=20)

    assert result.failure.code == "http_client_error"
    assert result.failure.details["retry_after"] == patience
    assert len(enemy.seen) - before == 1


def test_an_error_tells_what_the_api_said_within_bounds(ask) -> None:
    """Status and problem details are there, the secret is not."""
    failure = ask("echo-in-error").failure

    assert failure.details["status"] == 401
    assert failure.details["problem"]["title"] == "No"
    assert "[redacted" in failure.details["problem"]["detail"]
    assert len(json.dumps(dict(ask("long-error").failure.details))) < 4000


def test_a_server_that_is_not_there_is_a_failure(ask) -> None:
    """Nobody listens."""
    result = ask("fine", server="http://127.0.0.1:1")

    assert result.failure.code == "connection_failed"


def test_a_host_without_an_address_is_a_failure(ask, monkeypatch) -> None:
    """The name is unknown."""
    _resolve(monkeypatch)

    assert ask("fine", server="https://nowhere.example.test").failure.code == "host_unknown"


def test_a_resolver_that_hangs_ends_with_the_call(ask, monkeypatch) -> None:
    """The system's resolver has no time limit of its own."""

    def hang(*_: Any, **__: Any) -> list[Any]:
        time.sleep(2)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began = time.monotonic()

    result = ask("fine", server="https://slow.example.test")

    assert result.failure.code == "timeout"
    assert time.monotonic() - began < 1.9


def _resolve(monkeypatch: Any, *answers: list[str]) -> list[str]:
    """Let names resolve to these addresses, one list a question; return the names asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *args: Any, **more: Any) -> Any:
        if not host.endswith(".test"):
            return real(host, port, *args, **more)
        asked.append(host)
        if not answers:
            raise socket.gaierror(-2, "unknown")
        found = answers[min(len(asked), len(answers)) - 1]
        kinds = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in found]
        return [
            (kind, socket.SOCK_STREAM, 6, "", (each, port))
            for kind, each in zip(kinds, found, strict=True)
        ]

    monkeypatch.setattr("holon_adapters.live.network.socket.getaddrinfo", getaddrinfo)
    return asked


def test_a_cancelled_call_ends_at_once(do, binding, rt) -> None:
    """Nobody waits for the server once the caller is gone."""
    import asyncio

    do("bind", **{**binding, "timeout_s": 30})
    session = rt.session(principal="ann")

    async def cancelled() -> float:
        task = asyncio.ensure_future(session.acall("holon-adapters.enemy/silent", {}))
        await asyncio.sleep(0.4)
        began = time.monotonic()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return time.monotonic() - began

    assert asyncio.run(cancelled()) < 2
    assert EvidenceReader(rt).text().count('"cancelled"')


def test_a_kept_connection_spends_the_time_of_the_call_that_uses_it(do, binding, session) -> None:
    """The time of an earlier call, long over, ends no later one."""
    do("bind", **binding)
    first = session.call("holon-adapters.enemy/fine", {})
    time.sleep(0.7)

    second = session.call("holon-adapters.enemy/fine", {})

    assert first.output == second.output == {"status": 200, "body": {"ok": True}}
