"""Servers and what they offer, as they are kept in the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from holon_core.errors import Refused
from holon_core.records.failure import failure
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin
from holon_mcp.describing import tool_of
from holon_mcp.lane import SOURCE, entry_id, source_id
from holon_mcp.records import LISTS, ItemState, StoredItem, StoredServer

if TYPE_CHECKING:
    from holon_core.catalogue.source_records import Registered
    from holon_core.plugins.documents import Documents
    from holon_core.plugins.host import PluginHost

PAGE = 1000
MAX_SERVERS = 1000
SHOWN = (ItemState.ACCEPTED, ItemState.UNUSABLE, ItemState.CHANGED)


class Kept:
    """The documents of the lane, and the entries of the catalogue made of them.

    Args:
        host: What the lane sees of its runtime.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host

    def server(self, name: str) -> StoredServer:
        """Return a server.

        Raises:
            Refused: ``unknown_tool``: there is none of this name.
        """
        found = self._servers().get(name)
        if found is None:
            text = f"no MCP server {name:.100} is registered"
            raise Refused(failure("unknown_tool", text, server=name[:100]))
        return found.value

    def knows(self, name: str) -> bool:
        """Tell whether there is a server of this name."""
        return self._servers().get(name) is not None

    def servers(self) -> list[StoredServer]:
        """Return all servers, by name."""
        return [each.value for each in self._servers().list(limit=MAX_SERVERS)]

    def items(self, name: str) -> dict[str, StoredItem]:
        """Return what a server offers, by entry id."""
        return dict(self._items_of(name))

    def find(self, entry: str) -> tuple[StoredServer, StoredItem] | None:
        """Return the server and the item behind an entry."""
        found = self._items().get(entry)
        if found is None:
            return None
        server = self._servers().get(found.value.server)
        return None if server is None else (server.value, found.value)

    def write(
        self, server: StoredServer, before: Mapping[str, StoredItem], items: Iterable[StoredItem]
    ) -> list[Registered]:
        """Store a server with all its items, and define its entries; all of it, or nothing.

        Args:
            server: The server.
            before: Its items as the change was made of them; none of a new server.
            items: Its items from now on.

        Raises:
            Refused: ``conflict``: another has changed it meanwhile.
        """
        after = {entry_id(each.server, each.kind, each.name): each for each in items}

        def work() -> list[Registered]:
            if self.items(server.name) != before:
                text = f"the server {server.name} was changed by somebody else meanwhile"
                raise Refused(failure("conflict", text, server=server.name))
            self._servers().put(server.name, server)
            kept = self._items()
            for label, item in after.items():
                if before.get(label) != item:
                    kept.put(label, item)
            for label in before.keys() - after.keys():
                kept.remove(label)
            return self._define(server, after)

        return self._host.workbench().together(work)

    def remove(self, name: str) -> list[Registered]:
        """Remove a server with its items and entries; all of it, or nothing."""

        def work() -> list[Registered]:
            self._servers().remove(name)
            for label in self.items(name):
                self._items().remove(label)
            return [self._host.remove_source(source_id(name, kind)) for kind in LISTS]

        return self._host.workbench().together(work)

    def _define(self, server: StoredServer, items: Mapping[str, StoredItem]) -> list[Registered]:
        made = []
        for kind in LISTS:
            mine = [each for each in items.values() if each.kind == kind and each.state in SHOWN]
            if not mine and kind not in {each.kind for each in items.values()}:
                continue
            descriptor = SkillSourceDescriptor(
                id=source_id(server.name, kind),
                kind=SkillSourceKind.LANE,
                origin=Origin.REGISTERED,
                title=server.server_name or server.name,
            )
            tools = [tool_of(server, each) for each in mine]
            made.append(self._host.register_source(descriptor, tools))
        return made

    def _items_of(self, name: str) -> Iterator[tuple[str, StoredItem]]:
        prefixes = (f"{SOURCE}.{name}.", f"{SOURCE}.{name}/")
        kept, after = self._items(), prefixes[0]
        while True:
            page = kept.list(after=after, limit=PAGE)
            for each in page:
                if not each.id.startswith(prefixes):
                    return
                yield each.id, each.value
            if len(page) < PAGE:
                return
            after = page[-1].id

    def _servers(self) -> Documents[StoredServer]:
        return self._host.documents("servers", StoredServer)

    def _items(self) -> Documents[StoredItem]:
        return self._host.documents("items", StoredItem)
