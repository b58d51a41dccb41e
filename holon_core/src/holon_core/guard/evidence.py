"""Writing evidence: one record's body and payload, made before the lock, appended inside it."""

from __future__ import annotations

import json
from hashlib import sha256
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.store.chains import Draft
from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.clock import Clock
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.redaction import Redactor
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.wire.schema_marks import Marks

RUNTIME_CHAIN = "_runtime"
MAX_PAYLOAD_BYTES = 64 * 1024
MAX_TEMPLATES = 4096
_OWN = "\0"
_WHO = frozenset({"principal", "on_behalf_of", "workspace"})
# Copied for each hash: making one anew asks OpenSSL for the algorithm by its name.
_SHA256 = sha256()
# A kind of record, and the ids of what its fields depend on.
_Key = tuple[Any, ...]


def compose(fields: dict[str, str]) -> str:
    """Join encoded fields to one canonical JSON object; names are ASCII."""
    return "{" + ",".join([f'"{name}":{fields[name]}' for name in sorted(fields)]) + "}"


def caller_fragment(caller: CallerContext, text: Callable[[str], str]) -> str:
    """Encode a caller as evidence names it, its further texts as ``text`` gives them."""
    from holon_core.store.approval_tables import caller_json

    said = caller_json(caller)
    # Whose a record is stays readable whatever secrets there are: principals and workspaces.
    rest = {name: text(value) for name, value in said.items() if name not in _WHO}
    return compose({name: quote(value) for name, value in {**said, **rest}.items()})


