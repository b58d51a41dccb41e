"""Several worker processes on one storage root: each opens its own runtime, all keep one law."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import holon_core as holon
from shop_desk.till import RefundLimit, Till, folder_of

# A fresh interpreter: a runtime does not survive a fork.
PROCESSES = get_context("spawn")
WORKERS = 3
ORDERS = 6
GRANTED = 4


def open_runtime(folder: str) -> holon.Runtime:
    """Open the shop's root; every process does this for itself."""
    till = Till(folder_of("books", folder) / "ledger.jsonl")
    return holon.Runtime.open(
        folder_of("root", folder),
        app="shop",
        tools=till.tools(),
        plugins=[RefundLimit()],
        discover=False,
    )


def work(folder: str, orders: Any, outcomes: Any) -> None:
    """Take orders until there is none left."""
    with open_runtime(folder) as rt:
        session = rt.session(principal="night-shift", role="support")
        for order in iter(orders.get, None):
            # The key makes a refund that two workers take the same refund.
            result = session.call("host.shop/refund", {"order": order, "cents": 100}, key=order)
            outcomes.put((order, result.status.value, result.replayed_from is not None))


def grant(folder: str) -> None:
    """Let the night shift pay back four times, a euro each, and no more."""
    with open_runtime(folder) as rt:
        rt.approvals.grant(
            "host.shop/refund",
            {"order": {"glob": "o-*"}, "cents": {"equals": 100}},
            principal="night-shift",
            role="support",
            uses=GRANTED,
            ttl_s=3600,
            by="boss",
            reason="small refunds of the night",
        )


def run(folder: str, orders: Sequence[str], *, workers: int = WORKERS) -> list[Any]:
    """Have several processes work through orders; return what came of each."""
    queue, outcomes = PROCESSES.Queue(), PROCESSES.Queue()
    crew = [PROCESSES.Process(target=work, args=(folder, queue, outcomes)) for _ in range(workers)]
    for each in crew:
        each.start()
    for order in orders:
        queue.put(order)
    for _ in crew:
        queue.put(None)
    came = [outcomes.get(timeout=60) for _ in orders]
    for each in crew:
        each.join()
    return came


def main(folder: str) -> int:
    """Give every order out twice, and count."""
    grant(folder)
    orders = [f"o-{number}" for number in range(ORDERS)]
    came = run(folder, [*orders, *orders])
    with open_runtime(folder) as rt:
        paid = Till(Path(folder).resolve() / "books" / "ledger.jsonl").paid()
        print("given out:", len(came), "- each order twice")
        print("paid back:", len(paid), "- as often as was granted")
        print("no order twice:", max(Counter(each.order for each in paid).values()) == 1)
        print("waiting for a person:", len(rt.approvals.held()))
        print("evidence:", "consistent" if rt.evidence.verify(None).consistent else "broken")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "shop-workers"))
