"""The MCP lane keeps the rules of every lane."""

from __future__ import annotations

import holon_core as holon
from holon_core.testing import LaneSuite

pytest_plugins = ["holon_core.testing.plugin"]

ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "calc"}},
    "tools": [
        {
            "name": "add",
            "description": "Add two numbers.",
            "inputSchema": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        }
    ],
}


class TestConformance(LaneSuite):
    """Found by its entry point, as hosts have it, with one server registered."""

    distribution = "holon-mcp"
    failing = {"holon-mcp.calc/add": {"a": 1, "b": 2}}  # noqa: RUF012
    unchecked = dict.fromkeys(
        (
            *("preview-starts-nothing", "outputs-validate", "no-secret-kept", "memory-hosts"),
            *("keeps-time", "keeps-output", "ends-on-cancel"),
        ),
        "no call of this lane reaches a server, so none begins",
    )

    def setup(self, runtime: holon.Runtime) -> None:
        """Register one server, as an operator would."""
        runtime.service("mcp-servers").register("calc", ANSWERS, by="olga")
