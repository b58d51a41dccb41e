"""The operations of this lane: `adapter/register|read|list|bind|unbind|diff|remove`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_adapters.hints import check
from holon_adapters.records import ADDRESS_WORDS, MAX_RETRIES, Binding
from holon_core.catalogue.pins import changes
from holon_core.errors import Rejected
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.schemas import REASON, WORKSPACE, params, text, whole
from holon_core.records.approval_view import ViewChange
from holon_core.records.finding import Finding
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holon_adapters.adapters import Adapters, Registration
    from holon_adapters.records import StoredAdapter
    from holon_core.operations.door import Door, Params

NOUN = "adapter"
MAX_FINDINGS = 200
MAX_IDS = 10_000
NAME = text("Name of the adapter, of a-z 0-9 -.", limit=63)
_DOCUMENT = {
    "document": {
        "type": "object",
        "description": "The document: OpenAPI 3.0 or 3.1, or holon-adapter/v1.",
    },
    "text": {
        "type": "string",
        "description": "Instead of it its text, JSON or YAML.",
    },
    "path": text("Instead of both a file of this machine that holds it.", limit=4096),
}
_ABOUT: dict[str, Any] = {
    "name": {"type": "string"},
    "source": {"type": "string"},
    "workspace": {"type": ["string", "null"]},
    "kind": {"type": "string"},
    "title": {"type": "string"},
    "version": {"type": "string"},
    "server": {"type": "string"},
    "document_sha256": {"type": "string"},
    "schemes": {"type": "object"},
    "bound_to": {"type": ["string", "null"]},
    "bound_by": {"type": ["string", "null"]},
    "binding": {"type": ["object", "null"]},
    "registered_by": {"type": "string"},
    "registered_at_unix_seconds": {"type": "integer"},
}
_ADAPTER = answer(**_ABOUT)
_IDS = listed({"type": "string"})
_REFUSED = listed(answer(operation={"type": "string"}, reason={"type": "string"}))
_REGISTERED = answer(
    adapter=_ADAPTER,
    operations={"type": "integer"},
    added=_IDS,
    changed=_IDS,
    removed=_IDS,
    refused=_REFUSED,
    findings=listed(schema_of(Finding)),
)
_READS = frozenset({Effect.HOST_STATE_READ})
_WRITES = frozenset({Effect.HOST_STATE_WRITE})


def register(adapters: Adapters, door: Door, given: Params) -> Any:
    """Register an API."""
    made = adapters.register(
        given["name"],
        _document(given),
        workspace=door.workspace_of(given),
        by=door.caller.principal,
    )
    return _registered(made)


def read(adapters: Adapters, door: Door, given: Params) -> Any:
    """Answer one adapter."""
    found = adapters.read(given["name"], workspace=door.workspace_of(given))
    return {**_adapter(found), "revision": adapters.revision(found.source)}


def list_adapters(adapters: Adapters, door: Door, _: Params) -> Any:
    """Answer the adapters that a caller's workspace has; all to those who see all."""
    mine = [
        each
        for each in adapters.list()
        if door.sees_all or each.workspace in (None, door.caller.workspace)
    ]
    return {"adapters": [_adapter(each) for each in mine]}


def bind(adapters: Adapters, door: Door, given: Params) -> Any:
    """Open the live lane for an adapter."""
    hint = adapters.hints.proposal(given.get("hint", {}), given.get("name"))
    named = given.get("name") or hint.get("adapter")
    if not named:
        raise Rejected("binding", [_finding("name the adapter", "/name")])
    workspace = door.workspace_of(given)
    if "capability" in given or "operation" in given:
        return _forward(adapters, door, given, name=named, hint=hint)
    check(hint, given)
    if "server" not in given:
        raise Rejected("binding", [_finding("name the server to call", "/server")])
    binding = Binding(
        origin=given["server"],
        secrets=given.get("secrets", {}),
        allow_addresses=tuple(given.get("allow_addresses", ())),
        timeout_s=given.get("timeout_s", 30.0),
        max_response_bytes=given.get("max_response_bytes", 256 * 1024),
        max_retries=given.get("max_retries", 2),
        ca_file=given.get("ca_file"),
        by=door.caller.principal,
        reason=given["reason"],
        proposed_by=hint.get("package"),
        at_unix_seconds=int(door.runtime._guard.clock.now()),
    )
    return _registered(adapters.bind(named, binding, workspace=workspace))


