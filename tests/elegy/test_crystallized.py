"""Crystallized capabilities: an active tool leaves as a portable definition and comes in anew."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from elegy_contracts import examine
from frozen_tools import KIND, Echoes, brought_to, open_runtime
from holon_core import FrozenState, FrozenToolRecord, Refused, Rejected
from holon_core.records.tool import Dependency, SecretSlot
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.wire.canonical import sha256_hex
from holon_core.wire.schema_engine import compiled
from holon_elegy.crystallized_rows import rows
from holon_elegy.crystallizing import export, proposal_of
from scripts import activate, open_scripts, script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")
ECHO = "import os; print(os.environ['HOLON_INPUT_JSON'])"
SLOT = {"name": "API_KEY", "ref": "env:SHOP_KEY", "purpose": "the shop"}


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """A runtime with scripts."""
    monkeypatch.setenv("SHOP_KEY", "s3cret-of-the-shop")
    with open_scripts(tmp_path / "root") as opened:
        yield opened


@pytest.fixture
def session(runtime: Runtime, tmp_path: Path) -> Session:
    """Ann, in a workspace."""
    (tmp_path / "place").mkdir()
    return runtime.session(principal="ann", workspace=tmp_path / "place")


def ask(runtime: Runtime, session: Session, verb: str, **given: Any) -> Any:
    """Ask an operation of this lane; its answer fits its schema."""
    from holon_core.operations.door import Door
    from holon_core.records.words import Authority

    row = next(each for each in rows() if each.verb == verb)
    door = Door(runtime=runtime, session=session, authorities=frozenset(Authority))
    answer = row.handler(door, given)
    assert compiled(row.response, f"answer {verb}").errors(answer) == ()
    return answer


def exported(runtime: Runtime, session: Session, **changed: Any) -> Any:
    """Make a script active and export it."""
    fixture = {"name": "one", "input": {"a": 1}, "expect": {"output": {"a": 1}}}
    given = script(ECHO, **{"fixtures": [fixture], "effects": ["workspace_read"], **changed})
    record = activate(runtime, session, given)
    return ask(runtime, session, "export", id=record.id)["definition"]


def test_it_leaves_with_all_portable_fields_and_nothing_of_the_host(
    runtime: Runtime, session: Session, tmp_path: Path
) -> None:
    """The contract admits it, and no text of it names this store."""
    made = exported(runtime, session, secret_slots=[SLOT], deterministic=True)

    assert examine("crystallized-capability", made).findings == ()
    text = json.dumps(made)
    for name in (session.caller.workspace, str(tmp_path), "SHOP_KEY", "s3cret", "ann"):
        assert str(name) not in text
    assert made["secretSlots"] == [{"name": "api_key", "purpose": "the shop"}]
    assert made["sideEffects"]["class"] == "disk_read"
    assert made["determinism"]["isDeterministic"] is True
    assert made["validation"] == [{"id": "one", "input": {"a": 1}, "output": {"a": 1}}]


def test_it_comes_in_as_a_proposal_without_any_trust(
    runtime: Runtime, session: Session, tmp_path: Path
) -> None:
    """In another root: proven and approved anew, then the same tool."""
    made = exported(runtime, session)
    (tmp_path / "there").mkdir()
    with open_scripts(tmp_path / "other") as other:
        there = other.session(principal="bo", workspace=tmp_path / "there")
        record = ask(other, there, "import", definition=made)

        assert (record["state"], record["version"]) == ("proposed", 1)
        assert (record["validation"], record["moves"]) == (None, [])
        assert record["definition"]["policy"]["effects"] == ["workspace_read"]
        assert [each["kind"] for each in record["provenance"]] == ["crystallized"]
        proven = other.tools.frozen.validate(record["id"], caller=there.caller)
        assert proven.state is FrozenState.VALIDATED
        assert there.call(record["id"], {"a": 1}).held is not None


@pytest.mark.parametrize("where", ["purpose", "file"])
def test_what_names_this_host_does_not_leave(
    runtime: Runtime, session: Session, where: str
) -> None:
    """Every text is looked at, those of its files as well."""
    secret = str(session.caller.workspace)
    changed: dict[str, Any] = {"purpose": f"made for {secret}"}
    if where == "file":
        changed = {"files": {"main.py": f"# {secret}\n{ECHO}"}}

    with pytest.raises(Rejected) as caught:
        exported(runtime, session, **changed)

    assert {each.path.partition("/")[2].partition("/")[0] for each in caught.value.findings} == {
        "description" if where == "purpose" else "implementation"
    }


def test_only_what_is_active_leaves(runtime: Runtime, session: Session) -> None:
    """A blocked tool is nothing to hand on."""
    record = activate(runtime, session, script(ECHO))
    runtime.tools.frozen.block(record.id, by="op", reason="stop")

    with pytest.raises(Refused) as caught:
        ask(runtime, session, "export", id=record.id)

    assert caught.value.failure.code == "lifecycle_blocked"


@pytest.mark.parametrize(
    "change",
    ["approvals", "digest", "no content", "class"],
)
def test_what_is_no_sound_definition_does_not_come_in(
    runtime: Runtime, session: Session, change: str
) -> None:
    """Nothing is stored of it."""
    made = copy.deepcopy(exported(runtime, session))
    count = len(runtime.tools.frozen.list())
    file = made["implementation"]["files"][0]
    if change == "approvals":
        made["approvals"] = ["a1"]
    elif change == "digest":
        file["content"] += "#"
    elif change == "no content":
        del file["content"]
    else:
        made["sideEffects"]["class"] = "mighty"

    with pytest.raises(Rejected):
        ask(runtime, session, "import", definition=made)

    assert len(runtime.tools.frozen.list()) == count


def test_effects_that_do_not_fit_the_stated_class_are_those_of_the_class(
    runtime: Runtime, session: Session
) -> None:
    """A hint does not make harmless what the claim says."""
    made = copy.deepcopy(exported(runtime, session))
    made["sideEffects"]["class"] = "network_outbound"

    record = ask(runtime, session, "import", definition=made)

    assert record["definition"]["policy"]["effects"] == ["network_write"]


def test_a_definition_is_judged_without_being_stored(runtime: Runtime, session: Session) -> None:
    """With each finding's path."""
    made = exported(runtime, session)

    assert ask(runtime, session, "validate", definition=made)["valid"] is True
    bad = ask(runtime, session, "validate", definition={**made, "workspaceId": "w"})
    assert bad["valid"] is False


