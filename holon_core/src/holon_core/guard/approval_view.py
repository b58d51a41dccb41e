"""The view of a held call: Holon's facts, the request, the payload, what differs, what deceives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

from holon_core.guard.confusables import compared, flags_of
from holon_core.guard.evidence import encode
from holon_core.guard.redaction import Redactor
from holon_core.records.approval import ApprovalRecord, HeldCall
from holon_core.records.approval_view import ApprovalView, ShownText, ViewFlag
from holon_core.visible import escape_unseen
from holon_core.wire.difference import Pair, differing, pointer_step, shown_change
from holon_core.wire.schema_marks import MASKED, marked_paths, mask

MAX_TEXT_BYTES = 64 * 1024
MAX_CHANGES = 100
MAX_FLAGS = 50
MAX_UNTRUSTED_CHARS = 4_000
_MAX_FACT_CHARS = 400
_TAIL_BYTES = 8 * 1024
T = TypeVar("T")


def build_view(
    held: HeldCall,
    approval: ApprovalRecord,
    *,
    last_arguments: Mapping[str, Any] | None,
    now: int,
    operator: str | None = None,
) -> ApprovalView:
    """Make what a person sees who decides about a held call.

    Args:
        held: The call, as it was held.
        approval: What it waits for.
        last_arguments: Normalised arguments of the last approved call of this tool in this
            workspace; None where there was none.
        now: Unix seconds.
        operator: Who may approve own calls in this runtime, if anybody may.

    Returns:
        A view whose every text is safe to print; values at places that the input schema marks
        with ``x-holon-secret`` are masked, also where the request repeats them.

    Source: design, section 6, "Approvals".
    """
    marks = marked_paths(held.tool.get("input_schema") or {})
    payload = held.arguments if marks is None else mask(held.arguments, marks)
    last = last_arguments if marks is None else mask(last_arguments, marks)
    hide = _hider(held.arguments, payload, last_arguments, last)
    request = None if held.preview is None else hide(dict(held.preview))
    untrusted = dict(_said(held.tool))
    whole = Pair(
        "/arguments", last_arguments, held.arguments, shown_before=last, shown_after=payload
    )
    pairs = [] if last_arguments is None else list(differing(whole))
    flags = _bounded(_flags(held, payload, request, untrusted, pairs), MAX_FLAGS)
    return ApprovalView(
        call_id=_short(held.call_id),
        approval_id=_short(approval.id),
        facts=_facts(held, approval, now, operator),
        request=None if request is None else shown_text(request),
        payload=shown_text(payload),
        compared=last_arguments is not None,
        difference=tuple(map(shown_change, pairs[:MAX_CHANGES])),
        more_changes=max(0, len(pairs) - MAX_CHANGES),
        flags=flags[0],
        more_flags=flags[1],
        untrusted={name: _paragraphs(text) for name, text in untrusted.items()},
    )


def _facts(
    held: HeldCall, approval: ApprovalRecord, now: int, operator: str | None
) -> dict[str, Any]:
    tool, caller = held.tool, held.caller
    made_by = tool.get("provenance") or {}
    facts = {
        "principal": caller.principal,
        "on_behalf_of": caller.on_behalf_of,
        "role": caller.role,
        "profile": caller.profile,
        "workspace": caller.workspace,
        "plan_step": caller.plan_step,
        "run": caller.run,
        "surface": caller.surface,
        "tool": tool.get("id"),
        "version": tool.get("version"),
        "definition": approval.definition,
        "distribution": made_by.get("distribution") or None,
        "distribution_version": made_by.get("version") or None,
        "lane": tool.get("lane"),
        "origin": tool.get("origin"),
        "posture": tool.get("posture"),
        "effects": list(tool.get("effects") or ()),
        "side_effect_class": tool.get("side_effect_class"),
        "approval_requirement": tool.get("approval"),
        "secret_slots": [slot["name"] for slot in tool.get("secret_slots") or ()],
        "state": approval.state,
        "held": held.state,
        "requested_at_unix_seconds": approval.requested_at_unix_seconds,
        "expires_at_unix_seconds": approval.expires_at_unix_seconds,
        "expires_in_s": max(0, approval.expires_at_unix_seconds - now),
        "self_approval": operator is not None and operator == approval.principal,
        "idempotency_key": held.idempotency_key,
    }
    return {name: _fact(value) for name, value in facts.items()}


def _fact(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(str(item)) for item in value]
    return _short(str(value)) if isinstance(value, str) else value


def _short(text: str) -> str:
    return _cut(text, _MAX_FACT_CHARS)


def _cut(text: str, limit: int) -> str:
    more = len(text) - limit
    return escape_unseen(text[:limit]) + (f"… and {more} characters more" if more > 0 else "")


def _said(tool: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a tool says of itself, all of it text that nobody vouches for."""
    for name in ("name", "title", "description"):
        if tool.get(name):
            yield name, str(tool[name])
    for name in ("risk_hints", "examples"):
        if tool.get(name):
            yield name, "\n".join(map(str, tool[name]))
    parameters = (tool.get("input_schema") or {}).get("properties")
    told = [
        f"{name}: {schema['description']}"
        for name, schema in (parameters.items() if isinstance(parameters, dict) else ())
        if isinstance(schema, Mapping) and isinstance(schema.get("description"), str)
    ]
    if told:
        yield "parameters", "\n".join(told)


