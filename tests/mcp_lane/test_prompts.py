"""Skills as prompts: what a client's user picks brings the instructions of a skill."""

from __future__ import annotations

import asyncio

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

import holon_core as holon
from holon_mcp.serving.server import ServeOptions, Serving
from imported_skills import SKILL, SOURCE, lane, skill


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_skill_is_a_prompt_with_its_instructions(mode):
    """It is listed by its id; one that is not there is refused by its code."""
    with holon.Runtime.in_memory(plugins=[lane()]) as rt:
        source = holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
        rt.skills.register_source(source)
        rt.skills.store(SOURCE, [skill()])
        serving = Serving(rt, rt.session(principal="ann").caller, ServeOptions())

        async def talk():
            serving.begin()
            async with Client(serving.server, mode=mode) as client:
                listed = await client.list_prompts()
                got = await client.get_prompt(SKILL)
                with pytest.raises(MCPError, match="unknown_skill"):
                    await client.get_prompt("holon-elegy.demo/none")
            return listed, got

        listed, got = asyncio.run(talk())

    assert [each.name for each in listed.prompts] == [SKILL]
    assert got.messages[0].content.text == "Use echo to hear yourself."
