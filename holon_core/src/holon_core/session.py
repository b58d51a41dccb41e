"""A session: the door as one caller sees it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import Misuse, RuntimeNotOpen, StoreError
from holon_core.governed import OPERATION_LANE
from holon_core.guard import drive
from holon_core.guard.attempt import Attempt
from holon_core.guard.results import record_refusal, unrecorded
from holon_core.names import MAX_NAME, MAX_TOOL_ID, required_text
from holon_core.records.failure import failure
from holon_core.records.words import Surface
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holon_core.agents.facet import Agents
    from holon_core.agents.model_side import ModelSide
    from holon_core.agents.sessions import Sessions
    from holon_core.agents.showing import ToolList
    from holon_core.guard.guard import Guard
    from holon_core.records.agent import AgentSession
    from holon_core.records.approval import HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.discovery import DiscoveryPage
    from holon_core.records.explanation import Explanation
    from holon_core.records.output import OutputFacts, OutputResult
    from holon_core.records.result import ToolResult

# Characters of one message for a model.
MAX_ANSWER_CHARS = 64 * 1024


class Session:
    """Calls under one caller context. Made by ``Runtime.session``; light, and thread-safe.

    A refusal or failure of a call is a value, ``ToolResult``; exceptions are for misuse.
    """

    def __init__(
        self,
        guard: Guard,
        caller: CallerContext,
        is_open: Callable[[], bool],
        *,
        begun: Callable[[Attempt], None] | None = None,
        agents: Callable[[], Agents] | None = None,
    ) -> None:
        self._agents = agents
        self._guard = guard
        self._begun = begun
        self._is_open = is_open
        self.caller = caller

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

    @cached_property
    def _model(self) -> ModelSide:
        from holon_core.agents.model_side import ModelSide

        self._check_open()
        if self._agents is None:
            raise Misuse("open the session with runtime.session(…) to show tools to models")
        return ModelSide(self, self._agents().projector)

    def _by_model(self) -> Session:
        """Return the same session, calling by the surface of function calling."""
        caller = evolve(self.caller, surface=Surface.FUNCTION_CALLING)
        return Session(self._guard, caller, self._is_open, begun=self._begun, agents=self._agents)

    def tools(
        self,
        dialect: str,
        *,
        query: str | None = None,
        max_tokens: int | None = None,
        max_tools: int | None = None,
        strict: bool = True,
        search: bool | None = None,
    ) -> ToolList:
        """Return the tools that this caller may show its model, in the shape of a provider.

        Args:
            dialect: ``openai-responses``, ``openai-chat``, ``anthropic``, ``gemini``, ``mcp``,
                or one that a plugin offers.
            query: Where a budget cuts, what fits this best by discovery stays; else by id.
            max_tokens: Budget for all of them, in estimated tokens: characters of compact JSON
                divided by 4.
            max_tools: How many at most; by default what the provider takes.
            strict: Use the provider's strict mode for every tool that it can express.
            search: Add ``search_tools``, by which the model finds others; left out, where the
                budget cut some off.

        Returns:
            A list to send as it is, in the order of ids; tools that the model found come last.
            Its ``report`` says per tool what was rewritten and why.

        Raises:
            Misuse: No dialect of this name, or a number out of its bounds.
            StoreError: The store does not answer.

        Source: tooling taxonomy, "Function Calling Rules".
        """
        self._check_open()
        return self._model.tools(
            dialect,
            query=query,
            max_tokens=max_tokens,
            max_tools=max_tools,
            strict=strict,
            search=search,
        )

    def answer(
        self, tool_call: Any, *, dialect: str | None = None, max_chars: int = MAX_ANSWER_CHARS
    ) -> Any:
        """Run a provider's tool call under guard, and return its tool-result message.

        Args:
            tool_call: A call as the provider sent it, a dict or an object of its SDK; or a list
                of them, of which each is answered on its own.
            dialect: Of the call, where its shape does not say.
            max_chars: Of the text of a message, 200 to 16 million; what is longer is cut and
                says so.

        Returns:
            The message (``ToolMessage``; for a list, one a call, in order): an ordinary dict
            whose ``result`` is that of the governed call. Unknown tools, malformed arguments and
            refusals are answers, too, so that the model can correct itself. A held call is told
            with its id, also in ``held``. The same call of a provider runs once: answered again,
            it gives what became of it.

        Raises:
            Misuse: It is a call of no known dialect.

        Source: tooling taxonomy, "Function Calling Rules".
        """
        self._check_open()
        return self._model.answer(tool_call, dialect=dialect, max_chars=max_chars)

    async def aanswer(
        self, tool_call: Any, *, dialect: str | None = None, max_chars: int = MAX_ANSWER_CHARS
    ) -> Any:
        """Answer without blocking the event loop, the calls of a list at the same time.

        Arguments, result and exceptions are those of ``answer``.
        """
        self._check_open()
        return await self._model.aanswer(tool_call, dialect=dialect, max_chars=max_chars)

    def toolset(self, framework: str, **options: Any) -> Any:
        """Return this caller's tools as those of another framework.

        Args:
            framework: ``langchain`` (a list of ``StructuredTool``), ``openai-agents`` (a list of
                ``FunctionTool``) or ``pydantic-ai`` (a ``FunctionToolset``); each an extra of
                the same name.
            options: As ``tools`` takes them.

        Returns:
            What the framework takes. Each call goes through ``answer``; a refusal, a failure or a
            held call is the text that the model gets.

        Raises:
            Refused: ``dependency_missing``: the framework is not installed.
            Misuse: There is no such framework.
        """
        from holon_core.agents.frameworks import toolset

        self._check_open()
        return toolset(self, framework, **options)

    def finish(self, answer: object, *, facts: OutputFacts | None = None) -> OutputResult:
        """End this agent's session by its answer, where its profile has an output contract.

        Args:
            answer: As for ``accept_output``.
            facts: As for ``accept_output``.

        Returns:
            The accepted output, after which the session calls nothing more; or a typed failure,
            and the session stays open.

        Raises:
            Refused: ``not_allowed``: the session has no profile, its profile no contract, or it
                has ended.
        """
        self._check_open()
        return self._agent_sessions.finish(self.caller, answer, facts=facts)

    @property
    def agent_session(self) -> AgentSession:
        """What is kept of this agent's session: state, counters, outputs; opened where it is new.

        Raises:
            Refused: ``not_allowed``: no profile, or none that exists.
        """
        self._check_open()
        return self._agent_sessions.open(self.caller)

    @property
    def _agent_sessions(self) -> Sessions:
        if self._agents is None:
            raise Misuse("open the session with runtime.session(…)")
        return self._agents().sessions

    def accept_output(
        self,
        output_class: str,
        answer: object,
        *,
        facts: OutputFacts | None = None,
        consumer: str | None = None,
        dialect: str | None = None,
    ) -> OutputResult:
        """Put an answer through the gate of its class; keep it where it passed.

        Args:
            output_class: Id of the class.
            answer: Text with exactly one JSON value (bare, or in one fenced block), or a value.
            facts: What the runtime, not the model, says of it: declared schema, budget.
            consumer: Who is to have it, where that is known already.
            dialect: Of the response format that the model was given, where it was given one.

        Returns:
            The accepted value under ``output_id``, or a typed failure with paths
            (``extraction_failure``, ``schema_mismatch``, ``gate_unmet``, ``budget_exceeded``;
            ``policy_denied`` for a consumer that is not of the class). Both are in evidence,
            with the source ``holon-structured-output``.

        Raises:
            Refused: ``unknown_output_class``.
            StoreError: It cannot be recorded; then it is not accepted.

        Source: tooling taxonomy, "Structured Output Contracts".
        """
        from holon_core.guard.outputs import accept
        from holon_core.records.output import OutputFacts

        self._check_open()
        required_text(output_class, "an output class", MAX_NAME)
        if consumer is not None:
            required_text(consumer, "a consumer", MAX_NAME)
        return accept(
            self._guard,
            self.caller,
            output_class,
            answer,
            facts=facts or OutputFacts(),
            consumer=consumer,
            back=None if dialect is None else self._back(output_class, dialect),
        )

    def _back(self, output_class: str, dialect: str) -> Callable[[Any], Any]:
        """Return what maps an answer in a provider's response format back."""
        from holon_core.agents.facet import shown_class
        from holon_core.agents.showing import dialect_named

        if self._agents is None:
            raise Misuse("open the session with runtime.session(…)")
        named = dialect_named(self._agents().projector, dialect)
        return shown_class(self._agents().outputs.read(output_class), named).plan.back

    def hand_output(self, output_id: str, *, consumer: str) -> OutputResult:
        """Hand an accepted output to a consumer of its class; to any other is ``policy_denied``.

        Args:
            output_id: As the acceptance gave it, in this workspace (without one, by this
                principal).
            consumer: Who takes it.

        Returns:
            The value, or a failure; recorded either way.
        """
        from holon_core.guard.outputs import hand_over

        self._check_open()
        return hand_over(self._guard, self.caller, output_id, consumer)

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

    def _check_open(self) -> None:
        if not self._is_open():
            raise RuntimeNotOpen("this runtime was closed; open another")


def release_attempt(
    guard: Guard,
    held: HeldCall | None,
    *,
    allowed: bool,
    caller: CallerContext,
    call_id: str,
) -> tuple[Attempt, ToolResult | None]:
    """Make the attempt that releases a held call, or the recorded refusal to do so."""
    if held is None or not allowed:
        attempt = Attempt("", {}, caller)
        text = None if held is None else "held for another principal or workspace"
        code = "not_held" if held is None else "not_allowed"
        problem = failure(code, text, call=call_id[:200])
        return attempt, record_refusal(guard, attempt, problem, wait=True)
    if held.tool["lane"] == OPERATION_LANE:
        attempt = Attempt("", {}, caller)
        text = "it is an operation: ask it again as it was asked, or by runtime-tool/release"
        problem = failure("not_allowed", text, call=call_id)
        return attempt, record_refusal(guard, attempt, problem, wait=True)
    attempt = Attempt(
        str(held.tool["id"]),
        dict(held.arguments),
        held.caller,
        mode="release",
        key=held.idempotency_key,
        held=held,
    )
    if caller.principal != held.caller.principal:
        attempt.released_by = caller.principal
    return attempt, None
