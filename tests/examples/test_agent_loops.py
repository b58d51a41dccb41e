"""The loops of the examples run against a server on loopback, to their checked answer."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support import ROOT


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_a_loop_searches_asks_and_ends_with_an_accepted_answer(sdk):
    """Search, a mistake that is corrected, an approval in the middle, and a structured answer."""
    pytest.importorskip(sdk)
    done = subprocess.run(
        [sys.executable, f"{sdk}_loop.py"],
        cwd=ROOT / "examples/agent-loops",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    printed = done.stdout.splitlines()
    assert [line.partition(" ")[0] for line in printed[:3]] == [
        "search_tools",
        "find_order",
        "refund",
    ]
    assert "arguments_invalid" in printed[2]
    assert printed[3].startswith("a person approves")
    assert printed[4] == 'refund → {"result":"refunded 500 for o1"}'
    assert "'refunded_cents': 500" in printed[-1]
