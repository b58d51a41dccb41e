"""What a stranger learns of the tools of another workspace: nothing, by no way of asking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import brought_to
from holon_core import Authority, FrozenState, Refused
from holon_core.catalogue.codec import descriptor_from, descriptor_json
from holon_core.runtime import Runtime
from holon_core.session import Session

CALLER = frozenset({Authority.CALLER})
WORDS = "zorblatt hostile takeover valuation"
SECRET = "ACME-secret-deal"
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "target": {"enum": [SECRET, "Globex"]}},
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.fixture
def ann(runtime: Runtime, place: Path) -> Session:
    """Who has a tool, in a workspace that is hers alone."""
    runtime.workspaces.open(place, principals=["ann"])
    return runtime.session(principal="ann", workspace=place)


def mallory(runtime: Runtime, ann: Session, folder: Path, standing: str) -> Session:
    """Open a session for somebody who does not belong to Ann's workspace."""
    (folder / "beside").mkdir()
    where: Any = {"elsewhere": folder / "beside", "nowhere": None, "excluded": ann.caller.workspace}
    return runtime.session(principal="mallory", workspace=where[standing])


@pytest.fixture(params=["elsewhere", "nowhere", "excluded"])
def stranger(request: Any, runtime: Runtime, ann: Session, tmp_path: Path) -> Session:
    """Mallory in another workspace, without one, and saying that she is in Ann's."""
    return mallory(runtime, ann, tmp_path, request.param)


@pytest.fixture(params=["elsewhere", "nowhere"])
def outsider(request: Any, runtime: Runtime, ann: Session, tmp_path: Path) -> Session:
    """Mallory where operations answer her; see ``test_standing`` for where they do not."""
    return mallory(runtime, ann, tmp_path, request.param)


def takeover(runtime: Runtime, session: Session) -> holon.FrozenToolRecord:
    """Bring a tool into use that nobody else is to know of."""
    return brought_to(
        runtime,
        session,
        FrozenState.ACTIVE,
        name="takeover",
        purpose=f"Zorblatt {WORDS}",
        input_schema=SCHEMA,
    )


def page(session: Session, query: str | None = WORDS) -> Any:
    """Discover, and return everything that the answer says."""
    found = session.discover(query, limit=20)
    items = [(each.id, each.score, each.confidence, each.duplicates) for each in found.items]
    return items, found.none_fits, found.best_confidence, found.total_hint, found.next_cursor


@pytest.mark.parametrize("arguments", [{}, {"text": 1}, {"target": "x"}, {"text": "a"}], ids=str)
def test_a_refused_call_says_the_same_as_of_a_tool_that_is_not_there(
    runtime: Runtime, ann: Session, stranger: Session, arguments: dict[str, Any]
) -> None:
    """Before its arguments are looked at, and before a pin is: no schema, no digest, no name."""
    record = takeover(runtime, ann)
    absent = record.id.replace("takeover", "takeovex")

    for way in (
        lambda tool: stranger.call(tool, arguments, definition="0" * 64).failure,
        lambda tool: stranger.dry_run(tool, arguments).failure,
        lambda tool: stranger.request_approval(tool, arguments).failure,
        lambda tool: stranger.explain(tool, arguments).steps,
    ):
        told, untold = (str(way(each)).replace(each, "") for each in (record.id, absent))
        assert told == untold
        assert "wrong_workspace" in told
    refused = stranger.call(record.id, arguments)
    (kept,) = runtime.evidence.read(refused.call_id)
    assert runtime.tools.read(record.id).digest not in repr(kept)


