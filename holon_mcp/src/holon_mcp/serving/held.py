"""Calls that wait for a person: how a client is told, and asked where that is allowed."""

from __future__ import annotations

import hmac
import json
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.visible import escape_unseen
from holon_mcp.serving.envelope import COMPLETE

if TYPE_CHECKING:
    from holon_core.records.approval import HeldCall

RELEASE = "holon-release"
MAX_SHOWN = 6000
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Approve",
            "description": "Run exactly this call, once.",
        },
        "reason": {
            "type": "string",
            "title": "Reason",
            "description": "Why, for the record.",
            "maxLength": 1000,
        },
    },
    "required": ["approve"],
}
RELEASE_TOOL: dict[str, Any] = {
    "name": RELEASE,
    "title": "Release a held call",
    "description": (
        "Run a call that was held, once a person has approved it. It runs on the arguments that "
        "were held; until then it answers that it still waits."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "call_id": {
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
                "description": "Id of the held call, as its answer gave it.",
            }
        },
        "required": ["call_id"],
        "additionalProperties": False,
    },
    "annotations": {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    },
}


def held_result(held: str) -> dict[str, Any]:
    """Tell a client that a call waits, what lets it go on, and how to go on then.

    It is marked as an error: a result of success would have to fit the tool's output schema.
    """
    body = {
        "status": "held",
        "held": held,
        "message": "a person has to approve this call; it has not run",
        "approve": f"holon approval approve {held} --reason TEXT",
        "then": f"make the same call again, or call {RELEASE} with this id",
    }
    return {
        **COMPLETE,
        "content": [{"type": "text", "text": json.dumps(body)}],
        "isError": True,
        "_meta": {"holon/held": held},
    }


def question(held: HeldCall) -> str | None:
    """Write what a person is asked; ``None`` where not all of it can be shown.

    Nobody approves what was cut.
    """
    tool = held.tool
    effects = ", ".join(sorted(map(str, tool.get("effects", ())))) or "none"
    arguments = json.dumps(held.arguments, ensure_ascii=False, indent=1, sort_keys=True)
    lines = [
        f"{held.caller.principal} asks to run {tool['id']} once.",
        f"It may: {effects}.",
        "Arguments:",
        *arguments.split("\n"),
    ]
    text = "\n".join(map(escape_unseen, lines))
    return text if len(text) <= MAX_SHOWN else None


class States:
    """What a client hands back unread with its answer: which held call it was asked about.

    The mark is of a key of this process, so that a client cannot say yes to another call than
    the one that was shown.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def sealed(self, held: str) -> str:
        """Return the state for a held call."""
        return f"{held}.{self._mark(held)}"

    def opened(self, state: Any) -> str | None:
        """Return the held call of a state of this process; ``None`` for any other."""
        held, _, mark = state.rpartition(".") if isinstance(state, str) else ("", "", "")
        return held if held and hmac.compare_digest(mark, self._mark(held)) else None

    def _mark(self, held: str) -> str:
        return hmac.new(self._key, held.encode(), sha256).hexdigest()


def decided(approvals: Any, held: str, answer: Any, *, approver: str) -> str:
    """Carry out what a person answered.

    Args:
        approvals: Of the runtime.
        held: The call that was shown.
        answer: ``action`` and ``content`` of the elicitation. A yes or no that is not of the
            form, as the text ``"true"``, decides nothing.
        approver: In whose name it is decided.

    Returns:
        ``approved``, ``denied`` or ``held``.

    Raises:
        Refused: The approver may not decide it, or it was decided meanwhile.
    """
    content = getattr(answer, "content", None)
    content = content if isinstance(content, dict) else {}
    said = content.get("reason")
    reason = said.strip()[:1000] if isinstance(said, str) and said.strip() else "answered in MCP"
    said_so = content.get("approve") if answer.action == "accept" else None
    if said_so is True:
        approvals.approve(held, by=approver, reason=reason)
        return "approved"
    if answer.action == "decline" or said_so is False:
        approvals.deny(held, by=approver, reason=reason)
        return "denied"
    return "held"


def refusal(error: Refused) -> dict[str, Any]:
    """Tell a client of a decision that was refused."""
    problem = error.failure
    body = {"status": "blocked", "failure": {"code": problem.code, "message": problem.message}}
    text = json.dumps(body)
    return {**COMPLETE, "content": [{"type": "text", "text": text}], "isError": True}
