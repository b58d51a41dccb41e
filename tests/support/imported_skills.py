"""A lane that imports skills, as first-party lanes do, and one skill of it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from attrs import evolve, fields

import holon_core as holon
from holon_core.records.skill import ImportedCapability, ImportedSkill

SOURCE = "holon-elegy.demo"
ECHO = f"{SOURCE}/echo"
SKILL = f"{SOURCE}/demo.echo"
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def lane(**options: Any) -> ModuleType:
    """Make the plugin of a lane that takes imports and runs nothing by itself."""
    plugin = ModuleType("holon_elegy")
    postures = frozenset({holon.Posture.ADAPTER_FORWARDED, holon.Posture.MODEL_INVOKED})

    @holon.hookimpl
    def holon_capability_lanes(host: Any) -> Any:
        return [holon.CapabilityLane(kind="elegy", postures=postures, **options)]

    plugin.holon_capability_lanes = holon_capability_lanes  # type: ignore[attr-defined]
    return plugin


def skill(**changes: Any) -> ImportedSkill:
    """Make a skill with one capability; changes are of the tool, the binding or the skill."""
    record = holon.SkillDefinitionRecord(
        id=SKILL,
        source=SOURCE,
        version="1.0.0",
        name="echo",
        description="Says what it hears.",
        instructions="Use echo to hear yourself.",
        definition={"name": "echo"},
    )
    tool = holon.RuntimeToolDescriptor(
        id=ECHO,
        lane="elegy",
        origin=holon.Origin.IMPORTED_STATE,
        posture=holon.Posture.ADAPTER_FORWARDED,
        version="1.0.0",
        name="echo",
        description="Say what was heard.",
        input_schema=TEXT,
        output_schema=TEXT,
        effects=frozenset({holon.Effect.NONE}),
    )
    binding = holon.CapabilityBindingRecord(
        skill=SKILL,
        capability="echo",
        tool=ECHO,
        lane="elegy",
        input_schema=TEXT,
        output_schema=TEXT,
    )
    own = dict(changes)
    key = own.pop("key", SKILL)
    names = {each.name for each in fields(holon.RuntimeToolDescriptor)}
    names -= {"version", "lifecycle"}
    of_tool = {k: v for k, v in own.items() if k in names}
    names = {each.name for each in fields(holon.CapabilityBindingRecord)}
    of_binding = {k: v for k, v in own.items() if k in names} | {"skill": key}
    of_skill = {k: v for k, v in own.items() if k not in of_tool and k not in of_binding}
    of_skill["id"] = key
    return ImportedSkill(
        skill=evolve(record, **of_skill),
        capabilities=(
            ImportedCapability(binding=evolve(binding, **of_binding), tool=evolve(tool, **of_tool)),
        ),
    )


class Echo:
    """Runs the capability in this process."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def execute(self, call: Any) -> Any:
        self.heard.append(call.arguments["text"])
        return holon.completed({"text": call.arguments["text"]})

    def preview(self, call: Any) -> Any:
        return {"would echo": call.arguments["text"]}
