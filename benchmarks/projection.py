"""Projection: the list of tools for a model, of 1,000 tools, when nothing changed.

CPU time of this process (``time.process_time``), so that a busy machine matters less; the median,
the 99th percentile and the worst of 300 lists after the first. Some lists are made behind each, so
that a collection of garbage which the projection makes due is counted with it.
"""

from __future__ import annotations

import statistics
import time

import holon_core as holon

TOOLS = 1_000
ROUNDS = 300


def made(number: int) -> object:
    def tool(
        order_id: str, cents: int, note: str | None = None, tags: list[str] | None = None
    ) -> str:
        return order_id

    tool.__name__ = f"tool_{number:04}"
    tool.__doc__ = f"Do thing number {number} for an order of a customer, and tell what came of it."
    return holon.tool(effects={"none"})(tool)


def main() -> None:
    with holon.Runtime.in_memory(tools=[made(number) for number in range(TOOLS)]) as runtime:  # type: ignore[misc]
        session = runtime.session(principal="agent")
        for dialect in ("openai-responses", "openai-chat", "anthropic", "gemini", "mcp"):
            began = time.process_time()
            tools = session.tools(dialect, max_tools=TOOLS)
            first = time.process_time() - began
            spent = []
            for _ in range(ROUNDS):
                began = time.process_time()
                session.tools(dialect, max_tools=TOOLS)
                [[number] for number in range(1000)]
                spent.append(time.process_time() - began)
            spent.sort()
            print(
                f"{dialect:18} {len(tools)} tools, about {tools.estimated_tokens} tokens: first"
                f" {first * 1000:7.1f} ms, then median {statistics.median(spent) * 1000:5.1f} ms,"
                f" 99th percentile {spent[int(ROUNDS * 0.99)] * 1000:5.1f} ms,"
                f" worst {spent[-1] * 1000:5.1f} ms"
            )


if __name__ == "__main__":
    main()
