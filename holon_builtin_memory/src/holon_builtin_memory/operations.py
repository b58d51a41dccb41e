"""The operations ``memory/*``: search and write by the tools, the rest for the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_builtin_memory.refusals import Refused
from holon_core.errors import Refused as OperationRefused
from holon_core.operations.answers import to_json
from holon_core.operations.schemas import params, text
from holon_core.operations.tool_rows import RESULT
from holon_core.records.failure import failure
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_builtin_memory.keeping import Keeper
    from holon_core.operations.door import Door, Params
    from holon_core.plugins.host import PluginHost
    from holon_core.records.tool import RuntimeToolDescriptor

NOUN = "memory"
_READ = frozenset({Effect.HOST_STATE_READ})
_WRITE = frozenset({Effect.HOST_STATE_WRITE, Effect.MACHINE_READ})
_EXPORT = frozenset({Effect.HOST_STATE_READ, Effect.MACHINE_WRITE})
_KEY = text("Idempotency key: the same key and payload run once.")
_ROW = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "type": {"type": ["string", "null"]},
        "state": {"type": ["string", "null"]},
        "updated_at_unix_seconds": {"type": ["integer", "null"]},
        "preview": {"type": "string"},
    },
    "required": ["id", "type", "state", "updated_at_unix_seconds", "preview"],
    "additionalProperties": False,
}
_VERSION = {
    "type": "object",
    "properties": {
        "version": {"type": "integer"},
        "content": {"type": "string"},
        "changed_by": {"type": "string"},
        "changed_at_unix_seconds": {"type": ["integer", "null"]},
    },
    "required": ["version", "content", "changed_by", "changed_at_unix_seconds"],
    "additionalProperties": False,
}


def rows(host: PluginHost) -> list[Operation]:
    """Return the rows of one runtime."""
    from holon_builtin_memory.descriptors import search_memory, write_memory
    from holon_builtin_memory.keeping import Keeper

    keeper = Keeper(host)
    return [
        _by_tool(search_memory(), "search", ("query",)),
        _by_tool(write_memory(), "write", ("content",)),
        *_kept(keeper),
    ]


def _by_tool(tool: RuntimeToolDescriptor, verb: str, positional: tuple[str, ...]) -> Operation:
    """Offer a tool's call under a noun people look for; the guarded call judges it."""
    schema = tool.input_schema
    properties = {name: dict(each) for name, each in schema["properties"].items()}
    takes_key = verb == "write"
    if takes_key:
        properties["key"] = _KEY

    def handler(door: Door, given: Params) -> Any:
        arguments = {name: value for name, value in given.items() if name != "key"}
        return to_json(door.session.call(tool.id, arguments, key=given.get("key")))

    return Operation(
        noun=NOUN,
        verb=verb,
        request=params(tuple(schema["required"]), **properties),
        response=RESULT,
        authority=Authority.CALLER,
        effects=tool.effects,
        handler=handler,
        positional=positional,
        doc=f"Call {tool.id} under guard: the result, a refusal, or the id of the held call.",
    )


def _kept(keeper: Keeper) -> list[Operation]:
    return [
        _row(
            "list",
            keeper.listed,
            params(
                (),
                limit={"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
                after=text("Go on after the memory of this id."),
                include_dormant={"type": "boolean", "default": False},
            ),
            _answer(
                memories={"type": "array", "items": _ROW},
                next_after={"type": ["string", "null"]},
            ),
            doc="List the memories of the workspace, oldest first.",
            listing="memories",
            columns=("id", "type", "state", "updated_at_unix_seconds", "preview"),
        ),
        _row(
            "read",
            keeper.read,
            params(("id",), id=text("Id of a memory.")),
            _answer(
                memory={"type": "object"},
                content={"type": "string"},
                versions={"type": "array", "items": _VERSION},
            ),
            doc="Show one memory of the workspace, whole, with what it said before.",
            positional=("id",),
        ),
        _row(
            "health",
            keeper.health,
            params(()),
            _answer(
                command={"type": "array", "items": {"type": "string"}},
                extensions={"type": "array", "items": {"type": "string"}},
                active={"type": "integer"},
                dormant={"type": "integer"},
                bytes={"type": "integer"},
                types={"type": "object"},
            ),
            doc="Tell which memory command is used, what it can, and how the store is.",
        ),
        _row(
            "export",
            keeper.exported,
            params(
                ("output",),
                output=text("File to write, as JSON lines.", limit=4000),
                replace={"type": "boolean", "default": False},
            ),
            _answer(output={"type": "string"}, memories={"type": "integer"}),
            doc="Write all memories of the workspace into a file of JSON lines, one a line.",
            effects=_EXPORT,
            positional=("output",),
        ),
        _row(
            "import",
            keeper.imported,
            params(("input",), input=text("File of JSON lines to read.", limit=4000)),
            _answer(
                total={"type": "integer"},
                imported={"type": "integer"},
                merged={"type": "integer"},
                skipped={"type": "integer"},
                problems={"type": "array", "items": {"type": "string"}},
            ),
            doc=(
                "Take in a file of JSON lines: texts, or objects with content, type, importance, "
                "provenance and tags, or what an export wrote. Lines that hold a registered "
                "secret, or are none of these, are left out and named."
            ),
            effects=_WRITE,
            positional=("input",),
        ),
    ]


def _row(
    verb: str,
    work: Callable[[Door, Params, str], Any],
    request: Any,
    response: Any,
    *,
    doc: str,
    effects: frozenset[Effect] = _READ,
    positional: tuple[str, ...] = (),
    listing: str | None = None,
    columns: tuple[str, ...] = (),
) -> Operation:
    def handler(door: Door, given: Params) -> Any:
        workspace = door.caller.workspace
        if workspace is None:
            raise OperationRefused(failure("workspace_required"))
        try:
            return work(door, given, workspace)
        except Refused as refusal:
            raise OperationRefused(refusal.problem) from None

    return Operation(
        noun=NOUN,
        verb=verb,
        request=request,
        response=response,
        authority=Authority.OPERATOR,
        effects=effects,
        handler=handler,
        positional=positional,
        listing=listing,
        columns=columns,
        doc=doc,
    )


def _answer(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }
