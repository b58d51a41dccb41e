"""What to do next, in the words of the surface that says it."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from command import Command
from holon_cli.advice import ADVICE, AT_THE_PROMPT
from holon_cli.commands import NOUNS, root
from holon_core.errors import FAILURES

PYTHON = r"\w\(|=…|=True|\brt\.|\bsession\.|\bawait\b|\{…\}"
# Neither Python nor the command's own words are every surface's.
OF_ONE_SURFACE = rf"{PYTHON}|--[a-z]|\bholon [a-z]"


@pytest.mark.parametrize("code", FAILURES)
def test_the_failure_table_speaks_to_every_surface(code):
    """A model or a protocol's client can do nothing with an option or a line of Python."""
    assert not re.search(OF_ONE_SURFACE, FAILURES[code][3])


def test_the_prompts_advice_is_of_failures_that_there_are():
    """And for no Python programmer."""
    assert set(AT_THE_PROMPT) <= set(FAILURES)
    assert not [text for text in ADVICE.values() if re.search(PYTHON, text)]


def test_every_command_of_the_core_that_is_advised_exists():
    """Noun and verb, as they are typed; nouns of lanes are known where they are installed."""
    top = root()
    seen = []
    for advice in ADVICE.values():
        for noun, verb in re.findall(r"\bholon ([a-z-]+) ([a-z-]+)", advice):
            if noun in NOUNS:
                group = top.get_command(click.Context(top), noun)
                assert isinstance(group, click.Group)
                assert group.get_command(click.Context(group), verb) is not None
                seen.append((noun, verb))

    assert ("skill", "approve-execution") in seen


def test_a_tool_of_a_workspace_is_refused_at_the_prompt_with_the_option(holon: Command) -> None:
    """And not with an argument of a Python function."""
    done = holon(*shlex.split("tool call holon.built-in.workspace/workspace-glob pattern=*"))

    assert "workspace_required" in done.err
    assert "next: name one with --workspace PATH" in done.err
