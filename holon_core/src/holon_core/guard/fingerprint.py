"""The fingerprint of a call: what exactly an approval covers."""

from __future__ import annotations

from hashlib import sha256
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING

from holon_core.guard.evidence import compose

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.records.words import Posture

DOMAIN = b"holon-approval/1\0"


def fingerprint(
    tool: RuntimeToolDescriptor, posture: Posture, caller: CallerContext, arguments: bytes
) -> str:
    """Digest what an approval is bound to.

    Args:
        tool: The tool, carrying the digest of its definition.
        posture: Under which authority the call runs.
        caller: Who calls; run, plan step, surface and trace are left out.
        arguments: Canonical JSON of the normalised arguments.

    Returns:
        Lower-case hexadecimal SHA-256.

    Source: design, section 6, "Approvals".
    """
    return sha256(
        DOMAIN
        + compose(
            {
                "tool": quote(tool.id),
                "definition": quote(tool.digest),
                "lane": quote(tool.lane),
                "posture": quote(posture),
                "workspace": _text(caller.workspace),
                "principal": quote(caller.principal),
                "role": _text(caller.role),
                "profile": _text(caller.profile),
                "arguments": arguments.decode(),
            }
        ).encode()
    ).hexdigest()


def arguments_digest(arguments: bytes) -> str:
    """Digest the arguments alone, to tell another scope from another payload."""
    return sha256(b"holon-arguments/1\0" + arguments).hexdigest()


def _text(value: str | None) -> str:
    return "null" if value is None else quote(value)
