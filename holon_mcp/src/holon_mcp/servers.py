"""MCP servers of one runtime: registered, refreshed, compared, accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from holon_core.errors import Refused, Rejected
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_mcp.comparing import Difference, difference, first, judged, merged, taken_over
from holon_mcp.executor import ClosedExecutor
from holon_mcp.items.texts import suspicions
from holon_mcp.kept import Kept
from holon_mcp.lane import DEVICES, NAME
from holon_mcp.reading.forms import read, read_text
from holon_mcp.records import Listing, RefusedItem, StoredItem, StoredServer

if TYPE_CHECKING:
    from holon_core.catalogue.source_records import Registered
    from holon_core.plugins.host import PluginHost


@frozen(kw_only=True)
class Outcome:
    """What registering, refreshing or accepting came to.

    ``items`` are all things of the server by entry id, ``refused`` those without a place in the
    catalogue; ``difference`` is what waits for a person.
    """

    server: StoredServer
    items: Mapping[str, StoredItem]
    refused: tuple[RefusedItem, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(factory=dict)
    difference: Difference


class Servers:
    """The MCP servers of one runtime; the service `mcp-servers`.

    Args:
        host: What the lane sees of its runtime.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self.kept = Kept(host)
        self.executor = ClosedExecutor(self.kept.find)

    def register(self, name: str, document: Any, *, by: str) -> Outcome:
        """Register a server; whoever does accepts what it offers now.

        Args:
            name: 1 to 63 of ``a-z 0-9 -``; part of the ids of its entries.
            document: JSON, or JSON text, in one of the known forms; or a ``Listing``.
            by: Who registers it.

        Raises:
            Rejected: The name is not usable, or the document cannot be read.
            Refused: ``conflict``: there is a server of this name, which is to be refreshed;
                ``mcp_pagination`` or ``mcp_answer`` of a list.
        """
        _check_name(name)
        if self.kept.knows(name):
            text = f"the server {name} is registered; refresh it, so that its pins count"
            raise Refused(failure("conflict", text, server=name))
        listing = _listing(document, name)
        good, refused = judged(name, listing)
        now = int(self._host.clock.now())
        server = _filled(
            StoredServer(
                name=name,
                form=listing.form,
                registered_by=by,
                registered_at_unix_seconds=now,
                refreshed_at_unix_seconds=now,
            ),
            listing,
            refused=refused,
        )
        items = {label: first(name, one) for label, one in good.items()}
        return self._written(server, {}, items)

    def refresh(self, name: str, document: Any) -> Outcome:
        """Take what a server gives now; whatever differs from what was accepted waits.

        Raises:
            Refused: There is no such server; ``mcp_pagination`` or ``mcp_answer`` of a list.
            Rejected: The document cannot be read.
        """
        server, before = self.kept.server(name), self.kept.items(name)
        listing = _listing(document, name)
        good, refused = judged(name, listing)
        after = merged(name, before, listing, good=good, refused=refused)
        made = evolve(
            _filled(server, listing, refused=refused),
            refreshed_at_unix_seconds=int(self._host.clock.now()),
        )
        return self._written(made, before, after)

    def compare(self, name: str, document: Any = None) -> Difference:
        """Describe what waits for a person, or would after a refresh; nothing is stored.

        Raises:
            Refused: There is no such server.
            Rejected: The document cannot be read.
        """
        self.kept.server(name)
        items = self.kept.items(name)
        if document is not None:
            listing = _listing(document, name)
            good, refused = judged(name, listing)
            items = merged(name, items, listing, good=good, refused=refused)
        return difference(items)

    def accept(self, name: str, shown: str, *, entries: Iterable[str] | None = None) -> Outcome:
        """Accept what a server gives now, as a person read it.

        Args:
            name: The server.
            shown: Digest of the difference that was read.
            entries: Only these; all that waits where left out.

        Raises:
            Refused: There is no such server; ``conflict``: the difference is another by now;
                ``unknown_tool``: an entry that does not wait.
        """
        server, before = self.kept.server(name), self.kept.items(name)
        waiting = difference(before)
        if waiting.digest != shown:
            text = "the difference is another by now; read it anew: mcp-server/diff"
            raise Refused(failure("conflict", text, difference=waiting.digest))
        labels = {each.entry for each in waiting.items}
        wanted = labels if entries is None else set(entries)
        if wanted - labels:
            text = f"{sorted(wanted - labels)[0]:.200} does not wait to be accepted"
            raise Refused(failure("unknown_tool", text))
        after = {
            label: taken_over(item) if label in wanted else item for label, item in before.items()
        }
        return self._written(server, before, after)

    def read(self, name: str) -> Outcome:
        """Return a server with all that it offers.

        Raises:
            Refused: There is no such server.
        """
        server, items = self.kept.server(name), self.kept.items(name)
        return Outcome(
            server=server, items=items, refused=server.refused, difference=difference(items)
        )

    def remove(self, name: str) -> tuple[str, ...]:
        """Remove a server with its pins; return the entries that are gone. Its name is free then.

        Raises:
            Refused: There is no such server.
        """
        self.kept.server(name)
        return tuple(each for done in self.kept.remove(name) for each in done.removed)

    def list(self) -> list[StoredServer]:
        """Return all servers, by name."""
        return self.kept.servers()

    def _written(
        self,
        server: StoredServer,
        before: Mapping[str, StoredItem],
        after: Mapping[str, StoredItem],
    ) -> Outcome:
        done: list[Registered] = self.kept.write(server, before, after.values())
        return Outcome(
            server=server,
            items=after,
            refused=server.refused,
            added=tuple(each for made in done for each in made.added),
            changed=tuple(each for made in done for each in made.changed),
            removed=tuple(each for made in done for each in made.removed),
            findings={label: f for made in done for label, f in made.findings.items()},
            difference=difference(after),
        )


def _filled(
    server: StoredServer, listing: Listing, *, refused: tuple[RefusedItem, ...]
) -> StoredServer:
    """Put what a listing says of the server itself into its record."""
    kinds = listing.lists.keys()
    left = tuple(each for each in server.refused if each.kind not in kinds)
    instructions = listing.instructions or server.instructions
    said = {"name": listing.server_name or server.server_name, "instructions": instructions}
    hints, findings = suspicions(said)
    return evolve(
        server,
        risk_hints=hints,
        findings=findings,
        form=listing.form,
        server_name=listing.server_name or server.server_name,
        server_version=listing.server_version or server.server_version,
        protocol=listing.protocol or server.protocol,
        transport=listing.transport or server.transport,
        instructions=instructions,
        launch=listing.launch or server.launch,
        pages={**server.pages, **listing.pages},
        errors=listing.errors,
        envelope=listing.envelope or server.envelope,
        refused=(*left, *refused),
    )


def _listing(document: Any, name: str) -> Listing:
    if isinstance(document, Listing):
        return document
    data = read_text(document) if isinstance(document, (str, bytes)) else document
    return read(data, name)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name in DEVICES:
        text = "a server's name is 1 to 63 characters of a-z 0-9 -, and no device of a system"
        finding = Finding(code="invalid_id", message=text, path="/name")
        raise Rejected(f"mcp server {name:.100}", [finding])
