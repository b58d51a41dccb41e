"""An agent with the `anthropic` SDK: search, calls, an approval in the middle, a checked answer.

With ANTHROPIC_API_KEY set it talks to the provider, or to what ANTHROPIC_BASE_URL names; else to a
server of its own on loopback.
"""

from __future__ import annotations

import os
from typing import Any

import anthropic
import loopback

import shop

DIALECT = "anthropic"
MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5")


def run(client: anthropic.Anthropic) -> dict[str, Any]:
    """Let the model work until its answer is accepted."""
    with shop.open_shop() as runtime:
        session = runtime.session(principal="agent-7", profile="support")
        answer = runtime.agents.outputs.response_format(shop.SETTLEMENT.id, DIALECT)
        messages: list[Any] = [{"role": "user", "content": shop.CASE}]
        for _ in range(20):
            response = client.messages.create(
                model=MODEL,
                max_tokens=1000,
                system=shop.INSTRUCTIONS,
                messages=messages,
                tools=session.tools(DIALECT, max_tools=4, search=True),
                output_config=answer,
            )
            content = [block.model_dump(exclude_none=True) for block in response.content]
            messages.append({"role": "assistant", "content": content})
            results = []
            for block in response.content:
                if block.type == "tool_use":
                    message = session.answer(block)
                    if shop.let_a_person_decide(runtime, session, message):
                        message = session.answer(block)
                    print(block.name, "→", message["content"])
                    results.append(message)
            if not results:
                text = "".join(block.text for block in response.content if block.type == "text")
                done = session.finish(text, dialect=DIALECT)
                if done.failure is None:
                    return dict(done.value)
                results.append({"type": "text", "text": done.failure.message})
            messages.append({"role": "user", "content": results})
    raise RuntimeError("the model came to no end")


if __name__ == "__main__":
    if "ANTHROPIC_API_KEY" in os.environ:
        print(run(anthropic.Anthropic()))
    else:
        with loopback.serve(loopback.Anthropic()) as url:
            print(run(anthropic.Anthropic(base_url=url, api_key="loopback")))
