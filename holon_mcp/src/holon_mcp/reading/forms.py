"""Recognising the form in which a server is described, and reading it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holon_core.errors import JsonRefused, Rejected
from holon_core.records.finding import Finding
from holon_core.wire.strict_json import parse
from holon_mcp.reading.answers import from_answers, from_messages, from_probe
from holon_mcp.reading.configs import from_config, from_registry
from holon_mcp.records import MEMBERS, Listing

MAX_TEXT_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 200
FORMS = (
    "an Elegy mcp-server-descriptor, an entry of an mcp.json, a server.json of the MCP registry, "
    "or saved answers: messages, or initialize (or discover) beside the lists"
)


def read_text(text: str | bytes) -> Any:
    """Read JSON, or one JSON value a line as a log of messages has them.

    Raises:
        Rejected: It is neither.
    """
    try:
        return parse(text, max_bytes=MAX_TEXT_BYTES, max_depth=MAX_DEPTH)
    except JsonRefused as whole:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise _rejected(str(whole)) from None
        try:
            return [parse(line, max_bytes=MAX_TEXT_BYTES, max_depth=MAX_DEPTH) for line in lines]
        except JsonRefused:
            raise _rejected(str(whole)) from None


def read(document: Any, server: str) -> Listing:
    """Read a description of a server, in whatever known form it is.

    Args:
        document: JSON.
        server: The name under which it is registered; it chooses among several entries.

    Raises:
        Rejected: It is in no known form.
        Refused: ``mcp_pagination`` or ``mcp_answer``.
    """
    if isinstance(document, list):
        return from_messages(document)
    if not isinstance(document, dict):
        raise _rejected(f"it is neither an object nor a list of messages; give {FORMS}")
    for fits, reader in _READERS:
        if fits(document):
            return reader(document, server)
    raise _rejected(f"no known form; give {FORMS}")


def _is_descriptor(given: Mapping[str, Any]) -> bool:
    names = {"serverName", "server_name"} & given.keys()
    return bool(names) and "transport" in given


def _from_descriptor(given: dict[str, Any], _: str) -> Listing:
    from elegy_contracts import examine

    seen = examine("mcp-server-descriptor", given)
    data = seen.data if isinstance(seen.data, dict) else {}
    # What is wrong with one tool is that tool's matter; here the server itself counts.
    wrong = [each for each in seen.findings if not each.path.startswith("/tools/")]
    errors = [each for each in wrong if each.severity.value == "error"]
    if errors or not isinstance(data.get("tools"), list):
        raise Rejected(
            "mcp server",
            [_finding(each.message, each.path) for each in errors]
            or [_finding("tools is no list", "/tools")],
        )
    return Listing(
        form="elegy",
        server_name=str(data.get("serverName", "")),
        transport=str(data.get("transport", "")),
        lists={"tool": tuple(data["tools"])},
        pages={"tool": 1},
    )


def _is_probe(given: Mapping[str, Any]) -> bool:
    return any(
        isinstance(given.get(era), dict) and "lists" in given[era] for era in ("legacy", "modern")
    )


def _is_config(given: Mapping[str, Any]) -> bool:
    entries = any(isinstance(given.get(name), dict) for name in ("mcpServers", "servers"))
    return entries or isinstance(given.get("command"), str) or isinstance(given.get("url"), str)


def _is_registry(given: Mapping[str, Any]) -> bool:
    inner = given.get("server") if isinstance(given.get("server"), dict) else given
    assert isinstance(inner, Mapping)
    return isinstance(inner.get("name"), str) and bool({"packages", "remotes"} & inner.keys())


def _is_answers(given: Mapping[str, Any]) -> bool:
    words = {"initialize", "discover", "server/discover", *MEMBERS.values()}
    return bool(words & given.keys()) or any(name.endswith("/list") for name in given)


_READERS: tuple[
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[dict[str, Any], str], Listing]], ...
] = (
    (_is_descriptor, _from_descriptor),
    (_is_probe, from_probe),
    (lambda given: given.get("jsonrpc") == "2.0", lambda given, _: from_messages([given])),
    (_is_answers, from_answers),
    (_is_registry, from_registry),
    (_is_config, from_config),
)


def _rejected(message: str) -> Rejected:
    return Rejected("mcp server", [_finding(message, "")])


def _finding(message: str, path: str) -> Finding:
    return Finding(code="record_invalid", message=message, path=path)