def _paragraphs(text: str) -> str:
    kept = "\n".join(map(escape_unseen, text[:MAX_UNTRUSTED_CHARS].split("\n")))
    more = len(text) - MAX_UNTRUSTED_CHARS
    return f"{kept}… and {more} characters more" if more > 0 else kept


def _hider(*raw_and_masked: Any) -> Callable[[Any], Any]:
    """Make what hides the masked values in a dry run, which may repeat them in any shape."""
    redactor = Redactor()
    short: set[str] = set()
    for raw, masked in zip(raw_and_masked[::2], raw_and_masked[1::2], strict=True):
        for text in _masked_leaves(raw, masked):
            # What is too short to be looked for inside of texts is hidden where it stands alone.
            if redactor.register("argument", text) is not None:
                short.add(text)

    def hide(value: Any) -> Any:
        return _without(redactor.value(value), short) if short else redactor.value(value)

    return hide


def _without(value: Any, texts: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, texts) for item in value]
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return MASKED if plain and str(value) in texts else value


def _masked_leaves(raw: Any, masked: Any) -> Iterator[str]:
    if raw is masked:
        return
    if isinstance(masked, str) and masked == MASKED:
        yield from _leaves(raw)
    elif isinstance(raw, Mapping):
        for key, value in raw.items():
            yield from _masked_leaves(value, masked[key])
    else:
        for value, below in zip(raw, masked, strict=True):
            yield from _masked_leaves(value, below)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def shown_text(value: Any) -> ShownText:
    """Write a JSON value for a reader: indented, escaped, at most 64 KiB and a note."""
    canonical = encode(value)
    text = json.dumps(value, ensure_ascii=False, indent=2)
    data = "\n".join(map(escape_unseen, text.split("\n"))).encode()
    digest = sha256(canonical).hexdigest()
    if len(data) <= MAX_TEXT_BYTES:
        return ShownText(text=data.decode(), total_bytes=len(canonical), sha256=digest)
    head = data[: MAX_TEXT_BYTES - _TAIL_BYTES].decode(errors="ignore")
    tail = data[-_TAIL_BYTES:].decode(errors="ignore")
    note = f"\n… {len(data) - MAX_TEXT_BYTES} bytes are not shown, sha256 of all {digest} …\n"
    return ShownText(text=head + note + tail, total_bytes=len(canonical), sha256=digest, cut=True)


def _flags(
    held: HeldCall,
    payload: Any,
    request: Any,
    untrusted: Mapping[str, str],
    pairs: Iterable[Pair],
) -> Iterator[ViewFlag]:
    for pair in pairs:
        if isinstance(pair.shown_before, str) and isinstance(pair.shown_after, str):
            yield from compared(pair.shown_before, pair.shown_after, pair.path)
    seen: set[str] = set()
    for root, value in (
        ("/arguments", payload),
        ("/caller", _names(held)),
        ("/tool", {"id": held.tool.get("id"), **untrusted}),
        ("/preview", request),
    ):
        for path, text in _texts(value, root):
            if text not in seen:
                seen.add(text)
                yield from flags_of(text, path)


def _names(held: HeldCall) -> dict[str, str | None]:
    caller = held.caller
    return {
        "principal": caller.principal,
        "on_behalf_of": caller.on_behalf_of,
        "role": caller.role,
        "profile": caller.profile,
        "plan_step": caller.plan_step,
        "run": caller.run,
        "idempotency_key": held.idempotency_key,
    }


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a JSON value, names of members included, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            below = f"{path}/{pointer_step(key)}"
            yield below, key
            yield from _texts(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}/{index}")


def _bounded(items: Iterable[T], limit: int) -> tuple[tuple[T, ...], int]:
    """Keep the first of an iterable, and count the others."""
    rest = iter(items)
    return tuple(islice(rest, limit)), sum(1 for _ in rest)
