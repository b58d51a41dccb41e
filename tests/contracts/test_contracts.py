"""Reading contracts: strict where it has to be, tolerant where versions differ, with paths."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import fields

from elegy_contracts import UNSET, ContractError, canonical, examine, parse, read, schema, write
from elegy_contracts.model import wire_name
from elegy_contracts.normal import normalise, resolve
from elegy_contracts.portable import HOST_ONLY, host_only
from elegy_contracts.reading import TYPES, type_of
from elegy_contracts.rules import _RULES as RULED
from support import label

SKILL: dict[str, Any] = {
    "skillFormat": "elegy-skill-definition",
    "skillVersion": 2,
    "identity": {"namespace": "demo", "name": "notes", "version": "1"},
    "capabilities": [
        {
            "id": "a",
            "name": "A",
            "description": "Does a.",
            "implementation": {
                "executionType": "subprocess",
                "executableName": "tool",
                "arguments": ["${x}"],
            },
            "input": {"parameters": [{"name": "x", "type": "string", "required": True}]},
            "output": {"schemaRef": "https://elegy/contracts/schemas/data-result.schema.json"},
        }
    ],
    "lifecycleState": "draft",
}
CRYSTAL: dict[str, Any] = {
    "schemaVersion": "elegy-crystallized-capability/v1",
    "identity": {"namespace": "demo", "name": "sum"},
    "displayName": "Sum",
    "version": "1.0.0",
    "lifecycleState": "active",
    "implementation": {"kind": "script", "language": "python", "entryPoint": "main"},
    "inputSchema": {"type": "object", "properties": {"token": {"type": "string"}}},
    "outputSchema": {"type": "object"},
    "sideEffects": {"class": "none"},
    "determinism": {"isDeterministic": True},
    "secretSlots": [{"name": "openai_api_key", "purpose": "To ask the model."}],
    "provenance": [{"kind": "frozen-tool", "digest": "abc"}],
    "validation": [{"id": "one", "input": {"a": 1}, "output": {"sum": 1}}],
}


def changed(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy in which one place holds another value, or nothing for ``None``."""
    made: Any = json.loads(json.dumps(data))
    *steps, last = path.strip("/").split("/")
    at = made
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return made  # type: ignore[no-any-return]


TEXTS = [
    ('{"a": 1, "a": 2}', "twice"),
    ("[NaN]", "no JSON number"),
    ("[1e999]", "too large"),
    ("[9007199254740993]", "beyond"),
    ('["\\ud800"]', "surrogate"),
    ("[" * 100 + "]" * 100, "levels"),
    ("[" * 100_000, "levels"),
    ("", "Expecting"),
    ("{} {}", "Extra data"),
]


@pytest.mark.parametrize(("text", "said"), TEXTS, ids=label)
def test_text_that_is_not_strict_json_is_refused(text: str, said: str):
    """One text, members once, numbers that everybody can carry, bounded depth."""
    with pytest.raises(ContractError, match=said):
        parse(text)


def test_line_ends_and_a_byte_order_mark_are_taken():
    """Some published files have them."""
    assert parse(b'\xef\xbb\xbf{"a":\r\n1.0}\r\n') == {"a": 1}


BROKEN = [
    (SKILL, "/identity/version", 3, "/identity/version", "schema"),
    (SKILL, "/identity/color", "red", "/identity", "schema"),
    (SKILL, "/lifecycleState", "asleep", "/lifecycleState", "schema"),
    (SKILL, "/capabilities/0/id", None, "/capabilities/0", "schema"),
    (SKILL, "/identity/name", " ", "/identity/name", "blank"),
    (SKILL, "/identity/aliases", ["a", "A"], "/identity/aliases/1", "duplicate"),
    (SKILL, "/capabilities/0/implementation/executableName", " ", None, "blank"),
    (
        SKILL,
        "/hostProjection",
        {"capabilityProjections": [{"capabilityId": "zz", "functionName": "f"}]},
        "/hostProjection/capabilityProjections/0/capabilityId",
        "unknown_capability",
    ),
    (CRYSTAL, "/sideEffects/class", "mighty", "/sideEffects/class", "schema"),
    (CRYSTAL, "/outputSchema", None, "", "schema"),
]


