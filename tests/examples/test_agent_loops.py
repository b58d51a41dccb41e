"""The loops of the examples run against a server on loopback, to their checked answer."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import Any

import pytest

from support import ROOT

FOLDER = ROOT / "examples/agent-loops"
PROVIDERS = {
    "openai": ("OpenAI", "/v1"),
    "anthropic": ("Anthropic", ""),
}


def loopback() -> Any:
    """Import the server of the examples."""
    spec = importlib.util.spec_from_file_location("loopback", FOLDER / "loopback.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_a_loop_searches_asks_and_ends_with_an_accepted_answer(sdk):
    """Search, a mistake that is corrected, an approval in the middle, and a structured answer."""
    pytest.importorskip(sdk)
    done = subprocess.run(
        [sys.executable, f"{sdk}_loop.py"],
        cwd=FOLDER,
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


@pytest.mark.parametrize("sdk", PROVIDERS)
def test_with_a_key_the_same_file_talks_to_the_address_of_the_environment(sdk):
    """Nothing changes but variables: key and model arrive there, and the loop comes to its end."""
    pytest.importorskip(sdk)
    name, suffix = PROVIDERS[sdk]
    module, seen = loopback(), []
    word = sdk.upper()
    with module.serve(getattr(module, name)(), seen) as url:
        done = subprocess.run(
            [sys.executable, f"{sdk}_loop.py"],
            cwd=FOLDER,
            env={
                **os.environ,
                f"{word}_API_KEY": "a-real-key",
                f"{word}_BASE_URL": f"{url}{suffix}",
                f"{word}_MODEL": "a-model",
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )

    assert "'refunded_cents': 500" in done.stdout.splitlines()[-1]
    assert len(seen) == len(module.SCRIPT)
    for headers, request in seen:
        assert any(headers.get(each, "").endswith("a-real-key") for each in module.KEYS)
        assert request["model"] == "a-model"
        wanted = request["text" if sdk == "openai" else "output_config"]["format"]
        assert "refunded_cents" in wanted["schema"]["properties"]
