"""A terminal agent that asks inline: who sits at the terminal decides about its calls.

The model here is a few rules, so that it runs without a provider; anything with ``next`` will do.
"""

from __future__ import annotations

import getpass
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import holon_core as holon
from shop_desk.till import RefundLimit, Till, folder_of


@dataclass(frozen=True)
class Wish:
    """A tool that the model would like to have called."""

    tool: str
    arguments: dict[str, Any]


class Model(Protocol):
    """What proposes: a wish, or words. It decides nothing."""

    def next(self, said: Sequence[str]) -> Wish | str:
        """Go on from what was said and answered so far."""
        ...


class Rules:
    """A model of two rules."""

    def next(self, said: Sequence[str]) -> Wish | str:
        """Take the last line for a request, and a result for the end of it."""
        last = said[-1]
        if last.startswith("result: "):
            return f"That makes {last.removeprefix('result: ')}."
        if found := re.search(r"refund (\d+) of ([\w-]+)", last):
            return Wish("host.shop/refund", {"order": found[2], "cents": int(found[1])})
        if found := re.search(r"(\d+) (tea|cake)", last):
            return Wish("host.shop/price", {"item": found[2], "count": int(found[1])})
        return "I can price tea and cake, and refund orders."


class Agent:
    """The loop around a model: every wish goes through the door."""

    def __init__(self, rt: holon.Runtime, *, model: Model, me: str) -> None:
        self._rt = rt
        self._model = model
        self._me = me
        self._session = rt.session(principal=me, role="support")

    def turn(self, line: str) -> str:
        """Answer one line of the person at the terminal."""
        said = [line]
        for _ in range(8):
            answer = self._model.next(said)
            if isinstance(answer, str):
                return answer
            said.append(self._carry_out(answer))
        return "I give up."

    def _carry_out(self, wish: Wish) -> str:
        result = self._session.call(wish.tool, wish.arguments)
        if result.held is not None:
            if not self._allowed(result.held):
                return "result: nothing: refused at the terminal"
            result = self._session.release(result.held)
        if result.failure is not None:
            # The model is told why, too: a refusal is something to go on from.
            return f"result: nothing: {result.failure.message}"
        return f"result: {json.dumps(result.output)}"

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
        agent = Agent(rt, model=Rules(), me=me)
        while True:
            try:
                line = read("> ")
            except EOFError:
                return 0
            print(agent.turn(line))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "shop"))
