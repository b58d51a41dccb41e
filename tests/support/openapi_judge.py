"""A judge of requests by an OpenAPI document, which knows nothing of the lane that makes them.

It reads what came over the wire with the standard library and judges it with ``jsonschema``, which
the lane does not use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from http.cookies import SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import jsonschema

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False}


class Seen(NamedTuple):
    """One request as it came: nothing in it is decoded."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Recording:
    """An ASGI application that keeps what it is asked, and passes it on."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.seen: list[Seen] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        messages, body = [], b""
        while True:
            message = await receive()
            messages.append(message)
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"])
        path, query = scope["raw_path"].decode(), scope["query_string"].decode()
        self.seen.append(Seen(scope["method"], path, query, headers, body))

        async def again() -> Any:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, again, send)


def problems(document: Mapping[str, Any], seen: Seen) -> Iterator[str]:
    """Yield what speaks against a request by the document of its API."""
    found = _operation(document, seen)
    if found is None:
        yield f"no operation {seen.method} {seen.path}"
        return
    operation, variables = found
    cookies = {name: each.value for name, each in SimpleCookie(_header(seen, "cookie")).items()}
    query = parse_qsl(seen.query, keep_blank_values=True, strict_parsing=bool(seen.query))
    parameters = operation.get("parameters", ())
    known = {each["name"] for each in parameters if each["in"] == "query"}
    yield from (f"query {name} is not documented" for name, _ in query if name not in known)
    headers = {name.lower(): value for name, value in seen.headers}
    for each in parameters:
        name, place = each["name"], each["in"]
        given = {
            "path": [variables[name]] if name in variables else [],
            "query": [value for key, value in query if key == name],
            "header": [headers[name.lower()]] if name.lower() in headers else [],
            "cookie": [cookies[name]] if name in cookies else [],
        }[place]
        if not given:
            if each.get("required"):
                yield f"{place} {name} is missing"
            continue
        yield from (f"{place} {name}: {text}" for text in _judged(document, each["schema"], given))
    yield from _body(document, operation, seen)


def _operation(document: Mapping[str, Any], seen: Seen) -> Any:
    for template, item in document["paths"].items():
        names = re.findall(r"\{([^}]+)\}", template)
        pattern = "([^/]+)".join(map(re.escape, re.split(r"\{[^}]+\}", template)))
        match = re.fullmatch(pattern, seen.path)
        if match is not None and seen.method.lower() in item:
            values = map(unquote, match.groups())
            return item[seen.method.lower()], dict(zip(names, values, strict=True))
    return None


def _judged(document: Mapping[str, Any], schema: Any, given: list[str]) -> list[str]:
    """Judge the texts of one parameter; whichever reading of them fits."""
    readings = [_read(document, schema, given)]
    readings += [_read(document, each, given) for each in schema.get("anyOf", ())]
    answers = [_errors(document, schema, value) for value in readings]
    return min(answers, key=len)


def _read(document: Mapping[str, Any], schema: Any, given: list[str]) -> Any:
    kind = schema.get("type")
    if kind == "array":
        return [_scalar(document, schema.get("items", {}), each) for each in given]
    return _scalar(document, schema, given[0]) if len(given) == 1 else given


def _scalar(document: Mapping[str, Any], schema: Any, text: str) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = document["components"]["schemas"][name]
    kind = schema.get("type")
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text):
        return float(text)
    if kind == "boolean":
        return _WORDS.get(text, text)
    return text


def _errors(document: Mapping[str, Any], schema: Any, value: Any) -> list[str]:
    whole = {**schema, "components": document.get("components", {})}
    return [each.message for each in jsonschema.Draft202012Validator(whole).iter_errors(value)]


def _body(document: Mapping[str, Any], operation: Any, seen: Seen) -> Iterator[str]:
    described = operation.get("requestBody")
    kind = _header(seen, "content-type").partition(";")[0].strip().lower()
    if described is None:
        if seen.body:
            yield "a body is not documented"
        return
    if not seen.body and not kind:
        if described.get("required"):
            yield "the body is missing"
        return
    if kind not in described["content"]:
        yield f"a body of {kind} is not documented"
        return
    schema = described["content"][kind]["schema"]
    try:
        value = _decoded(document, schema, kind, seen)
    except ValueError as problem:
        yield f"the body cannot be read: {problem}"
        return
    yield from (f"body: {text}" for text in _errors(document, schema, value))


def _decoded(document: Mapping[str, Any], schema: Any, kind: str, seen: Seen) -> Any:
    if kind == "application/json":
        return json.loads(seen.body)
    fields = _parts(seen) if kind.startswith("multipart/") else _pairs(seen)
    name = schema["$ref"].rpartition("/")[2] if "$ref" in schema else ""
    whole = document["components"]["schemas"][name] if name else schema
    known = whole.get("properties", {})
    return {key: _read(document, known.get(key, {}), [value]) for key, value in fields}


def _pairs(seen: Seen) -> list[tuple[str, str]]:
    text = seen.body.decode("ascii")
    return parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))


def _parts(seen: Seen) -> list[tuple[str, str]]:
    head = f"Content-Type: {_header(seen, 'content-type')}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + seen.body)
    found = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        found.append((str(name), data.decode("utf-8", "replace")))
    return found


def _header(seen: Seen, name: str) -> str:
    return next((value for key, value in seen.headers if key.lower() == name), "")