@pytest.mark.parametrize(("data", "at", "value", "path", "code"), BROKEN, ids=label)
def test_what_breaks_a_contract_is_found_at_its_path(
    data: dict[str, Any], at: str, value: Any, path: str | None, code: str
):
    """Nothing is coerced, nothing further is let in."""
    with pytest.raises(ContractError) as refused:
        read(changed(data, at, value))

    found = [(f.code, f.path) for f in refused.value.findings if f.severity == "error"]
    assert found == [(code, at if path is None else path)]


def test_a_member_in_both_spellings_is_refused():
    """Which of them is meant is nothing to guess."""
    with pytest.raises(ContractError, match="both spellings"):
        read({**SKILL, "lifecycle_state": "active"})


def test_what_is_free_form_keeps_its_names():
    """Snake case inside of schemas and metadata is the data's own."""
    made = read(changed(CRYSTAL, "/inputSchema/properties", {"my_name": {"type": "string"}}))

    assert list(made.input_schema["properties"]) == ["my_name"]


def test_absent_and_null_are_told_apart():
    """Both are read, and written as they were."""
    absent = read(SKILL)
    null = read({**SKILL, "metadata": {"summary": None}})

    assert absent.metadata is UNSET
    assert not absent.metadata
    assert null.metadata.summary is None
    assert write(null)["metadata"] == {"summary": None}
    assert "metadata" not in write(absent)


@pytest.mark.parametrize("contract", sorted(TYPES))
def test_every_type_has_the_members_of_its_schema(contract: str):
    """A type and its schema are two sides of one contract."""
    made = schema(contract)
    made = made.get("items", made)
    members = set(made.get("properties", {}))
    for choice in made.get("oneOf", ()):
        members |= set(choice.get("properties", {}))

    assert {wire_name(field) for field in fields(type_of(contract))} == members


def test_both_engines_find_the_same():
    """The plain engine stands in where the fast one is not built."""
    from elegy_contracts.engine import _fast, _plain

    made = schema("execution-event")
    for data in ({}, {"timestamp": "yesterday"}, {"sequence": 0}, {"eventType": 3, "x": 1}):
        assert {path for path, _ in _fast(made)(data)} == {path for path, _ in _plain(made)(data)}


@pytest.mark.parametrize(
    ("ref", "known"),
    [
        ("https://elegy/contracts/schemas/planning-result.schema.json", True),
        ("https://elsewhere.example/x/planning-result.schema.json", True),
        ("elegy://schemas/diagram-patch", False),
        ("https://elegy/contracts/schemas/nobody.schema.json", False),
        ("../../planning-result.schema.json", False),
        ("", False),
        (None, False),
    ],
)
def test_references_are_resolved_here_or_not_at_all(ref: str | None, known: bool):
    """The last part of the URL names a schema that this package carries; nothing is fetched."""
    assert (resolve(ref) is not None) is known


def test_parameters_become_a_closed_schema():
    """Types as the source projects them; what is required and described stays so."""
    kinds = ["boolean", "integer", "number", "array", "string", "path", "odd"]
    parameters = [{"name": kind, "type": kind, "required": kind == "path"} for kind in kinds]
    parameters[0] |= {"description": "A switch.", "default": False}
    given = {"parameters": parameters, "stdinFormat": "text"}
    skill = changed(SKILL, "/capabilities/0/input", given)
    skill = changed(skill, "/capabilities/0/implementation/arguments", [])

    made = normalise(skill)
    shown: Any = made.capabilities[0].input_schema

    assert shown["additionalProperties"] is False
    assert shown["required"] == ["path"]
    types = {name: each["type"] for name, each in shown["properties"].items()}
    assert types == {
        "boolean": "boolean",
        "integer": "integer",
        "number": "number",
        "array": "array",
        "string": "string",
        "path": "string",
        "odd": "string",
        "stdin": "string",
    }
    assert shown["properties"]["boolean"]["default"] is False
    assert [f.code for f in made.findings] == ["parameter_type_unknown"]


