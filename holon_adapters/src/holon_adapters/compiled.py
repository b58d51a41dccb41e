"""Operations ready to be called: read from the store once, by the definition that is called."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_adapters.describing import executor_ref
from holon_adapters.failures import CallFailed
from holon_adapters.records import (
    Binding,
    MappedOperation,
    OperationPlan,
    SchemePlan,
    StoredAdapter,
)
from holon_adapters.request.building import Request, build, chosen_schemes, place_of
from holon_core.records.words import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.plugins.documents import Documents, StoredDocument
    from holon_core.plugins.host import PluginHost
    from holon_core.records.tool import RuntimeToolDescriptor

ADAPTERS, OPERATIONS = "adapters", "operations"
MAX_KEPT = 4096
PAGE = 500


@frozen(kw_only=True)
class Operation:
    """One operation of one adapter, as it is bound."""

    plan: OperationPlan
    source: str
    workspace: str | None
    schemes: Mapping[str, SchemePlan]
    binding: Binding | None
    origin: str
    base_path: str
    input_schema: Mapping[str, Any]
    effects: frozenset[Effect]

    @property
    def secrets(self) -> tuple[str, ...] | None:
        """The schemes that a call uses; ``None`` where no alternative is bound whole."""
        bound: Mapping[str, str] = {} if self.binding is None else self.binding.secrets
        return chosen_schemes(self.plan, bound)

    def request(self, arguments: Mapping[str, Any], key: str) -> Request:
        """Make the request of a call; raises ``BadArgument``."""
        return build(self.plan, arguments, origin=self.origin, base_path=self.base_path, key=key)


class Operations:
    """Gives the operation behind a tool. Safe for many threads.

    Args:
        host: Whose documents they are.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Operation] = OrderedDict()

    def adapters(self) -> Documents[StoredAdapter]:
        """The adapters, by source id."""
        return self._host.documents(ADAPTERS, StoredAdapter)

    def mapped(self) -> Documents[MappedOperation]:
        """The operations as they were read, by tool id."""
        return self._host.documents(OPERATIONS, MappedOperation)

    def all_of(self, source: str) -> dict[str, MappedOperation]:
        """Return all operations of an adapter, by tool id."""
        return {tool_id: each.value for tool_id, each in self.stored_of(source).items()}

    def stored_of(self, source: str) -> dict[str, StoredDocument[MappedOperation]]:
        """Return all operations of an adapter with their revisions, by tool id."""
        found: dict[str, StoredDocument[MappedOperation]] = {}
        after = prefix = f"{source}/"
        while page := self.mapped().list(after=after, limit=PAGE):
            mine = {each.id: each for each in page if each.id.startswith(prefix)}
            found.update(mine)
            if len(mine) < PAGE:
                break
            after = page[-1].id
        return found

    def of(self, tool: RuntimeToolDescriptor) -> Operation:
        """Return what a tool of this lane calls.

        Raises:
            CallFailed: What is stored is not what the definition says.
        """
        # The reference is a digest of all that is kept here, so nothing kept is ever stale.
        key = f"{tool.id}#{tool.executor_ref}"
        found = self._kept.get(key)
        if found is None:
            found = self._load(tool)
            with self._lock:
                self._kept[key] = found
                if len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
        return found

    def current(self, tool_id: str) -> Operation:
        """Return the operation of a tool as it is bound now.

        Raises:
            CallFailed: The adapter was removed.
        """
        source = tool_id.partition("/")[0]
        adapter, mapped = self.adapters().get(source), self.mapped().get(tool_id)
        if adapter is None or mapped is None:
            text = f"the adapter behind it, {source}, has no such operation any more"
            raise CallFailed("definition_changed", text, started=False)
        return _made(source, adapter.value, mapped.value)

    def _load(self, tool: RuntimeToolDescriptor) -> Operation:
        source = tool.id.partition("/")[0]
        adapter, mapped = self.adapters().get(source), self.mapped().get(tool.id)
        if adapter is None or mapped is None:
            text = "the adapter was removed, or is being registered; try again"
            raise CallFailed("definition_changed", text, started=False)
        stored, plan = adapter.value, mapped.value.plan
        if executor_ref(plan, stored.schemes, stored.binding) != tool.executor_ref:
            text = "the adapter is another than the catalogue says; register or bind it again"
            raise CallFailed("definition_changed", text, started=False)
        return _made(source, stored, mapped.value)


def _made(source: str, stored: StoredAdapter, mapped: MappedOperation) -> Operation:
    origin, base_path = place_of(stored.binding, stored.server)
    return Operation(
        plan=mapped.plan,
        source=source,
        workspace=stored.workspace,
        schemes=stored.schemes,
        binding=stored.binding,
        origin=origin,
        base_path=base_path,
        input_schema=mapped.input_schema,
        effects=mapped.effects,
    )
