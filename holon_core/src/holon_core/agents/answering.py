"""Answering a provider's tool calls: read, guarded, and told in the provider's own shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.agents.names import SEARCH, name_of
from holon_core.agents.projection import Projector, shown_schema
from holon_core.agents.searching import LIMIT, SEARCH_SCHEMA
from holon_core.agents.shapes import (
    ABSENT,
    UNREADABLE,
    at,
    filled,
    is_call,
    may_be_call,
    member,
    sendable,
)
from holon_core.agents.showing import visible
from holon_core.errors import JsonRefused, Misuse
from holon_core.guard.attempt import Attempt
from holon_core.guard.elsewhere import is_elsewhere
from holon_core.guard.idempotency import OF_PROVIDER
from holon_core.guard.results import record_refusal
from holon_core.names import whole
from holon_core.nearest import nearest
from holon_core.records.failure import failure
from holon_core.records.words import Status
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from holon_core.agents.modelling import Modelling
    from holon_core.catalogue.catalogue import Entry
    from holon_core.records.dialect import FunctionDialect
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.result import ToolResult
    from holon_core.session import Session

MAX_SEARCH_CHARS = 64 * 1024
MOST_CHARS = 16 * 1024 * 1024
MAX_CALLS = 128
# Of what went wrong: errors shown to a model, and characters of each.
MAX_ERRORS = 10
_DETAILS = ("path", "rule", "errors", "limit", "allowed", "used", "pending")
_WRAPPED = ("function_call", "functionCall")


class ToolMessage(dict[str, Any]):
    """A provider's tool-result message, with the result of the governed call beside it.

    It is an ordinary dict for the provider's SDK. ``result`` is ``None`` where what was called
    is Holon's own search.
    """

    def __init__(self, message: Mapping[str, Any], result: ToolResult | None) -> None:
        super().__init__(message)
        self.result = result

    @property
    def held(self) -> str | None:
        """Id of the held call, where it waits for a person."""
        return None if self.result is None else self.result.held


@frozen(kw_only=True)
class ModelCall:
    """A provider's call, read: nothing of it is trusted."""

    dialect: FunctionDialect
    name: str
    arguments: Any
    call_id: str | int | None


@frozen(kw_only=True)
class Prepared:
    """A read call and what the guard gets of it; ``refused`` where it gets nothing."""

    call: ModelCall
    tool: str = ""
    arguments: Any = None
    key: str | None = None
    definition: str | None = None
    refused: ToolResult | None = None
    search: Mapping[str, Any] | None = None


def read_call(projector: Projector, call: Any, dialect: FunctionDialect | None) -> ModelCall:
    """Read a provider's call.

    Raises:
        Misuse: It is in no known shape, so that no answer could be shaped either.
    """
    wrapped = False
    for wrapper in _WRAPPED:
        inner = member(call, wrapper)
        if all(inner is not nothing for nothing in (ABSENT, UNREADABLE, None)):
            call, wrapped = inner, True
    known = tuple(projector.dialects.values()) if dialect is None else (dialect,)
    found = next((each for each in known if is_call(each, call)), dialect)
    if found is None:
        # One that cannot run is answered all the same, where it says whose it is.
        meant = (each for each in known if may_be_call(each, call, wrapped=wrapped))
        found = next(meant, None)
    if found is None:
        raise Misuse(f"no tool call of a known dialect: {type(call).__name__}; name its dialect=…")
    name, call_id = at(call, found.call_name), at(call, found.call_id) if found.call_id else None
    arguments = at(call, found.call_arguments)
    return ModelCall(
        dialect=found,
        name=sendable(name) if isinstance(name, str) else "",
        arguments={} if arguments is ABSENT or arguments is None else arguments,
        call_id=_usable_id(call_id),
    )


def _usable_id(given: Any) -> str | int | None:
    """Return the id that the answer repeats; a number stays one, anything else is none."""
    if isinstance(given, str):
        return sendable(given) or None
    return given if type(given) is int else None