HOSTS: dict[str, dict[str, Any]] = {
    "ids of workspaces, goals, runs and evidence": {"workspaceId": "w1"},
    "approval records and review decisions": {"approvalRecords": []},
    "trust decisions and policy profiles": {"policyProfile": "strict"},
    "secret references and values": {"secretRef": "env:KEY"},
    "the state of dependency probes": {"probeState": "present"},
    "adapter sessions and bindings": {"adapterSession": "s1"},
    "fallback, circuit breaker and failure counters": {"circuitBreakerState": "open"},
}


@pytest.mark.parametrize("kind", HOSTS)
def test_what_belongs_to_a_host_is_no_part_of_a_portable_definition(kind: str):
    """Each of the seven kinds, wherever it stands and however it is spelled."""
    [(name, value)] = HOSTS[kind].items()
    from elegy_contracts.spelling import snake

    for spelled in (name, snake(name), snake(name).replace("_", "-")):
        for data in ({**CRYSTAL, spelled: value}, {**CRYSTAL, "governance": {spelled: "x"}}):
            found = [f for f in host_only(data) if kind in f.message]
            assert found, spelled
            assert not examine("crystallized-capability", data).valid
    assert {each for each, _ in HOST_ONLY} == set(HOSTS)


def test_secret_values_are_found_in_any_text():
    """Also inside of schemas and examples, whose names are the tool's own."""
    leaking = changed(CRYSTAL, "/validation/0/input", {"key": "sk-abcdefghijklmnopqrstuvwx"})

    assert [f.path for f in host_only(leaking)] == ["/validation/0/input/key"]
    assert examine(None, CRYSTAL).findings == ()


def test_a_crystallized_capability_is_written_as_it_was():
    """All its portable fields, by their types."""
    made = read(CRYSTAL)

    assert made.secret_slots[0].purpose == "To ask the model."
    assert made.side_effects.class_ == "none"
    assert canonical(write(made)) == canonical(CRYSTAL)


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "elegy_contracts", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_command_says_what_each_file_is(tmp_path: Path):
    """0 where all are valid, 1 where one is not; for programs one document."""
    (tmp_path / "good.json").write_text(json.dumps(SKILL))
    (tmp_path / "odd.json").write_text("{")
    (tmp_path / "other.json").write_text('{"hello": "world"}')

    good = run("validate", "good.json", cwd=tmp_path)
    every = run("validate", ".", "missing.json", "--json", cwd=tmp_path)

    assert (good.returncode, good.stdout) == (0, "good.json: skill: valid\n")
    assert every.returncode == 1
    states = {each["file"]: (each["contract"], each["valid"]) for each in json.loads(every.stdout)}
    assert states == {
        "good.json": ("skill", True),
        "missing.json": (None, False),
        "odd.json": (None, False),
        "other.json": (None, False),
    }


def test_the_command_refuses_a_contract_that_there_is_not(tmp_path: Path):
    """Usage ends with 2 and names what there is."""
    done = run("validate", "x.json", "--contract", "skil", cwd=tmp_path)

    assert done.returncode == 2
    assert "known are" in done.stderr


def test_importing_the_package_loads_nothing_heavy():
    """Engines and schemas come with the first use."""
    heavy = ("jsonschema", "jsonschema_rs", "attrs", "holon_core")
    code = f"import sys, elegy_contracts; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_a_schema_error_hides_no_other_finding():
    """What is wrong is told at once, as far as it can be judged beside what does not fit."""
    data = changed(SKILL, "/identity/version", 7)
    data["capabilities"] += [
        {**data["capabilities"][0], "description": " "},
        {"id": "A", "name": ""},
    ]

    found = {(each.code, each.path) for each in examine("skill", data).findings}

    assert ("schema", "/identity/version") in found
    assert {
        ("duplicate", "/capabilities/1"),
        ("duplicate", "/capabilities/2"),
        ("blank", "/capabilities/1/description"),
    } <= found


@pytest.mark.parametrize("name", sorted(RULED))
def test_rules_meet_any_json_without_a_crash(name):
    """Rules count on a schema; of data that does not fit it they say what they can."""
    for data in ({}, {"capabilities": [1, {"id": 2}]}, {"components": 3}, {"nodes": [None]}):
        assert not examine(name, data).valid
