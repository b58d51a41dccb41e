"""What records must not absorb (the taxonomy's column): checked over fields, types and schemas."""

from __future__ import annotations

import json
import types
import typing
from enum import Enum
from typing import Any

import attrs
import pytest

import holon_core as holon
from holon_core.catalogue.catalogue import Executor
from holon_core.guard.holding import tool_json
from holon_core.guard.policy import PolicyOutcome
from holon_core.guard.sealed import SealedCall
from holon_core.records.approval import ApprovalRecord, HeldCall
from holon_core.records.outcome import ExecutorOutcome
from holon_core.records.policy import Policy, PolicyRequest, Verdict
from holon_core.records.secret import SecretProvider, SecretValue
from holon_core.records.skill import CapabilityBindingRecord, SkillDefinitionRecord
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import ApprovalState, Decision, HeldState

# Tool, skill and capability of the taxonomy; the other rows come with their records.
RECORDS = [RuntimeToolDescriptor, SkillDefinitionRecord, CapabilityBindingRecord]
FORBIDDEN = (
    SecretValue,
    SecretProvider,
    ApprovalRecord,
    ApprovalState,
    HeldCall,
    HeldState,
    Verdict,
    Decision,
    Policy,
    PolicyRequest,
    PolicyOutcome,
    SealedCall,
    Executor,
    ExecutorOutcome,
)
PLAIN = (str, int, float, bool, type(None))
# Words that would name what a record must not hold. `approval` of a tool is a requirement, not
# a decision, and its secret slots are references; both are looked at below.
WORDS = (
    "secret_value",
    "token",
    "password",
    "approved",
    "decided",
    "verdict",
    "decision",
    "executor_object",
    "callable",
    "handle",
    "command",
    "session",
    "instructions",
    "prompt",
    "steps",
    "nodes",
)


def reached(kind: Any, seen: set[Any]) -> set[Any]:
    """Return every type that a value of a type may hold, containers and fields opened."""
    if kind in seen:
        return seen
    seen.add(kind)
    for part in typing.get_args(kind):
        reached(part, seen)
    if isinstance(kind, type) and attrs.has(kind):
        for each in attrs.fields(attrs.resolve_types(kind)):
            reached(each.type, seen)
    return seen


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_no_field_can_hold_a_secret_a_decision_or_something_that_runs(record):
    """Whatever a field's type leads to is data: words, numbers, texts and JSON."""
    found = {kind for kind in reached(record, set()) if isinstance(kind, type)}

    assert not [kind for kind in found if set(kind.__mro__) & set(FORBIDDEN)]
    for kind in found:
        plain = kind in (*PLAIN, Any) or attrs.has(kind) or issubclass(kind, Enum)
        assert plain or kind.__module__ in ("builtins", "collections.abc", "types"), kind
        assert kind not in (types.FunctionType, types.MethodType, object, type)


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_only_json_documents_are_open(record):
    """A field of any content is a JSON document and is stored as such."""
    fields = attrs.fields(attrs.resolve_types(record))

    assert {f.name for f in fields if Any in reached(f.type, set())} <= {
        "input_schema",
        "output_schema",
        "metadata",
        # What was imported, as it was given, and how it says to be invoked: data, run by nobody.
        "definition",
        "implementation",
    }


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_no_field_is_named_for_what_it_must_not_hold(record):
    """A name is a promise as well."""
    names = (
        [
            name.name
            for kind in reached(record, set())
            if attrs.has(kind)
            for name in attrs.fields(kind)
        ]
        if attrs.has(record)
        else []
    )

    # A skill is a package of instructions; a tool is no prompt surface.
    is_skill = record is SkillDefinitionRecord
    words = [word for word in WORDS if not (is_skill and word == "instructions")]

    assert names
    assert not [name for name in names if any(word in name for word in words)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_no_record_can_be_given_more_than_its_fields(record):
    """It is slotted and frozen: nothing can be hung onto it later."""
    values = {each.name: "x" for each in attrs.fields(record) if each.default is attrs.NOTHING}
    made = record(**values)

    with pytest.raises((AttributeError, attrs.exceptions.FrozenInstanceError)):
        made.approval_record = "approved"
    assert not hasattr(made, "__dict__")
    with pytest.raises(TypeError):
        record(**values, verdict="allow")


@pytest.fixture
def described(open_runtime, monkeypatch) -> Any:
    """A tool with a secret, an approval given, and calls made."""
    monkeypatch.setenv("ABSORB_SECRET", "hunter2-hunter2")

    @holon.tool(effects={"machine_write"}, secrets={"key": "env:ABSORB_SECRET"})
    def pay(cents: int, key: str) -> int:
        return cents

    rt = open_runtime(pay)
    session = rt.session(principal="ann")
    held = session.call("host.app/pay", {"cents": 5}).held
    rt.approvals.approve(held, by="boss", reason="fine")
    assert session.release(held).status == "completed"
    return rt.tools.read("host.app/pay")


def test_a_tools_description_is_the_same_before_and_after_an_approval(described, open_runtime):
    """Approvals, verdicts and runs leave no mark on it, in value, text or digest."""
    data = json.dumps(tool_json(described))

    assert "hunter2" not in data + repr(described) + described._repr_html_()
    assert "boss" not in data
    assert "approved" not in data
    assert described.secret_slots[0].ref == "env:ABSORB_SECRET"
    assert {each.name for each in attrs.fields(type(described.secret_slots[0]))} == {
        "name",
        "ref",
        "purpose",
    }


def test_a_secret_is_in_no_schema_of_a_tool(described):
    """What the host fills in is not the caller's to see or send."""
    assert "key" not in described.input_schema["properties"]


def test_a_tools_definition_is_json_and_nothing_else(described):
    """Nothing that runs can hide in what is digested, stored or shown."""
    assert json.loads(json.dumps(described.definition())) == described.definition()
    assert json.loads(json.dumps(tool_json(described))) == tool_json(described)


@pytest.mark.parametrize("field", ["approval", "verdict", "secret", "executor"])
def test_a_skills_metadata_is_data_that_decides_nothing(open_runtime, write, ran, field):
    """A skill that claims an approval or an executor releases no call of its tool."""
    skill = SkillDefinitionRecord(
        id="s", source="x", version="1", name="s", metadata={field: "approved"}
    )
    binding = CapabilityBindingRecord(
        skill=skill.id, capability="c", tool="host.app/write", lane="host"
    )

    result = open_runtime(write).session(principal="ann").call(binding.tool, {})

    assert result.failure.code == "approval_required"
    assert ran == []
