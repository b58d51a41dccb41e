"""A session's agent side: tools for its model, answers to its calls, outputs, and its end."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve

from holon_core.errors import Misuse, RuntimeNotOpen
from holon_core.records.words import Surface

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from holon_core.agents.facet import Agents
    from holon_core.agents.model_side import ModelSide
    from holon_core.agents.output_side import OutputSide
    from holon_core.agents.sessions import Sessions
    from holon_core.agents.showing import ToolList
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.agent import AgentSession
    from holon_core.records.caller import CallerContext
    from holon_core.records.output import OutputFacts, OutputResult
    from holon_core.session import Session

# Characters of one message for a model.
MAX_ANSWER_CHARS = 64 * 1024


class AgentDoor:
    """What agents ask of a session beside calls; part of ``Session``, which says how it is made."""

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

    def _check_open(self) -> None:
        if not self._is_open():
            raise RuntimeNotOpen("this runtime was closed; open another")

    @cached_property
    def _model(self) -> ModelSide:
        from holon_core.agents.model_side import ModelSide

        self._check_open()
        if self._agents is None:
            raise Misuse("open the session with runtime.session(…) to show tools to models")
        return ModelSide(cast("Session", self), self._agents().projector)

    def _by_model(self) -> Self:
        """Return the same session, calling by the surface of function calling."""
        caller = evolve(self.caller, surface=Surface.FUNCTION_CALLING)
        return type(self)(
            self._guard, caller, self._is_open, begun=self._begun, agents=self._agents
        )

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
        return toolset(cast("Session", self), framework, **options)

    def finish(
        self, answer: object, *, facts: OutputFacts | None = None, dialect: str | None = None
    ) -> OutputResult:
        """End this agent's session by its answer, where its profile has an output contract.

        Args:
            answer: As for ``accept_output``.
            facts: As for ``accept_output``.
            dialect: As for ``accept_output``.

        Returns:
            The accepted output, after which the session calls nothing more; or a typed failure,
            and the session stays open.

        Raises:
            Refused: ``not_allowed``: the session has no profile, or its profile no contract
                (that it has ended is a failure of the result); ``policy_denied`` and the like:
                policy does not let the operation ``agent-session/finish``.
        """
        self._check_open()
        return self._agent_sessions.finish(self.caller, answer, facts=facts, dialect=dialect)

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

    @cached_property
    def _outputs(self) -> OutputSide:
        from holon_core.agents.output_side import OutputSide

        return OutputSide(self._guard, self.caller, self._agents)

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
            Refused: ``unknown_output_class``; ``policy_denied`` and the like: policy does not let
                the operation ``structured-output/validate``.
            StoreError: It cannot be recorded; then it is not accepted.

        Source: tooling taxonomy, "Structured Output Contracts".
        """
        self._check_open()
        return self._outputs.accept(
            output_class, answer, facts=facts, consumer=consumer, dialect=dialect
        )

    def hand_output(self, output_id: str, *, consumer: str) -> OutputResult:
        """Hand an accepted output to a consumer of its class; to any other is ``policy_denied``.

        Args:
            output_id: As the acceptance gave it, in this workspace (without one, by this
                principal).
            consumer: Who takes it.

        Returns:
            The value, or a failure; recorded either way.

        Raises:
            Refused: ``policy_denied`` and the like: policy does not let the operation
                ``structured-output/hand-over``.
        """
        self._check_open()
        return self._outputs.hand_over(output_id, consumer=consumer)
