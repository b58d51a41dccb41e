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

    def setup(self, runtime: holon.Runtime) -> None:
        """Register one server, as an operator would."""
        runtime.service("mcp-servers").register("calc", ANSWERS, by="olga")
