"""A terminal agent that asks inline: who sits at the terminal decides about its calls.

The model here is a few rules, so that it runs without a provider; anything with ``next`` will do.
"""

from __future__ import annotations

import getpass
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from uuid import uuid4

import holon_core as holon
from shop_desk.till import SUPPORT, RefundLimit, Till, folder_of, give_profile

Item = Mapping[str, Any]


class Model(Protocol):
    """What proposes: a tool call, or words. It decides nothing."""

    def next(self, items: Sequence[Item], tools: Sequence[Item]) -> Item:
        """Go on from what was said and answered so far, with the tools that it is shown."""
        ...


class Rules:
    """A model of two rules, in the shape of the Responses API."""

    def next(self, items: Sequence[Item], tools: Sequence[Item]) -> Item:
        """Take the last line for a request, and a result for the end of it."""
        last = items[-1]
        if "output" in last:
            return _words(f"That makes {last['output']}.")
        if found := re.search(r"refund (\d+) of ([\w-]+)", last["content"]):
            return self._call("refund", tools, order=found[2], cents=int(found[1]))
        if found := re.search(r"(\d+) (tea|cake)", last["content"]):
            return self._call("price", tools, item=found[2], count=int(found[1]))
        return _words("I can price tea and cake, and refund orders.")

    def _call(self, name: str, tools: Sequence[Item], **arguments: Any) -> Item:
        if name not in [tool["name"] for tool in tools]:
            return _words(f"I have no {name} here.")
        return {
            "type": "function_call",
            "call_id": f"call_{uuid4().hex}",
            "name": name,
            "arguments": json.dumps(arguments),
        }


def _words(text: str) -> Item:
    return {"role": "assistant", "content": text}


class Agent:
    """The loop around a model: it is shown what its caller may use, and every call is answered."""

    def __init__(self, rt: holon.Runtime, *, model: Model, me: str) -> None:
        self._rt = rt
        self._model = model
        self._me = me
        self._session = rt.session(principal=me, role="support", profile=SUPPORT.id)

    def turn(self, line: str) -> str:
        """Answer one line of the person at the terminal."""
        items: list[Item] = [{"role": "user", "content": line}]
        for _ in range(8):
            said = self._model.next(items, self._session.tools("openai-responses"))
            if said.get("type") != "function_call":
                return str(said["content"])
            items += [said, self._answer(said)]
        return "I give up."

    def _answer(self, call: Item) -> Item:
        message: holon.ToolMessage = self._session.answer(call)
        if message.held is not None:
            if self._allowed(message.held):
                self._session.release(message.held)
            # Answered again, the call says what became of it, a refusal as well.
            message = self._session.answer(call)
        return message

    def _allowed(self, call: str) -> bool:
        """Show what would run, and let the person decide."""
        view = self._rt.approvals.view(call)
        print(f"  {view.facts['tool']} would run with", view.payload.text)
        for flag in view.flags:
            print(f"  look twice: {flag.path}: {flag.message} {flag.shown}")
        yes = input("  allow? [y/N] ").strip().lower() == "y"
        decide = self._rt.approvals.approve if yes else self._rt.approvals.deny
        decide(call, by=self._me, reason="decided at the terminal")
        return yes


def main(folder: str, read: Callable[[str], str] = input) -> int:
    """Talk until the input ends."""
    me = getpass.getuser()
    till = Till(folder_of("books", folder) / "ledger.jsonl")
    with holon.Runtime.open(
        folder_of("root", folder),
        app="shop",
        tools=till.tools(),
        plugins=[RefundLimit()],
        discover=False,
        # One person asks and decides here; evidence says so of each such decision.
        operator=me,
    ) as rt:
        give_profile(rt)
        agent = Agent(rt, model=Rules(), me=me)
        while True:
            try:
                line = read("> ")
            except EOFError:
                return 0
            print(agent.turn(line))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "shop"))
