"""What adapters were before: each state that defined its tools otherwise, kept for comparing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from holon_adapters.describing import tool_of
from holon_adapters.records import StoredAdapter
from holon_core.errors import Rejected
from holon_core.records.finding import Finding

if TYPE_CHECKING:
    from holon_adapters.compiled import Operations
    from holon_core.plugins.documents import Documents, StoredDocument
    from holon_core.plugins.host import PluginHost
    from holon_core.records.tool import RuntimeToolDescriptor

EDITIONS = "editions"
# Earlier ones that are looked through; of a removed adapter that came back some are gone.
MAX_LOOKED_AT = 100


@frozen(kw_only=True)
class Edition:
    """An adapter as it was at one time; ``operations`` has the revision of each, by tool id."""

    adapter: StoredAdapter
    operations: Mapping[str, int]


class Editions:
    """The editions of one runtime's adapters, counted by the revisions of their documents.

    Args:
        host: Of the lane.
        operations: What is behind the tools.
    """

    def __init__(self, host: PluginHost, operations: Operations) -> None:
        self._host = host
        self._operations = operations

    def latest(self, source: str) -> StoredDocument[Edition] | None:
        """Return an adapter's edition as it is now."""
        return self._kept().get(source)

    def keep(self, edition: Edition) -> int:
        """Keep what an adapter has become; return its number."""
        return self._kept().put(edition.adapter.source, edition)

    def forget(self, source: str) -> None:
        """Forget an adapter that was removed."""
        self._kept().remove(source)

    def earlier(self, source: str, since: int | None) -> StoredDocument[Edition] | None:
        """Return an earlier edition; ``None`` where the adapter was never another.

        Args:
            source: Of the adapter.
            since: The number that is meant; the last one before where none is given.

        Raises:
            Rejected: There is none of that number.
        """
        now = self._kept().get(source)
        last = 0 if now is None else now.revision
        before = range(last - 1, max(0, last - 1 - MAX_LOOKED_AT), -1)
        for revision in before if since is None else (since,):
            found = self._kept().get(source, revision=revision)
            if found is not None:
                return found
        if since is None:
            return None
        text = f"the adapter has no revision {since}; the last is {last}"
        raise Rejected("difference", [Finding(code="config_invalid", message=text, path="/since")])

    def tools(self, edition: Edition) -> dict[str, RuntimeToolDescriptor]:
        """Return the tools that an edition defined, by id."""
        kept, made = self._operations.mapped(), {}
        for tool_id, revision in edition.operations.items():
            found = kept.get(tool_id, revision=revision)
            if found is not None:
                made[tool_id] = tool_of(edition.adapter, found.value)
        return made

    def _kept(self) -> Documents[Edition]:
        return self._host.documents(EDITIONS, Edition)
