"""The MCP server: the governed catalogue of one caller, for any client of the protocol."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from attrs.validators import ge, le
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from holon_core.errors import Misuse, Refused
from holon_core.records.failure import failure
from holon_mcp.serving.clients import MAX_CLIENTS, Clients, label_of
from holon_mcp.serving.envelope import COMPLETE, LISTED
from holon_mcp.serving.held import (
    FORM,
    RELEASE,
    RELEASE_TOOL,
    States,
    decided,
    held_result,
    question,
    refusal,
)
from holon_mcp.serving.progressing import Reports
from holon_mcp.serving.prompts import Prompts
from holon_mcp.version import distribution_version

if TYPE_CHECKING:
    from holon_core.agents.answering import ToolMessage
    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime
    from holon_core.session import Session

MAX_CHARS = 16 * 1024 * 1024
ASKED = "approval"
INSTRUCTIONS = (
    "Tools here run under guard. A call that a person has to approve answers that it is held, "
    "with its id; make the same call again once it is approved, or call holon-release."
)


@frozen(kw_only=True)
class ServeOptions:
    """What a server shows, and whether its clients may be asked to decide.

    ``version`` is this distribution's where it is left out.
    ``max_tools`` are listed at once; where there are more, ``search_tools`` finds the others.
    ``approver`` is in whose name a client's user decides held calls; nobody where left out.
    """

    name: str = "holon"
    version: str = ""
    max_tools: int = field(default=100, validator=[ge(1), le(10_000)])
    approver: str | None = None


class Serving:
    """One runtime, served to the clients of one caller.

    Args:
        runtime: The open runtime; its listener of progress becomes this server's.
        caller: Who every client calls as: principal, workspace, role and profile are fixed.
        options: What is shown.
    """

    def __init__(self, runtime: Runtime, caller: CallerContext, options: ServeOptions) -> None:
        self.runtime = runtime
        self.options = options
        self.clients = Clients(runtime, caller)
        self.bus = InMemorySubscriptionBus()
        self.prompts = Prompts(runtime, caller)
        self.reports: Reports | None = None
        self._states = States()
        self.listeners: dict[int, Any] = {}
        self.server: Server[Any] = Server(
            options.name,
            version=options.version or distribution_version(),
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self.prompts.list,
            on_get_prompt=self.prompts.get,
            on_subscriptions_listen=ListenHandler(self.bus),
        )

    def begin(self) -> None:
        """Begin to listen, on the loop that serves."""
        self.reports = Reports(asyncio.get_running_loop())
        self.runtime._guard.services.progress = self.reports.listen

    def initialization(self) -> Any:
        """Return what a client of the handshake is told."""
        return self.server.create_initialization_options(
            NotificationOptions(tools_changed=True, prompts_changed=True)
        )

    def _session(self, context: Any) -> Session:
        return self.clients.session(label_of(context.session.client_params))

    async def _list_tools(self, context: Any, params: Any) -> Any:
        self._note(context)
        if getattr(params, "cursor", None) is not None:
            raise _invalid("this server lists its tools on one page")
        session = self._session(context)
        shown = await asyncio.to_thread(self.shown, session)
        return {**LISTED, "tools": [*shown, RELEASE_TOOL]}

    def shown(self, session: Session) -> list[dict[str, Any]]:
        """Return the tools that a session shows now."""
        return list(session.tools("mcp", max_tools=self.options.max_tools))

    async def _call_tool(self, context: Any, params: Any) -> Any:
        self._note(context)
        session = self._session(context)
        if params.input_responses is not None:
            return await self._answered(session, params)
        assert self.reports is not None, "begun before anything is served"
        try:
            async with self.reports.telling(context):
                if params.name == RELEASE:
                    return await self._release(session, params.arguments)
                call = {"name": params.name, "arguments": params.arguments or {}}
                message = await session.aanswer(call, dialect="mcp", max_chars=MAX_CHARS)
        except Misuse as error:
            raise _invalid(str(error)) from None
        if message.held is None:
            return _whole(message)
        return await self._ask(context, session, message.held)

    async def _release(self, session: Session, arguments: Any) -> dict[str, Any]:
        call_id = arguments.get("call_id") if isinstance(arguments, dict) else None
        if not isinstance(call_id, str) or not 0 < len(call_id) <= 200 or len(arguments) != 1:
            raise _invalid("holon-release takes call_id, the id of a held call, and nothing else")
        return await self._released(session, call_id)

    async def _released(self, session: Session, call_id: str) -> dict[str, Any]:
        """Run a held call; who else holds it is refused by the guard."""
        from holon_core.agents.answering import ModelCall, message_of
        from holon_core.agents.dialects import MCP

        result = await session.arelease(call_id)
        if result.held is not None:
            return held_result(result.held)
        call = ModelCall(dialect=MCP, name=RELEASE, arguments={}, call_id=None)
        return _whole(message_of(call, result, limit=MAX_CHARS))

    async def _ask(self, context: Any, session: Session, held: str) -> Any:
        """Ask the client's user where that was allowed and can be; else say that it is held."""
        approver = self.options.approver
        asks = _form_capable(context.session.client_capabilities)
        if approver is None or not asks:
            return held_result(held)
        text = question(await asyncio.to_thread(self.runtime.approvals.held_call, held))
        if text is None:
            return held_result(held)
        if context.protocol_version >= "2026-07-28":
            request = {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": text, "requestedSchema": FORM},
            }
            return {
                "resultType": "input_required",
                "inputRequests": {ASKED: request},
                "requestState": self._states.sealed(held),
            }
        if not context.session.can_send_request:
            return held_result(held)
        try:
            answer = await context.session.elicit_form(text, FORM, context.request_id)
        except (MCPError, ValueError):
            # An error, or no answer to the question: nobody decided, and the call still waits.
            return held_result(held)
        return await self._decided(session, held, answer)

    async def _answered(self, session: Session, params: Any) -> Any:
        held = self._states.opened(params.request_state)
        answer = params.input_responses.get(ASKED)
        if self.options.approver is None or held is None:
            raise _invalid("no answer to anything that this server asked")
        if not hasattr(answer, "action"):
            return held_result(held)
        return await self._decided(session, held, answer)

    async def _decided(self, session: Session, held: str, answer: Any) -> dict[str, Any]:
        approver = self.options.approver
        assert approver is not None, "only then anybody is asked"
        try:
            word = await asyncio.to_thread(
                lambda: decided(self.runtime.approvals, held, answer, approver=approver)
            )
        except Refused as error:
            return refusal(error)
        if word == "held":
            return held_result(held)
        if word == "denied":
            return refusal(Refused(failure("approval_denied", f"{approver} said no")))
        return await self._released(session, held)

    def _note(self, context: Any) -> None:
        """Remember a connection of the handshake, to be told of changes."""
        if context.protocol_version < "2026-07-28":
            connection = context.session._connection
            self.listeners[id(connection)] = context.session
            if len(self.listeners) > MAX_CLIENTS:
                del self.listeners[next(iter(self.listeners))]


def _whole(message: ToolMessage) -> dict[str, Any]:
    """Return a message as it goes to a client."""
    return {**COMPLETE, **message}


def _form_capable(capabilities: Any) -> bool:
    elicitation = getattr(capabilities, "elicitation", None)
    if elicitation is None:
        return False
    # A client that names no mode has the form alone.
    form, url = getattr(elicitation, "form", None), getattr(elicitation, "url", None)
    return form is not None or url is None


def _invalid(text: str) -> Exception:
    return MCPError(code=INVALID_PARAMS, message=text)
