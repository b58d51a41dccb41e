"""What the shop can do, behind whichever door: price things, and pay money back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import holon_core as holon

CENTS = {"tea": 300, "cake": 450}


@dataclass(frozen=True)
class Receipt:
    """What was paid back, and for which order."""

    order: str
    cents: int


class Till:
    """The till: prices, and a ledger of what was paid back."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger

    @holon.tool(effects={"none"})
    def price(self, item: Literal["tea", "cake"], count: int = 1) -> int:
        """Price some items, in cents.

        Args:
            item: What is sold.
            count: How many.
        """
        return CENTS[item] * count

    # It writes outside of any workspace, so by default a person is asked.
    @holon.tool(effects={"machine_write"})
    async def refund(self, order: str, cents: int) -> Receipt:
        """Pay part of an order back.

        Args:
            order: Number of the order.
            cents: How much.
        """
        receipt = Receipt(order, cents)
        line = json.dumps(asdict(receipt)) + "\n"
        with self._ledger.open("a", encoding="utf-8") as ledger:
            ledger.write(line)
        return receipt

    def tools(self) -> list[Callable[..., Any]]:
        """Return what goes behind the door."""
        return [self.price, self.refund]

    def paid(self) -> list[Receipt]:
        """Return what was paid back, in the order of the ledger."""
        if not self._ledger.exists():
            return []
        lines = self._ledger.read_text(encoding="utf-8").splitlines()
        return [Receipt(**json.loads(line)) for line in lines]


class RefundLimit:
    """A guard of the shop's own: nobody, approved or not, pays more than this back."""

    name = "shop-refund-limit"

    def __init__(self, cents: int = 10_000) -> None:
        self._cents = cents

    @holon.hookimpl
    def holon_policies(self) -> Iterable[RefundLimit]:
        """Offer itself as the policy."""
        return [self]

    def evaluate(self, request: holon.PolicyRequest, /) -> holon.Verdict:
        """Deny a refund above the limit; say nothing against all else."""
        # Where tools are listed for a model, policy is asked without arguments.
        if request.tool.name == "refund" and request.arguments.get("cents", 0) > self._cents:
            why = f"more than {self._cents} cents are paid back by the bank alone"
            return holon.Verdict(decision=holon.Decision.DENY, rule="refund-limit", reason=why)
        return holon.Verdict(decision=holon.Decision.ALLOW, rule="refund-limit")


# What an agent at the desk may use.
SUPPORT = holon.AgentProfile(id="support", role="support agent", allowed_tools=("host.shop/*",))


def give_profile(rt: holon.Runtime) -> None:
    """Keep the profile of the desk's agents in the root, once."""
    if not any(each.id == SUPPORT.id for each in rt.agents.profiles.list()):
        rt.agents.profiles.create(SUPPORT, by="shop", reason="first version")


def folder_of(name: str, folder: str | os.PathLike[str]) -> Path:
    """Return a folder of the shop's, made where it is not there."""
    made = Path(folder).resolve() / name
    made.mkdir(parents=True, exist_ok=True, mode=0o700)
    return made
