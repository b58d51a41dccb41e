"""An agent with the `openai` SDK: search, calls, an approval in the middle, a checked answer.

With OPENAI_API_KEY set it talks to the provider, or to what OPENAI_BASE_URL names; else to a server
of its own on loopback.
"""

from __future__ import annotations

import os
from typing import Any

import loopback
import openai

import shop

DIALECT = "openai-responses"
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")


def run(client: openai.OpenAI) -> dict[str, Any]:
    """Let the model work until its answer is accepted."""
    with shop.open_shop() as runtime:
        session = runtime.session(principal="agent-7", profile="support")
        answer = runtime.agents.outputs.response_format(shop.SETTLEMENT.id, DIALECT)
        items: list[Any] = [{"role": "user", "content": shop.CASE}]
        for _ in range(20):
            response = client.responses.create(
                model=MODEL,
                instructions=shop.INSTRUCTIONS,
                input=items,
                tools=session.tools(DIALECT, max_tools=4, search=True),
                text=answer,
            )
            items += [item.model_dump(exclude_none=True) for item in response.output]
            calls = [item for item in response.output if item.type == "function_call"]
            for call in calls:
                message = session.answer(call)
                if shop.let_a_person_decide(runtime, session, message):
                    message = session.answer(call)
                print(call.name, "→", message["output"])
                items.append(message)
            if not calls:
                done = session.finish(response.output_text, dialect=DIALECT)
                if done.failure is None:
                    return dict(done.value)
                items.append({"role": "user", "content": done.failure.message})
    raise RuntimeError("the model came to no end")


if __name__ == "__main__":
    if "OPENAI_API_KEY" in os.environ:
        print(run(openai.OpenAI()))
    else:
        with loopback.serve(loopback.OpenAI()) as url:
            print(run(openai.OpenAI(base_url=f"{url}/v1", api_key="loopback")))