LOOKS = """
import json, os
given = json.loads(os.environ["HOLON_INPUT_JSON"])
text = open(os.path.join(os.environ["HOLON_WORKSPACE_ROOT"], given["name"])).read()
print(json.dumps({"length": len(text)}))
"""
LENGTH = {"type": "object", "properties": {"length": {"const": 5}}, "required": ["length"]}
WHOLE = [
    {
        "name": "exact",
        "input": {"name": "a"},
        "expect": {"output": {"length": 3}},
        "files": {"a": "abc"},
    },
    {
        "name": "fits",
        "input": {"name": "b/c"},
        "expect": {"output_schema": LENGTH},
        "files": {"b/c": "abcde"},
    },
    {"name": "fails", "input": {"name": "no"}, "expect": {"status": "failed", "code": "tool_exit"}},
]


def test_fixtures_with_files_travel_and_are_run_elsewhere(
    runtime: Runtime, session: Session, tmp_path: Path
) -> None:
    """All of each: files, schemas that outputs have to fit, failures that are expected."""
    record = activate(runtime, session, script(LOOKS, effects=["workspace_read"], fixtures=WHOLE))
    made = ask(runtime, session, "export", id=record.id)["definition"]
    assert [each["id"] for each in made["validation"]] == ["exact", "fits", "fails"]
    assert all(each["path"].startswith("crystallized/") for each in made["validation"])
    (tmp_path / "there").mkdir()

    with open_scripts(tmp_path / "other") as other:
        there = other.session(principal="bo", workspace=tmp_path / "there")
        came = ask(other, there, "import", definition=made)
        proven = other.tools.frozen.validate(came["id"], caller=there.caller)

    assert came["state"] == "proposed"
    assert proven.definition.fixtures == record.definition.fixtures
    assert [each.path for each in proven.definition.files] == ["main.py"]
    assert proven.validation is not None
    assert [each.passed for each in proven.validation.fixtures] == [True, True, True]


def test_content_that_is_no_command_travels_as_it_is(tmp_path: Path) -> None:
    """Of any kind, by any lane: an import is the same definition, digest and all."""
    (tmp_path / "place").mkdir()
    with open_runtime(tmp_path / "root", Echoes()) as opened:
        session = opened.session(principal="ann", workspace=tmp_path / "place")
        fixture = {"name": "hi", "input": {"text": "hi"}, "expect": {"output": {"said": "HI!"}}}
        none = {"kind": "none"}
        content = {"suffix": "!"}
        record = brought_to(
            opened,
            session,
            FrozenState.ACTIVE,
            content=content,
            fixtures=[fixture],
            fallback=none,
        )
        made = export(opened, record)
        proposal, digest = proposal_of(made, {})
        again = opened.tools.frozen.propose(
            proposal, caller=session.caller, origin=("crystallized", digest)
        )

    assert examine("crystallized-capability", made).findings == ()
    assert made["implementation"]["kind"] == KIND
    assert dict(again.definition.content) == content
    assert again.digest == record.digest


