"""Definitions as they are kept: each version once, and never changed after."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import Refused, Rejected
from holon_core.nearest import nearest
from holon_core.records.failure import failure
from holon_core.records.finding import Finding, has_errors
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.definition.model import Definition, Graph, read_definition
from holon_workflows.definition.validate import check

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_core.workbench import Change, Workbench
    from holon_workflows.records import NodeKind

LATEST, VERSIONS = "definitions", "versions"


@frozen(kw_only=True)
class Kept:
    """A version of a definition as it is kept, with who made it and what was found about it."""

    id: str
    version: str
    digest: str
    title: str
    description: str
    nodes: int
    created_by: str
    created_at_unix_seconds: int
    document: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()


class Definitions:
    """Creates, checks and reads definitions.

    Args:
        bench: The store.
        clock: For times.
        kinds: Kinds of nodes by name.
        output_class: The schema of a class of structured outputs.
    """

    def __init__(
        self,
        bench: Workbench,
        clock: Clock,
        *,
        kinds: Mapping[str, NodeKind],
        output_class: Any,
    ) -> None:
        self._bench = bench
        self._clock = clock
        self.kinds = kinds
        self._output_class = output_class
        self._known: dict[tuple[str, str], Definition] = {}
        self._graphs: dict[tuple[str, tuple[str, ...]], Graph] = {}
        self._lock = threading.Lock()

    def checking(self, document: object = None) -> Checking:
        """Return what the check of a definition may look up."""
        own = document if isinstance(document, Mapping) else {}
        return Checking(
            kinds=self.kinds,
            tool=self._bench.tool,
            unknown_tool=self._bench.unknown_tool,
            definition=self.find,
            definitions=self.ids,
            output_class=self._output_class,
            own_id=str(own.get("id", "")),
            own_version=str(own.get("version", "")),
        )

    def validate(self, document: object) -> tuple[Finding, ...]:
        """Return all findings about a definition; nothing is kept."""
        return check(document, self.checking(document))[1]

    def create(self, document: object, *, by: str) -> Kept:
        """Keep a version of a definition; from then on it is the newest.

        Raises:
            Rejected: With every finding; nothing was kept. ``version_conflict`` where the version
                is there with other content.
        """
        made, findings = check(document, self.checking(document))
        if has_errors(findings):
            raise Rejected("workflow definition", findings)
        read = read_definition(made)
        at = int(self._clock.now())
        kept = {
            "id": read.id,
            "version": read.version,
            "digest": read.digest,
            "created_by": by,
            "created_at_unix_seconds": at,
            "document": made,
        }

        def work(change: Change) -> Any:
            name = f"{read.id}@{read.version}"
            before = change.get(VERSIONS, name)
            if before is not None and before["digest"] != read.digest:
                text = f"version {read.version} of {read.id} is there with other content"
                raise Rejected("workflow definition", [wrong("version_conflict", text, "/version")])
            if before is None:
                change.put(VERSIONS, name, kept)
            change.put(LATEST, read.id, {"version": read.version})
            return before or kept

        return _kept(self._bench.change(work), findings)

    def ids(self) -> list[str]:
        """Return the ids of all definitions."""
        return self._bench.read(lambda view: [name for name, _ in view.every(LATEST)])

    def list(self, *, after: str = "", limit: int = 50) -> list[Kept]:
        """Return the newest version of each definition, by id."""

        def work(view: Any) -> Any:
            rows = view.under(LATEST, after=after, limit=limit)
            return [view.get(VERSIONS, f"{name}@{found['version']}") for name, found in rows]

        return [_kept(each) for each in self._bench.read(work)]

    def read(self, definition: str, version: str | None = None) -> Kept:
        """Return a version of a definition, the newest where none is named.

        Raises:
            Refused: ``unknown_workflow``.
        """

        def work(view: Any) -> Any:
            named = version
            if named is None:
                latest = view.get(LATEST, definition)
                named = None if latest is None else latest["version"]
            return None if named is None else view.get(VERSIONS, f"{definition}@{named}")

        found = self._bench.read(work)
        if found is None:
            named = definition if version is None else f"{definition}@{version}"
            text = f"no workflow definition {named}{nearest(definition, self.ids(), most=3)}"
            raise Refused(failure("unknown_workflow", text))
        return _kept(found)

    def find(self, definition: str, version: str | None = None) -> Definition | None:
        """Return a definition that can be run, or ``None``."""
        try:
            kept = self.read(definition, version)
        except Refused:
            return None
        return self.version(kept.id, kept.version)

    def version(self, definition: str, version: str) -> Definition:
        """Return one version, read once.

        Raises:
            Refused: ``unknown_workflow``.
        """
        key = (definition, version)
        found = self._known.get(key)
        if found is None:
            made = read_definition(self.read(definition, version).document)
            with self._lock:
                found = self._known.setdefault(key, made)
        return found

    def graph(self, definition: Definition, path: tuple[str, ...]) -> Graph:
        """Return the graph of a definition, or of the body at a path, read once."""
        key = (definition.digest, path)
        found = self._graphs.get(key)
        if found is None:
            made = definition.body(path)
            with self._lock:
                found = self._graphs.setdefault(key, made)
        return found


def _kept(data: Mapping[str, Any], findings: tuple[Finding, ...] = ()) -> Kept:
    document = data["document"]
    return Kept(
        id=data["id"],
        version=data["version"],
        digest=data["digest"],
        title=document.get("title", ""),
        description=document.get("description", ""),
        nodes=len(document["nodes"]),
        created_by=data["created_by"],
        created_at_unix_seconds=data["created_at_unix_seconds"],
        document=document,
        findings=findings,
    )
