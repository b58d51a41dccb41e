"""Confinement that a policy requires: enforced, or the call is refused."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import BOSS
from holon_core import Decision, Verdict, confinement
from holon_core.operations.table import OPERATIONS
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.testing import named
from scripts import activate, open_scripts, script

pytestmark = pytest.mark.skipif(
    confinement.lack() is not None, reason="bubblewrap is not usable here"
)
LOOK = """
import json, os
devices = len(open("/proc/net/dev").read().splitlines()) - 2
print(json.dumps({"outside": os.path.exists(PATH), "devices": devices}))
"""
CONFINED = {"lane": "script-artifact", "decision": "allow", "confined": True, "name": "boxed"}
Open = Callable[..., Any]


class Boxes:
    """A policy that allows what it is asked, every call confined."""

    name = "boxes"

    @holon.hookimpl
    def holon_policies(self, host: holon.PluginHost) -> Iterator[Any]:
        yield self

    def evaluate(self, request: holon.PolicyRequest) -> Verdict:
        calls = request.tool.lane == "script-artifact"
        return Verdict(decision=Decision.ALLOW, rule="boxes", confined=calls)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of a workspace, and a file outside of it."""
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


@contextmanager
def opened(
    place: Path, *rules: dict[str, Any], **options: Any
) -> Iterator[tuple[Runtime, Session]]:
    """Open a runtime of these rules, and a session of Ann."""
    config = {"rules": list(rules)}
    with open_scripts(place.parent / "root", config=config, **options) as runtime:
        yield runtime, runtime.session(principal="ann", workspace=place)


def looking(runtime: Runtime, session: Session, **changed: Any) -> str:
    """Make a tool that looks around active; return its id."""
    workspace = session.caller.workspace or ""
    outside = Path(runtime.workspaces.read(workspace).root_path).parent
    text = LOOK.replace("PATH", repr(str(outside / "outside.txt")))
    return activate(runtime, session, script(text, **changed)).id


def told(runtime: Runtime, result: holon.ToolResult) -> list[Any]:
    """Return what evidence says was enforced."""
    said = runtime.evidence.read(result.call_id)[-1].body["from_tool"]
    return [each["data"] for each in said if each["source"] == "holon-confinement"]


def test_a_rule_confines_what_it_matches_and_evidence_says_so(place: Path) -> None:
    """Although the lane's own setting is off; fixtures are confined as well."""
    with opened(place, CONFINED) as (runtime, session):
        tool = looking(runtime, session)
        result = session.call(tool, {})

        assert result.output["outside"] is False
        assert result.output["devices"] <= 1
        [enforced] = told(runtime, result)
        assert (enforced["enforced"], enforced["by"]) == (True, "bubblewrap")
        accepted = runtime.evidence.read(result.call_id)[0].body
        assert accepted["policy"]["confined"] is True
        validation = runtime.tools.frozen.read(tool).validation
        assert validation is not None
        trial = runtime.evidence.read(validation.fixtures[0].call_id)[-1].body["from_tool"]
        assert "holon-confinement" in {each["source"] for each in trial}


def test_without_such_a_rule_nothing_is_confined(place: Path) -> None:
    """So that the test above could fail."""
    with opened(place) as (runtime, session):
        result = session.call(looking(runtime, session), {})

        assert result.output["outside"] is True
        assert told(runtime, result) == []


@pytest.mark.parametrize("who", ["plugin", "workspace"])
def test_whoever_requires_it_no_allowing_rule_lifts_it(place: Path, who: str) -> None:
    """Any verdict of the trail is enough, strict or not."""
    allow = {"id": "frozen.*", "decision": "allow"}
    plugins = [named(Boxes(), "boxes")] if who == "plugin" else []
    if who == "workspace":
        (place / "pyproject.toml").write_text(
            '[[tool.holon.rules]]\nid = "frozen.*"\ndecision = "ask"\nconfined = true\n',
            encoding="utf-8",
        )
    with opened(place, allow) as (runtime, session):
        tool = looking(runtime, session)
    with opened(place, allow, plugins=plugins) as (runtime, session):
        result = session.call(tool, {})
        if result.held is not None:
            runtime.approvals.approve(result.held, by=BOSS, reason="ok")
            result = session.release(result.held)

        assert result.failure is None, result.failure
        assert result.output["outside"] is False
        assert told(runtime, result)[0]["enforced"] is True


