"""One thing of a server's list: its name, its pin, whether it can be used, and what is odd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from holon_core.errors import JsonRefused
from holon_core.records.finding import Finding, has_errors
from holon_core.records.words import Severity
from holon_core.wire.canonical import canonical, digest
from holon_core.wire.schema_check import check_schema
from holon_mcp.items.hints import risk_hints
from holon_mcp.items.templates import variables
from holon_mcp.items.texts import suspicions
from holon_mcp.lane import UNUSABLE, entry_id
from holon_mcp.records import RefusedItem

PIN_DOMAIN = "holon-mcp-definition/1"
# What a person accepts: everything of a definition that says what it is and does.
PINNED: Mapping[str, tuple[str, ...]] = {
    "tool": ("name", "title", "description", "inputSchema", "outputSchema", "annotations"),
    "prompt": ("name", "title", "description", "arguments"),
    "resource": ("name", "title", "description", "uri", "mimeType", "annotations"),
    "template": ("name", "title", "description", "uriTemplate", "mimeType", "annotations"),
}
# What tells one thing of a list from another.
IDENTITY: Mapping[str, str] = {
    "tool": "name",
    "prompt": "name",
    "resource": "uri",
    "template": "uriTemplate",
}
MAX_NAME = 2000
MAX_ITEM_BYTES = 256 * 1024
_KEPT_WARNINGS = ("text_suspicious", "schema_closed")


@frozen(kw_only=True)
class Judged:
    """What was found of one thing: its definition as it was sent, and what that is good for."""

    kind: str
    name: str
    definition: Mapping[str, Any]
    pin: str
    usable: bool
    risk_hints: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def judge(
    server: str, kind: str, items: Iterable[Any]
) -> tuple[dict[str, Judged], tuple[RefusedItem, ...]]:
    """Judge a whole list.

    Args:
        server: The server's name here.
        kind: ``tool``, ``prompt``, ``resource`` or ``template``.
        items: As the server sent them.

    Returns:
        What has a place in the catalogue, by id; and what has none: things without a name, of
        no form, and all of one name that several have.
    """
    good: dict[str, Judged] = {}
    refused: list[RefusedItem] = []
    places: dict[str, list[tuple[int, str]]] = {}
    for position, given in enumerate(items):
        one = _one(kind, given)
        if isinstance(one, Finding):
            name = given.get(IDENTITY[kind]) if isinstance(given, dict) else None
            shown = name if isinstance(name, str) else ""
            refused.append(_refused(kind, position, shown, one))
            continue
        label = entry_id(server, kind, one.name)
        places.setdefault(label, []).append((position, one.name))
        good[label] = one
    for label, taken in places.items():
        if len(taken) > 1:
            del good[label]
            at = ", ".join(str(position) for position, _ in taken)
            text = f"{len(taken)} of one name, at the positions {at}; none of them is taken"
            twice = Finding(code="duplicate_id", message=text, path=f"/{IDENTITY[kind]}")
            refused += [_refused(kind, position, name, twice) for position, name in taken]
    return good, tuple(sorted(refused, key=lambda each: each.position))


def pin_of(kind: str, definition: Mapping[str, Any]) -> str:
    """Return the digest of what a person accepts of a definition, whatever its key order."""
    pinned = {name: definition[name] for name in PINNED[kind] if name in definition}
    return digest({"kind": kind, "definition": pinned}, domain=PIN_DOMAIN)


def _one(kind: str, given: Any) -> Judged | Finding:
    if not isinstance(given, dict):
        return _finding("record_invalid", "it is no object")
    name = given.get(IDENTITY[kind])
    path = f"/{IDENTITY[kind]}"
    if not isinstance(name, str) or not name.strip():
        return _finding("record_invalid", "it has no name", path)
    if len(name) > MAX_NAME:
        return _finding("record_invalid", f"its name has more than {MAX_NAME} characters", path)
    try:
        size = len(canonical(given))
        pin = pin_of(kind, given)
    except JsonRefused as error:
        return _finding("record_invalid", f"it is not sound JSON: {error.message}", error.path)
    if size > MAX_ITEM_BYTES:
        return _finding("record_invalid", f"it has more than {MAX_ITEM_BYTES} bytes")
    hints, findings = suspicions(given)
    problems = list(_problems(kind, given))
    usable = not has_errors(problems)
    more = [] if usable else [UNUSABLE]
    if kind == "tool":
        more += risk_hints(name, given.get("annotations"))
    return Judged(
        kind=kind,
        name=name,
        definition=given,
        pin=pin,
        usable=usable,
        risk_hints=tuple(sorted({*hints, *more})),
        findings=(*problems, *findings),
    )


def _problems(kind: str, given: Mapping[str, Any]) -> Iterable[Finding]:
    for name in ("title", "description"):
        if not isinstance(given.get(name, ""), (str, type(None))):
            yield _finding("record_invalid", f"its {name} is no text", f"/{name}")
    if kind == "tool":
        yield from _schemas(given)
    elif kind == "template" and variables(given["uriTemplate"]) is None:
        yield _finding("record_invalid", "its template cannot be read", "/uriTemplate")
    elif kind == "prompt":
        yield from _arguments(given.get("arguments"))


def _schemas(given: Mapping[str, Any]) -> Iterable[Finding]:
    if given.get("inputSchema") is None:
        yield _finding("schema_invalid", "it has no input schema", "/inputSchema")
    else:
        yield from _of_schema(given["inputSchema"], "input", "/inputSchema")
    if given.get("outputSchema") is not None:
        yield from _of_schema(given["outputSchema"], "output", "/outputSchema")


def _of_schema(schema: Any, role: Any, path: str) -> Iterable[Finding]:
    for each in check_schema(schema, role=role).findings:
        if each.severity is Severity.ERROR or each.code in _KEPT_WARNINGS:
            yield Finding(
                code=each.code,
                message=each.message,
                path=f"{path}{each.path}",
                severity=each.severity,
            )


def _arguments(arguments: Any) -> Iterable[Finding]:
    if arguments is None:
        return
    names = (
        [each.get("name") if isinstance(each, dict) else None for each in arguments]
        if (isinstance(arguments, list))
        else [None]
    )
    if not all(isinstance(name, str) and name for name in names):
        yield _finding("record_invalid", "an argument of it has no name", "/arguments")
    elif len(set(names)) != len(names):
        yield _finding("duplicate_id", "two arguments of it have one name", "/arguments")


def _refused(kind: str, position: int, name: str, *findings: Finding) -> RefusedItem:
    return RefusedItem(kind=kind, position=position, name=name[:200], findings=findings)


def _finding(code: str, message: str, path: str = "") -> Finding:
    return Finding(code=code, message=message, path=path)
