"""What real servers say of themselves: all of the shared corpus registers and is found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_mcp.plugin as lane
from support import ABSENT, shared_folder

FOLDER = shared_folder()
FILES = [] if FOLDER is None else sorted((FOLDER / "mcp-corpus").glob("*.json"))
pytestmark = pytest.mark.skipif(not FILES, reason=ABSENT)


@pytest.fixture(scope="module")
def corpus() -> Iterator[tuple[holon.Runtime, dict[Path, Any]]]:
    """A runtime with every server of the corpus registered, and what that came to."""
    with holon.Runtime.in_memory(plugins=[lane]) as rt:
        servers = rt.service("mcp-servers")
        made = {
            file: servers.register(file.stem.lower(), file.read_bytes(), by="olga")
            for file in FILES
        }
        yield rt, made


def _given(file: Path) -> list[str]:
    data = json.loads(file.read_bytes())
    return [each["name"] for each in data["legacy"]["lists"]["tools"]]


def test_every_tool_of_every_server_has_a_usable_entry(corpus):
    """None of 1,163 is lost, refused or unusable."""
    states: Counter[str] = Counter()
    for file, read in corpus[1].items():
        tools = [each for each in read.items.values() if each.kind == "tool"]
        states.update(each.state.value for each in tools)
        assert sorted(each.name for each in tools) == sorted(_given(file))
        assert read.refused == ()

    assert states == {"accepted": sum(len(_given(file)) for file in FILES)}


def test_tools_of_every_server_are_found_by_their_own_words(corpus):
    """One of each is found, blocked, with the reason."""
    rt, made = corpus
    session = rt.session(principal="ann")
    for read in made.values():
        entry = next(iter(read.items))
        tool = rt.tools.read(entry)
        query = f"{tool.name} {tool.description[:100]}"
        found = session.discover(query, limit=20, min_confidence=0)
        item = next((each for each in found.items if each.id == entry), None)
        assert item is not None, entry
        assert item.blocking_reasons[0].code == "live_execution_blocked"


def test_both_eras_of_a_server_have_the_same_pins():
    """The order of keys differs between them, and what they say does not."""
    compared = 0
    for file in FILES:
        data = json.loads(file.read_bytes())
        if not data["modern"].get("lists"):
            continue
        with holon.Runtime.in_memory(plugins=[lane]) as rt:
            servers = rt.service("mcp-servers")
            servers.register("one", {"legacy": data["legacy"]}, by="olga")
            made = servers.refresh("one", {"modern": data["modern"]})
        differing = {each.state.value for each in made.items.values()} - {"accepted"}
        compared += not differing
    assert compared >= 9


def test_no_call_of_any_of_them_goes_through(corpus):
    """Live execution is closed for each, whatever its hints say."""
    rt, made = corpus
    session = rt.session(principal="ann")
    for read in made.values():
        result = session.call(next(iter(read.items)), {})
        assert result.failure.code in ("live_execution_blocked", "arguments_invalid")