def test_what_can_not_be_confined_is_refused_with_the_rule(place: Path) -> None:
    """A function of the host runs in this process: it does not run at all."""
    rule = {"id": "host.app/shout", "decision": "allow", "confined": True, "name": "boxed"}
    with opened(place, rule) as (runtime, session):
        result = session.call("host.app/shout", {"text": "a"})

        assert result.status is holon.Status.BLOCKED
        assert result.failure is not None
        assert result.failure.code == "confinement_unavailable"
        assert '"boxed"' in result.failure.details["rule"]
        assert [row.kind for row in runtime.evidence.read(result.call_id)] == ["refused"]
        steps = {each.step: each for each in session.explain("host.app/shout", {"text": "a"}).steps}
        assert steps["policy"].verdict == "block"
        assert "confinement_unavailable" in steps["policy"].detail
        assert "(confined)" in steps["policy rule"].detail


def test_an_operation_that_a_rule_confines_is_refused(place: Path) -> None:
    """It is work of the runtime itself; `policy/explain` says so beforehand."""
    rule = {"id": "evidence/export", "decision": "allow", "confined": True}
    with opened(place, rule) as (runtime, session):
        with pytest.raises(holon.Refused) as caught:
            runtime.evidence.export(place / "bundle.jsonl", workspace=session.caller.workspace)
        said = runtime.dispatch(
            "policy/explain",
            {"tool": "evidence/export", "arguments": {"path": str(place / "b.jsonl")}},
            caller=session.caller,
            authorities=frozenset(holon.Authority),
        )

    assert caught.value.failure.code == "confinement_unavailable"
    assert not (place / "bundle.jsonl").exists()
    assert "can't be confined" in said["stopped"]
    assert "evidence/export" in OPERATIONS


def test_policy_explain_says_that_a_call_runs_confined(place: Path) -> None:
    """By the rule that requires it."""
    with opened(place, CONFINED) as (runtime, session):
        tool = looking(runtime, session)
        said = runtime.dispatch(
            "policy/explain", {"tool": tool, "arguments": {}}, caller=session.caller
        )

    assert (said["decision"], said["stopped"]) == ("allow", None)
    assert '"boxed" (confined)' in said["decided_by"]


@pytest.mark.parametrize("how", ["missing", "broken"])
def test_where_bubblewrap_can_not_be_had_nothing_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Whether it is not there, or is there and may not do its work."""
    with opened(place, CONFINED) as (runtime, session):
        tool = looking(runtime, session, effects=["workspace_write"])
    bin_folder = place.parent / "bin"
    bin_folder.mkdir()
    for name in ("python3", "true"):
        (bin_folder / name).symlink_to(shutil.which(name) or sys.executable)
    if how == "broken":
        (bin_folder / "bwrap").write_text("#!/bin/sh\necho no namespaces >&2; exit 1\n")
        (bin_folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_folder))
    with opened(place, CONFINED) as (runtime, session):
        result = session.call(tool, {})

        assert (result.status, result.output) == (holon.Status.BLOCKED, None)
        assert result.failure is not None
        assert result.failure.code == "confinement_unavailable"
        word = "not on this machine" if how == "missing" else "no namespaces"
        assert word in result.failure.message
        assert "holon-process" not in str(runtime.evidence.read(result.call_id))


def test_a_policy_that_says_neither_yes_nor_no_is_a_deny(place: Path) -> None:
    """A verdict that was tampered with is none."""

    class Odd(Boxes):
        name = "odd"

        def evaluate(self, request: holon.PolicyRequest) -> Verdict:
            made = Verdict(decision=Decision.ALLOW, rule="odd")
            if request.tool.lane != "operation":
                object.__setattr__(made, "confined", "perhaps")
            return made

    with opened(place, plugins=[named(Odd(), "odd")]) as (_, session):
        result = session.call("host.app/shout", {"text": "a"})

    assert result.failure is not None
    assert result.failure.code == "policy_denied"


def test_approvers_see_that_it_runs_confined(place: Path) -> None:
    """In the request that the dry run shows."""
    with opened(place, CONFINED) as (runtime, session):
        shown = session.dry_run(looking(runtime, session), {}).output

    assert shown["confinement"] == "required"
