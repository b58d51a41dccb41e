"""What operations with effects leave in evidence: that they began, and how they ended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import holon_core as holon
from door import answer_of
from holon_core.errors import Refused
from holon_core.operations.table import OPERATIONS, ROWS
from holon_core.operations.trail import CALLS, DECISIONS, leaves_trail
from holon_core.records.caller import CallerContext
from holon_core.records.operation import Operation
from holon_core.records.words import READ_ONLY, Authority, Effect
from holon_core.wire.canonical import digest

ALL = frozenset(Authority)


def records(rt: holon.Runtime, workspace: str | None = None) -> list[dict[str, Any]]:
    """Return the bodies of the operations' records in a chain."""
    found = rt.evidence.list(workspace=workspace, limit=1000)
    assert all(record.payload is None for record in found if record.kind == "operation")
    return [dict(record.body) for record in found if record.kind == "operation"]


def said(rt: holon.Runtime, workspace: str | None = None) -> list[tuple[str, str]]:
    return [(r["operation"]["method"], r["outcome"]) for r in records(rt, workspace)]


def test_which_rows_are_recorded():
    """All with effects beyond reads, but for those whose calls and decisions say it."""
    assert set(OPERATIONS) >= CALLS | DECISIONS
    assert {row.method for row in ROWS if leaves_trail(row)} == {
        "evidence/export",
        "evidence/erase",
        "workspace/open",
        "plugin/retire",
        *(f"runtime-tool/{verb}" for verb in ("refresh", "pin", "unpin")),
        *(f"agent-profile/{verb}" for verb in ("create", "update", "archive")),
        *(f"agent-session/{verb}" for verb in ("open", "finish", "close")),
        "frozen-tool-proposal/create",
        "frozen-tool-proposal/update",
        "frozen-tool-proposal/withdraw",
        "frozen-tool-proposal/validate",
        "frozen-tool-proposal/promote",
        "frozen-tool-proposal/deprecate",
        "frozen-tool-proposal/block",
        "frozen-tool-proposal/unblock",
        "frozen-tool-proposal/archive",
        "frozen-tool-proposal/revalidate",
        "skill-source/register",
        "skill-source/remove",
        "skill/approve-execution",
        "skill/revoke-execution",
    }


def test_an_operation_with_effects_leaves_who_asked_and_how_it_ended(ask, runtime, tmp_path):
    """Two records under one id; of the parameters the digest alone."""
    path = str(tmp_path / "bundle.jsonl")

    ask("evidence/export", who="bo", where=None, authorities=ALL, path=path)

    began, ended = records(runtime)
    assert (began["outcome"], ended["outcome"]) == ("accepted", "completed")
    assert began["call"] == ended["call"]
    assert began["caller"]["principal"] == "bo"
    assert began["host"]["os_user"]
    assert began["operation"] == {
        "authority": "operator",
        "effects": ["machine_write"],
        "method": "evidence/export",
    }
    assert began["params_sha256"] == digest({"path": path}, domain="holon-operation-parameters/1")
    assert "bundle" not in str(records(runtime))


def test_the_record_is_in_the_chain_of_the_callers_workspace(ask, runtime, place):
    """As its calls are; the caller reads it there."""
    ask("workspace/open", who="bo", authorities=ALL, path=str(place))

    here = runtime.session(principal="bo", workspace=place).caller.workspace
    # That the host opened the folder for the session came before, and is in no workspace's chain.
    assert [record["caller"]["principal"] for record in records(runtime)] == ["bo", "bo"]
    assert said(runtime, here) == [("workspace/open", "accepted"), ("workspace/open", "completed")]
    assert len(ask("evidence/list", who="bo")["records"]) == 2


def test_a_workspace_that_is_not_the_callers_gets_no_record(runtime):
    """Naming another's chain does not write into it."""
    stranger = CallerContext(principal="eve", workspace="w-elsewhere")

    with pytest.raises(Refused, match="not_allowed"):
        runtime.dispatch("plugin/retire", {}, caller=stranger)

    assert said(runtime) == [("plugin/retire", "refused")]
    assert "w-elsewhere" not in {head.chain for head in runtime.evidence.heads()}


@pytest.mark.parametrize(
    ("authorities", "params", "code"),
    [
        (frozenset({Authority.CALLER}), {"call_id": "c", "reason": "r"}, "not_allowed"),
        (ALL, {"call_id": 3}, "arguments_invalid"),
    ],
    ids=["authority", "parameters"],
)
def test_a_refused_operation_is_recorded_once(ask, runtime, authorities, params, code):
    """It never began, and the record says by which code."""
    with pytest.raises(Refused, match=code):
        ask("evidence/erase", where=None, authorities=authorities, **params)

    [record] = records(runtime)
    assert (record["outcome"], record["code"]) == ("refused", code)
    assert "params_sha256" not in record


def test_an_operation_that_refuses_on_its_way_says_so(ask, runtime):
    """It began and was refused; nothing of the text is kept."""
    with pytest.raises(Refused, match="unknown_guard"):
        ask("plugin/retire", where=None, authorities=ALL, guard="secret-name", reason="x")

    assert [r["outcome"] for r in records(runtime)] == ["accepted", "refused"]
    assert records(runtime)[1]["code"] == "unknown_guard"
    assert "secret-name" not in str(records(runtime))


