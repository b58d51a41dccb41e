"""The operations of this lane: `mcp-server/register|read|list|refresh|diff|accept|remove`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.errors import Rejected
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.schemas import REASON, params, text
from holon_core.records.approval_view import ViewChange
from holon_core.records.finding import Finding
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from holon_core.operations.door import Door, Params
    from holon_mcp.comparing import Difference
    from holon_mcp.records import StoredServer
    from holon_mcp.servers import Outcome, Servers

NOUN = "mcp-server"
MAX_FINDINGS = 20
NAME = text("Name of the server, of a-z 0-9 -.", limit=63)
_DOCUMENT: dict[str, dict[str, Any]] = {
    "document": {
        "type": "object",
        "description": (
            "A descriptor of the server, or its saved answers; nothing of it is trusted."
        ),
    },
    "text": {"type": "string", "description": "Instead of it the JSON text, or JSON lines."},
    "path": text("A file of this machine that holds the document.", limit=4096),
}
_FINDINGS = listed(schema_of(Finding))
_SERVER = answer(
    name={"type": "string"},
    form={"type": "string"},
    server_name={"type": "string"},
    server_version={"type": "string"},
    protocol={"type": "string"},
    transport={"type": "string"},
    instructions={"type": "string"},
    launch={"type": "object"},
    pages={"type": "object"},
    errors={"type": "object"},
    risk_hints=listed({"type": "string"}),
    findings=_FINDINGS,
    registered_by={"type": "string"},
    registered_at_unix_seconds={"type": "integer"},
    refreshed_at_unix_seconds={"type": "integer"},
)
_ITEM = answer(
    entry={"type": "string"},
    kind={"type": "string"},
    name={"type": "string"},
    state={"type": "string"},
    pin={"type": "string"},
    risk_hints=listed({"type": "string"}),
    findings=_FINDINGS,
)
_DIFFERENCE = answer(
    difference={"type": "string"},
    waiting=listed(
        answer(
            entry={"type": "string"},
            kind={"type": "string"},
            name={"type": "string"},
            state={"type": "string"},
            changes=listed(schema_of(ViewChange)),
            findings=_FINDINGS,
        )
    ),
    gone=listed({"type": "string"}),
)
_IDS = listed({"type": "string"})
_REFUSED = listed(
    answer(
        kind={"type": "string"},
        position={"type": "integer"},
        name={"type": "string"},
        findings=_FINDINGS,
    )
)
_OUTCOME = answer(
    server=_SERVER,
    items=listed(_ITEM),
    refused=_REFUSED,
    added=_IDS,
    changed=_IDS,
    removed=_IDS,
    waiting={"anyOf": [_DIFFERENCE, {"type": "null"}]},
)
_READS = frozenset({Effect.HOST_STATE_READ})
_WRITES = frozenset({Effect.HOST_STATE_WRITE})


def register(servers: Servers, door: Door, given: Params) -> Any:
    """Register a server."""
    made = servers.register(given["name"], _document(given), by=door.caller.principal)
    return _outcome(made)


def refresh(servers: Servers, _: Door, given: Params) -> Any:
    """Take what a server gives now."""
    return _outcome(servers.refresh(given["name"], _document(given)))


def read(servers: Servers, _: Door, given: Params) -> Any:
    """Answer one server."""
    return _outcome(servers.read(given["name"]))


def list_servers(servers: Servers, _: Door, __: Params) -> Any:
    """Answer all servers."""
    return {"servers": [_server(each) for each in servers.list()]}


def diff(servers: Servers, _: Door, given: Params) -> Any:
    """Answer what waits, or would after a refresh."""
    given_one = any(way in given for way in _DOCUMENT)
    document = _document(given) if given_one else None
    return _difference(servers.compare(given["name"], document))


def accept(servers: Servers, _: Door, given: Params) -> Any:
    """Accept what a server gives now."""
    made = servers.accept(given["name"], given["difference"], entries=given.get("entries"))
    return _outcome(made)


def remove(servers: Servers, _: Door, given: Params) -> Any:
    """Remove a server."""
    return {"name": given["name"], "removed": list(servers.remove(given["name"]))}


def _document(given: Params) -> Any:
    from holon_mcp.reading.forms import MAX_TEXT_BYTES

    ways = [way for way in _DOCUMENT if way in given]
    if len(ways) != 1:
        raise _rejected("give the document in one way: document, text or path", "/document")
    if ways[0] != "path":
        return given[ways[0]]
    try:
        with Path(given["path"]).open("rb") as file:
            return file.read(MAX_TEXT_BYTES + 1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "not a path"
        raise _rejected(f"the file cannot be read: {said}", "/path") from None


def _rejected(message: str, path: str) -> Rejected:
    finding = Finding(code="record_invalid", message=message, path=path)
    return Rejected("mcp server", [finding])


def _outcome(made: Outcome) -> Any:
    return {
        "server": _server(made.server),
        "items": [
            {
                "entry": label,
                "kind": item.kind,
                "name": item.name,
                "state": item.state.value,
                "pin": item.pin,
                "risk_hints": list(item.risk_hints),
                "findings": _findings(item.findings),
            }
            for label, item in sorted(made.items.items())
        ],
        "refused": [
            {
                "kind": each.kind,
                "position": each.position,
                "name": each.name,
                "findings": _findings(each.findings),
            }
            for each in made.refused
        ],
        "added": list(made.added),
        "changed": list(made.changed),
        "removed": list(made.removed),
        "waiting": _difference(made.difference) if made.difference else None,
    }


def _server(server: StoredServer) -> Any:
    made = to_json(server)
    for name in ("refused", "envelope"):
        del made[name]
    return made


def _difference(found: Difference) -> Any:
    return {
        "difference": found.digest,
        "waiting": [
            {
                "entry": each.entry,
                "kind": each.kind,
                "name": each.name,
                "state": each.state.value,
                "changes": to_json(each.changes),
                "findings": _findings(each.findings),
            }
            for each in found.items
        ],
        "gone": list(found.gone),
    }


def _findings(found: Iterable[Finding]) -> Any:
    return to_json(tuple(found)[:MAX_FINDINGS])


def rows(servers: Servers) -> list[Operation]:
    """Return the rows of the table, with the servers of one runtime behind them."""

    def row(
        verb: str,
        handler: Callable[..., Any],
        request: Mapping[str, Any],
        response: Mapping[str, Any],
        *,
        authority: Authority = Authority.OPERATOR,
        effects: frozenset[Effect] = _WRITES,
        doc: str,
        **more: Any,
    ) -> Operation:
        return Operation(
            noun=NOUN,
            verb=verb,
            request=request,
            response=response,
            authority=authority,
            effects=effects,
            handler=partial(handler, servers),
            doc=doc,
            **more,
        )

    return [
        row(
            "register",
            register,
            params(("name",), name=NAME, **_DOCUMENT),
            _OUTCOME,
            positional=("name", "path"),
            listing="items",
            columns=("entry", "kind", "state", "risk_hints"),
            effects=_WRITES | {Effect.MACHINE_READ},
            doc=(
                "Register an MCP server from a descriptor or from answers that were saved. Its "
                "tools, resources and prompts become entries that can be found and rehearsed. "
                "Nothing of it is started or called, now or later; what cannot be used is "
                "listed with the reason."
            ),
        ),
        row(
            "read",
            read,
            params(("name",), name=NAME),
            _OUTCOME,
            authority=Authority.CALLER,
            effects=_READS,
            positional=("name",),
            listing="items",
            columns=("entry", "kind", "state", "risk_hints"),
            doc="Read one MCP server: what it offers, in which state, and what was refused.",
        ),
        row(
            "list",
            list_servers,
            params(),
            answer(servers=listed(_SERVER)),
            authority=Authority.CALLER,
            effects=_READS,
            listing="servers",
            columns=(
                "name",
                "server_name",
                "server_version",
                "protocol",
                "risk_hints",
                "registered_by",
            ),
            doc="List the MCP servers whose metadata is registered.",
        ),
        row(
            "refresh",
            refresh,
            params(("name",), name=NAME, **_DOCUMENT),
            _OUTCOME,
            positional=("name", "path"),
            listing="items",
            columns=("entry", "kind", "state", "risk_hints"),
            effects=_WRITES | {Effect.MACHINE_READ},
            doc=(
                "Take what an MCP server gives now. A definition that differs from the accepted "
                "one blocks its entry as definition_changed until a person accepts it."
            ),
        ),
        row(
            "diff",
            diff,
            params(("name",), name=NAME, **_DOCUMENT),
            _DIFFERENCE,
            effects=_READS | {Effect.MACHINE_READ},
            positional=("name", "path"),
            listing="waiting",
            columns=("entry", "state", "changes"),
            doc=(
                "Show what waits to be accepted, field by field; with a document, what a refresh "
                "by it would make wait. Nothing is stored."
            ),
        ),
        row(
            "accept",
            accept,
            params(
                ("name", "difference", "reason"),
                name=NAME,
                difference=text("Digest of the difference that was read: of diff."),
                entries={
                    "type": "array",
                    "items": {"type": "string", "maxLength": 400},
                    "maxItems": 20_000,
                    "description": "Only these entries; all that wait where left out.",
                },
                reason=REASON,
            ),
            _OUTCOME,
            authority=Authority.APPROVER,
            positional=("name",),
            listing="items",
            columns=("entry", "kind", "state", "risk_hints"),
            doc=(
                "Accept the definitions that a server gives now, as the difference shows them. "
                "Another difference than the one that was read is refused."
            ),
        ),
        row(
            "remove",
            remove,
            params(("name", "reason"), name=NAME, reason=REASON),
            answer(name={"type": "string"}, removed=_IDS),
            authority=Authority.APPROVER,
            positional=("name",),
            doc=(
                "Remove an MCP server with its entries and pins, and free its name: whoever "
                "registers it next accepts what it offers then. Evidence stays."
            ),
        ),
    ]
