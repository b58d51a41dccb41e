"""Crystallized capabilities: an active tool leaves as a portable definition and comes in anew."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elegy_contracts import examine
from holon_core import FrozenState, Refused, Rejected
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.wire.schema_engine import compiled
from holon_elegy.crystallized_rows import rows
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
