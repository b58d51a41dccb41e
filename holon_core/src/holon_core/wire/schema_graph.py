"""The graph of a schema document: its subschemas, and what refers to what."""

from __future__ import annotations

import re
from collections import deque
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from holon_core.records.finding import Finding
from holon_core.wire.dialects import Dialect, Place, subschemas
from holon_core.wire.faults import pointer

_INDEX = r"0|[1-9][0-9]{0,5}"
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_REFERS = frozenset(_REFERENCES)
# What gives a schema a name, in any dialect.
_NAMES = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})


class Node:
    """One object schema of the document, its edges to others, and what its ``$ref`` means."""

    __slots__ = ("base", "edges", "path", "refers", "schema")

    def __init__(self, *, path: tuple[str | int, ...], schema: dict[str, Any], base: str) -> None:
        self.path, self.schema, self.base = path, schema, base
        self.edges: list[tuple[Place, Node]] = []
        self.refers: Node | None = None

    @property
    def pointer(self) -> str:
        """The JSON pointer of the schema in its document."""
        return pointer(self.path)


class SchemaGraph:
    """All object schemas of one document and its local references; nothing is ever fetched.

    ``problems`` holds a finding for each reference that leaves the document or points at
    nothing; ``references`` counts those that are local. The document has to be a tree of its
    own: no dict may stand in two places.
    """

    def __init__(self, document: Any, dialect: Dialect) -> None:
        self.dialect = dialect
        self.problems: list[Finding] = []
        self.nodes: dict[int, Node] = {}
        self._resources: dict[str, Node] = {}
        self._anchors: dict[tuple[str, str], Node] = {}
        self._dynamic: dict[str, list[Node]] = {}
        self.references = 0
        self._queue: deque[Node] = deque()
        self.root = self._add((), document, "") if isinstance(document, dict) else None
        if self.root is not None:
            self._resources.setdefault("", self.root)
        while self._queue:
            self._link(self._queue.popleft())

    def _add(self, path: tuple[str | int, ...], schema: dict[str, Any], base: str) -> Node:
        node = Node(path=path, schema=schema, base=base)
        self.nodes[id(schema)] = node
        if not _REFERS.isdisjoint(schema):
            self._queue.append(node)
        if not path or not _NAMES.isdisjoint(schema):
            self._name(node)
        for step, inner, place in subschemas(schema, self.dialect):
            if isinstance(inner, dict):
                child = self._add(path + step, inner, node.base)
                node.edges.append((place, child))
        return node

    def _name(self, node: Node) -> None:
        schema, known = node.schema, self.dialect.keywords
        own = schema.get(self.dialect.id_keyword)
        if isinstance(own, str) and not (self.dialect.lone_ref and "$ref" in schema):
            self._identify(node, own)
        if not node.path:
            self._resources[node.base] = node
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = schema.get(keyword)
            if keyword in known and isinstance(name, str):
                self._claim(self._anchors, (node.base, name), node)
                if keyword == "$dynamicAnchor":
                    self._dynamic.setdefault(name, []).append(node)
        if "$recursiveAnchor" in known and schema.get("$recursiveAnchor") is True:
            self._dynamic.setdefault("", []).append(node)

    def _identify(self, node: Node, own: str) -> None:
        uri, fragment = _joined(node.base, own)
        if uri is None:
            self._problem(
                node, self.dialect.id_keyword, "schema_invalid", "the identifier is no URI"
            )
        elif own.startswith("#"):
            self._claim(self._anchors, (node.base, fragment), node)
        else:
            node.base = uri
            self._claim(self._resources, uri, node)

    def _claim(self, table: dict[Any, Node], name: Any, node: Node) -> None:
        # An engine might mean the other one, and none of what is counted here would hold.
        if table.setdefault(name, node) is not node:
            self._problem(node, "", "schema_invalid", "its name is that of another schema")

    def _link(self, node: Node) -> None:
        for keyword in _REFERENCES:
            reference = node.schema.get(keyword)
            if keyword not in self.dialect.keywords or not isinstance(reference, str):
                continue
            target = self._resolve(node, keyword, reference)
            if target is None:
                continue
            self.references += 1
            if keyword == "$ref":
                node.refers = target
            # Which of its namesakes a dynamic reference means depends on the way to it.
            dynamic = keyword != "$ref"
            namesakes = self._dynamic.get(reference.partition("#")[2], []) if dynamic else []
            node.edges += [(Place.SAME, each) for each in dict.fromkeys([target, *namesakes])]

    def _resolve(self, node: Node, keyword: str, reference: str) -> Node | None:
        uri, fragment = _joined(node.base, reference)
        resource = None if uri is None else self._resources.get(uri)
        if uri is None or resource is None:
            self._problem(
                node, keyword, "schema_remote_ref", f"the {keyword} leaves its own document"
            )
            return None
        if fragment and not fragment.startswith("/"):
            target = self._anchors.get((uri, fragment))
        else:
            target = self._at(resource, fragment)
        if target is None:
            self._problem(node, keyword, "schema_invalid", f"the {keyword} points at no schema")
        return target

    def _at(self, resource: Node, fragment: str) -> Node | None:
        found: Any = resource.schema
        path, base = resource.path, resource.base
        for part in fragment.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and re.fullmatch(_INDEX, part) and int(part) < len(found):
                found, path = found[int(part)], (*path, int(part))
            elif isinstance(found, dict) and part in found:
                found, path = found[part], (*path, part)
            else:
                return None
            base = self.nodes[id(found)].base if id(found) in self.nodes else base
        if isinstance(found, bool):
            return self._add(path, {}, base)
        if not isinstance(found, dict):
            return None
        return self.nodes.get(id(found)) or self._add(path, found, base)

    def _problem(self, node: Node, keyword: str, code: str, message: str) -> None:
        path = pointer((*node.path, keyword) if keyword else node.path)
        self.problems.append(Finding(code=code, message=message, path=path))


def _joined(base: str, reference: str) -> tuple[str | None, str]:
    """Resolve a reference to a document and a fragment; no document where it is no URI."""
    if reference.startswith("#"):
        return base, unquote(reference[1:])
    try:
        uri, fragment = urldefrag(urljoin(base, reference) if reference else base)
    except ValueError:
        return None, ""
    return uri, unquote(fragment)
