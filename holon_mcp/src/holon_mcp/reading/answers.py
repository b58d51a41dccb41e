"""Saved answers of a server: messages, answers by method, or what a probe wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holon_core.errors import Refused, Rejected
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_mcp.reading.paging import Pages, joined
from holon_mcp.records import LISTS, MEMBERS, Listing

INFO_KEY = "io.modelcontextprotocol/serverInfo"
MAX_TEXT = 64 * 1024


def from_messages(messages: list[Any]) -> Listing:
    """Read JSON-RPC messages, or bare results: each answer is known by what it holds.

    Pages of one list have to come in the order in which they were asked for.
    """
    pages: dict[str, list[Any]] = {}
    head: Mapping[str, Any] = {}
    modern = False
    errors: dict[str, str] = {}
    asked: dict[Any, str] = {}
    for message in messages:
        if not isinstance(message, dict):
            raise Rejected("mcp server", [_finding("a message is an object")])
        if isinstance(message.get("method"), str):
            asked[_key(message.get("id"))] = message["method"]
            continue
        method = asked.get(_key(message.get("id")), "")
        kind = next((each for each, name in LISTS.items() if name == method), None)
        if isinstance(message.get("error"), dict):
            if kind is not None:
                errors[kind] = _error(message["error"])
            continue
        result = message.get("result", message)
        if not isinstance(result, dict):
            continue
        if "serverInfo" in result or "protocolVersion" in result or "supportedVersions" in result:
            head, modern = result, "supportedVersions" in result
        for each, member in MEMBERS.items():
            if member in result and kind in (None, each):
                pages.setdefault(each, []).append(result)
    if not pages and not head and not errors:
        raise Rejected("mcp server", [_finding("no answer of a server is among the messages")])
    return _listing("answers", head, modern=modern, pages=pages, errors=errors)


def from_answers(given: dict[str, Any], _: str = "") -> Listing:
    """Read answers by method: one page, a list of pages, or a bare list of items."""
    discovered = given.get("discover", given.get("server/discover"))
    head = discovered if isinstance(discovered, dict) else given.get("initialize")
    pages: dict[str, list[Any]] = {}
    errors: dict[str, str] = {}
    for kind, method in LISTS.items():
        member = MEMBERS[kind]
        found = given.get(method, given.get(member))
        if found is None:
            continue
        if isinstance(found, dict) and isinstance(found.get("error"), dict):
            errors[kind] = _error(found["error"])
        elif isinstance(found, dict):
            pages[kind] = [found.get("result", found)]
        elif isinstance(found, list) and _are_pages(found, member):
            pages[kind] = [each.get("result", each) for each in found]
        elif isinstance(found, list):
            page = {member: found}
            if method not in given and "nextCursor" in given:
                page["nextCursor"] = given["nextCursor"]
            pages[kind] = [page]
        else:
            errors[kind] = "no answer of this list"
    return _listing(
        "answers",
        _result(head),
        modern=isinstance(discovered, dict),
        pages=pages,
        errors=errors,
    )


def from_probe(given: dict[str, Any], _: str = "") -> Listing:
    """Read what a probe saved of both eras: the modern answers where there are any."""
    modern = given.get("modern")
    own = isinstance(modern, dict) and isinstance(modern.get("discover"), dict)
    era: Any = modern if own else given.get("legacy")
    if not isinstance(era, dict) or not isinstance(era.get("lists"), dict):
        raise Rejected("mcp server", [_finding("the probe has no lists of the server")])
    pages: dict[str, list[Any]] = {}
    for kind, member in MEMBERS.items():
        items = era["lists"].get(member)
        if isinstance(items, list):
            pages[kind] = [{member: items}]
    told = era.get("list_errors")
    errors = {
        kind: str(told[name])[:500]
        for kind, member in MEMBERS.items()
        for name in (member, LISTS[kind])
        if isinstance(told, dict) and name in told
    }
    for kind in errors:
        pages.pop(kind, None)
    head = era.get("discover" if own else "initialize")
    return _listing("probe", _result(head), modern=own, pages=pages, errors=errors)


def joined_listing(
    form: str, head: Any, *, modern: bool, lists: Mapping[str, Pages | str]
) -> Listing:
    """Make a listing of lists that were read page by page; a text is why one failed."""
    info = _info(head if isinstance(head, dict) else {})
    good = {kind: pages for kind, pages in lists.items() if isinstance(pages, Pages)}
    return Listing(
        form=form,
        **info,
        protocol=_protocol(head, modern=modern),
        lists={kind: tuple(pages.items) for kind, pages in good.items()},
        pages={kind: pages.count for kind, pages in good.items()},
        errors={kind: why for kind, why in lists.items() if isinstance(why, str)},
        envelope=dict(good["tool"].envelope) if "tool" in good else {},
    )


def _listing(
    form: str,
    head: Any,
    *,
    modern: bool,
    pages: Mapping[str, list[Any]],
    errors: Mapping[str, str],
) -> Listing:
    lists: dict[str, Pages | str] = dict(errors)
    for kind, given in pages.items():
        lists[kind] = joined(LISTS[kind], MEMBERS[kind], given)
    return joined_listing(form, head, modern=modern, lists=lists)


def _protocol(head: Any, *, modern: bool) -> str:
    head = head if isinstance(head, dict) else {}
    if not modern:
        return _text(head.get("protocolVersion"), 40)
    versions = head.get("supportedVersions")
    known = (
        [each for each in versions if isinstance(each, str)] if isinstance(versions, list) else []
    )
    return _text(max(known, default="2026-07-28"), 40)


def _info(head: Mapping[str, Any]) -> dict[str, Any]:
    meta = head.get("_meta")
    info = head.get("serverInfo", meta.get(INFO_KEY) if isinstance(meta, dict) else None)
    info = info if isinstance(info, dict) else {}
    return {
        "server_name": _text(info.get("name"), 200),
        "server_version": _text(info.get("version"), 100),
        "instructions": _text(head.get("instructions"), MAX_TEXT),
    }


def _result(answer: Any) -> Any:
    return answer["result"] if isinstance(answer, dict) and "result" in answer else answer


def _text(value: Any, limit: int) -> str:
    return value[:limit] if isinstance(value, str) else ""


def _error(error: Mapping[str, Any]) -> str:
    return f"{error.get('code', '?')}: {error.get('message', '')}"[:500]


def _are_pages(found: list[Any], member: str) -> bool:
    return bool(found) and all(
        isinstance(each, dict) and (member in each or "result" in each) for each in found
    )


def _key(request_id: Any) -> Any:
    return request_id if isinstance(request_id, (str, int)) else None


def _finding(message: str) -> Finding:
    return Finding(code="record_invalid", message=message)


def answer_of(message: Mapping[str, Any], method: str) -> Any:
    """Return the result of an answer.

    Raises:
        Refused: ``mcp_answer``: it is an error, or has no result.
    """
    if isinstance(message.get("error"), dict):
        raise Refused(failure("mcp_answer", f"{method} answers {_error(message['error'])}"))
    if "result" not in message:
        raise Refused(failure("mcp_answer", f"{method} answers without a result"))
    return message["result"]
