"""Skills as prompts: a client's user picks one, and its instructions come into the talk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from holon_core.errors import HolonError, Refused
from holon_core.visible import escape_controls
from holon_mcp.serving.envelope import COMPLETE, LISTED

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime

PAGE = 1000


class Prompts:
    """The skills that a caller may load.

    Args:
        runtime: The open runtime.
        caller: Who asks.
    """

    def __init__(self, runtime: Runtime, caller: CallerContext) -> None:
        self._runtime = runtime
        self._caller = caller

    async def list(self, _: Any, params: Any) -> Any:
        """Answer `prompts/list`; the cursor is the id that a page ended with."""
        after = getattr(params, "cursor", None) or ""
        asked = {"limit": PAGE, **({"after": after[:400]} if after else {})}
        found = await self._dispatch("skill/list", asked)
        made: dict[str, Any] = {**LISTED, "prompts": [_prompt(each) for each in found["skills"]]}
        if found.get("next_after"):
            made["nextCursor"] = found["next_after"]
        return made

    async def get(self, _: Any, params: Any) -> Any:
        """Answer `prompts/get` by the instructions of a skill."""
        found = await self._dispatch("runtime-skill/load", {"skill": params.name[:400]})
        message = {"role": "user", "content": {"type": "text", "text": found["instructions"]}}
        return {**COMPLETE, "description": found["name"][:500], "messages": [message]}

    async def _dispatch(self, method: str, asked: dict[str, Any]) -> Any:
        from mcp.shared.exceptions import MCPError
        from mcp_types import INVALID_PARAMS

        try:
            return await asyncio.to_thread(
                lambda: self._runtime.dispatch(method, asked, caller=self._caller)
            )
        except Refused as error:
            text = f"{error.failure.code}: {error.failure.message}"
            raise MCPError(code=INVALID_PARAMS, message=text) from None
        except HolonError as error:
            raise MCPError(code=INVALID_PARAMS, message=escape_controls(str(error)[:500])) from None


def _prompt(skill: dict[str, Any]) -> dict[str, Any]:
    made = {"name": skill["id"], "title": escape_controls(str(skill.get("name", "")))[:200]}
    text = str(skill.get("description", ""))[:1000]
    return {**made, "description": escape_controls(text)} if text else made
