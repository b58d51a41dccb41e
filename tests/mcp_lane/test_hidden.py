"""What hides in the texts of servers is written out wherever a person reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_mcp.plugin as lane
from holon_cli.main import run
from holon_core.visible import is_unseen

# Zero width, bidirectional, escape, tag characters: each in every text that a server gives.
HIDDEN = "\u200b\u202e\x1b[31m\U000e0041"


def hidden(text: str) -> str:
    """Put the characters into a text."""
    return f"{text[:2]}{HIDDEN}{text[2:]}"


def answers(description: str) -> dict[str, Any]:
    """Make the answers of a server that hides something everywhere."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": hidden("Argument.")}},
    }
    tool = {
        "name": hidden("addition"),
        "title": hidden("Addition"),
        "description": hidden(description),
        "inputSchema": schema,
        "annotations": {"title": hidden("Annotated")},
    }
    info = {"name": hidden("server"), "version": hidden("1.0")}
    bad = {"name": hidden("bad tool"), "inputSchema": {"type": "nothing"}}
    return {
        "initialize": {"serverInfo": info, "instructions": hidden("Instructions.")},
        "tools/list": {"tools": [tool, bad, {"name": hidden("x")}, {"name": hidden("x")}]},
        "prompts/list": {"prompts": [{"name": hidden("prompt"), "description": hidden("Ask.")}]},
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with such a server, of which a change waits."""
    folder = tmp_path_factory.mktemp("hidden")
    with holon.Runtime.open(folder / "root", plugins=[lane], discover=False) as rt:
        servers = rt.service("mcp-servers")
        servers.register("calc", answers("Add numbers."), by="olga")
        servers.refresh("calc", answers("Add more numbers."))
        rt.session(principal="ann").call(ENTRY, {"a": hidden("b")})
    return folder / "root"


Say = Callable[..., str]


@pytest.fixture
def say(root: Path, capfd: pytest.CaptureFixture[str]) -> Say:
    """Run the command as a person does; return all that it wrote."""

    def say(*words: str) -> str:
        code = run([*words, "--root", str(root), "--actor", "olga", "--workspace", "-"])
        said = capfd.readouterr()
        assert code in (0, 3), said
        return said.out if "--json" in words else said.out + said.err

    return say


ENTRY = "holon-mcp.calc/ad%E2%80%8B%E2%80%AE%1B%5B31m%F3%A0%81%81dition"


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (("mcp", "list"), True),
        (("mcp", "read", "calc"), False),
        (("mcp", "diff", "calc"), True),
        (("tool", "list"), True),
        (("tool", "read", ENTRY), True),
        (("runtime-capability", "discover", "add numbers"), True),
        (("tool", "dry-run", ENTRY), True),
        (("tool", "call", ENTRY), False),
        (("tool", "explain", ENTRY), False),
        (("evidence", "list"), False),
    ],
    ids=lambda given: "-".join(given[:2]) if isinstance(given, tuple) else "",
)
def test_what_people_read_shows_hidden_characters(say: Say, words: tuple[str, ...], shows: bool):
    """Lists, single things, differences, discovery, refusals and evidence alike."""
    text = say(*words)

    assert text.strip()
    assert [char for char in text if is_unseen(char) and char not in "\n\t"] == []
    assert not shows or "\\u200b" in text


def test_programs_get_the_texts_as_they_are(say: Say):
    """Nothing is altered: what is written out for people is exact in JSON."""
    tools = json.loads(say("tool", "list", "--json"))["tools"]
    [entry] = [each for each in tools if each["id"] == ENTRY]

    assert entry["name"] == hidden("addition")