class Recorder:
    """Makes records: redacts, bounds and encodes what they hold.

    Args:
        clock: Where times come from.
        redactor: Knows every secret value that this runtime has fetched.
        host: What each record says of its writer, e.g. the operating system's user.
    """

    def __init__(self, clock: Clock, redactor: Redactor, host: dict[str, str]) -> None:
        self._clock = clock
        self._redactor = redactor
        self._host = compose({name: quote(value) for name, value in host.items()})
        self._latest = 0
        self._callers: dict[CallerContext, str] = {}
        self._templates: dict[_Key, tuple[tuple[object, ...], tuple[str, ...]]] = {}
        redactor.when_known(self._forget)

    def caller(self, caller: CallerContext) -> str:
        """Return a caller's fragment, encoded once."""
        fragment = self._callers.get(caller)
        if fragment is None:
            if len(self._callers) > 1024:
                self._callers.clear()
            fragment = self._callers[caller] = caller_fragment(caller, self._redactor.text)
            if self._holds_secret(fragment):
                self._callers.pop(caller, None)
        return fragment

    def _holds_secret(self, text: str) -> bool:
        # Asked of what was just kept: a value that became known meanwhile is either seen here, or
        # told of afterwards and all is forgotten.
        return self._redactor.text(text) is not text

    def _forget(self) -> None:
        """Encode anew what was encoded before a secret became known."""
        self._callers.clear()
        self._templates.clear()

    def draft(
        self,
        chain: str,
        call: str,
        kind: str,
        fields: dict[str, str],
        *,
        payload: bytes | None = None,
    ) -> Draft:
        """Make a record of encoded fields and a payload that is already safe to keep."""
        at = int(self._clock.now())
        fields["v"] = "1"
        fields["kind"] = f'"{kind}"'
        fields["call"] = quote(call)
        fields["at"] = str(at)
        if at < self._latest:
            # Order comes from the chain; the jump is noted so that readers do not trust times.
            fields["clock_stepped_back_s"] = str(self._latest - at)
        else:
            self._latest = at
        if payload is not None:
            fields["payload"] = _payload_fragment(payload)
        body = compose(fields).encode()
        return Draft(chain, call, kind, at=at, body=body, payload=payload)

    def again(
        self,
        attempt: Attempt,
        key: _Key,
        payload: bytes,
        *,
        duration_ms: int | None = None,
    ) -> Draft | None:
        """Make a record that but for time, call, duration and payload was made before.

        Args:
            attempt: Whose record.
            key: As it was learned by.
            payload: Already safe to keep.
            duration_ms: Of the execution, where there was one.

        Returns:
            The record; ``None`` where none like it was learned, or where the clock went back.
        """
        at = int(self._clock.now())
        known = self._templates.get(key)
        if known is None or at < self._latest:
            return None
        self._latest = at
        call = attempt.call_id
        about = _payload_fragment(payload)
        if duration_ms is None:
            start, after_at, after_call, end = known[1]
            text = f"{start}{at}{after_at}{call}{after_call}{about}{end}"
        else:
            start, after_at, after_call, timed, end = known[1]
            text = f"{start}{at}{after_at}{call}{after_call}{duration_ms}{timed}{about}{end}"
        return Draft(attempt.chain, call, key[0], at=at, body=text.encode(), payload=payload)

    def learn(
        self,
        key: _Key,
        fields: dict[str, str],
        about: tuple[object, ...],
    ) -> None:
        """Remember the fields of a record, so that ``again`` makes others like it.

        Args:
            key: The record's kind, and the ids of what its fields depend on.
            fields: Encoded; those that differ from record to record may be missing.
            about: What the ids are of. Kept, so that no id is used again while it is known.
        """
        if len(self._templates) >= MAX_TEMPLATES:
            self._templates.clear()
        # Cut where a record has its own: no encoded text holds this character.
        own = {"at": _OWN, "call": f'"{_OWN}"', "payload": _OWN}
        if "duration_ms" in fields:
            own["duration_ms"] = _OWN
        text = compose({**fields, **own, "kind": f'"{key[0]}"', "v": "1"})
        self._templates[key] = (about, tuple(text.split(_OWN)))
        if self._holds_secret(text):
            self._templates.pop(key, None)

    def host_fragment(self) -> str:
        """Return what records say of their writer."""
        return self._host

    def safe_payload(self, value: Any, canonical: bytes | None, marks: Marks | None) -> bytes:
        """Return a payload as it may be kept: redacted first, bounded after.

        Args:
            value: A JSON value.
            canonical: Its canonical bytes where they are known.
            marks: Where its schema marks secrets.
        """
        if marks is not None:
            from holon_core.wire.schema_marks import mask

            value, canonical = mask(value, marks), None
        if self._redactor.active:
            value, canonical = self._redactor.value(value), None
        if canonical is None:
            canonical = encode(value)
        if len(canonical) > MAX_PAYLOAD_BYTES:
            return _bounded(canonical)
        return canonical

    def safe_json(self, value: Any) -> str:
        """Encode a field of a body, redacted."""
        return encode(self._redactor.value(value) if self._redactor.active else value).decode()

    def safe_text(self, text: str, *, limit: int = 500) -> str:
        """Return a text for people, redacted and then bounded."""
        text = self._redactor.text(text) if self._redactor.active else text
        return text if len(text) <= limit else text[: limit - 1] + "…"

    def safe_failure(self, problem: StructuredFailure) -> StructuredFailure:
        """Return a failure as callers and evidence may see it; the same where nothing is known."""
        if not self._redactor.active:
            return problem
        from attrs import evolve

        details: Any = self._redactor.value(dict(problem.details))
        return evolve(problem, message=self._redactor.text(problem.message), details=details)

    def quoted(self, text: str, *, limit: int = 500) -> str:
        """Encode a text of a caller or a host as a field of a body, redacted and bounded."""
        return quote(self.safe_text(text, limit=limit))

    def foreign_text(self, given: object, *, limit: int = 500) -> str:
        """Return a text of a tool, a lane or a plugin as people may see it.

        Args:
            given: What it gave as text, whatever that is.
            limit: Characters kept, counted before invisible ones are written out.

        Returns:
            Text that holds no secret, control character or lone surrogate.
        """
        from holon_core.plugins.faults import text_of

        return escape_controls(self.safe_text(text_of(given), limit=limit))


def _payload_fragment(payload: bytes) -> str:
    digest = _SHA256.copy()
    digest.update(payload)
    return f'{{"bytes":{len(payload)},"sha256":"{digest.hexdigest()}"}}'


def encode(value: Any) -> bytes:
    """Encode a JSON value canonically; what is not JSON becomes a note of its type."""
    from holon_core.errors import JsonRefused
    from holon_core.wire.canonical import canonical

    try:
        return canonical(value)
    except JsonRefused:
        text = json.dumps(value, default=lambda o: f"<{type(o).__name__}>", skipkeys=True)
        return canonical(_sound(json.loads(text)))


def _sound(value: Any) -> Any:
    """Make a value of another program sound JSON: odd numbers and surrogates become text."""
    if isinstance(value, dict):
        return {_sound(str(key)): _sound(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_sound(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bool) or value is None:
        return value
    sound = abs(value) <= 2**53 - 1 if isinstance(value, int) else abs(value) < float("inf")
    return value if sound else str(value)


def _bounded(canonical: bytes) -> bytes:
    text = canonical.decode()
    kept = MAX_PAYLOAD_BYTES // 4
    return encode(
        {
            "truncated": True,
            "bytes": len(canonical),
            "sha256": sha256(canonical).hexdigest(),
            "head": text[:kept],
            "tail": text[-kept // 4 :],
        }
    )
