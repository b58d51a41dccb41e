"""Adapters of one runtime: registered, bound by an operator, unbound, removed, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, field, frozen

from holon_adapters.binding import checked_binding
from holon_adapters.compiled import Operations
from holon_adapters.describing import tool_of
from holon_adapters.editions import Edition, Editions
from holon_adapters.executor import AdapterExecutor
from holon_adapters.forwarding import Forward, Forwards
from holon_adapters.gates import Gate
from holon_adapters.hints import Hints
from holon_adapters.lane import NAME, source_id
from holon_adapters.records import StoredAdapter
from holon_core.errors import Refused, Rejected
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holon_adapters.openapi.operations import Mapped
    from holon_adapters.records import Binding, MappedOperation
    from holon_core.plugins.host import PluginHost
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.records.words import Effect

MAX_LISTED = 1000
T = TypeVar("T")


@frozen(kw_only=True)
class Registration:
    """What registering an adapter came to.

    ``refused`` says of each operation that is left out why; ``findings`` has the warnings, too.
    """

    adapter: StoredAdapter
    operations: int
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(factory=dict)
    findings: tuple[Finding, ...] = ()


class Adapters:
    """The adapters of one runtime; the service `adapters`.

    Args:
        host: What the lane sees of its runtime.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._operations = Operations(host)
        self.executor = AdapterExecutor(self._operations)
        self.gate = Gate(self._operations)
        self.hints = Hints(host)
        self.forwards = Forwards(host, self._operations, self.executor)
        self._editions = Editions(host, self._operations)

    def register(
        self, name: str, document: Any, *, workspace: str | None = None, by: str
    ) -> Registration:
        """Register an API, or register it anew; what was bound stays bound.

        Args:
            name: 1 to 63 of ``a-z 0-9 -``; part of the ids of its tools.
            document: Text or JSON of OpenAPI 3.0 or 3.1, or of ``holon-adapter/v1``.
            workspace: Whose it is; every caller's where left out.
            by: Who registers it.

        Raises:
            Rejected: The document cannot be read, or none of its operations can be mapped.
        """
        mapped, kind, sha256 = mapped_of(document)
        if not mapped.operations:
            raise Rejected(f"adapter {name}", mapped.findings or [_empty()])
        made = StoredAdapter(
            name=name,
            source=_source(name, workspace),
            workspace=workspace,
            title=mapped.title,
            version=mapped.version,
            kind=kind,
            server=mapped.server,
            document_sha256=sha256,
            schemes=mapped.schemes,
            registered_by=by,
            registered_at_unix_seconds=int(self._host.clock.now()),
        )
        done = self._store(made, mapped)
        # What is bound by its operations says which effects they have, which may be others now.
        self.forwards.restore(made.source)
        return done

    def read(self, name: str, *, workspace: str | None = None) -> StoredAdapter:
        """Return an adapter.

        Raises:
            Refused: ``unknown_tool``: there is none of this name.
        """
        found = self._operations.adapters().get(_source(name, workspace))
        if found is None:
            where = "" if workspace is None else f" in the workspace {workspace}"
            text = f"no adapter {name} is registered{where}"
            raise Refused(failure("unknown_tool", text, adapter=name))
        return found.value

    def unchanged(self, name: str, *, workspace: str | None = None) -> Registration:
        """Return an adapter as it is, in the form of a registration that changed nothing.

        Raises:
            Refused: There is no such adapter.
        """
        adapter = self.read(name, workspace=workspace)
        return Registration(
            adapter=adapter, operations=len(self._operations.all_of(adapter.source))
        )

    def list(self) -> list[StoredAdapter]:
        """Return all adapters, by source id."""
        documents = self._operations.adapters()
        return [each.value for each in documents.list(limit=MAX_LISTED)]

    def bind(self, name: str, binding: Binding, *, workspace: str | None = None) -> Registration:
        """Open the live lane for an adapter, as an operator says, or otherwise than before.

        Args:
            name: The adapter.
            binding: Its origin, secrets by reference, and limits.
            workspace: Whose adapter it is.

        Raises:
            Refused: There is no such adapter.
            Rejected: The binding is not sound, with every finding.
        """

        def work() -> Registration:
            adapter = self.read(name, workspace=workspace)
            return self._bound(evolve(adapter, binding=checked_binding(binding, adapter)))

        made = self._together(work)
        self.executor.drop(made.adapter.source)
        return made

    def forward(
        self,
        name: str,
        *,
        capability: str,
        effects: frozenset[Effect],
        operation: str,
        workspace: str | None = None,
        by: str,
        reason: str,
        proposed_by: str | None = None,
        provides: Sequence[str] = (),
    ) -> Forward:
        """Let an operation of a bound adapter run an imported capability.

        Args:
            name: The adapter.
            capability: Id of the imported capability's tool.
            effects: What the capability declares.
            operation: The operation, by the id of its tool without the source.
            workspace: Whose adapter it is.
            by: Who says so.
            reason: Why.
            proposed_by: The package whose hint it follows.
            provides: Programs that the capability would need, and the operation is instead of.

        Raises:
            Refused: There is no such adapter, or something else runs the capability.
            Rejected: The adapter is not bound, or has no such operation, or one that does more
                than the capability declares.
        """
        adapter = self.read(name, workspace=workspace)
        if adapter.binding is None:
            text = "bind the adapter itself first: its origin, secrets and limits"
            raise Rejected(
                f"binding of {name}",
                [Finding(code="config_invalid", message=text, path="/capability")],
            )
        made = Forward(
            capability=capability,
            tool=f"{adapter.source}/{operation}",
            by=by,
            reason=reason,
            proposed_by=proposed_by,
            provides=tuple(provides),
            at_unix_seconds=int(self._host.clock.now()),
        )
        self.forwards.add(made, effects)
        return made

    def unbind(self, name: str, *, workspace: str | None = None) -> Registration:
        """Close the live lane of an adapter; its operations stay listed, and can be rehearsed.

        Raises:
            Refused: There is no such adapter.
        """

        def work() -> Registration:
            adapter = self.read(name, workspace=workspace)
            self.forwards.remove(adapter.source)
            return self._bound(evolve(adapter, binding=None))

        made = self._together(work)
        self.executor.drop(made.adapter.source)
        return made

    def remove(self, name: str, *, workspace: str | None = None) -> tuple[str, ...]:
        """Remove an adapter with its operations; evidence of its calls stays.

        Returns:
            The ids of the tools that are gone.

        Raises:
            Refused: There is no such adapter.
        """
        adapter = self.read(name, workspace=workspace)

        def work() -> tuple[str, ...]:
            self.forwards.remove(adapter.source)
            gone = self._host.remove_source(adapter.source).removed
            self._operations.mapped().remove_all(self._operations.all_of(adapter.source))
            self._operations.adapters().remove(adapter.source)
            self._editions.forget(adapter.source)
            return gone

        gone = self._together(work)
        self.executor.drop(adapter.source)
        return gone

    def compare(self, name: str, document: Any, *, workspace: str | None = None) -> Compared:
        """Describe what registering a document would make of an adapter; nothing is stored.

        Raises:
            Refused: There is no such adapter.
            Rejected: The document cannot be read.
        """
        adapter = self.read(name, workspace=workspace)
        mapped, _, _ = mapped_of(document)
        made = evolve(
            adapter,
            version=mapped.version,
            schemes=mapped.schemes,
            binding=_kept(adapter.binding, mapped),
        )
        old = self._operations.all_of(adapter.source)
        new = (tool_of(made, each) for each in mapped.operations.values())
        return Compared(
            before={each: tool_of(adapter, mapped) for each, mapped in old.items()},
            after={tool.id: tool for tool in new},
            refused=mapped.refused,
        )

    def changed_since(
        self, name: str, since: int | None = None, *, workspace: str | None = None
    ) -> Compared:
        """Describe how an adapter differs from what it was: its document, or what it is bound to.

        Args:
            name: The adapter.
            since: Number of the revision that is meant; the last one before where none is given.
            workspace: Whose adapter it is.

        Raises:
            Refused: There is no such adapter.
            Rejected: There is no such revision.
        """
        adapter = self.read(name, workspace=workspace)
        before = self._editions.earlier(adapter.source, since)
        now = {
            tool_id: tool_of(adapter, mapped)
            for tool_id, mapped in self._operations.all_of(adapter.source).items()
        }
        return Compared(
            before=now if before is None else self._editions.tools(before.value),
            after=now,
            since=None if before is None else before.revision,
        )

    def revision(self, source: str) -> int:
        """Return the number of an adapter's revision; it rises when its tools change."""
        found = self._editions.latest(source)
        return 0 if found is None else found.revision

    def _store(self, adapter: StoredAdapter, mapped: Mapped) -> Registration:
        operations = {
            f"{adapter.source}/{each.plan.id}": each for each in mapped.operations.values()
        }

        def work() -> _Made:
            # Read here, so that nobody's unbinding meanwhile is undone.
            before = self._operations.adapters().get(adapter.source)
            binding = None if before is None else before.value.binding
            bound = evolve(adapter, binding=_kept(binding, mapped))
            return self._stored(bound, operations)

        made = self._together(work)
        notes = [f for found in made.findings for f in found]
        return evolve(
            made.registration,
            refused=mapped.refused,
            findings=(*mapped.findings, *notes),
        )

    def _stored(self, adapter: StoredAdapter, operations: Mapping[str, MappedOperation]) -> _Made:
        """Store the operations of a document with the adapter and its tools."""
        stored = self._operations.stored_of(adapter.source)
        new = {
            tool_id: each
            for tool_id, each in operations.items()
            if tool_id not in stored or stored[tool_id].value != each
        }
        revisions = {tool_id: each.revision for tool_id, each in stored.items()}
        revisions |= self._operations.mapped().put_all(new)
        edition = Edition(
            adapter=adapter, operations={each: revisions[each] for each in operations}
        )
        made = self._registered(edition, operations)
        self._operations.mapped().remove_all(stored.keys() - operations.keys())
        return made

    def _bound(self, adapter: StoredAdapter) -> Registration:
        """Store an adapter with the operations that it has."""
        stored = self._operations.stored_of(adapter.source)
        revisions = {tool_id: each.revision for tool_id, each in stored.items()}
        edition = Edition(adapter=adapter, operations=revisions)
        operations = {each: found.value for each, found in stored.items()}
        return self._registered(edition, operations).registration

    def _together(self, work: Callable[[], T]) -> T:
        """Make one change of the store: whole, or not at all, wherever a process dies."""
        return self._host.workbench().together(work)

    def _registered(self, edition: Edition, operations: Mapping[str, MappedOperation]) -> _Made:
        """Store an adapter and define its tools; a part of one change."""
        adapter = edition.adapter
        self._operations.adapters().put(adapter.source, adapter)
        done = self._host.register_source(
            SkillSourceDescriptor(
                id=adapter.source,
                kind=SkillSourceKind.LANE,
                origin=Origin.REGISTERED,
                title=adapter.title or adapter.name,
            ),
            [tool_of(adapter, each) for each in operations.values()],
        )
        if done.added or done.changed or done.removed or not self.revision(adapter.source):
            self._editions.keep(edition)
        registration = Registration(
            adapter=adapter,
            operations=len(operations),
            added=done.added,
            changed=done.changed,
            removed=done.removed,
        )
        # That a schema was closed, or a format is not checked, is said of every second tool.
        errors = [[f for f in found if f.severity is Severity.ERROR]
                  for found in done.findings.values()]  # fmt: skip
        return _Made(registration=registration, findings=errors)