def _forward(
    adapters: Adapters, door: Door, given: Params, *, name: str, hint: Mapping[str, Any]
) -> Any:
    """Let an operation run an imported capability; the adapter is bound already."""
    findings = [
        _finding("it is of the adapter's own binding", f"/{key}")
        for key in ("server", "secrets", "allow_addresses", "ca_file")
        if key in given
    ]
    findings += [
        _finding("name both capability and operation", f"/{key}")
        for key in ("capability", "operation")
        if key not in given
    ]
    if findings:
        raise Rejected("binding", findings)
    workspace = door.workspace_of(given)
    check(hint, given, bound_to=adapters.read(name, workspace=workspace).bound_to)
    capability = door.runtime.tools.read(given["capability"])
    adapters.forward(
        name,
        capability=capability.id,
        effects=capability.effects,
        operation=given["operation"],
        workspace=workspace,
        by=door.caller.principal,
        reason=given["reason"],
        proposed_by=hint.get("package"),
        provides=[each.name for each in capability.dependencies if each.kind == "program"],
    )
    return _registered(adapters.unchanged(name, workspace=workspace))


def unbind(adapters: Adapters, door: Door, given: Params) -> Any:
    """Close the live lane of an adapter."""
    return _registered(adapters.unbind(given["name"], workspace=door.workspace_of(given)))


def diff(adapters: Adapters, door: Door, given: Params) -> Any:
    """Compare an adapter with another document, or with what it was."""
    workspace = door.workspace_of(given)
    if any(way in given for way in _DOCUMENT):
        if "since" in given:
            text = "give a document or a revision, not both"
            raise Rejected("difference", [_finding(text, "/since")])
        compared = adapters.compare(given["name"], _document(given), workspace=workspace)
    else:
        since = given.get("since")
        compared = adapters.changed_since(given["name"], since, workspace=workspace)
    before, after = compared.before, compared.after
    moved = {
        tool_id: found
        for tool_id in sorted(before.keys() & after.keys())
        if (found := changes(before[tool_id], after[tool_id]))
    }
    return {
        "added": sorted(after.keys() - before.keys()),
        "removed": sorted(before.keys() - after.keys()),
        "changed": [
            {"tool": tool_id, "changes": to_json(found)} for tool_id, found in moved.items()
        ],
        "refused": _refused(compared.refused),
        "since": compared.since,
    }


def remove(adapters: Adapters, door: Door, given: Params) -> Any:
    """Remove an adapter."""
    return {"removed": list(adapters.remove(given["name"], workspace=door.workspace_of(given)))}


def _document(given: Params) -> Any:
    from holon_adapters.openapi.reading import MAX_TEXT_BYTES

    ways = [way for way in _DOCUMENT if way in given]
    if len(ways) != 1:
        text = "give the document in one way: document, text or path"
        raise Rejected("document", [_finding(text, "/document")])
    if ways[0] != "path":
        return given[ways[0]]
    try:
        with Path(given["path"]).open("rb") as file:
            return file.read(MAX_TEXT_BYTES + 1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "not a path"
        text = f"the file cannot be read: {said}"
        raise Rejected("document", [_finding(text, "/path")]) from None


def _finding(message: str, path: str) -> Finding:
    return Finding(code="config_invalid", message=message, path=path)


def _registered(made: Registration) -> Any:
    return {
        "adapter": _adapter(made.adapter),
        "operations": made.operations,
        "added": list(made.added[:MAX_IDS]),
        "changed": list(made.changed[:MAX_IDS]),
        "removed": list(made.removed[:MAX_IDS]),
        "refused": _refused(made.refused),
        "findings": to_json(made.findings[:MAX_FINDINGS]),
    }


def _refused(refused: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"operation": where, "reason": why} for where, why in refused.items()]


def _adapter(adapter: StoredAdapter) -> Any:
    made = to_json(adapter)
    binding = adapter.binding
    made["bound_to"] = adapter.bound_to
    made["bound_by"] = None if binding is None else binding.by
    return made


