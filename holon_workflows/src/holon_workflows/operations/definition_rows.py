"""`workflow-definition/*`: kept, read, listed, checked, made of plans and of Elegy's graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Rejected
from holon_core.operations.answers import answer, listed, page, schema_of, to_json
from holon_core.operations.schemas import AFTER_ID, LIMIT, flag, params, text
from holon_core.records.finding import Finding, has_errors
from holon_core.records.words import Authority, Effect
from holon_workflows.definition.checking import wrong
from holon_workflows.drawing import mermaid, svg
from holon_workflows.operations.common import (
    DEFINITION,
    MAYBE_TEXT,
    OBJECT,
    TEXT,
    VERSION,
    WRITES,
    row,
)

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params
    from holon_core.records.operation import Operation
    from holon_workflows.definitions import Kept
    from holon_workflows.service import Workflows

MAX_FILE_BYTES = 4 * 1024 * 1024
GIVEN = {
    "document": {"type": "object", "description": "The definition, holon-workflow/v1."},
    "path": text("Instead of it a file of this machine that holds it as JSON.", limit=4096),
}
_SUMMARY = {
    "id": TEXT,
    "version": TEXT,
    "digest": TEXT,
    "title": TEXT,
    "description": TEXT,
    "nodes": {"type": "integer"},
    "created_by": TEXT,
    "created_at_unix_seconds": {"type": "integer"},
}
_FINDINGS = listed(schema_of(Finding))
_MADE = answer(document=OBJECT, kept={"type": "boolean"}, findings=_FINDINGS)


def create(flows: Workflows, door: Door, given: Params) -> Any:
    """Keep a version of a definition."""
    kept = flows.create(document_of(given), by=door.caller.principal)
    return {**_summary(kept), "findings": to_json(kept.findings)}


def read(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer one version, with its graph drawn."""
    kept = flows.definitions.read(given["id"], given.get("version"))
    bound = flows.definitions.version(kept.id, kept.version)
    drawn = {"mermaid": mermaid(bound.graph), "svg": None}
    if given.get("svg"):
        drawn["svg"] = svg(bound.graph)
    return {**_summary(kept), "document": dict(kept.document), **drawn}


def from_plan(flows: Workflows, door: Door, given: Params) -> Any:
    """Make a definition of an accepted plan, and keep it where it is sound."""
    made, findings = flows.from_plan(
        given["output"],
        given["id"],
        session=door.session,
        version=given.get("version") or "1",
        ai=given.get("ai"),
    )
    kept = not has_errors(findings) and not given.get("only_show", False)
    if kept:
        flows.create(made, by=door.caller.principal)
    return {"document": made, "kept": kept, "findings": to_json(list(findings))}


def import_elegy(flows: Workflows, door: Door, given: Params) -> Any:
    """Read Elegy's canonical workflow graph, and keep the definition where it is sound."""
    from holon_workflows.elegy_graph import import_graph

    made, findings = import_graph(
        document_of(given), definition=given["id"], version=given.get("version") or "1"
    )
    if made:
        findings = [*findings, *flows.validate(made)]
    kept = not has_errors(findings) and not given.get("only_show", False)
    if kept:
        flows.create(made, by=door.caller.principal)
    return {"document": made, "kept": kept, "findings": to_json(list(findings))}


def export_elegy(flows: Workflows, door: Door, given: Params) -> Any:
    """Write a definition as Elegy's canonical workflow graph."""
    from holon_workflows.elegy_export import export_graph

    kept = flows.definitions.read(given["id"], given.get("version"))
    made, findings = export_graph(kept.document)
    return {"document": made, "findings": to_json(findings)}


