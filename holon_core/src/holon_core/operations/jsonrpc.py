"""JSON-RPC 2.0 as served: reading messages strictly, and errors with their codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from attrs import frozen

from holon_core.errors import HolonError, JsonRefused, Rejected
from holon_core.operations.faults import BadRequest, ProblemStatus, UnknownOperation, problem_of
from holon_core.records.base import Record
from holon_core.wire.strict_json import parse

MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_BATCH = 100

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
# The server's own: an operation that was refused, a rejection, too much at once, cancelled.
REFUSED = -32000
REJECTED = -32001
BUSY = -32002
CANCELLED = -32800

RequestId = str | int | float | None
Message = dict[str, Any]
_MEMBERS = {"jsonrpc", "id", "method", "params"}


@frozen(kw_only=True, eq=False, repr=False)
class Request(Record):
    """One request; a notification where ``answered`` is false."""

    id: RequestId
    answered: bool
    method: str
    params: Mapping[str, Any]


@frozen(kw_only=True, eq=False, repr=False)
class Fault(Record):
    """Why a request has no result; ``id`` is ``None`` where it could not be told."""

    code: int
    message: str
    data: Any = None
    id: RequestId = None


class Read(NamedTuple):
    """What one line holds: one message, or a batch of them."""

    members: list[Request | Fault]
    batch: bool


def read(line: bytes) -> Read:
    """Read one line, strictly; a fault of it is a value."""
    try:
        value = parse(line, max_bytes=MAX_LINE_BYTES)
    except JsonRefused as error:
        data = {"rule": error.rule, "path": error.path, "offset": error.offset}
        return Read([Fault(code=PARSE_ERROR, message=str(error), data=data)], batch=False)
    if not isinstance(value, list):
        return Read([_message(value)], batch=False)
    if not 0 < len(value) <= MAX_BATCH:
        fault = Fault(code=INVALID_REQUEST, message=f"a batch holds 1 to {MAX_BATCH} messages")
        return Read([fault], batch=False)
    return Read([_message(each) for each in value], batch=True)


def too_long() -> Fault:
    """Make the fault of a line that was not even kept."""
    text = f"a line has at most {MAX_LINE_BYTES} bytes"
    return Fault(code=PARSE_ERROR, message=text, data={"rule": "too_large"})


def _message(value: Any) -> Request | Fault:
    if not isinstance(value, dict):
        return Fault(code=INVALID_REQUEST, message="a message is a JSON object")
    request_id = value.get("id")
    if isinstance(request_id, (bool, list, dict)):
        return Fault(code=INVALID_REQUEST, message="an id is a string, a number or null")
    problem = _problem(value)
    if problem:
        return Fault(code=INVALID_REQUEST, message=problem, id=request_id)
    params = value.get("params", {})
    if not isinstance(params, dict):
        text = "parameters are given by name, in an object"
        return Fault(code=INVALID_PARAMS, message=text, data={"path": ""}, id=request_id)
    return Request(id=request_id, answered="id" in value, method=value["method"], params=params)


def _problem(value: Mapping[str, Any]) -> str:
    if value.get("jsonrpc") != "2.0":
        return 'a message says "jsonrpc": "2.0"'
    if not isinstance(value.get("method"), str):
        return "a request names its method; answers are not expected here"
    if not isinstance(value.get("params", {}), (dict, list)):
        return "params is an object"
    unknown = sorted(set(value) - _MEMBERS)
    return f"unknown member {unknown[0]!r:.100}" if unknown else ""


def fault_of(error: BaseException, request_id: RequestId) -> Fault:
    """Describe whatever an operation raised; never its traceback."""
    if not isinstance(error, HolonError):
        kind = {"type": type(error).__name__}
        return Fault(code=INTERNAL, message="internal fault", data=kind, id=request_id)
    if isinstance(error, UnknownOperation):
        return Fault(code=METHOD_NOT_FOUND, message=str(error), id=request_id)
    problem = problem_of(error)
    if isinstance(error, Rejected):
        code = REJECTED
    elif isinstance(error, BadRequest) or problem.status is ProblemStatus.MISUSED:
        code = INVALID_PARAMS
    else:
        code = REFUSED
    data: dict[str, Any] = problem.to_json()
    if code == INVALID_PARAMS:
        details: Mapping[str, Any] = data["failure"]["details"]
        data["path"] = details.get("path", "")
    return Fault(code=code, message=problem.message, data=data, id=request_id)


def result_message(request_id: RequestId, result: Any) -> Message:
    """Make the answer of a request that succeeded."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_message(fault: Fault) -> Message:
    """Make the answer of a request that did not."""
    error: Message = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    return {"jsonrpc": "2.0", "id": fault.id, "error": error}


def notification(method: str, params: Mapping[str, Any]) -> Message:
    """Make a message that wants no answer."""
    return {"jsonrpc": "2.0", "method": method, "params": dict(params)}


def line_of(message: Message | list[Message]) -> bytes:
    """Write a message as one line; what UTF-8 cannot carry is replaced.

    Raises:
        ValueError: It holds a number that JSON does not have.
    """
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"