def rows(adapters: Adapters) -> list[Operation]:
    """Return the rows of the table, with the adapters of one runtime behind them."""

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
            handler=partial(handler, adapters),
            doc=doc,
            **more,
        )

    return [
        row(
            "register",
            register,
            params(("name",), name=NAME, workspace=WORKSPACE, **_DOCUMENT),
            _REGISTERED,
            positional=("name",),
            listing="refused",
            columns=("operation", "reason"),
            effects=_WRITES | {Effect.MACHINE_READ},
            doc=(
                "Register an HTTP API from an OpenAPI document or a descriptor: each operation "
                "becomes a tool. Nothing is called, and nothing can be until the adapter is bound. "
                "What cannot be mapped is listed with the reason."
            ),
        ),
        row(
            "read",
            read,
            params(("name",), name=NAME, workspace=WORKSPACE),
            answer(**_ABOUT, revision={"type": "integer"}),
            authority=Authority.CALLER,
            effects=_READS,
            positional=("name",),
            doc="Read one adapter: where it comes from, its security schemes, what is bound.",
        ),
        row(
            "list",
            list_adapters,
            params(),
            answer(adapters=listed(_ADAPTER)),
            authority=Authority.CALLER,
            effects=_READS,
            listing="adapters",
            columns=("name", "workspace", "title", "version", "bound_to", "bound_by"),
            doc="List the adapters of the caller's workspace and those of all.",
        ),
        row(
            "bind",
            bind,
            params(
                ("reason",),
                name=NAME,
                server=text("The base URL to call: https://host/base.", limit=500),
                secrets={
                    "type": "object",
                    "additionalProperties": {"type": "string", "maxLength": 1200},
                    "description": 'References by security scheme: {"token": "env:TOKEN"}.',
                },
                allow_addresses={
                    "type": "array",
                    "items": {"type": "string", "maxLength": 60},
                    "maxItems": 50,
                    "description": (
                        "Addresses beyond public ones: "
                        + ", ".join(ADDRESS_WORDS)
                        + ", or a network like 10.1.0.0/16."
                    ),
                },
                timeout_s={
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": 600,
                    "default": 30,
                    "description": "Seconds that a call may take.",
                },
                max_response_bytes=whole(
                    "Bytes of an answer.", least=1024, most=16 * 1024 * 1024, default=256 * 1024
                ),
                max_retries=whole(
                    "Further tries, where twice is once.", least=0, most=MAX_RETRIES, default=2
                ),
                ca_file=text("Certificates to trust instead of the system's.", limit=4096),
                capability=text("Instead of a server: an imported capability to run.", limit=400),
                operation=text("The operation that runs it, without the source.", limit=200),
                hint={
                    "type": "object",
                    "description": (
                        "A package's proposal, one at a time, as plugin-package/read shows it or "
                        'only {"package": "NAME"}; it decides nothing.'
                    ),
                },
                workspace=WORKSPACE,
                reason=REASON,
            ),
            _REGISTERED,
            positional=("name",),
            doc=(
                "Let the operations of an adapter be called: one origin, secrets by reference, "
                "limits. Whoever binds is named, and a binding changes the definitions, so that "
                "earlier approvals are void."
            ),
        ),
        row(
            "unbind",
            unbind,
            params(("name",), name=NAME, workspace=WORKSPACE),
            _REGISTERED,
            positional=("name",),
            doc="Close the live lane of an adapter. Its operations stay, for listing and dry runs.",
        ),
        row(
            "diff",
            diff,
            params(
                ("name",),
                name=NAME,
                workspace=WORKSPACE,
                since=whole("The revision that it was, as adapter/read counts.", least=1),
                **_DOCUMENT,
            ),
            answer(
                added=_IDS,
                removed=_IDS,
                changed=listed(
                    answer(tool={"type": "string"}, changes=listed(schema_of(ViewChange)))
                ),
                refused=_REFUSED,
                since={"type": ["integer", "null"]},
            ),
            positional=("name",),
            listing="changed",
            columns=("tool", "changes"),
            effects=_READS | {Effect.MACHINE_READ},
            doc=(
                "Say what registering a document would change, tool by tool; without one, what "
                "changed since the revision before, or since the one that is named. Nothing is "
                "stored."
            ),
        ),
        row(
            "remove",
            remove,
            params(("name",), name=NAME, workspace=WORKSPACE),
            answer(removed=_IDS),
            positional=("name",),
            doc="Remove an adapter with its tools. Evidence of its calls stays.",
        ),
    ]