def prepare(
    session: Session,
    projector: Projector,
    modelling: Modelling,
    call: ModelCall,
) -> Prepared:
    """Find what is called and turn its arguments back; what can't be called is recorded."""
    guard = session._guard
    arguments = _parsed(call.arguments)
    if call.name == SEARCH:
        return _search(session, call, arguments)
    tool_id = projector.resolve(call.name)
    entry = None if tool_id is None else guard.catalogue.get(tool_id)
    if tool_id is None or entry is None or _is_elsewhere(session, entry):
        return Prepared(call=call, refused=_unknown(session, projector, call))
    pinned = modelling.pinned(call.dialect.id, call.name)
    strict = True if pinned is None else pinned[1]
    if isinstance(arguments, dict):
        arguments = projector.rendered(entry, call.dialect, strict=strict).plan.back(arguments)
    return Prepared(
        call=call,
        tool=tool_id,
        arguments=arguments,
        key=_key(session, modelling, call),
        definition=None if pinned is None else pinned[0],
    )


def _is_elsewhere(session: Session, entry: Entry) -> bool:
    return is_elsewhere(session._guard, entry.tool.workspace, session.caller)


def beyond(session: Session, call: ModelCall) -> Prepared:
    """Refuse a call behind those that are answered at once; it is recorded like any other."""
    text = f"at most {MAX_CALLS} calls are answered at once; make this one again"
    problem = failure("budget_exceeded", text, limit="calls at once", allowed=MAX_CALLS)
    return Prepared(call=call, refused=_refused(session, call, problem))


def _parsed(arguments: Any) -> Any:
    """Read arguments that are text; what can't be read is left for the guard to refuse."""
    if isinstance(arguments, str):
        # A call without arguments comes as an empty text from some servers.
        if not arguments.strip():
            return {}
        try:
            return parse(arguments)
        except JsonRefused:
            return arguments
    if isinstance(arguments, Mapping) and type(arguments) is not dict:
        try:
            return dict(arguments)
        except Exception:
            return UNREADABLE
    return arguments


def _key(session: Session, modelling: Modelling, call: ModelCall) -> str | None:
    """Make an idempotency key of a call's id, so that a call sent twice runs once."""
    if call.call_id is None:
        return None
    scope = session.caller.run or modelling.uid
    # Whatever tool and dialect it names: sent once more with others it is still the same call.
    text = json.dumps([scope, call.call_id])
    return f"{OF_PROVIDER}{sha256(text.encode()).hexdigest()[:48]}"


def _unknown(session: Session, projector: Projector, call: ModelCall) -> ToolResult:
    guard, caller = session._guard, session.caller
    shown = [name_of(each) for each in visible(projector, guard, caller)]
    text = f"no tool {call.name!r:.100}{nearest(call.name[:100], shown)}"
    return _refused(session, call, failure("unknown_tool", text))


def _refused(session: Session, call: ModelCall, problem: StructuredFailure) -> ToolResult:
    attempt = Attempt(call.name[:200] or "(no name)", {}, session.caller)
    return record_refusal(session._guard, attempt, problem, wait=True)


def _search(session: Session, call: ModelCall, arguments: Any) -> Prepared:
    from holon_core.wire.canonical import digest
    from holon_core.wire.schema_engine import compiled
    from holon_core.wire.values import normalise

    try:
        value = normalise(arguments).value
        if isinstance(value, dict):
            plan = shown_schema(SEARCH_SCHEMA, call.dialect, strict=True).plan
            value = plan.back(value)
        schema_digest = digest(SEARCH_SCHEMA, domain="holon-schema/1")
        errors = compiled(SEARCH_SCHEMA, schema_digest).errors(value)
        problem = None if not errors else f"{errors[0].message} at {errors[0].path or '/'}"
        path = "" if not errors else errors[0].path
    except JsonRefused as error:
        problem, path = str(error), error.path
    if problem is not None:
        invalid = failure("arguments_invalid", problem, path=path)
        return Prepared(call=call, refused=_refused(session, call, invalid))
    return Prepared(call=call, search=value)  # type: ignore[arg-type]


