"""A session: the door as one caller sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.agents.agent_door import AgentDoor
from holon_core.errors import StoreError
from holon_core.guard import drive
from holon_core.guard.attempt import Attempt
from holon_core.guard.releasing import release_attempt
from holon_core.guard.results import unrecorded
from holon_core.names import MAX_NAME, MAX_TOOL_ID, required_text
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holon_core.records.discovery import DiscoveryPage
    from holon_core.records.explanation import Explanation
    from holon_core.records.result import ToolResult


class Session(AgentDoor):
    """Calls under one caller context. Made by ``Runtime.session``; light, and thread-safe.

    A refusal or failure of a call is a value, ``ToolResult``; exceptions are for misuse.
    """

    def __repr__(self) -> str:
        shown = f"{self.caller.principal} in {self.caller.workspace or 'no workspace'}"
        return f"<Session of {escape_unseen(shown)}>"

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | bytes | None = None,
        *,
        key: str | None = None,
        definition: str | None = None,
    ) -> ToolResult:
        """Call a tool and wait for it; works in a script and beside a running event loop.

        Args:
            tool: Tool id, ``<source>/<capability>``.
            arguments: A dict of JSON values, or JSON text, read strictly.
            key: Idempotency key, 1 to 200 characters: the same key and payload run once.
            definition: Digest of the definition that the caller means, where it is pinned.

        Returns:
            The result. ``held`` is set where the call waits for a person.

        Raises:
            Misuse: Called on the runtime's own loop thread (in an asynchronous tool).
            RuntimeNotOpen: The runtime was closed.
        """
        attempt = self._attempt(tool, arguments, key=key, definition=definition)
        guard = self._guard
        guard.threads.refuse_on_loop()
        guard.running.begin(attempt)
        try:
            return drive.call(guard, attempt)
        finally:
            guard.running.end(attempt)

    async def acall(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | bytes | None = None,
        *,
        key: str | None = None,
        definition: str | None = None,
    ) -> ToolResult:
        """Call a tool without blocking the event loop; cancelling ends what it started.

        Arguments, result and exceptions are those of ``call``.
        """
        attempt = self._attempt(tool, arguments, key=key, definition=definition)
        with self._guard.running.under_way(attempt):
            return await drive.acall(self._guard, attempt)

    def dry_run(
        self, tool: str, arguments: Mapping[str, Any] | str | bytes | None = None
    ) -> ToolResult:
        """Show the exact request that a call would make; nothing starts or is used up.

        Args:
            tool: Tool id.
            arguments: As for ``call``.

        Returns:
            A completed result whose output is the executor's preview; what would block the
            call is in ``blocking_reasons``.
        """
        attempt = self._attempt(tool, arguments, mode="dry_run")
        with self._guard.running.under_way(attempt):
            from holon_core.guard.rehearsal import dry_run

            return dry_run(self._guard, attempt)

    def explain(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | bytes | None = None,
        *,
        key: str | None = None,
    ) -> Explanation:
        """Walk the steps of a call and say which rule or gate answers what.

        Args:
            tool: Tool id.
            arguments: As for ``call``.
            key: Idempotency key that the call would have.

        Returns:
            What each step would say, in order, and what would come of the call. Nothing is
            recorded, held or used up.
        """
        attempt = self._attempt(tool, arguments, key=key, mode="explain")
        with self._guard.running.under_way(attempt):
            from holon_core.guard.rehearsal import explain

            return explain(self._guard, attempt)

    def discover(
        self,
        query: str | None = None,
        *,
        limit: int = 20,
        cursor: str | None = None,
        include_blocked: bool = True,
        lanes: Sequence[str] | None = None,
        min_confidence: float | None = None,
        max_tools: int | None = None,
        max_schema_tokens: int | None = None,
        explain: bool = False,
    ) -> DiscoveryPage:
        """Find tools that fit a request, and see what would block this caller.

        Nothing is recorded, held or used up, and nothing it says changes a verdict of a call.

        Args:
            query: What is wanted, in any words; ``None`` or blank lists all tools by id.
            limit: How many at most, 1 to 100.
            cursor: ``next_cursor`` of the page before, of the same query and lanes.
            include_blocked: Also tools that this caller could not call now.
            lanes: Only tools of these lane kinds.
            min_confidence: How likely the best tool has to answer the query, 0 to 1; below it
                nothing fits. ``None`` takes the documented threshold, 0 offers what there is.
            max_tools: A budget of tools, from 1, beside ``limit``: the smaller counts.
            max_schema_tokens: About how many tokens the tools may take in a prompt, from 1; the
                first always has a place.
            explain: Say of each tool why it ranks where it does.

        Returns:
            A page, best first, at equal scores what may run before what is blocked;
            ``none_fits`` where no tool is likely enough to answer the query.

        Raises:
            Misuse: An argument is out of its bounds, or the cursor is not of this request.
            StoreError: The store does not answer.
        """
        from holon_core.discovery.discover import discover
        from holon_core.discovery.request import checked

        self._check_open()
        request = checked(
            query=query,
            limit=limit,
            cursor=cursor,
            include_blocked=include_blocked,
            lanes=lanes,
            min_confidence=min_confidence,
            max_tools=max_tools,
            max_schema_tokens=max_schema_tokens,
            explain=explain,
        )
        return discover(self._guard, self.caller, request)

    async def adiscover(
        self,
        query: str | None = None,
        *,
        limit: int = 20,
        cursor: str | None = None,
        include_blocked: bool = True,
        lanes: Sequence[str] | None = None,
        min_confidence: float | None = None,
        max_tools: int | None = None,
        max_schema_tokens: int | None = None,
        explain: bool = False,
    ) -> DiscoveryPage:
        """Find tools without blocking the event loop; see ``discover``."""
        import asyncio

        return await asyncio.to_thread(
            self.discover,
            query,
            limit=limit,
            cursor=cursor,
            include_blocked=include_blocked,
            lanes=lanes,
            min_confidence=min_confidence,
            max_tools=max_tools,
            max_schema_tokens=max_schema_tokens,
            explain=explain,
        )

    def request_approval(
        self, tool: str, arguments: Mapping[str, Any] | str | bytes | None = None
    ) -> ToolResult:
        """Ask for an approval of exactly this payload ahead of the call.

        Args:
            tool: Tool id.
            arguments: As for ``call``.

        Returns:
            A blocked result whose failure's details name the approval as ``pending``; nothing
            is held, and the call itself runs once the approval is given. Where one covers it
            already, or none is needed, ``failure`` is ``None``.
        """
        attempt = self._attempt(tool, arguments, mode="request")
        with self._guard.running.under_way(attempt):
            return drive.request(self._guard, attempt)

    def release(self, call_id: str) -> ToolResult:
        """Run a held call that was approved, on its stored payload and under its stored caller.

        Every step is taken again; a policy that denies now still wins.

        Args:
            call_id: The call, held by a session of the same principal and workspace.

        Returns:
            The result; ``not_held`` and ``not_allowed`` are failures of it.

        Raises:
            Misuse: Called on the runtime's own loop thread.
        """
        return self._released(call_id, anybodys=False)

    def _released(self, call_id: str, *, anybodys: bool) -> ToolResult:
        attempt, refused = self._release(call_id, anybodys=anybodys)
        self._guard.threads.refuse_on_loop()
        if refused is not None:
            return refused
        with self._guard.running.under_way(attempt):
            return drive.call(self._guard, attempt)

    async def arelease(self, call_id: str) -> ToolResult:
        """Release a held call without blocking the event loop; see ``release``."""
        import asyncio

        attempt, refused = await asyncio.to_thread(self._release, call_id)
        if refused is not None:
            return refused
        with self._guard.running.under_way(attempt):
            return await drive.acall(self._guard, attempt)

    def _release(
        self, call_id: str, *, anybodys: bool = False
    ) -> tuple[Attempt, ToolResult | None]:
        self._check_open()
        required_text(call_id, "a call id", MAX_NAME)
        try:
            held = self._guard.store.read(lambda tables: tables.held(call_id))
        except StoreError as error:
            attempt = Attempt("", {}, self.caller)
            return attempt, unrecorded(attempt, error)
        mine = held is not None and (held.caller.principal, held.caller.workspace) == (
            self.caller.principal,
            self.caller.workspace,
        )
        attempt, refused = release_attempt(
            self._guard, held, allowed=mine or anybodys, caller=self.caller, call_id=call_id
        )
        if self._begun is not None:
            self._begun(attempt)
        return attempt, refused

    def _attempt(
        self,
        tool: str,
        arguments: Any,
        *,
        key: str | None = None,
        definition: str | None = None,
        mode: str = "call",
    ) -> Attempt:
        if not self._is_open():
            self._check_open()
        if type(tool) is not str:
            required_text(tool, "a tool id", MAX_TOOL_ID)
        if key is not None:
            required_text(key, "an idempotency key", MAX_NAME)
        if definition is not None:
            required_text(definition, "the digest of a definition", MAX_NAME)
        raw = {} if arguments is None else arguments
        attempt = Attempt(tool, raw, self.caller, mode=mode, pin=definition, key=key)
        if self._begun is not None:
            self._begun(attempt)
        return attempt
