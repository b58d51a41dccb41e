"""Tools of a corpus of MCP servers, and runtimes that hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core import (
    CapabilityLane,
    Effect,
    LaneExecutor,
    Origin,
    Posture,
    RuntimeToolDescriptor,
    SkillSourceDescriptor,
    SkillSourceKind,
    completed,
)
from holon_core.ids import capability_id


class Echo:
    """An executor that gives back its arguments."""

    def execute(self, call: Any) -> Any:
        return completed({"got": call.arguments})

    def preview(self, call: Any) -> Any:
        return {}


class Lane:
    """A plugin with any number of tools, each by source, name, description and schema."""

    def __init__(
        self,
        tools: list[tuple[str, str, str, Any]],
        name: str = "corp",
        projections: tuple[str, ...] = ("function_calling",),
    ) -> None:
        self.name = name
        self._projections = projections
        self._tools = tools

    def _descriptor(self, source: str, name: str, text: str, schema: Any) -> RuntimeToolDescriptor:
        return RuntimeToolDescriptor(
            id=f"{source}/{capability_id(name)}",
            lane=f"{self.name}-lane",
            origin=Origin.PLUGIN,
            posture=Posture.LANE_LIVE,
            version="1",
            name=name,
            description=text,
            input_schema=schema,
            effects=frozenset({Effect.NONE}),
            projections=self._projections,
        )

    @holon.hookimpl
    def holon_capability_lanes(self):
        yield CapabilityLane(kind=f"{self.name}-lane", postures=frozenset({Posture.LANE_LIVE}))

    @holon.hookimpl
    def holon_skill_sources(self):
        for source in sorted({each[0] for each in self._tools}):
            yield Source(source, [self._descriptor(*t) for t in self._tools if t[0] == source])

    @holon.hookimpl
    def holon_executors(self):
        for source in sorted({each[0] for each in self._tools}):
            yield LaneExecutor(source=source, executor=Echo(), self_limiting=True)


class Source:
    """A source of given definitions."""

    def __init__(self, source: str, tools: list[RuntimeToolDescriptor]) -> None:
        self.descriptor = SkillSourceDescriptor(
            id=source, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN
        )
        self._tools = tools

    def signal(self) -> str:
        return repr([tool.definition() for tool in self._tools])[:50] + str(len(self._tools))

    def read(self) -> list[RuntimeToolDescriptor]:
        return self._tools


OBJECT: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
Having = Callable[..., holon.Runtime]


@pytest.fixture
def having() -> Iterator[Having]:
    """Open a runtime in memory that has given tools of a lane, and of the host."""
    opened: list[holon.Runtime] = []

    def make(*tools: tuple[str, str, str, Any], **options: Any) -> holon.Runtime:
        lane = Lane(list(tools), projections=options.pop("projections", ("function_calling",)))
        plugins = [lane, *options.pop("plugins", ())]
        made = holon.Runtime.in_memory(plugins=plugins, **options)
        opened.append(made)
        return made

    yield make
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def corpus(shared: Path) -> list[tuple[str, str, str, Any]]:
    """Every tool of the corpus: source, name, description, input schema."""
    found = []
    for path in sorted((shared / "mcp-corpus").glob("*.json")):
        listed = json.loads(path.read_text(encoding="utf-8"))["legacy"]["lists"]["tools"]
        found += [
            (f"corp.{path.stem}", each["name"], each.get("description", ""), each["inputSchema"])
            for each in listed
        ]
    return found


@pytest.fixture(scope="session")
def corpus_runtime(corpus) -> Iterator[holon.Runtime]:
    """A runtime that holds the whole corpus."""
    with holon.Runtime.in_memory(plugins=[Lane(corpus)]) as made:
        yield made
