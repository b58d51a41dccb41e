"""A script: one call that runs, one that waits for a person, and what was recorded of both."""

from __future__ import annotations

import sys

import holon_core as holon
from shop_desk.till import RefundLimit, Till, folder_of


def main(folder: str) -> int:
    """Run the script on a folder of its own."""
    root = folder_of("root", folder)
    till = Till(folder_of("books", folder) / "ledger.jsonl")
    with holon.Runtime.open(
        root, app="shop", tools=till.tools(), plugins=[RefundLimit()], discover=False
    ) as rt:
        ann = rt.session(principal="ann", role="support")

        price = ann.call("host.shop/price", {"item": "tea", "count": 2}).raise_for_failure()
        print("price:", price.output["result"])

        result = ann.call("host.shop/refund", {"order": "o-17", "cents": 500})
        print("refund:", result.status.value, "-", result.failure and result.failure.message)
        assert result.held is not None
        print("paid back so far:", till.paid())

        rt.approvals.approve(result.held, by="boss", reason="the cake was stale")
        done = ann.release(result.held)
        print("released:", done.status.value, done.output)

        never = ann.call("host.shop/refund", {"order": "o-17", "cents": 50_000})
        print("too much:", never.failure and never.failure.message)

        print("trail:", ", ".join(record.kind for record in rt.evidence.read(result.held)))
        print("evidence:", "consistent" if rt.evidence.verify(None).consistent else "broken")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "shop"))
