"""The model's side of a session: what it is shown, and how its calls are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.agents import answering
from holon_core.agents.modelling import Modelling
from holon_core.agents.showing import ToolList, dialect_named, show

if TYPE_CHECKING:
    from holon_core.agents.answering import Prepared, ToolMessage
    from holon_core.agents.projection import Projector
    from holon_core.session import Session


class ModelSide:
    """What ``Session.tools`` and ``Session.answer`` do.

    Args:
        session: The session.
        projector: Of its runtime.
    """

    def __init__(self, session: Session, projector: Projector) -> None:
        self._projector = projector
        self._session = session._by_model()
        self._modelling = Modelling()

    def tools(self, dialect: str, **options: Any) -> ToolList:
        """Make the list of tools; see ``Session.tools``."""
        named = dialect_named(self._projector, dialect)
        return show(self._session, self._projector, self._modelling, named, **options)

    def answer(self, tool_call: Any, *, dialect: str | None, max_chars: int) -> Any:
        """Answer one call or several, one after the other; see ``Session.answer``."""
        limit = answering.limited(max_chars)
        batch = answering.several(tool_call)
        if batch is None:
            return self._answered(self._prepared(tool_call, dialect), limit)
        # All are read first: where one is no call at all, none has run.
        prepared = self._all_prepared(batch, dialect)
        return [self._answered(each, limit) for each in prepared]

    async def aanswer(self, tool_call: Any, *, dialect: str | None, max_chars: int) -> Any:
        """Answer one call, or several at the same time; see ``Session.aanswer``."""
        import asyncio

        limit = answering.limited(max_chars)
        batch = answering.several(tool_call)
        calls = [tool_call] if batch is None else batch
        prepared = await asyncio.to_thread(lambda: self._all_prepared(calls, dialect))
        made = await asyncio.gather(*(self._aanswered(each, limit) for each in prepared))
        return made[0] if batch is None else list(made)

    def _all_prepared(self, calls: list[Any], dialect: str | None) -> list[Prepared]:
        named = None if dialect is None else dialect_named(self._projector, dialect)
        read = [answering.read_call(self._projector, each, named) for each in calls]
        return [
            answering.prepare(self._session, self._projector, self._modelling, call)
            if number < answering.MAX_CALLS
            else answering.beyond(self._session, call)
            for number, call in enumerate(read)
        ]

    def _prepared(self, tool_call: Any, dialect: str | None) -> Prepared:
        named = None if dialect is None else dialect_named(self._projector, dialect)
        call = answering.read_call(self._projector, tool_call, named)
        return answering.prepare(self._session, self._projector, self._modelling, call)

    def _answered(self, prepared: Prepared, limit: int) -> ToolMessage:
        result = prepared.refused
        if prepared.search is not None:
            return answering.found_tools(self._session, self._projector, self._modelling, prepared)
        if result is None:
            result = self._session.call(
                prepared.tool, prepared.arguments, key=prepared.key, definition=prepared.definition
            )
        return answering.message_of(prepared.call, result, limit=limit)

    async def _aanswered(self, prepared: Prepared, limit: int) -> ToolMessage:
        import asyncio

        if prepared.search is not None or prepared.refused is not None:
            return await asyncio.to_thread(self._answered, prepared, limit)
        result = await self._session.acall(
            prepared.tool, prepared.arguments, key=prepared.key, definition=prepared.definition
        )
        return answering.message_of(prepared.call, result, limit=limit)