@frozen(kw_only=True)
class Compared:
    """The tools of an adapter in two states: as it is, and as another document would make it.

    Or as it was and as it is; ``since`` is the number of the revision that it was then.
    """

    before: Mapping[str, RuntimeToolDescriptor]
    after: Mapping[str, RuntimeToolDescriptor]
    refused: Mapping[str, str] = field(factory=dict)
    since: int | None = None


@frozen(kw_only=True)
class _Made:
    registration: Registration
    findings: list[list[Finding]]


def mapped_of(document: Any) -> tuple[Mapped, str, str]:
    """Read and map a document.

    Args:
        document: Text, bytes or JSON.

    Returns:
        What it came to, its kind (``openapi`` or ``handwritten``), and its SHA-256: of the text
        as it was given, of JSON in canonical form.

    Raises:
        Rejected: It cannot be read.
    """
    from holon_adapters.openapi.handwritten import VERSION, as_openapi
    from holon_adapters.openapi.operations import map_document
    from holon_adapters.openapi.reading import read_text

    data = read_text(document) if isinstance(document, (str, bytes)) else document
    handwritten = isinstance(data, dict) and data.get("adapter") == VERSION
    mapped = map_document(as_openapi(data) if handwritten else data)
    return mapped, "handwritten" if handwritten else "openapi", _sha256(document)


def _sha256(document: Any) -> str:
    import json
    from hashlib import sha256

    if isinstance(document, (dict, list)):
        # Not in canonical form: limits of 64 bits may stand in it.
        document = json.dumps(document, sort_keys=True, ensure_ascii=True)
    data = document.encode() if isinstance(document, str) else document
    return sha256(data).hexdigest()


def _source(name: str, workspace: str | None) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):  # type: ignore[redundant-expr]
        text = "an adapter's name is 1 to 63 of a-z 0-9 -, a hyphen neither first nor last"
        raise Rejected("adapter", [Finding(code="invalid_id", message=text, path="/name")])
    return source_id(name, workspace)


def _empty() -> Finding:
    return Finding(code="record_invalid", message="the document has no operation", path="/paths")


def _kept(binding: Binding | None, mapped: Mapped) -> Binding | None:
    """Keep what is bound, without secrets of schemes that are gone."""
    if binding is None:
        return None
    left = {name: ref for name, ref in binding.secrets.items() if name in mapped.schemes}
    return evolve(binding, secrets=left)
