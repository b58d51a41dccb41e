"""What runs the tools of adapters: the request made, sent within its bounds, the answer checked."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from holon_adapters.failures import CallFailed
from holon_adapters.request.building import (
    BadArgument,
    Request,
    all_headers,
    masks,
    with_secrets,
)
from holon_core.errors import Refused
from holon_core.records.failure import failure
from holon_core.records.outcome import ExecutorEvidenceDraft, completed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_adapters.compiled import Operation, Operations
    from holon_adapters.live.answers import Watch
    from holon_adapters.live.exchange import Answer
    from holon_adapters.live.pool import Pools
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.outcome import ExecutorOutcome

SHOWN_BODY = 8192
EVIDENCE = "holon-adapter-exchange"
DEFAULT_TIMEOUT_S = 30.0
MAX_WATCHES = 64


class AdapterExecutor:
    """Runs operations of every adapter.

    Args:
        operations: What is behind the tools.
    """

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._lock = threading.Lock()
        self._pools: Pools | None = None
        self._watches: OrderedDict[tuple[tuple[str, str], ...], Watch] = OrderedDict()

    @property
    def pools(self) -> Pools:
        """Connections; made when the first call asks."""
        with self._lock:
            if self._pools is None:
                from holon_adapters.live.pool import Pools

                self._pools = Pools()
            return self._pools

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Send the request and answer with what the API said, checked; or with why not."""
        try:
            return self.run(call, self._operations.of(call.tool), call.arguments)
        except CallFailed as problem:
            return problem.outcome()

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show the exact request, secrets masked; nothing is resolved, opened or sent.

        Raises:
            Refused: ``arguments_invalid``: they make no request.
        """
        return self.shown(call, self._operations.of(call.tool), call.arguments)

    def run(
        self, call: SealedCall, found: Operation, arguments: Mapping[str, Any]
    ) -> ExecutorOutcome:
        """Send the request of an operation and check what comes back.

        Raises:
            CallFailed: There is no answer to give.
        """
        from holon_adapters.live.answers import output_of

        binding, names = found.binding, found.secrets
        if binding is None or names is None:
            raise CallFailed("live_execution_blocked", started=False)
        secrets = {name: call.secret(name) for name in names}
        watch = self._watch(secrets)
        answer = self._sent(call, found, arguments, secrets)
        output = output_of(found.plan, answer, watch)
        _check_size(output, answer, call.limits.max_output_bytes)
        return completed(output, _evidence(found, answer))

    def shown(
        self, call: SealedCall, found: Operation, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Show the request of an operation."""
        try:
            request = found.request(arguments, _key(call))
        except BadArgument as problem:
            bad = _bad(problem, {})
            raise Refused(failure(bad.code, bad.message, **bad.details)) from None
        names = found.secrets or ()
        signed = with_secrets(request, masks(names), found.schemes, masked=True)
        made: dict[str, Any] = {
            "method": request.method,
            "url": _unmasked(signed.url, names),
            "headers": [
                f"{name}: {value}" for name, value in _plain(all_headers(signed, request), found)
            ],
            **_body(request),
        }
        if found.binding is None:
            made["note"] = "not bound: the URL is the document's proposal"
        return made

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            pools, self._pools = self._pools, None
        if pools is not None:
            pools.close()

    def drop(self, source: str) -> None:
        """Close the connections of one adapter."""
        if self._pools is not None:
            self._pools.drop(source)

    def _sent(
        self,
        call: SealedCall,
        found: Operation,
        arguments: Mapping[str, Any],
        secrets: Mapping[str, str],
    ) -> Answer:
        from holon_adapters.live.budget import Budget
        from holon_adapters.live.exchange import Rules, exchange

        binding = found.binding
        assert binding is not None
        try:
            request = found.request(arguments, _key(call))
            signed = with_secrets(request, secrets, found.schemes)
        except BadArgument as problem:
            raise _bad(problem, secrets) from None
        try:
            transport = self.pools.get(found.source, binding)
        except OSError as error:
            text = f"the file of certificates cannot be read: {error.strerror or 'none in it'}"
            raise CallFailed("tls_failed", text, started=False) from None
        again = found.plan.idempotent or bool(found.plan.idempotency_header)
        rules = Rules(
            method=request.method,
            retries=binding.max_retries if again else 0,
            max_bytes=min(binding.max_response_bytes, call.limits.max_output_bytes),
            body=request.body,
        )
        budget = Budget(call.limits.timeout_s or DEFAULT_TIMEOUT_S, call.cancel)
        return exchange(transport, signed, rules, budget=budget)

    def _watch(self, secrets: Mapping[str, str]) -> Watch:
        from holon_adapters.live.answers import Watch

        key = tuple(secrets.items())
        with self._lock:
            watch = self._watches.get(key)
            if watch is None:
                watch = self._watches[key] = Watch(secrets)
                if len(self._watches) > MAX_WATCHES:
                    self._watches.popitem(last=False)
        return watch


def _key(call: SealedCall) -> str:
    """Return the key of the logical call: the caller's, else the call's own id."""
    # A held call keeps its id when it is released, so that a preview shows the key.
    return call.idempotency_key or call.call_id


def _bad(problem: BadArgument, secrets: Mapping[str, str]) -> CallFailed:
    if problem.property in secrets:
        text = f"the secret {problem.property}: {problem.message}"
        return CallFailed("secret_unresolved", text, started=False)
    path = f"/{problem.property}"
    return CallFailed("arguments_invalid", f"{problem.message} at {path}", started=False, path=path)


def _check_size(output: Any, answer: Answer, limit: int) -> None:
    if len(answer.body) * 8 < limit:
        return
    if len(json.dumps(output)) > limit:
        raise CallFailed("output_too_large", f"the answer is larger than {limit} bytes")


def _evidence(found: Operation, answer: Answer) -> tuple[ExecutorEvidenceDraft, ...]:
    # What is usual says nothing, and a record without it costs less.
    if answer.tries == 1 and not answer.redirects:
        return ()
    data = {"status": answer.status, "tries": answer.tries, "redirects": answer.redirects}
    return (ExecutorEvidenceDraft(source=EVIDENCE, data=data),)


def _unmasked(url: str, names: tuple[str, ...]) -> str:
    """Write the marks of secrets as they read, not percent-encoded."""
    for name in names:
        from holon_adapters.request.styles import encoded

        url = url.replace(encoded(f"[secret {name}]"), f"[secret {name}]")
    return url


def _plain(headers: tuple[tuple[str, str], ...], found: Operation) -> tuple[tuple[str, str], ...]:
    """Return headers for people; of a basic scheme the mark, not its base64."""
    from base64 import b64encode

    shown = []
    for name, value in headers:
        for secret in found.secrets or ():
            mark = f"[secret {secret}]"
            value = value.replace(b64encode(mark.encode()).decode(), mark)
        shown.append((name, value))
    return tuple(shown)


def _body(request: Request) -> dict[str, Any]:
    if not request.body:
        return {}
    kind = next((v for k, v in request.headers if k == "content-type"), "")
    if kind.partition(";")[0].endswith("json"):
        return {"body": json.loads(request.body)}
    text = request.body[:SHOWN_BODY].decode("utf-8", "replace")
    return {"body": text, "body_bytes": len(request.body)}