def test_sources_in_the_folder_of_the_portable_form_do_not_leave(
    runtime: Runtime, session: Session
) -> None:
    """They would be taken for what the tool is."""
    record = activate(runtime, session, script(ECHO))
    [file] = record.definition.files
    moved = evolve(file, path="crystallized/content.json")

    with pytest.raises(Refused) as caught:
        export(runtime, evolve(record, definition=evolve(record.definition, files=(moved,))))

    assert caught.value.failure.code == "unsupported_capability"


@pytest.mark.parametrize("change", ["digest", "missing", "no json", "no object", "member"])
def test_a_fixture_file_that_is_none_does_not_come_in(
    runtime: Runtime, session: Session, change: str
) -> None:
    """Each is found with its place."""
    made = copy.deepcopy(
        exported(runtime, session, fixtures=[{"name": "runs", "input": {}, "files": {"a": "b"}}])
    )
    file = made["implementation"]["files"][-1]
    if change == "digest":
        made["validation"][0]["sha256"] = "0" * 64
    elif change == "missing":
        made["implementation"]["files"].pop()
    else:
        text = {"no json": "{", "no object": "[]", "member": '{"more": 1}'}[change]
        file["content"], file["sha256"] = text, sha256_hex(text.encode())
        made["validation"][0]["sha256"] = file["sha256"]

    with pytest.raises(Rejected) as caught:
        ask(runtime, session, "import", definition=made)

    assert caught.value.findings[0].path.startswith(("/validation/0", "/fixtures/0"))


PLACES = ["purpose", "risk", "schema", "fixture", "fixture file", "slot", "dependency", "key"]


def placed(record: FrozenToolRecord, place: str, text: str) -> FrozenToolRecord:
    """Put a text somewhere into what a tool is made of."""
    definition = record.definition
    [fixture] = definition.fixtures
    schema = {**definition.input_schema, "description": text}
    changed: dict[str, dict[str, Any]] = {
        "purpose": {"purpose": text},
        "risk": {"risk_hints": (text,)},
        "schema": {"input_schema": schema},
        "key": {"input_schema": {**schema, "description": "", "properties": {text: {}}}},
        "fixture": {"fixtures": (evolve(fixture, input={"a": [{"b": text}]}),)},
        "fixture file": {"fixtures": (evolve(fixture, files={"a": text}),)},
        "slot": {"secret_slots": (SecretSlot(name="API_KEY", ref="env:SHOP_KEY", purpose=text),)},
        "dependency": {"dependencies": (Dependency(kind="program", name=text),)},
    }
    return evolve(record, definition=evolve(definition, **changed[place]))


def leaves(runtime: Runtime, record: FrozenToolRecord) -> bool:
    """Tell whether a tool is written as a portable definition."""
    try:
        export(runtime, record)
    except Rejected:
        return False
    return True


def test_no_text_of_any_place_takes_an_id_a_place_or_a_secret_of_the_store_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any workspace, call and approval, and of secrets that nobody has fetched yet."""
    monkeypatch.setenv("NEVER_FETCHED", "s3cret-that-nobody-fetched")
    for name in ("place", "beside"):
        (tmp_path / name).mkdir()
    with open_scripts(
        tmp_path / "root", config={"secrets": {"own": "env:NEVER_FETCHED"}}
    ) as opened:
        session = opened.session(principal="ann", workspace=tmp_path / "place")
        beside = opened.session(principal="bo", workspace=tmp_path / "beside")
        fixture = {"name": "one", "input": {"a": 1}, "expect": {"output": {"a": 1}}}
        record = activate(opened, session, script(ECHO, fixtures=[fixture]))
        private = {
            "workspace": str(beside.caller.workspace),
            "folder": str(tmp_path / "beside"),
            "root": str(tmp_path / "root"),
            "call": beside.call("host.app/shout", {"text": "a"}).call_id,
            "approval": record.moves[-1].approval_id,
            "secret": "s3cret-that-nobody-fetched",
        }
        assert export(opened, record)

        left = [
            (name, place)
            for name, value in private.items()
            for place in PLACES
            if leaves(opened, placed(record, place, f"made <{value}> here"))
        ]

    assert left == []
