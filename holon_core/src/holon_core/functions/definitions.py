"""The ``$defs`` of one schema: recursive and repeated classes stay, the others move inline."""

from __future__ import annotations

import re
from typing import Any


class Definitions:
    """Collects the definitions of one schema while its types are compiled."""

    def __init__(self) -> None:
        self._names: dict[type, str] = {}
        self._own: dict[str, dict[str, Any]] = {}
        self._uses: dict[str, list[dict[str, Any]]] = {}
        self._foreign: dict[str, dict[str, Any]] = {}

    def _free(self, wanted: str) -> str:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", wanted)
        name, number = stem, 1
        while name in self._uses or name in self._foreign:
            number += 1
            name = f"{stem}_{number}"
        return name

    def use(self, cls: type) -> dict[str, Any]:
        """Give a fresh reference to a class, whose body may still be missing."""
        name = self._names.get(cls)
        if name is None:
            name = self._names[cls] = self._free(cls.__name__)
            self._uses[name] = []
        node = {"$ref": f"#/$defs/{name}"}
        self._uses[name].append(node)
        return node

    def define(self, cls: type, body: dict[str, Any]) -> None:
        """Give the body of a class that is in use."""
        self._own[self._names[cls]] = body

    def adopt(self, foreign: dict[str, dict[str, Any]]) -> bool:
        """Take over definitions made elsewhere.

        Returns:
            False, with nothing taken, where a name stands for something else here.
        """
        for name, body in foreign.items():
            if name in self._uses or self._foreign.get(name, body) != body:
                return False
        self._foreign.update(foreign)
        return True

    def finish(self, top: dict[str, Any]) -> dict[str, Any]:
        """Return the schema with its definitions; a top that is a reference is opened.

        A class that turned out to be unsupported has no body and accepts anything.
        """
        kept = dict(self._foreign)
        for name, nodes in self._uses.items():
            if len(nodes) > 1:
                kept[name] = self._own.get(name, {})
                continue
            beside = {key: value for key, value in nodes[0].items() if key != "$ref"}
            nodes[0].clear()
            nodes[0].update(self._own.get(name, {}), **beside)
        if "$ref" in top:
            body = kept[top["$ref"].rpartition("/")[2]]
            top = {**body, **{key: value for key, value in top.items() if key != "$ref"}}
        return {**top, "$defs": kept} if kept else top
