"""One call on the wire: tries, redirects within the origin, and the body within its limit."""

from __future__ import annotations

import random
import re
import ssl
import time
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpcore
import httpx
from attrs import frozen

from holon_adapters.failures import CallFailed
from holon_adapters.live.budget import TimeIsUp, spending
from holon_adapters.live.decoding import TooLarge, Undecodable, read_body
from holon_adapters.live.network import AddressRefused, HostUnknown
from holon_adapters.request.building import OWN_HEADERS
from holon_adapters.request.origins import BadOrigin, split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holon_adapters.live.budget import Budget
    from holon_adapters.live.pool import VettedTransport
    from holon_adapters.request.building import Signed

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
_GONE = re.compile("disconnected|peer closed|Connection closed")
# Worth another try, where doing it twice is doing it once.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
FIRST_WAIT_S = 0.2
MAX_HEADER_BYTES = 64 * 1024
ERROR_BODY_BYTES = 16 * 1024


@frozen(kw_only=True)
class Answer:
    """A response, whole: its status, headers by lower-case name, and the decoded body."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    tries: int = 1
    redirects: int = 0


@frozen(kw_only=True)
class Rules:
    """What one call may do: tries beyond the first, and bytes of a body."""

    method: str
    retries: int
    max_bytes: int
    body: bytes = b""


def exchange(transport: VettedTransport, signed: Signed, rules: Rules, *, budget: Budget) -> Answer:
    """Send a request and read the answer.

    Args:
        transport: Of the binding.
        signed: The request with its secrets.
        rules: ``retries`` is 0 where doing it twice may do it twice.
        budget: The time of the call.

    Raises:
        CallFailed: There is no answer.
    """
    with spending(budget):
        tries = 0
        while True:
            tries += 1
            answer, problem = _tried(transport, signed, rules, budget)
            if tries > rules.retries or not _may_pass(answer, problem):
                break
            try:
                budget.wait(_pause(answer, tries))
            except TimeIsUp:
                if budget.over or answer is None:
                    problem = problem or _late(budget)
                break
        if problem is not None:
            problem.details["tries"] = tries
            raise problem
        assert answer is not None
        return Answer(
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            tries=tries,
            redirects=answer.redirects,
        )


def _may_pass(answer: Answer | None, problem: CallFailed | None) -> bool:
    if problem is not None:
        return problem.code == "connection_failed"
    return answer is not None and answer.status in PASSING


def _pause(answer: Answer | None, tries: int) -> float:
    """Say how long to wait: as the server asks, else twice as long as before, jittered."""
    asked = None if answer is None else _asked(answer.headers.get("retry-after", ""))
    if asked is not None:
        return asked
    return FIRST_WAIT_S * float(2 ** (tries - 1)) * (0.5 + random.random())  # noqa: S311 - no secret


def _asked(value: str) -> float | None:
    """Read Retry-After, in seconds or as a date (RFC 9110, section 10.2.3)."""
    if value.isdecimal():
        return float(value[:12])
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return max(0.0, aware.timestamp() - time.time())


def _tried(
    transport: VettedTransport, signed: Signed, rules: Rules, budget: Budget
) -> tuple[Answer | None, CallFailed | None]:
    sent = [False]
    try:
        return _followed(transport, signed, rules, sent), None
    except CallFailed as problem:
        return None, problem
    except TimeIsUp:
        return None, _late(budget)
    except AddressRefused as refused:
        return None, CallFailed("address_refused", str(refused), started=sent[0])
    except HostUnknown:
        return None, CallFailed("host_unknown", started=sent[0])
    except TooLarge:
        limit = rules.max_bytes
        return None, CallFailed("output_too_large", f"the answer is larger than {limit} bytes")
    except Undecodable as problem:
        return None, CallFailed("content_encoding", str(problem))
    except (httpcore.TimeoutException, httpcore.NetworkError, OSError) as error:
        return None, _broken(error, budget, sent=sent[0])
    except httpcore.RemoteProtocolError as error:
        # The one kind of error for a server that goes away and one that speaks no HTTP.
        gone = _GONE.search(str(error)) is not None
        return None, CallFailed("connection_failed" if gone else "http_protocol")
    except (httpcore.ProtocolError, ValueError):
        return None, CallFailed("http_protocol")


def _late(budget: Budget) -> CallFailed:
    if budget.over:
        return CallFailed("timeout", "ended by the time limit")
    return CallFailed("cancelled")


def _broken(error: Exception, budget: Budget, *, sent: bool) -> CallFailed:
    """Say what a broken connection means; of the error only what it says of certificates."""
    if isinstance(error, httpcore.TimeoutException) or budget.over:
        return CallFailed("timeout", "ended by the time limit")
    try:
        budget.left()
    except TimeIsUp:
        return CallFailed("cancelled")
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return CallFailed("tls_failed", seen.verify_message, started=sent)
        if isinstance(seen, ssl.SSLError):
            return CallFailed("tls_failed", "the server does not speak TLS as it should")
        seen = seen.__cause__ or seen.__context__
    return CallFailed("connection_failed", started=sent)


def _followed(transport: VettedTransport, signed: Signed, rules: Rules, sent: list[bool]) -> Answer:
    target, hops = signed.target, 0
    while True:
        response = _send(transport, signed, rules, target)
        sent[0] = True
        try:
            if response.status_code not in REDIRECTS:
                return _read(response, rules, hops)
            target = _next_target(transport, response, rules, target)
        finally:
            response.close()
        hops += 1
        if hops > MAX_REDIRECTS:
            raise CallFailed("redirect_refused", f"more than {MAX_REDIRECTS} redirects")


def _send(transport: VettedTransport, signed: Signed, rules: Rules, target: str) -> httpx.Response:
    headers = [*OWN_HEADERS, *signed.headers]
    request = httpx.Request(
        rules.method,
        transport.origin,
        headers=headers,
        content=rules.body or None,
        # Exactly the target that a preview shows: nothing is quoted or normalised again.
        extensions={"target": target.encode("ascii")},
    )
    return transport.handle_request(request)


def _next_target(
    transport: VettedTransport, response: httpx.Response, rules: Rules, target: str
) -> str:
    """Return where a redirect leads, if it stays within the origin and only reads."""
    if rules.method not in ("GET", "HEAD"):
        text = f"a {rules.method} is not sent again to where a redirect leads"
        raise CallFailed("redirect_refused", text, status=response.status_code)
    base = str(transport.origin).rstrip("/")
    place = response.headers.get("location", "")
    try:
        origin, _ = split(urljoin(base + target, place).partition("#")[0].partition("?")[0])
    except (BadOrigin, ValueError):
        raise CallFailed("redirect_refused", "it leads to no place of HTTP") from None
    if origin != base:
        text = f"it leads to {origin}, and the call may only go to {base}"
        raise CallFailed("redirect_refused", text, status=response.status_code)
    found = urljoin(base + target, place).partition("#")[0][len(base) :]
    if not found.isascii() or not found.isprintable() or " " in found:
        raise CallFailed("redirect_refused", "it leads to no place of HTTP")
    return found if found.startswith("/") else f"/{found}"


def _read(response: httpx.Response, rules: Rules, hops: int) -> Answer:
    headers = _headers(response)
    failing = response.status_code >= 400
    limit = min(rules.max_bytes, ERROR_BODY_BYTES) if failing else rules.max_bytes
    length = headers.get("content-length", "")
    if not failing and length.isdecimal() and int(length) > limit and rules.method != "HEAD":
        raise TooLarge
    try:
        body = b""
        if rules.method != "HEAD":
            pieces: Callable[[], object] = response.stream.__iter__  # type: ignore[union-attr]
            body = read_body(
                pieces(),  # type: ignore[arg-type]
                coding=headers.get("content-encoding", ""),
                limit=limit,
            )
    except (TooLarge, Undecodable):
        # What an error says is for people; too much of it is still that error.
        if not failing:
            raise
        body = b""
    return Answer(status=response.status_code, headers=headers, body=body, redirects=hops)


def _headers(response: httpx.Response) -> dict[str, str]:
    found: dict[str, str] = {}
    size = 0
    for raw_name, raw_value in response.headers.raw:
        size += len(raw_name) + len(raw_value)
        name = raw_name.decode("latin-1").lower()
        value = raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    if size > MAX_HEADER_BYTES:
        raise CallFailed(
            "output_too_large", f"the headers are larger than {MAX_HEADER_BYTES} bytes"
        )
    return found
