"""What a schema says that its dialect does not understand, or understands otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.records.finding import Finding
from holon_core.records.words import Severity
from holon_core.wire.dialects import ALL_KEYWORDS, ANNOTATIONS, dialect_of
from holon_core.wire.faults import pointer, shown
from holon_core.wire.format_names import ASSERTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.wire.dialects import Dialect
    from holon_core.wire.schema_graph import Node, SchemaGraph

_BESIDE_REF = ANNOTATIONS | {"$ref", "$schema", "definitions"}
# Keywords of every dialect about which there may be something to say.
_TELLING = frozenset({"$ref", "$schema", "format"})


def lint(graph: SchemaGraph) -> list[Finding]:
    """Find keywords that check nothing, and formats that are not asserted."""
    found: list[Finding] = []
    usual = graph.dialect.keywords - _TELLING | ANNOTATIONS
    for node in graph.nodes.values():
        if usual.issuperset(node.schema):
            continue
        found += _keywords(node, graph.dialect)
        found += _formats(node)
        found += _dialect(node, graph.dialect)
    return found


def _keywords(node: Node, dialect: Dialect) -> Iterator[Finding]:
    alone = dialect.lone_ref and "$ref" in node.schema
    for keyword in node.schema:
        if keyword in dialect.keywords:
            if alone and keyword not in _BESIDE_REF and keyword != dialect.id_keyword:
                text = f"{keyword} beside $ref is ignored in this dialect"
                yield _warning("schema_invalid", text, pointer((*node.path, keyword)))
        elif not keyword.startswith("x-") and keyword not in ANNOTATIONS:
            yield _unknown(keyword, dialect, pointer((*node.path, keyword)))


def _unknown(keyword: str, dialect: Dialect, path: str) -> Finding:
    if keyword in ALL_KEYWORDS:
        text = f"{keyword} is of another dialect and is ignored in this one"
        return _warning("schema_invalid", text, path)
    from difflib import get_close_matches

    near = get_close_matches(keyword[:80], sorted(dialect.keywords - ANNOTATIONS), n=1, cutoff=0.8)
    if near:
        text = f"unknown keyword {shown(keyword)}; did you mean {near[0]}?"
        return Finding(code="schema_invalid", message=text, path=path)
    text = f"unknown keyword {shown(keyword)} checks nothing; name annotations x-…"
    return _warning("schema_invalid", text, path)


def _formats(node: Node) -> Iterator[Finding]:
    name = node.schema.get("format")
    if isinstance(name, str) and name not in ASSERTED:
        text = f"format {shown(name)} is an annotation, it is not checked"
        yield _warning("schema_format_unchecked", text, pointer((*node.path, "format")))


def _dialect(node: Node, dialect: Dialect) -> Iterator[Finding]:
    if "$schema" in node.schema and dialect_of(node.schema) is not dialect:
        path = pointer((*node.path, "$schema"))
        text = "a document has one dialect, declared at its top"
        yield Finding(code="schema_unsupported", message=text, path=path)


def _warning(code: str, message: str, path: str) -> Finding:
    return Finding(code=code, message=message, path=path, severity=Severity.WARNING)