def test_erasing_leaves_the_operation_and_what_was_erased(ask, runtime):
    """The record of the erasing itself lies between beginning and end."""
    call = ask("runtime-tool/call", where=None, tool="host.app/add", arguments={"a": 1, "b": 2})

    ask(
        "evidence/erase",
        who="bo",
        where=None,
        authorities=ALL,
        call_id=call["call_id"],
        reason="asked for",
    )

    kinds = [record.kind for record in runtime.evidence.list(workspace=None)]
    assert kinds[2:] == ["operation", "payloads_erased", "operation"]
    erased = runtime.evidence.read(call["call_id"])[-1]
    assert (erased.body["by"], erased.body["erased"]) == ("bo", 2)


def test_reads_and_governed_calls_leave_no_record_of_the_operation(ask, runtime):
    """A read leaves none, a call the trail of a call."""
    ask("runtime-tool/list", where=None)
    ask("runtime-tool/call", where=None, tool="host.app/add", arguments={"a": 1, "b": 2})

    assert [r.kind for r in runtime.evidence.list(workspace=None)] == ["accepted", "completed"]


SETTING = Operation(
    noun="acme-setting",
    verb="write",
    request={"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    response={"type": "object", "properties": {}},
    authority=Authority.CALLER,
    effects=frozenset({Effect.HOST_STATE_WRITE}),
    handler=lambda door, given: {} if given["to"] == "fine" else 1 / 0,
    doc="Write the setting.",
)


def test_a_row_of_a_plugin_is_recorded_like_the_cores():
    """By its effects alone; one that breaks has failed."""

    @holon.hookimpl
    def holon_operations(host: Any) -> Any:
        return [SETTING]

    plugin = SimpleNamespace(name="acme", holon_operations=holon_operations)
    with holon.Runtime.in_memory(plugins=[plugin]) as rt:
        caller = rt.session(principal="ann").caller
        rt.dispatch("acme-setting/write", {"to": "fine"}, caller=caller)
        with pytest.raises(Refused, match="ZeroDivisionError"):
            rt.dispatch("acme-setting/write", {"to": "bits"}, caller=caller)

        assert [outcome for _, outcome in said(rt)] == [
            *("accepted", "completed"),
            *("accepted", "failed"),
        ]
        assert records(rt)[3]["code"] == "lane_protocol"
        assert not SETTING.effects <= READ_ONLY


def test_an_interrupted_operation_has_failed():
    """An interrupt leaves by the door and in the trail."""

    def interrupted(door: Any, given: Any) -> Any:
        raise KeyboardInterrupt

    @holon.hookimpl
    def holon_operations(host: Any) -> Any:
        from attrs import evolve

        return [evolve(SETTING, handler=interrupted)]

    plugin = SimpleNamespace(name="acme", holon_operations=holon_operations)
    with holon.Runtime.in_memory(plugins=[plugin]) as rt:
        caller = rt.session(principal="ann").caller
        with pytest.raises(KeyboardInterrupt):
            rt.dispatch("acme-setting/write", {"to": "fine"}, caller=caller)

        assert [r["outcome"] for r in records(rt)] == ["accepted", "failed"]
        assert records(rt)[1]["code"] == "KeyboardInterrupt"


DIES = """
import json, os, sys
from attrs import evolve
from types import SimpleNamespace
import holon_core as holon
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect

def die(door, given):
    sys.stdout.write(json.dumps("began"))
    sys.stdout.flush()
    os._exit(0)

row = Operation(
    noun="acme-setting", verb="write", request={"type": "object", "properties": {}},
    response={"type": "object"}, authority=Authority.CALLER,
    effects=frozenset({Effect.HOST_STATE_WRITE}), handler=die, doc="Die.",
)

@holon.hookimpl
def holon_operations(host):
    return [row]

plugin = SimpleNamespace(name="acme", holon_operations=holon_operations)
rt = holon.Runtime.open(sys.argv[1], plugins=[plugin], discover=False)
rt.dispatch("acme-setting/write", {}, caller=rt.session(principal="ann").caller)
"""


def test_an_operation_whose_process_died_is_marked_as_interrupted(tmp_path):
    """The next open says so, as of a call."""
    root = tmp_path / "root"
    assert answer_of(DIES, str(root)) == "began"

    with holon.Runtime.open(root, discover=False) as rt:
        kinds = [record.kind for record in rt.evidence.list(workspace=None)]

    assert kinds == ["operation", "interrupted"]


def test_an_operation_that_cannot_be_recorded_is_not_done(ask, runtime, tmp_path):
    """Where the first record cannot be written, the handler is not entered."""
    path = tmp_path / "bundle.jsonl"
    caller = runtime.session(principal="bo").caller
    runtime._guard.store.close()

    with pytest.raises(holon.HolonError):
        runtime.dispatch("evidence/export", {"path": str(path)}, caller=caller, authorities=ALL)

    assert not path.exists()


def test_an_operation_whose_end_cannot_be_recorded_says_that_it_was_done():
    """The effect is there, and the answer is a failure that names the store's."""

    def closes(door: Any, given: Any) -> Any:
        door.runtime._guard.store.close()
        return {}

    @holon.hookimpl
    def holon_operations(host: Any) -> Any:
        from attrs import evolve

        return [evolve(SETTING, handler=closes)]

    plugin = SimpleNamespace(name="acme", holon_operations=holon_operations)
    with holon.Runtime.in_memory(plugins=[plugin]) as rt:
        caller = rt.session(principal="ann").caller
        with pytest.raises(Refused) as refused:
            rt.dispatch("acme-setting/write", {"to": "fine"}, caller=caller)

    assert refused.value.failure.code == "evidence_not_closed"
    assert refused.value.failure.details["started"] is True