def found_tools(
    session: Session, projector: Projector, modelling: Modelling, prepared: Prepared
) -> ToolMessage:
    """Answer a search: what was found is shown from the next list of tools on."""
    assert prepared.search is not None
    limit = prepared.search.get("limit", LIMIT)
    guard = session._guard
    entries = visible(projector, guard, session.caller)
    found: list[dict[str, Any]] = []
    page = session.discover(prepared.search["query"], limit=100)
    for item in page.items:
        entry = entries.get(item.id)
        if entry is not None and len(found) < limit:
            text = _short(entry.tool.description)
            found.append({"name": name_of(entry.tool.id), "description": text})
    modelling.find(each.id for each in page.items if each.id in entries and _in(found, each.id))
    body = {"tools": found} if found else {"tools": [], "message": "no tool fits"}
    return _message(prepared.call, None, body, failed=False, limit=MAX_SEARCH_CHARS)


def _in(found: list[dict[str, Any]], tool_id: str) -> bool:
    return any(each["name"] == name_of(tool_id) for each in found)


def _short(text: str) -> str:
    from holon_core.agents.texts import cleaned

    return cleaned(text, 300)


def message_of(call: ModelCall, result: ToolResult, *, limit: int) -> ToolMessage:
    """Tell a result in the provider's shape: bounded, and what went wrong with its place."""
    if result.status is Status.COMPLETED:
        return _message(call, result, result.output, failed=False, limit=limit)
    if result.held is not None:
        body: dict[str, Any] = {
            "status": "held",
            "held": result.held,
            "message": "a person has to approve this call; it has not run",
        }
        return _message(call, result, body, failed=False, limit=limit)
    problem = result.failure
    assert problem is not None, "a call that did not complete says why"
    body = {
        "status": result.status.value,
        "failure": {
            "kind": problem.kind.value,
            "code": problem.code,
            "message": problem.message,
            "next_action": problem.next_action,
            **_details(problem),
        },
    }
    return _message(call, result, body, failed=True, limit=limit)


def _details(problem: StructuredFailure) -> dict[str, Any]:
    kept = {name: problem.details[name] for name in _DETAILS if name in problem.details}
    if isinstance(kept.get("errors"), list):
        kept["errors"] = kept["errors"][:MAX_ERRORS]
    return {"details": kept} if kept else {}


def _message(
    call: ModelCall, result: ToolResult | None, body: Any, *, failed: bool, limit: int
) -> ToolMessage:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    whole_text = len(text) <= limit
    if not whole_text:
        body, text = _cut(text, limit)
    done = not failed and (result is None or result.held is None)
    owes = isinstance(None if result is None else result.output, dict) and not whole_text
    values = {
        "id": ABSENT if call.call_id is None else call.call_id,
        "name": call.name,
        "text": text,
        "failed": failed,
        # Whoever is promised the output of a tool's schema is told so where it is not there.
        "unfinished": not done or owes,
        "value": {"error" if failed else "output": body},
        "structured": body if done and whole_text and isinstance(body, dict) else ABSENT,
    }
    return ToolMessage(filled(call.dialect.result, values), result)


def _cut(text: str, limit: int) -> tuple[dict[str, Any], str]:
    """Return the head of a text that is too long, with a note, and both as a text that fits."""
    room = limit - 100
    while True:
        body = {"truncated": True, "chars": len(text), "head": text[:room]}
        made = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        if len(made) <= limit:
            return body, made
        # What is escaped once more takes more room.
        room = room * limit // (len(made) + 1)


def several(tool_calls: Any) -> list[Any] | None:
    """Return the calls of a batch; ``None`` for a single one."""
    if isinstance(tool_calls, (list, tuple)):
        return list(tool_calls)
    return None


def limited(max_chars: int) -> int:
    """Return the limit of a message, in characters."""
    return whole(max_chars, "max_chars", least=200, most=MOST_CHARS)
