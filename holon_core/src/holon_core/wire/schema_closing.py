"""Object input schemas: what counts as one, and closing those silent on further properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.wire.dialects import Place

if TYPE_CHECKING:
    from holon_core.wire.schema_graph import Node, SchemaGraph

_SAYS = ("additionalProperties", "unevaluatedProperties")


def is_object_schema(graph: SchemaGraph) -> bool:
    """Tell whether the document's top, or what it refers to, is of type object."""
    return any(node.schema.get("type") in ("object", ["object"]) for node in _top(graph))


def closed(graph: SchemaGraph) -> dict[str, Any] | None:
    """Close an object schema whose top is silent on further properties.

    Returns:
        A new document that refuses properties it does not declare; None where the schema
        says itself what it wants.
    """
    assert graph.root is not None
    if any(key in node.schema for node in _top(graph) for key in _SAYS):
        return None
    document = graph.root.schema
    others = _same(graph.root)
    if not others:
        return {**document, "additionalProperties": False}
    if "unevaluatedProperties" in graph.dialect.keywords:
        return {**document, "unevaluatedProperties": False}
    return _closed_by_names(document, others)


def _closed_by_names(document: dict[str, Any], others: list[Node]) -> dict[str, Any] | None:
    """Close a schema of an old dialect, which cannot see what its other parts declare."""
    if any("additionalProperties" in node.schema for node in others):
        return None
    copy = dict(document)
    if "$ref" in copy:
        # Alone it would switch off everything beside it.
        copy["allOf"] = [{"$ref": copy.pop("$ref")}]
    for keyword in ("properties", "patternProperties"):
        names = {name for node in others for name in node.schema.get(keyword, ())}
        added: dict[str, Any] = {
            name: {} for name in sorted(names) if name not in copy.get(keyword, ())
        }
        if added:
            copy[keyword] = {**copy.get(keyword, {}), **added}
    return {**copy, "additionalProperties": False}


def _top(graph: SchemaGraph) -> list[Node]:
    """List the top schema and those that a chain of plain references leads to."""
    assert graph.root is not None
    chain = [graph.root]
    while (referred := chain[-1].refers) is not None and referred not in chain:
        chain.append(referred)
    return chain


def _same(start: Node) -> list[Node]:
    """List every other schema that applies to the same value as this one."""
    seen = {start: None}
    work = [start]
    while work:
        for place, target in work.pop().edges:
            if place is Place.SAME and target not in seen:
                seen[target] = None
                work.append(target)
    return list(seen)[1:]