def list_definitions(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the newest version of each."""
    limit = given.get("limit", 50)
    found = flows.definitions.list(after=given.get("after", ""), limit=limit)
    made = [_summary(each) for each in found]
    return {"definitions": made, "next_after": found[-1].id if len(found) == limit else None}


def schema(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the JSON Schema of definitions."""
    return {"schema": flows.definition_schema, "kinds": _kinds(flows)}


def _kinds(flows: Workflows) -> list[dict[str, Any]]:
    return [
        {"kind": each.kind, "description": each.description, "config": dict(each.config)}
        for each in flows.kinds.values()
    ]


def validate(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer all findings."""
    findings = flows.validate(document_of(given))
    return {"valid": not has_errors(findings), "findings": to_json(findings)}


def document_of(given: Params) -> Any:
    """Return the document that a request gives, or that a file of this machine holds.

    Raises:
        Rejected: It gives both or neither, or the file is none.
    """
    from holon_core.wire.strict_json import parse

    if ("document" in given) == ("path" in given):
        text = "give the definition in one way: document or path"
        raise Rejected("workflow definition", [wrong("workflow_invalid", text, "/document")])
    if "document" in given:
        return given["document"]
    try:
        with Path(given["path"]).open("rb") as file:
            return parse(file.read(MAX_FILE_BYTES))
    except JsonRefused as error:
        text, path = f"{given['path']}: {error.message}", error.path
        raise Rejected("workflow definition", [wrong("workflow_invalid", text, path)]) from None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "not a path"
        text = f"the file cannot be read: {said}"
        raise Rejected("workflow definition", [wrong("workflow_invalid", text, "/path")]) from None


def _summary(kept: Kept) -> dict[str, Any]:
    return {name: getattr(kept, name) for name in _SUMMARY}


def rows(flows: Workflows) -> list[Operation]:
    """Return the rows about definitions."""
    findings: Any = {
        "listing": "findings",
        "columns": ("severity", "code", "path", "message"),
    }
    return [
        row(
            flows,
            "workflow-definition/create",
            create,
            params((), **GIVEN),
            answer(**_SUMMARY, findings=_FINDINGS),
            authority=Authority.OPERATOR,
            effects=WRITES | {Effect.MACHINE_READ},
            positional=("path",),
            listing="findings",
            columns=("severity", "code", "path", "message"),
            doc=(
                "Keep a version of a workflow definition. A version is never changed after; the "
                "newest is what starts."
            ),
        ),
        row(
            flows,
            "workflow-definition/read",
            read,
            params(
                ("id",),
                id=DEFINITION,
                version=VERSION,
                svg=flag("Draw it as SVG, too, where graphviz is on this machine."),
            ),
            answer(**_SUMMARY, document=OBJECT, mermaid=TEXT, svg=MAYBE_TEXT),
            positional=("id",),
            doc="Read a version of a workflow definition, with its graph drawn (Mermaid, SVG).",
        ),
        row(
            flows,
            "workflow-definition/list",
            list_definitions,
            params((), after=AFTER_ID, limit=LIMIT),
            page("definitions", answer(**_SUMMARY)),
            listing="definitions",
            columns=("id", "version", "title", "nodes", "created_by"),
            doc="List workflow definitions, the newest version of each.",
        ),
        row(
            flows,
            "workflow-definition/from-plan",
            from_plan,
            params(
                ("output", "id"),
                output=text("Id of an accepted planner output of this caller."),
                id=DEFINITION,
                version=VERSION,
                ai={"type": "object", "description": "Config of AI steps that instruct."},
                only_show=flag("Keep nothing."),
            ),
            _MADE,
            authority=Authority.OPERATOR,
            effects=WRITES,
            positional=("output", "id"),
            **findings,
            doc=(
                "Make a workflow definition of a plan that passed its gate; what of it has no "
                "place there is told, and with an error among that nothing is kept."
            ),
        ),
        row(
            flows,
            "workflow-definition/import-elegy",
            import_elegy,
            params(
                ("id",), id=DEFINITION, version=VERSION, only_show=flag("Keep nothing."), **GIVEN
            ),
            _MADE,
            authority=Authority.OPERATOR,
            effects=WRITES | {Effect.MACHINE_READ},
            positional=("path", "id"),
            **findings,
            doc="Make a workflow definition of Elegy's canonical workflow graph.",
        ),
        row(
            flows,
            "workflow-definition/export-elegy",
            export_elegy,
            params(("id",), id=DEFINITION, version=VERSION),
            answer(document=OBJECT, findings=_FINDINGS),
            positional=("id",),
            **findings,
            doc="Write a workflow definition as Elegy's canonical workflow graph.",
        ),
        row(
            flows,
            "workflow-definition/schema",
            schema,
            params(()),
            answer(schema=OBJECT, kinds=listed(answer(kind=TEXT, description=TEXT, config=OBJECT))),
            doc="Read the JSON Schema of definitions, and the kinds of nodes with their configs.",
        ),
        row(
            flows,
            "workflow-definition/validate",
            validate,
            params((), **GIVEN),
            answer(valid={"type": "boolean"}, findings=_FINDINGS),
            authority=Authority.OPERATOR,
            effects=frozenset({Effect.MACHINE_READ}),
            positional=("path",),
            listing="findings",
            columns=("severity", "code", "path", "message"),
            doc="Find everything that is wrong with a workflow definition; nothing is kept.",
        ),
    ]