def test_reading_comparing_and_near_names_tell_of_none(
    runtime: Runtime, ann: Session, outsider: Session
) -> None:
    """What is there and what is not are refused in the same words, without a name to try."""
    record = takeover(runtime, ann)
    absent = record.id.replace("takeover", "takeovex")

    def asked(method: str, tool: str) -> str:
        with pytest.raises(Refused) as found:
            runtime.dispatch(method, {"tool": tool}, caller=outsider.caller, authorities=CALLER)
        return str(found.value).replace(tool, "")

    for method in ("runtime-tool/read", "runtime-tool/diff"):
        assert asked(method, record.id) == asked(method, absent)
    for near in ("frozen/takeover", "host.app/takeover~1", record.id[:-4]):
        for told in (asked("runtime-tool/read", near), str(outsider.call(near).failure)):
            assert record.id not in told


def test_pages_of_a_list_are_as_if_there_were_no_other_workspace(
    runtime: Runtime, ann: Session, outsider: Session
) -> None:
    """Full where there are enough, and no cursor names what is not seen."""

    def pages() -> list[Any]:
        found: list[Any] = []
        after: str | None = ""
        while after is not None:
            answer = runtime.dispatch(
                "runtime-tool/list",
                {"limit": 1, "after": after},
                caller=outsider.caller,
                authorities=CALLER,
            )
            found.append(([each["id"] for each in answer["tools"]], answer["next_after"]))
            after = answer["next_after"]
        return found

    before = pages()
    takeover(runtime, ann)

    assert pages() == before


def test_discovery_is_no_oracle_on_the_words_of_others(
    runtime: Runtime, ann: Session, stranger: Session
) -> None:
    """Items, confidence, totals and whether anything fits stay what they were before."""
    asked = [WORDS, "zorblat takeovr", "say a text in capitals", "takeover~1", None]
    before = [page(stranger, each) for each in asked]
    record = takeover(runtime, ann)

    assert [page(stranger, each) for each in asked] == before
    assert page(ann)[0][0][0] == record.id
    assert record.id in [each for each, *_ in page(ann, None)[0]]


def test_ones_own_twin_is_not_hidden_behind_that_of_another_workspace(
    runtime: Runtime, ann: Session, tmp_path: Path
) -> None:
    """The same tool in two workspaces: each finds its own, and none is told of the other."""
    (tmp_path / "beside").mkdir()
    bob = runtime.session(principal="bob", workspace=tmp_path / "beside")
    ids = {who: takeover(runtime, who).id for who in (ann, bob)}

    for who, own in ids.items():
        assert [(each[0], each[3]) for each in page(who)[0]] == [(own, ())]


def test_a_model_calls_by_a_foreign_name_as_by_one_that_nothing_has(
    runtime: Runtime, ann: Session, stranger: Session
) -> None:
    """The name that Ann's model is shown is no name for another's."""
    record = takeover(runtime, ann)
    shown = ann.tools("openai-responses")
    name = next(each["name"] for each in shown if "takeover" in each["name"])

    def answered(each: str) -> str:
        call = {"type": "function_call", "call_id": each[-8:], "name": each, "arguments": "{}"}
        output: str = stranger.answer(call)["output"]
        return output.replace(each, "")

    assert answered(name) == answered(name[:-1] + "z")
    assert record.id not in answered(name)


def test_the_index_follows_a_tool_of_a_workspace(runtime: Runtime, ann: Session) -> None:
    """Found once it is active, and gone once it is archived, in the same process."""
    record = takeover(runtime, ann)
    assert page(ann)[0][0][0] == record.id

    runtime.tools.frozen.deprecate(record.id, by="boss", reason="old")
    runtime.tools.frozen.archive(record.id, by="boss", reason="done")

    assert record.id not in [each[0] for each in page(ann)[0]]
    assert page(ann)[1] is True


def test_a_stored_tool_that_does_not_say_its_workspace_has_the_one_of_its_id(
    runtime: Runtime, ann: Session
) -> None:
    """What a definition left out opens no way to it."""
    tool = runtime.tools.read(takeover(runtime, ann).id)
    stored = descriptor_json(tool)
    del stored["workspace"]

    read = descriptor_from(json.dumps(stored).encode())

    assert read.workspace == tool.workspace == ann.caller.workspace
    assert read.digest == tool.digest
