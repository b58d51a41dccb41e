"""Messages of clients, read once and strictly, before the SDK has them.

The SDK's own reading takes the last of two equal keys, and leaves what it cannot read without an
answer, so that whoever asked waits for ever.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeAlias

from mcp_types.jsonrpc import JSONRPCMessage, jsonrpc_message_adapter

from holon_core.errors import JsonRefused
from holon_core.operations import jsonrpc
from holon_core.operations.jsonrpc import Fault
from holon_core.operations.lines import TooLong
from holon_core.wire.strict_json import parse

MAX_BYTES = jsonrpc.MAX_LINE_BYTES
RequestId: TypeAlias = "str | int | None"

# A text that does not end goes to the end, so that nothing is looked at twice.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)|[\[\]{}]', re.DOTALL)
_ID = rb'(-?\d{1,16}|"(?:[^"\\]|\\.){0,400}")'
_MEMBER = re.compile(rb"\s*:\s*(?:" + _ID + rb")?", re.DOTALL)
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*' + _ID + rb"\s*}\s*\Z", re.DOTALL)
_TOLD = frozenset({b'"id"', b'"method"', b'"result"', b'"error"'})


class Unread(NamedTuple):
    """A message that is refused: what its sender is told, and whether it was an answer itself."""

    fault: Fault
    is_answer: bool


def read_message(data: bytes | TooLong) -> JSONRPCMessage | Unread:
    """Read one message.

    Args:
        data: Its text, or the edges of one that was too long to be kept.

    Returns:
        The message; or why it is none, with its id where that can be told.
    """
    if isinstance(data, TooLong):
        return _unread(jsonrpc.too_long(), data.head, tail=data.tail)
    try:
        value = parse(data, max_bytes=MAX_BYTES)
    except JsonRefused as error:
        told = {"rule": error.rule, "path": error.path, "offset": error.offset}
        return _unread(Fault(code=jsonrpc.PARSE_ERROR, message=str(error), data=told), data)
    problem = _problem(value)
    if not problem:
        try:
            return jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValueError:
            problem = 'a message says "jsonrpc": "2.0", and a method with its params in an object'
    return _unread(Fault(code=jsonrpc.INVALID_REQUEST, message=problem), data)


def _problem(value: Any) -> str:
    if not isinstance(value, dict):
        return "a message is a JSON object, and one of them at a time"
    # The SDK takes a request whose id it cannot read for one that wants no answer.
    if "method" in value and type(value.get("id", 0)) not in (str, int):
        return "an id is a string or an integer"
    return ""


def _unread(fault: Fault, text: bytes, *, tail: bytes = b"") -> Unread:
    found, names = _glance(text)
    last = _LAST_ID.search(tail)
    if found is None and last is not None:
        found = _id_of(last[1])
    is_answer = b'"method"' not in names and not names.isdisjoint({b'"result"', b'"error"'})
    return Unread(
        Fault(code=fault.code, message=fault.message, data=fault.data, id=found), is_answer
    )


def _glance(text: bytes) -> tuple[RequestId, set[bytes]]:
    """Find the id of a text that may be no JSON, and which members of a message it names.

    An id that is given twice is none.
    """
    depth, ids, names = 0, [], set()
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in b"[{":
            depth += 1
        elif word in b"]}":
            depth -= 1
        elif depth == 1 and word in _TOLD and (member := _MEMBER.match(text, token.end())):
            names.add(word)
            if word == b'"id"':
                ids.append(member[1])
    return (_id_of(ids[0]) if len(ids) == 1 else None), names


def _id_of(text: bytes | None) -> RequestId:
    try:
        found = parse(text or b"null")
    except JsonRefused:
        return None
    return found if isinstance(found, (str, int)) else None
